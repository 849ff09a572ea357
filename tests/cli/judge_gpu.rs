//! Results of a real GPU, an NVIDIA H200, by PyTorch 2.11 (CUDA 13.0) and jax 0.11.2, with a key.

use std::path::PathBuf;

use serde::Deserialize;
use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::judge::{JudgedResult, Recording, Settings, Verdict, bind, judge};

/// A recording of `tests/data/judge_gpu`.
#[derive(Deserialize)]
struct Case {
    program: String,
    array: String,
    result: String,
    verdict: String,
    mode: Option<String>,
    pattern: Option<String>,
    what: String,
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/judge_gpu")).join(name)
}

fn judged(case: &Case) -> JudgedResult {
    let text = std::fs::read_to_string(file(&format!("{}.hlo", case.program))).unwrap();
    let import = lower_with_libraries(&parse(&text).unwrap()).unwrap();
    let inputs = Recording::open(&file(&format!("{}.inputs.npz", case.program))).unwrap();
    let arguments = bind(&import.program, &import.argument_names, &[inputs]).unwrap();
    let recording = Recording::open(&file(&format!("{}.results.npz", case.program))).unwrap();
    let recording = recording.map(vec![(case.array.clone(), case.result.clone())]);
    let mode = case.mode.as_ref().map(|mode| mode.parse().unwrap());
    let settings = Settings { mode, ..Settings::default() };
    judge(&import.program, &arguments, &recording, &settings).unwrap().results.remove(0)
}

/// The recordings of these programs are judged as the key says; of each, its array and the judgement.
fn judged_as_the_key_says(programs: &[&str]) -> Vec<(String, JudgedResult)> {
    let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(file("key.json")).unwrap()).unwrap();
    let mut all = Vec::new();
    for case in cases.into_iter().filter(|case| programs.contains(&case.program.as_str())) {
        let result = judged(&case);
        let about = format!("{} {} ({}): {:?}", case.program, case.array, case.what, result.because);
        assert_eq!(serde_json::to_value(result.verdict).unwrap(), *case.verdict, "{about}");
        let kinds: Vec<&str> = result.pattern.iter().map(|pattern| pattern.kind).collect();
        if let Some(kind) = &case.pattern {
            assert_eq!(kinds.first(), Some(&kind.as_str()), "{about}");
        }
        all.push((case.array, result));
    }
    assert!(!all.is_empty(), "no recording of {programs:?}");
    all
}

/// Kernels of attention, norms, softmax and matmuls that sum in f32 conform, whatever their order; most have the bits of a mode.
#[test]
fn honest_kernels_of_a_gpu_conform() {
    let all = judged_as_the_key_says(&["matmul_bf16", "softmax_bf16", "layer_norm_bf16", "flash_attention_bf16"]);
    assert_eq!(all.iter().filter(|(_, result)| result.verdict == Verdict::Bits).count(), 2);
}

/// CUDA's functions err by more than half a unit in the last place, and by less than OpenCL permits.
#[test]
fn functions_of_a_gpu_are_within_what_libraries_may_err() {
    for (_, result) in judged_as_the_key_says(&["exp", "sin", "rsqrt"]) {
        assert_eq!(result.outside.elements, 0, "{:?}", result.because);
        assert!(result.ratio.unwrap() > 1.1, "correctly rounded: {:?}", result.ratio);
    }
}

/// TF32 in the place of f32 and sums of FP8 in 14 bits are named.
#[test]
fn matrix_units_of_a_gpu_are_named() {
    for (array, result) in judged_as_the_key_says(&["matmul_f32", "matmul_fp8", "matmul_fp8_long", "high"]) {
        let Some(pattern) = result.pattern.first() else { continue };
        let told = match array.as_str() {
            "tf32" | "high" => "operands as TF32",
            "fast" => "sums of 14 bits, 32 products at once, as NVIDIA Hopper's FP8 with fast accumulation",
            _ => "sums of 14 bits, 32 products at once, moved to f32 after 128",
        };
        assert!(pattern.says.contains(told), "{array}: {}", pattern.says);
        // Of FP8 the unit gives every bit.
        let is_fp8 = ["fast", "slow"].contains(&array.as_str());
        assert!(pattern.explained > 0.99 && (pattern.explained == 1.0 || !is_fp8), "{array}: {}", pattern.explained);
    }
}

/// PyTorch ranks equal scores in no order. They differ from the program's, which takes the first, by no ulp of the score.
#[test]
fn equal_scores_in_another_order_are_told_so() {
    let all = judged_as_the_key_says(&["top_k_bf16"]);
    let tokens = all[0].1.tokens.as_ref().unwrap();
    assert_eq!(tokens.len(), 28);
    for token in tokens {
        assert_eq!(token.margin_ulp, Some(0.0), "{token:?}");
        assert!(token.because.contains("the program takes the first of equal ones"), "{token:?}");
    }
}

/// XLA:GPU with excess precision on has the bits of the policy `gpu`, and with it off those of `off`.
#[test]
fn the_policy_of_xla_on_a_gpu_is_the_emulated_one() {
    for (array, result) in judged_as_the_key_says(&["cross_entropy_bf16"]) {
        let policies: Vec<&str> = result.modes.iter().filter_map(|mode| mode.split('/').nth(2)).collect();
        let is_named = |policy: &str| policies.iter().any(|found| found.starts_with(policy));
        assert_eq!([is_named("gpu"), is_named("off")], [array == "on", array == "off"], "{array}: {policies:?}");
    }
}
