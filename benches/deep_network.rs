//! The truth of a decoder's logits, rounded to f32, against layers and positions: seconds, memory, and how many stay open.
//!
//! `cargo bench -p ulpgate-benches --bench deep_network -- LAYERS POSITIONS [CHECKED]` evaluates a decoder of SmolLM2-135M's
//! shape with random weights, and with CHECKED compares the logits of so many positions, drawn at random, with plain MPFR at 1000
//! bits. Without arguments it is a smaller one in several depths, lengths and widths, with a fitted exponent for each, and three of
//! its positions are compared.

use std::time::Instant;

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Ahead, Demand, FloatTruth, Oracle, Prepared, TruthTensor};
use ulpgate::tensor::{DType, Tensor};
use ulpgate_benches::decoder::{Decoder, SMOL};
use ulpgate_benches::processor_seconds;

/// Precision of the comparison, in bits.
const BITS: u32 = 1000;

/// The most memory that this process has had, in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? / 1024)
}

/// The cost of a decoder's truth.
struct Measured {
    arguments: Vec<Tensor>,
    logits: Option<FloatTruth>,
    parameters: f64,
    /// Processor seconds.
    seconds: f64,
}

fn measure(decoder: &Decoder) -> Measured {
    let arguments = decoder.arguments(1);
    let module = parse(&decoder.hlo()).unwrap_or_else(|error| panic!("the decoder's text: {error}"));
    let import = lower(&module).unwrap_or_else(|error| panic!("the decoder's text: {error}"));
    let prepared = Prepared::new(&import.program);
    let (start, before) = (Instant::now(), processor_seconds());
    let announce = &mut |Ahead { bits, open, .. }: Ahead| {
        println!("    after {:.1} s {open} are open: MPFR at {bits} bits", start.elapsed().as_secs_f64());
    };
    let truth = Oracle::default().announced_truth(&prepared, &arguments, &[Demand::RoundedTo(DType::F32)], announce);
    let truth = truth.unwrap_or_else(|error| panic!("the decoder has a truth: {error}"));
    let (passed, seconds) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
    let parameters: usize = arguments.iter().map(Tensor::len).sum();
    println!(
        "  {} layers, {} positions, {:.1} million numbers: {passed:.1} s, of processors {seconds:.2} s, {:.3} s a position, {} undecided, \
         {} bits, peak {} MiB",
        decoder.layers,
        decoder.positions,
        parameters as f64 / 1e6,
        seconds / decoder.positions as f64,
        truth.stats.undecided,
        truth.stats.highest_bits,
        peak().map_or("unknown".to_string(), |peak| peak.to_string()),
    );
    let logits = truth.outputs.into_iter().next();
    let logits = logits.and_then(|logits| if let TruthTensor::Float(logits) = logits { Some(logits) } else { None });
    Measured { arguments, logits, parameters: parameters as f64, seconds }
}

/// Compares the logits of `count` positions with plain MPFR.
fn check(decoder: &Decoder, measured: &Measured, count: usize) {
    let Some(truth) = &measured.logits else { return };
    let mut positions: Vec<usize> = (0..decoder.positions).collect();
    // By the top bits of a linear congruence, from a seed of the clock: other positions each time.
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut state = clock.map_or(1, |time| time.as_nanos() as u64);
    for _ in 0..count.min(decoder.positions) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = positions.swap_remove((state >> 33) as usize % positions.len());
        let expected = decoder.logits(&measured.arguments, at, BITS);
        let row = at * decoder.vocabulary..(at + 1) * decoder.vocabulary;
        let wrong = truth.rounded[row].iter().zip(&expected).filter(|(got, real)| **got != f64::from(**real)).count();
        println!("  position {at}: {wrong} of {} differ from MPFR at {BITS} bits", expected.len());
    }
}

/// Measures some decoders, and prints the exponent by which processor time grows with `size` in the least squares of logarithms.
fn growth(of: &str, decoders: &[Decoder], size: impl Fn(&Decoder, &Measured) -> f64) {
    println!("against {of}:");
    let point = |decoder: &Decoder| {
        let measured = measure(decoder);
        (size(decoder, &measured).ln(), measured.seconds.max(0.01).ln())
    };
    let points: Vec<(f64, f64)> = decoders.iter().map(point).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    println!("  grows with {of} to the {slope:.2}");
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if let [layers, positions, checked @ ..] = numbers.as_slice() {
        let (layers, positions) = (*layers, *positions);
        let decoder = Decoder { layers, positions, ..SMOL };
        check(&decoder, &measure(&decoder), checked.first().copied().unwrap_or(0));
        return;
    }
    let small = Decoder { width: 192, heads: 3, groups: 1, hidden: 512, vocabulary: 1024, positions: 8, layers: 8 };
    let deep = [2, 4, 8, 16, 30].map(|layers| Decoder { layers, ..small });
    growth("layers", &deep, |decoder, _| decoder.layers as f64);
    let long = [4, 8, 16, 32, 64].map(|positions| Decoder { positions, ..small });
    growth("positions", &long, |decoder, _| decoder.positions as f64);
    let wide = [1, 2, 3, 4, 6].map(|heads| Decoder {
        width: 64 * heads,
        heads,
        hidden: 512 * heads / 3,
        vocabulary: 1024 * heads / 3,
        ..small
    });
    growth("parameters", &wide, |_, measured| measured.parameters);
    check(&small, &measure(&small), 3);
}
