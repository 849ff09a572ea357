//! The truth of a decoder's logits, rounded to f32, against layers and positions: seconds, memory, and how many stay open.
//!
//! `cargo bench -p ulpgate-benches --bench deep_network -- LAYERS POSITIONS [CHECKED]` evaluates a decoder of SmolLM2-135M's
//! shape with random weights, and with CHECKED compares the logits of so many positions with plain MPFR at 1000 bits. Without
//! arguments it is a smaller one in several depths.

use std::time::Instant;

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Ahead, Demand, FloatTruth, Oracle, Prepared, TruthTensor};
use ulpgate::tensor::{DType, Tensor};
use ulpgate_benches::decoder::{Decoder, SMOL};

/// Precision of the comparison, in bits.
const BITS: u32 = 1000;

/// The most memory that this process has had, in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? / 1024)
}

fn measure(decoder: &Decoder) -> (Vec<Tensor>, Option<FloatTruth>) {
    let arguments = decoder.arguments(1);
    let module = parse(&decoder.hlo()).unwrap_or_else(|error| panic!("the decoder's text: {error}"));
    let import = lower(&module).unwrap_or_else(|error| panic!("the decoder's text: {error}"));
    let prepared = Prepared::new(&import.program);
    let start = Instant::now();
    let announce = &mut |Ahead { bits, open, .. }: Ahead| {
        println!("    after {:.1} s {open} are open: MPFR at {bits} bits", start.elapsed().as_secs_f64());
    };
    let truth = Oracle::default().announced_truth(&prepared, &arguments, &[Demand::RoundedTo(DType::F32)], announce);
    let truth = truth.unwrap_or_else(|error| panic!("the decoder has a truth: {error}"));
    let seconds = start.elapsed().as_secs_f64();
    let parameters: usize = arguments.iter().map(Tensor::len).sum();
    println!(
        "  {} layers, {} positions, {:.1} million numbers: {seconds:.1} s, {:.2} s a position, {} undecided, {} bits, peak {} MiB",
        decoder.layers,
        decoder.positions,
        parameters as f64 / 1e6,
        seconds / decoder.positions as f64,
        truth.stats.undecided,
        truth.stats.highest_bits,
        peak().map_or("unknown".to_string(), |peak| peak.to_string()),
    );
    let logits = truth.outputs.into_iter().next();
    (arguments, logits.and_then(|logits| if let TruthTensor::Float(logits) = logits { Some(logits) } else { None }))
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if let [layers, positions, checked @ ..] = numbers.as_slice() {
        let (layers, positions) = (*layers, *positions);
        let decoder = Decoder { layers, positions, ..SMOL };
        let (arguments, Some(truth)) = measure(&decoder) else { return };
        for at in 0..checked.first().copied().unwrap_or(0).min(positions) {
            let expected = decoder.logits(&arguments, at, BITS);
            let row = at * decoder.vocabulary..(at + 1) * decoder.vocabulary;
            let wrong =
                truth.rounded[row].iter().zip(&expected).filter(|(got, real)| **got != f64::from(**real)).count();
            println!("  position {at}: {wrong} of {} differ from MPFR at {BITS} bits", expected.len());
        }
        return;
    }
    let small = Decoder { width: 192, heads: 3, groups: 1, hidden: 512, vocabulary: 1024, positions: 8, ..SMOL };
    for layers in [2, 4, 8, 16, 30] {
        measure(&Decoder { layers, ..small });
    }
}
