use crate::explore::tests::{built, drawn, settings};
use crate::explore::{Outcome, permitted};
use crate::ir::{Binary, Builder, Compare, Op, Program};
use crate::machine::{Prepared, Replay};
use crate::tensor::DType;

use super::*;

/// The answers of the first enclosure, in blocks and of all rows at once, and the number of blocks.
fn answers(spec: &str, n: usize, families: &[&str]) -> ([FirstEnclosure; 2], usize) {
    answers_of(&built(spec, n), families)
}

fn answers_of(program: &Program, families: &[&str]) -> ([FirstEnclosure; 2], usize) {
    let settings = settings("v5e/default/off", families);
    let arguments = drawn(program, "normal", 3);
    let choices = permitted(program, &settings);
    let outcome = Outcome::new(&choices.program, &[]).unwrap();
    let prepared = Prepared::new(&choices.program);
    let replay = Replay::new(&prepared, &settings.mode, &prepared.bind(&arguments).unwrap()).unwrap();
    let declared = outcome.tensors(&replay).unwrap();
    let steps = decision::steps(&choices, &outcome);
    let fixed = vec![None; choices.points.len()];
    let mut blocks = 0;
    let found = [false, true].map(|is_whole| {
        let mut proof = Proof::new(&choices, &arguments, (&outcome, &declared), &settings);
        if is_whole {
            proof.blocks = RowBlocks::whole(&choices.program, &outcome);
        } else {
            let all: Vec<usize> = (0..outcome.rows).collect();
            blocks = proof.blocks.with(&all, &arguments).count();
        }
        proof.first(&fixed, (&steps, &replay), true).unwrap()
    });
    (found, blocks)
}

/// The last block is shorter than the others. Some rows stay open, and each has its decision.
#[test]
fn rows_in_blocks_are_answered_as_all_rows_at_once() {
    let mut open = 0;
    for spec in ["keep_max[rows=11]", "prob_max[rows=11]"] {
        let ([apart, together], blocks) = answers(spec, 8192, &["rounding", "order", "contraction", "algebra"]);
        assert_eq!(blocks, 3, "{spec}");
        assert_eq!((apart.undecided.len(), apart.decisions.len()), (11, 11));
        assert_eq!(apart.undecided, together.undecided, "{spec}");
        assert_eq!(apart.decisions, together.decisions, "{spec}");
        assert!(apart.decisions.iter().all(Option::is_some), "{spec}");
        open += apart.undecided.iter().flatten().count();
    }
    assert!(open > 0 && open < 22, "{open}");
}

/// Few elements are one block, whatever their rows.
#[test]
fn what_the_caches_hold_is_not_cut() {
    let ([apart, together], blocks) = answers("keep_max[rows=16]", 128, &["rounding"]);
    assert_eq!((blocks, apart.undecided), (1, together.undecided));
}

/// A result that has the rows behind another dim of as many elements: only all rows together answer for its own rows.
#[test]
fn rows_that_lie_behind_another_dim_are_not_cut() {
    let rows = 11;
    let mut b = Builder::new("turned");
    let x = b.parameter("x", DType::BF16, &[rows, 8192]).unwrap();
    let token = b.argmax(x, 1).unwrap();
    let part = b.op(Op::Slice { start: vec![0, 0], limit: vec![rows, rows], stride: vec![1, 1] }, &[x]).unwrap();
    let doubled = b.binary(Binary::Add, part, part).unwrap();
    let is_larger = b.compare(Compare::Gt, doubled, part).unwrap();
    let turned = b.op(Op::Transpose { permutation: vec![1, 0] }, &[is_larger]).unwrap();
    let program = b.finish(&[("token", token), ("turned", turned)]).unwrap();
    let ([apart, together], blocks) = answers_of(&program, &["rounding"]);
    assert_eq!((blocks, apart.undecided), (1, together.undecided));
    let straight = {
        let mut program = program.clone();
        program.computations[program.entry].instructions[turned].op = Op::Copy;
        program
    };
    assert_eq!(answers_of(&straight, &["rounding"]).1, 3);
}
