//! A language model's tokens, as XLA:CPU computed them.

use std::path::{Path, PathBuf};

use ulpgate::file::safetensors;
use ulpgate::machine::{Held, Mode, Prepared};
use ulpgate::tensor::Tensor;

use crate::worlds::program;

/// The weights in the order of the parameters: those of `scripts/decoder.py`.
const WEIGHTS: [&str; 11] =
    ["embedding", "norm", "attention_norm", "query", "key", "value", "output", "mlp_norm", "gate", "up", "down"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/language_model")
}

/// The results of a program of the folder for `first`, in parts of `rows`.
fn results(file: &str, mode: &str, first: &Tensor, rows: usize, output: usize) -> Vec<Tensor> {
    results_in(&folder(), &WEIGHTS, (file, output), mode, first, rows)
}

/// A result of a program of a folder for `first`, in parts of `rows`, with the weights of these names.
fn results_in(
    folder: &Path,
    weights: &[&str],
    (file, output): (&str, usize),
    mode: &str,
    first: &Tensor,
    rows: usize,
) -> Vec<Tensor> {
    let program = program(&std::fs::read_to_string(folder.join(file)).unwrap());
    let tensor = |name: &&str| safetensors::read_one(&folder.join("decoder.safetensors"), name).unwrap();
    let mut arguments: Vec<Option<Tensor>> = vec![None];
    arguments.extend(weights.iter().map(tensor).map(Some));
    let (held, prepared) = (Held::new(&arguments), Prepared::new(&program));
    let mode: Mode = mode.parse().unwrap();
    let mut parts = Vec::new();
    for start in (0..first.dims()[0]).step_by(rows) {
        arguments[0] = Some(first.rows(start..start + rows));
        let given: Vec<Tensor> = arguments.iter().flatten().cloned().collect();
        let mut results = prepared.evaluate(&mode, &prepared.bind_beside(&held, &given).unwrap()).unwrap();
        parts.push(results.swap_remove(output));
    }
    parts
}

/// Of these, the tokens.
fn tokens(file: &str, mode: &str, first: &Tensor, rows: usize, output: usize) -> Vec<i64> {
    results(file, mode, first, rows, output).iter().flat_map(|part| part.data().to_i64s()).collect()
}

/// The places in which two lists of tokens differ.
fn differing(ours: &[i64], theirs: &[i64]) -> Vec<usize> {
    assert_eq!(ours.len(), theirs.len());
    (0..ours.len()).filter(|at| ours[*at] != theirs[*at]).collect()
}

/// Teacher-forced: 24 windows of 64 tokens.
#[test]
fn xla_cpu_names_these_tokens_after_each_position() {
    let text = safetensors::read_one(&folder().join("tokens.safetensors"), "held_out").unwrap().rows(0..24 * 64);
    for setting in ["excess_on", "excess_off"] {
        let path = folder().join(format!("cpu/prefill.{setting}.tokens.safetensors"));
        let theirs = safetensors::read_one(&path, "token").unwrap().data().to_i64s();
        let ours = tokens(&format!("cpu/prefill.{setting}.hlo"), "xla-cpu/default/as-compiled", &text, 64, 1);
        assert_eq!(differing(&ours, &theirs), [0usize; 0], "{setting}");
    }
}

/// The tokens that `examples/llama.py` gives for a model with a head of its own and scaled rope.
#[test]
fn xla_cpu_names_these_tokens_of_a_model_with_a_head_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/untied_decoder");
    let window = safetensors::read_one(&folder.join("tokens.safetensors"), "held_out").unwrap().rows(0..32);
    let weights = [&WEIGHTS[..], &["head"]].concat();
    for setting in ["excess_on", "excess_off"] {
        let theirs = safetensors::read_one(&folder.join(format!("cpu/prefill.{setting}.tokens.safetensors")), "token");
        let file = format!("cpu/prefill.{setting}.hlo");
        let ours = results_in(&folder, &weights, (&file, 1), "xla-cpu/default/as-compiled", &window, 32);
        assert_eq!(ours[0].data().to_i64s(), theirs.unwrap().data().to_i64s(), "{setting}");
    }
}

/// Greedy: what follows 64 prompts, 32 tokens each.
#[test]
fn xla_cpu_generates_these_tokens() {
    let prompts = safetensors::read_one(&folder().join("tokens.safetensors"), "prompts").unwrap();
    for setting in ["excess_on", "excess_off"] {
        let path = folder().join(format!("cpu/generate.{setting}.tokens.safetensors"));
        let theirs = safetensors::read_one(&path, "generated").unwrap().data().to_i64s();
        let ours = tokens(&format!("cpu/generate.{setting}.hlo"), "xla-cpu/default/as-compiled", &prompts, 8, 0);
        assert_eq!(differing(&ours, &theirs), [0usize; 0], "{setting}");
    }
}

/// log p of the first eight sequences: a training step, a decode through a cache and a prefill, four sequences at a time.
#[test]
fn xla_cpu_gives_tokens_these_log_probabilities() {
    let text = safetensors::read_one(&folder().join("tokens.safetensors"), "sequences").unwrap().rows(0..8);
    for (program, setting) in [
        ("train", "excess_on"),
        ("decode", "excess_on"),
        ("decode", "excess_off"),
        ("prompt", "excess_on"),
        ("prompt", "excess_off"),
    ] {
        let path = folder().join(format!("cpu/{program}.{setting}.log_p.safetensors"));
        let theirs = safetensors::read_one(&path, "log_p").unwrap().rows(0..8);
        let parts = results(&format!("cpu/{program}.{setting}.hlo"), "xla-cpu/default/as-compiled", &text, 4, 0);
        let ours: Vec<u64> = parts.iter().flat_map(|part| (0..part.len()).map(|at| part.data().bits(at))).collect();
        let theirs: Vec<u64> = (0..theirs.len()).map(|at| theirs.data().bits(at)).collect();
        assert_eq!(ours.len(), theirs.len());
        let differing = (0..ours.len()).filter(|at| ours[*at] != theirs[*at]).count();
        assert_eq!(differing, 0, "{program} {setting}");
    }
}
