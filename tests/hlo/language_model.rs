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

/// The tokens that a program of the folder gives for `first`, in parts of `rows`.
fn tokens(file: &str, mode: &str, first: &Tensor, rows: usize, output: usize) -> Vec<i64> {
    let program = program(&std::fs::read_to_string(folder().join(file)).unwrap());
    let tensor = |name: &&str| safetensors::read_one(&folder().join("decoder.safetensors"), name).unwrap();
    let mut arguments: Vec<Option<Tensor>> = vec![None];
    arguments.extend(WEIGHTS.iter().map(tensor).map(Some));
    let (held, prepared) = (Held::new(&arguments), Prepared::new(&program));
    let mode: Mode = mode.parse().unwrap();
    let mut tokens = Vec::new();
    for start in (0..first.dims()[0]).step_by(rows) {
        arguments[0] = Some(first.rows(start..start + rows));
        let given: Vec<Tensor> = arguments.iter().flatten().cloned().collect();
        let results = prepared.evaluate(&mode, &prepared.bind_beside(&held, &given).unwrap()).unwrap();
        tokens.extend(results[output].data().to_i64s());
    }
    tokens
}

/// Where two lists of tokens differ.
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
