use std::collections::BTreeSet;

use crate::explore::tests::{built, drawn, settings};
use crate::explore::{Outcome, permitted};
use crate::ir::{Binary, Builder, Compare, Op, Program, Unary, ValueId};
use crate::machine::{Prepared, Replay};
use crate::tensor::{DType, Data, Tensor};

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

/// Every assignment of options to these points, the others left open.
fn assignments(choices: &Choices, points: &[usize]) -> Vec<Vec<Option<usize>>> {
    let mut all = vec![vec![None; choices.points.len()]];
    for point in points {
        let with = |fixed: &Vec<Option<usize>>, option| {
            let mut fixed = fixed.clone();
            fixed[*point] = Some(option);
            fixed
        };
        all = all
            .iter()
            .flat_map(|fixed| (0..choices.points[*point].options()).map(move |option| with(fixed, option)))
            .collect();
    }
    all
}

/// Rows of two numbers, each squared in bf16 and compared by two readers, which read it rounded or wide. With a factor of 1.87
/// either comparison gives the same; with 1.872 the one of 137 / 128 is true where it is read wide. The result is the first
/// comparison where the second one is false.
fn two_squares(rows: usize, factors: [f64; 2]) -> (Program, Vec<Tensor>) {
    let mut b = Builder::new("squares");
    let compared = |b: &mut Builder, x: ValueId, factor: f64| {
        let square = b.binary(Binary::Multiply, x, x).unwrap();
        let wide = b.convert(square, DType::F32).unwrap();
        let [one, factor] = [1.0, factor].map(|value| {
            let scalar = b.constant(DType::F32, value).unwrap();
            b.splat(scalar, &[rows, 1]).unwrap()
        });
        let (more, times) = (b.binary(Binary::Add, wide, one), b.binary(Binary::Multiply, wide, factor));
        b.compare(Compare::Ge, more.unwrap(), times.unwrap()).unwrap()
    };
    let [x, y] = ["x", "y"].map(|name| b.parameter(name, DType::BF16, &[rows, 1]).unwrap());
    let [one, other] = [(x, factors[0]), (y, factors[1])].map(|(x, factor)| compared(&mut b, x, factor));
    let other = b.unary(Unary::Not, other).unwrap();
    let both = b.binary(Binary::And, one, other).unwrap();
    let program = b.finish(&[("both", both)]).unwrap();
    let numbers = |of: fn(usize) -> usize| {
        let numbers: Vec<f64> = (0..rows).map(|row| (132 + of(row)) as f64 / 128.0).collect();
        Tensor::new(&[rows, 1], Data::from_f64s(DType::BF16, &numbers).unwrap())
    };
    (program, vec![numbers(|row| row % 9), numbers(|row| row / 9)])
}

/// Sums of f32 that are used as bf16, compared with a number.
fn narrow_sums(rows: usize) -> (Program, Vec<Tensor>) {
    let mut b = Builder::new("sums");
    let x = b.parameter("x", DType::BF16, &[rows, 16]).unwrap();
    let wide = b.convert(x, DType::F32).unwrap();
    let sum = b.reduce(Binary::Add, wide, 0.0, &[1]).unwrap();
    let sum = b.convert(sum, DType::BF16).unwrap();
    let limit = b.constant(DType::BF16, 12.0).unwrap();
    let limit = b.splat(limit, &[rows]).unwrap();
    let is_above = b.compare(Compare::Gt, sum, limit).unwrap();
    let program = b.finish(&[("is_above", is_above)]).unwrap();
    let arguments = drawn(&program, "positive", 3);
    (program, arguments)
}

/// A split leaves the rows that some assignment of options leaves open, and no others; one that runs out of enclosures leaves more.
#[test]
fn a_split_leaves_what_some_assignment_leaves_open() {
    let families = ["rounding", "narrowing", "accumulation"];
    let (mut left_open, mut proven) = (0, 0);
    for (program, arguments) in [two_squares(81, [1.872; 2]), two_squares(81, [1.87, 1.872]), narrow_sums(32)] {
        let mut settings = settings("v5e/default/off", &families);
        let choices = permitted(&program, &settings);
        let outcome = Outcome::new(&choices.program, &[]).unwrap();
        let prepared = Prepared::new(&choices.program);
        let replay = Replay::new(&prepared, &settings.mode, &prepared.bind(&arguments).unwrap()).unwrap();
        let declared = outcome.tensors(&replay).unwrap();
        let all: Vec<usize> = (0..outcome.rows).collect();
        let none = vec![None; choices.points.len()];
        let mut proof = Proof::new(&choices, &arguments, (&outcome, &declared), &settings);
        let order = proof.order.clone();
        let mut open_rows = |fixed: &[Option<usize>]| {
            let mut open = Vec::new();
            let mut take = |kept: &Enclosures, rows: Range<usize>| {
                let undecided = outcome.count_undecided((kept, &rows), &declared);
                open.extend(rows.zip(undecided).filter(|(_, count)| count.is_some()).map(|(row, _)| row));
                Ok(())
            };
            proof.enclose(fixed, (&outcome.values, &all), &mut take).unwrap();
            open
        };
        let open = open_rows(&none);
        let leaves = assignments(&choices, &order);
        let expected: BTreeSet<usize> = leaves.iter().flat_map(|fixed| open_rows(fixed)).collect();
        (left_open, proven) = (left_open + expected.len(), proven + open.len() - expected.len());
        for most in (1..=leaves.len()).chain([usize::MAX]) {
            settings.enclosures = most;
            let mut proof = Proof::new(&choices, &arguments, (&outcome, &declared), &settings);
            let (mut fixed, mut parts) = (none.clone(), vec![0; outcome.rows]);
            let left = proof.split(&mut fixed, 0, &open, &mut parts).unwrap();
            assert!(proof.taken <= most, "{} of {most}", proof.taken);
            let is_left = |row: &usize| left.contains(row);
            assert!(expected.iter().all(is_left), "of {most}: {left:?}, not {expected:?}");
            // A row that one enclosure leaves open takes one of each option at least.
            assert!(open.iter().all(|row| is_left(row) || parts[*row] > 1), "of {most}: {parts:?}");
            if most == usize::MAX {
                assert_eq!((left.into_iter().collect(), fixed), (expected.clone(), none.clone()));
            }
        }
    }
    assert!(left_open > 3 && proven > 2, "{left_open} left open, {proven} proven");
}
