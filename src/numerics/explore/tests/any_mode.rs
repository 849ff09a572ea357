//! Rows that are proven under any mode, held to modes and choices.

use crate::machine::{self, CHIPS, Mode, PRECISIONS, REFINEMENTS};
use crate::tensor::Tensor;

use super::super::{Answer, Settings, explore};
use super::{Draw, built, drawn};

/// Any chip at any precision with any refinements, but no fault.
fn any_mode(draw: &mut Draw) -> Mode {
    let chip = CHIPS[draw.below(CHIPS.len())].name;
    let mut text = format!("{chip}/{}/off", PRECISIONS[draw.below(PRECISIONS.len())].name);
    for row in REFINEMENTS.iter().filter(|row| row.key != "fault") {
        let values = (row.values)(CHIPS);
        if draw.below(2) == 0 {
            text.push_str(&format!("+{}={}", row.key, values[draw.below(values.len())].0));
        }
    }
    text.parse().unwrap()
}

/// Rows that are proven under any mode keep their outcome through so many draws of a mode and a choice for each program; says
/// how many rows were held to it how often, and how many rows there were.
fn changes_of_mode(rounds: usize) -> [usize; 3] {
    let mut draw = Draw(7 << 40);
    let [mut proven, mut changes, mut rows] = [0; 3];
    for (spec, n) in [
        ("greedy_head[d=32]", 64),
        ("greedy_head[d=96,dtype=f32]", 24),
        ("router[d=32]", 8),
        ("prob_max[rows=8]", 64),
        ("top_k[rows=8,k=4]", 48),
        ("keep_max[rows=8,guard=reduce_precision]", 32),
        ("top_p[rows=8]", 6),
        ("sampler[rows=8]", 24),
    ] {
        let program = built(spec, n);
        for (seed, input) in ["normal", "logits", "ties"].into_iter().enumerate() {
            let arguments = drawn(&program, input, seed as u64);
            let own = Settings::new("v5e/default/off".parse().unwrap());
            let settings = Settings { any_mode: true, choices: 16, enclosures: 1, ..own };
            let found = explore(&program, &arguments, &[], &settings).unwrap();
            let is_proven = |row: &usize| matches!(found.answers[*row], Answer::Proven { .. });
            let stable: Vec<usize> = (0..found.answers.len()).filter(is_proven).collect();
            for _ in 0..if stable.is_empty() { 0 } else { rounds } {
                let taken: Vec<usize> = found.choices.points.iter().map(|p| draw.below(p.options())).collect();
                let mode = any_mode(&mut draw);
                let results = machine::evaluate(&found.choices.take(&taken), &mode, &arguments).unwrap();
                for (output, declared) in found.outputs.iter().zip(&found.declared) {
                    let width = declared.len() / found.answers.len();
                    let bits = |tensor: &Tensor, row: usize| -> Vec<u64> {
                        (row * width..(row + 1) * width).map(|at| tensor.data().bits(at)).collect()
                    };
                    for row in &stable {
                        let (now, then) = (bits(&results[*output], *row), bits(declared, *row));
                        assert_eq!(now, then, "{spec} {input} row {row} in {mode}, {taken:?}");
                    }
                }
                changes += stable.len();
            }
            proven += stable.len();
            rows += found.answers.len();
        }
    }
    [changes, proven, rows]
}

/// A certificate that a row is stable is one: whatever chip, precision, order or rounding, its tokens stay.
#[test]
fn rows_proven_under_any_mode_never_flip() {
    let [changes, proven, rows] = changes_of_mode(20);
    assert!(changes > 1000 && 4 * proven > rows, "{changes} changes, {proven} of {rows} rows");
}

/// The same, a million times.
#[test]
#[ignore = "takes minutes"]
fn rows_proven_under_any_mode_never_flip_in_a_million_changes() {
    let [changes, proven, rows] = changes_of_mode(16_000);
    println!("{changes} changes of mode over {proven} of {rows} rows");
    assert!(changes >= 1_000_000, "{changes}");
}
