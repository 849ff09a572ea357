//! HLO files of XLA's CPU backend, run here, against what XLA really computed (`tests/data/hlo/cpu`): the program before
//! compilation under both settings of excess precision, and both compiled programs as they stand.
//!
//! Results must be the same bits, but for what the table says. Sums there take an order of XLA's own in the compiled
//! library code (FACTS 3.2), so an f32 result behind one is compared within ulps; f32 dots have no defined order at all
//! and are compared within their a-priori bound. One result differs because XLA does not do what its program says:
//! [`log_softmax_bf16_without_excess_precision_is_not_what_its_program_says`].

use std::path::{Path, PathBuf};
use std::process::Command;

use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::num::{BF16, F32};
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::stat::gamma;
use ulpgate::subject;
use ulpgate::tensor::Tensor;

/// How close a result must be.
#[derive(Clone, Copy)]
enum Closeness {
    Bits,
    /// The order of an f32 sum decides its last bits.
    Ulps(f64),
    /// Two f32 dots of K products, each within gamma_K of the real one.
    Dot,
    /// XLA's library sums values that the program rounds first.
    Unrounded,
}
use Closeness::{Bits, Dot, Ulps, Unrounded};

/// The programs, with the results that are not compared bit for bit.
const PROGRAMS: &[(&str, &[(usize, Closeness)])] = &[
    ("affine_greedy", &[]),
    ("approx_top_k", &[]),
    ("approx_top_k_raw", &[]),
    ("attention_decode", &[]),
    ("cross_entropy", &[]),
    // The largest f32 logit, un-rounded with excess on.
    ("greedy_head", &[(2, Ulps(2.0))]),
    ("gumbel_sample", &[]),
    ("head_softmax", &[]),
    ("layer_norm", &[]),
    ("log_softmax_bf16", &[(0, Unrounded)]),
    ("matmul_default", &[(0, Dot)]),
    ("matmul_high", &[(0, Dot)]),
    ("matmul_highest", &[(0, Dot)]),
    ("mlp_gelu", &[]),
    // The f32 sum of 1024 probabilities.
    ("prob_max", &[(3, Ulps(4.0))]),
    ("rms_norm", &[]),
    ("softmax_bf16", &[]),
    // The reciprocal of an f32 sum of 1024 exponentials, which XLA leaves to a library, scales the whole row.
    ("softmax_f32", &[(0, Ulps(8.0))]),
    ("top_k", &[]),
    ("top_k_f32", &[]),
    ("top_p", &[]),
];

/// More functions, of odd shapes (`tests/data/hlo_more`): all bit for bit.
const MORE: &[&str] = &[
    "min_p",
    "beam",
    "scan_cum",
    "router",
    "gelu_norm",
    "embed",
    "sortperm",
    "logsum",
    "bits",
    "gumbel",
    "pool",
    "cond",
];

/// Those that are there for the CPU alone.
const MORE_ON_CPU: &[&str] = &["scans"];

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn folder() -> PathBuf {
    data().join("hlo/cpu")
}

fn program_in(folder: &Path, name: &str) -> Program {
    let text = std::fs::read_to_string(folder.join(format!("{name}.hlo"))).unwrap();
    lower(&parse(&text).unwrap()).unwrap().program
}

fn program(name: &str) -> Program {
    program_in(&folder(), name)
}

fn tensors(name: &str, prefix: &str) -> Vec<Tensor> {
    tensors_in(&folder(), name, prefix)
}

/// `arg0, arg1, ...` or `out0, out1, ...`.
fn tensors_in(folder: &Path, name: &str, prefix: &str) -> Vec<Tensor> {
    let all = safetensors::read(&folder.join(format!("{name}.safetensors"))).unwrap();
    (0..all.len()).map(|i| all.iter().find(|(n, _)| *n == format!("{prefix}{i}")).unwrap().1.clone()).collect()
}

/// What differs, in words; nothing if it is close enough.
fn difference(ours: &Tensor, xla: &Tensor, closeness: Closeness, inputs: &[Tensor]) -> Option<String> {
    if (ours.dtype(), ours.len()) != (xla.dtype(), xla.len()) {
        return Some(format!("{}{:?} against {}{:?}", ours.dtype(), ours.dims(), xla.dtype(), xla.dims()));
    }
    let (a, b) = (|i| ours.data().get_f64(i), |i| xla.data().get_f64(i));
    let bits = |i: usize| ours.data().bits(i) != xla.data().bits(i);
    let apart = |i: usize| match closeness {
        Bits => bits(i),
        Ulps(most) => (a(i) - b(i)).abs() > most * F32.ulp(b(i)),
        Dot => {
            let [m, k] = inputs[0].dims().try_into().unwrap();
            let n = inputs[1].dims()[1];
            assert_eq!(ours.len(), m * n);
            let (row, column) = (i / n, i % n);
            let magnitude: f64 = (0..k)
                .map(|l| (inputs[0].data().get_f64(row * k + l) * inputs[1].data().get_f64(l * n + column)).abs())
                .sum();
            (a(i) - b(i)).abs() > 2.0 * gamma(k as u64, F32.unit_roundoff()).unwrap() * magnitude
        }
        Unrounded => false,
    };
    let differing: Vec<usize> = (0..ours.len()).filter(|i| apart(*i)).collect();
    let first = *differing.first()?;
    let (a, b) = (a(first), b(first));
    Some(format!("{} of {} elements, the first at {first}: {a:e} against XLA's {b:e}", differing.len(), ours.len()))
}

fn compare(source: &str, excess: &str, policy: &str) {
    let mode: Mode = format!("xla-cpu/default/{policy}").parse().unwrap();
    let mut failed = Vec::new();
    let more = MORE.iter().chain(MORE_ON_CPU).map(|name| (data().join("hlo_more/cpu"), *name, [].as_slice()));
    for (folder, name, loose) in PROGRAMS.iter().map(|(name, loose)| (folder(), *name, *loose)).chain(more) {
        let inputs = tensors_in(&folder, &format!("{name}.inputs"), "arg");
        let xla = tensors_in(&folder, &format!("{name}.excess_{excess}.outputs"), "out");
        let ours = subject::evaluate(&program_in(&folder, &format!("{name}.{source}")), &mode, &inputs).unwrap();
        assert_eq!(ours.len(), xla.len(), "{name}");
        for (at, (ours, xla)) in ours.iter().zip(&xla).enumerate() {
            let closeness = match loose.iter().find(|(result, _)| *result == at) {
                // With excess precision the program does not round either.
                Some((_, Unrounded)) if excess == "on" => Bits,
                Some((_, closeness)) => *closeness,
                None => Bits,
            };
            if let Some(difference) = difference(ours, xla, closeness, &inputs) {
                failed.push(format!("{name} out{at}: {difference}"));
            }
        }
    }
    assert!(failed.is_empty(), "{source} as {policy}:\n{}", failed.join("\n"));
}

#[test]
fn before_compilation_with_excess_precision() {
    compare("before", "on", "cpu");
}

#[test]
fn before_compilation_without_excess_precision() {
    compare("before", "off", "off");
}

#[test]
fn compiled_with_excess_precision() {
    compare("excess_on", "on", "as-compiled");
}

#[test]
fn compiled_without_excess_precision() {
    compare("excess_off", "off", "as-compiled");
}

/// `sum(f32(bf16(exp(x))))` goes to a library as one fusion, and the library drops the pair of conversions inside although
/// excess precision is off: the sum of one row of eight falls on the other side of a bf16 boundary. XLA's results are, bit
/// for bit, those of the program that does not round.
#[test]
fn log_softmax_bf16_without_excess_precision_is_not_what_its_program_says() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let inputs = tensors("log_softmax_bf16.inputs", "arg");
    let xla = &tensors("log_softmax_bf16.excess_off.outputs", "out")[0];
    let result = |source: &str| {
        let program = program(&format!("log_softmax_bf16.{source}"));
        subject::evaluate(&program, &mode, &inputs).unwrap().remove(0)
    };
    assert_eq!(difference(&result("excess_on"), xla, Bits, &inputs), None);
    let rounded = result("excess_off");
    let n = rounded.dims()[1];
    let rows: std::collections::BTreeSet<usize> =
        (0..rounded.len()).filter(|i| rounded.data().bits(*i) != xla.data().bits(*i)).map(|i| i / n).collect();
    assert_eq!(rows, [1].into());
}

/// Generations that the reference set does not have: every file runs on the machine and over the real numbers, and floats
/// come out close to each other.
#[test]
fn programs_of_other_tpu_generations_run() {
    for generation in ["v3", "v5p"] {
        let mode: Mode = format!("{generation}/default/as-compiled").parse().unwrap();
        for name in MORE {
            let folder = data().join("hlo_more/tpu").join(generation);
            let inputs = tensors_in(&data().join("hlo_more/cpu"), &format!("{name}.inputs"), "arg");
            for form in ["before", "excess_on", "excess_off"] {
                let program = program_in(&folder, &format!("{name}.{form}"));
                let results = subject::evaluate(&program, &mode, &inputs).unwrap();
                let demands = vec![Demand::Rounded; results.len()];
                let truth = Oracle::default().evaluate(&program, &inputs, &demands).unwrap();
                for (result, truth) in results.iter().zip(&truth.outputs) {
                    let TruthTensor::Float(truth) = truth else { continue };
                    // Far more than any rounding, far less than any mistake.
                    let largest = truth.rounded.iter().filter(|t| t.is_finite()).fold(0.0, |m: f64, t| m.max(t.abs()));
                    for (i, exact) in truth.rounded.iter().enumerate() {
                        let got = result.data().get_f64(i);
                        let close = got == *exact || (got - exact).abs() <= 16.0 * BF16.unit_roundoff() * largest;
                        assert!(
                            close || got.is_nan() && exact.is_nan(),
                            "{generation} {name} {form}: {got} for {exact}"
                        );
                    }
                }
            }
        }
    }
}

/// Six of eight rows lose their most probable token with excess precision, none without (FACTS 9).
#[test]
fn the_token_is_lost_where_xla_loses_it() {
    for (excess, lost) in [("on", 6), ("off", 0)] {
        let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
        let inputs = tensors("prob_max.inputs", "arg");
        let results = subject::evaluate(&program(&format!("prob_max.excess_{excess}")), &mode, &inputs).unwrap();
        let [rows, n] = inputs[0].dims().try_into().unwrap();
        let kept = |row: usize| {
            let largest = results[1].data().get_f64(row);
            (0..n).any(|i| results[0].data().get_f64(row * n + i) >= largest)
        };
        assert_eq!((0..rows).filter(|row| !kept(*row)).count(), lost, "excess {excess}");
    }
}

/// `ulpgate hlo eval` with these arguments: exit code, output, error output.
fn eval(arguments: &[&str]) -> (i32, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(["hlo", "eval"]).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
}

/// A place of this test's own for a file.
fn scratch(name: &str) -> String {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hlo_eval-{name}"));
    let _ = std::fs::remove_file(&place);
    place.to_str().unwrap().to_string()
}

fn reference(name: &str) -> String {
    folder().join(name).to_str().unwrap().to_string()
}

#[test]
fn results_are_written_and_listed() {
    let (file, inputs) = (reference("prob_max.before.hlo"), reference("prob_max.inputs.safetensors"));
    let out = scratch("listed.safetensors");
    let mode = ["--mode", "xla-cpu/default/cpu"];
    let (code, text, _) = eval(&[&[&file, "--inputs", &inputs, "--out", &out], &mode[..]].concat());
    assert_eq!((code, text.lines().next()), (0, Some("out0 bf16[8,1024]")), "{text}");
    assert_eq!(text.lines().count(), 4);
    let written = safetensors::read(out.as_ref()).unwrap();
    let xla = safetensors::read(reference("prob_max.excess_on.outputs.safetensors").as_ref()).unwrap();
    for (name, tensor) in written.iter().filter(|(name, _)| name != "out3") {
        let theirs = &xla.iter().find(|(other, _)| other == name).unwrap().1;
        assert_eq!(difference(tensor, theirs, Bits, &[]), None, "{name}");
    }
    let (code, text, _) = eval(&[&[&file, "--inputs", &inputs, "--out", &out, "--json"], &mode[..]].concat());
    let lines: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, lines[2]["name"].as_str(), lines[2]["shape"].as_str()), (0, Some("out2"), Some("s32[8]")));
}

/// A bf16 result that another order of an f32 sum would change says so.
#[test]
fn what_the_order_of_a_sum_decides_is_named() {
    let out = scratch("sensitive.safetensors");
    let (file, inputs) = (reference("rms_norm.before.hlo"), reference("rms_norm.inputs.safetensors"));
    let (code, text, _) = eval(&[&file, "--inputs", &inputs, "--out", &out, "--mode", "xla-cpu/default/off"]);
    assert_eq!(code, 0);
    assert!(text.contains("order-sensitive: "), "{text}");
    let (code, text, _) = eval(&[&file, "--inputs", &inputs, "--out", &out, "--exact"]);
    assert_eq!(code, 0);
    assert!(!text.contains("order-sensitive"), "{text}");
}

/// `--exact` rounds each real result once, to f64.
#[test]
fn exact_results_are_the_real_ones() {
    let out = scratch("exact.safetensors");
    let (file, inputs) = (reference("softmax_f32.before.hlo"), reference("softmax_f32.inputs.safetensors"));
    let (code, text, _) = eval(&[&file, "--inputs", &inputs, "--out", &out, "--exact"]);
    assert_eq!((code, text.as_str()), (0, "out0 f64[8,1024]\n"));
    let x = &tensors("softmax_f32.inputs", "arg")[0];
    let exact = &safetensors::read(out.as_ref()).unwrap()[0].1;
    for row in 0..8 {
        let x = (0..1024).map(|i| rug::Float::with_val(200, x.data().get_f64(row * 1024 + i)).exp());
        let x: Vec<rug::Float> = x.collect();
        let sum = rug::Float::with_val(200, rug::Float::sum(x.iter()));
        for (i, e) in x.iter().enumerate() {
            assert_eq!(exact.data().get_f64(row * 1024 + i), rug::Float::with_val(200, e / &sum).to_f64());
        }
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused_with_its_place() {
    let out = scratch("refused.safetensors");
    let (file, inputs) = (reference("prob_max.before.hlo"), reference("prob_max.inputs.safetensors"));
    let written = |name: &str, text: &str| {
        let path = scratch(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let text = std::fs::read_to_string(&file).unwrap();
    let unknown = written("unknown.hlo", &text.replacen(" exponential(", " cholesky(", 1));
    let broken = written("broken.hlo", &text.replacen("parameter(0)", "parameter(0", 1));
    let cut = written("cut.safetensors", "no tensors");
    let other = reference("top_k_f32.inputs.safetensors");
    let more = scratch("more.safetensors");
    let x = tensors("prob_max.inputs", "arg").remove(0);
    safetensors::write(more.as_ref(), &[("arg0".to_string(), x.clone()), ("arg1".to_string(), x)]).unwrap();
    for (file, inputs, mode, parts) in [
        (&unknown, &inputs, "v5e/default/off", &["unknown.hlo", "cholesky"][..]),
        (&broken, &inputs, "v5e/default/off", &["broken.hlo", ":"][..]),
        (&"missing.hlo".to_string(), &inputs, "v5e/default/off", &["missing.hlo", "No such file"][..]),
        (&file, &cut, "v5e/default/off", &["cut.safetensors"][..]),
        (&file, &"missing.safetensors".to_string(), "v5e/default/off", &["missing.safetensors"][..]),
        (&file, &other, "v5e/default/off", &["arg0 is f32[8,1024]", "takes bf16[8,1024]"][..]),
        (&file, &more, "v5e/default/off", &["arg1 is more than the program takes"][..]),
        (&file, &inputs, "v5/default/off", &["v5"][..]),
    ] {
        let (code, text, error) = eval(&[file, "--inputs", inputs, "--out", &out, "--mode", mode]);
        assert_eq!((code, text.as_str(), error.lines().count()), (2, "", 1), "{error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
    // What is compiled may be compiled again, but not without a word.
    let compiled = reference("prob_max.excess_on.hlo");
    let (code, _, error) = eval(&[&compiled, "--inputs", &inputs, "--out", &out, "--mode", "v5e/default/tpu"]);
    assert!(code == 0 && error.starts_with("note: ") && error.contains("compiled already"), "{error}");
    let (code, _, error) = eval(&[&file, "--inputs", &inputs, "--out", "no/such/folder/out.safetensors"]);
    assert_eq!(code, 2);
    assert!(error.contains("no/such/folder"), "{error}");
}
