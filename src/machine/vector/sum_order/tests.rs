//! Orders against sums written out by hand, and against bits of jaxlib.

use std::ops::Range;

use super::super::{Divide, ErrorModel, Estimate, Eup, Implementation, ZeroTie, binary_scalar};
use super::*;
use crate::ir::Binary;

const UNIT: VectorUnit = VectorUnit {
    flush: false,
    divide: Divide::Exact,
    zero_tie: ZeroTie::Second,
    eup: Eup::V5,
    implementation: Implementation::Default,
    packed: false,
    error: ErrorModel::CorrectlyRounded,
    estimate: Estimate::Zen4,
};

/// The running sums of one row.
fn running_sum(row: &[f32], order: ScanOrder, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
    running_sums(row, row.len(), order, step, unit)
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).fract() + 0.01).collect()
}

fn add(a: f32, b: f32) -> f32 {
    binary_scalar(Binary::Add, a, b, &UNIT)
}

#[test]
fn short_rows_are_summed_in_order() {
    let row = values(32);
    let chain = row[1..].iter().fold(row[0], |s, v| add(s, *v));
    for order in [SumOrder::Chain, SumOrder::Tree32] {
        assert_eq!(sum(&row, order, StepRounding::F32, &UNIT), chain);
    }
    assert_eq!(sum(&[], SumOrder::Lanes, StepRounding::F32, &UNIT), 0.0);
}

/// Bits that jaxlib 0.10.2 gives on a CPU for `lax.reduce(x, 0., lax.add, (0,))`.
#[test]
fn trees_have_the_bits_of_a_cpu() {
    let measured =
        [(33, 0x4109_4a9f), (100, 0x41c9_4dcd), (1000, 0x437a_5b1d), (1025, 0x4380_149f), (3000, 0x443b_8f6a)];
    for (count, bits) in measured {
        let row: Vec<f32> = (0..count).map(|i| ((i * 7919) % 10_007) as f32 / 10_007.0 - 0.25).collect();
        assert_eq!(sum(&row, SumOrder::Tree32, StepRounding::F32, &UNIT).to_bits(), bits, "{count}");
    }
}

/// jaxlib 0.10.2 on a CPU gives +0 for the sum and the running sums of negative zeros.
#[test]
fn negative_zeros_sum_to_zero() {
    for order in SumOrder::ALL {
        assert!(sum(&[-0.0; 40], *order, StepRounding::F32, &UNIT).is_sign_positive(), "{order:?}");
    }
    for order in ScanOrder::ALL {
        let sums = running_sum(&[-0.0; 40], *order, StepRounding::F32, &UNIT);
        assert!(sums.iter().all(|s| s.is_sign_positive()), "{order:?}");
    }
}

#[test]
fn lanes_meet_as_written_out() {
    let row = values(3000);
    let lane = |l: usize| {
        let column = |s: usize| (s * 128 + l..3000).step_by(1024).map(|i| row[i]).reduce(add).unwrap_or(0.0);
        (1..8).fold(column(0), |sum, s| add(sum, column(s)))
    };
    let mut lanes: Vec<f32> = (0..128).map(lane).collect();
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|i| add(lanes[i], lanes[i + half])).collect();
    }
    assert_eq!(sum(&row, SumOrder::Lanes, StepRounding::F32, &UNIT), lanes[0]);
}

/// Columns of every order against rows, over numbers that cancel, zeros of both signs and subnormals, for lengths on both sides of
/// a window, a register and its lanes, and for more columns than a vector has.
#[test]
fn columns_are_summed_as_rows() {
    let number = |i: usize| match i * 7919 % 11 {
        0 => -0.0,
        1 => f32::from_bits((i * 104_729 % 0x0080_0000) as u32 | (i as u32 & 1) << 31),
        2 => -f32::MIN_POSITIVE * 1.5,
        _ => ((i * 7919) % 10_007) as f32 / 10_007.0 - 0.5,
    };
    for (count, columns) in [(0, 3), (1, 1), (32, 17), (33, 40), (130, 16), (576, 33), (1024, 2), (2500, 19)] {
        let values: Vec<f32> = (0..count * columns).map(number).collect();
        for order in SumOrder::ALL {
            for (step, flush) in [StepRounding::F32, StepRounding::Bf16, StepRounding::F16]
                .into_iter()
                .flat_map(|step| [false, true].map(|flush| (step, flush)))
            {
                let unit = VectorUnit { flush, ..UNIT };
                let rows = |rows: Range<usize>| Ok::<_, ()>(&values[rows.start * columns..rows.end * columns]);
                for at_once in [1, 7, 200] {
                    let sums = column_sums([count, columns], at_once, (*order, step), &unit, rows);
                    for (column, found) in sums.unwrap().into_iter().enumerate() {
                        let row: Vec<f32> = values.iter().skip(column).step_by(columns).copied().collect();
                        let expected = sum(&row, *order, step, &unit);
                        let what = format!("{order:?} {step:?} {flush} {count} x {columns}, {at_once} at once");
                        assert_eq!(found.to_bits(), expected.to_bits(), "{what}");
                    }
                }
            }
        }
    }
    let failing = (SumOrder::Lanes, StepRounding::F32);
    assert_eq!(column_sums([200, 1], 3, failing, &UNIT, |rows| Err::<&[f32], _>(rows.end).map_err(|_| ())), Err(()));
}

#[test]
fn blocked_scans_add_the_blocks_before() {
    let row = values(100);
    let inner = |b: usize, i: usize| row[b * 16 + 1..=i].iter().fold(row[b * 16], |s, v| add(s, *v));
    let totals: Vec<f32> = (0..7).map(|b| inner(b, (b * 16 + 15).min(99))).collect();
    let got = running_sum(&row, ScanOrder::Blocked(16), StepRounding::F32, &UNIT);
    for (i, value) in got.iter().enumerate() {
        let b = i / 16;
        let own = inner(b, i);
        let before = (b > 0).then(|| totals[1..b].iter().fold(totals[0], |s, t| add(s, *t)));
        assert_eq!(*value, before.map_or(own, |t| add(own, t)), "{i}");
    }
}

/// Rows side by side give what each gives alone, in numbers that do and do not fill the groups.
#[test]
fn rows_together_are_rows_alone() {
    let (count, width) = (11, 83);
    let values = values(count * width);
    for step in &[StepRounding::F32, StepRounding::Bf16, StepRounding::F16] {
        for order in SumOrder::ALL {
            let alone: Vec<f32> = values.chunks(width).map(|row| sum(row, *order, *step, &UNIT)).collect();
            assert_eq!(sums(&values, count, width, *order, *step, &UNIT), alone, "{order:?}");
        }
        for order in ScanOrder::ALL {
            let alone: Vec<f32> = values.chunks(width).flat_map(|row| running_sum(row, *order, *step, &UNIT)).collect();
            assert_eq!(running_sums(&values, width, *order, *step, &UNIT), alone, "{order:?}");
        }
    }
}

/// A bf16 chain of ones stops at 256; in blocks of 16 it does not (FACTS 3.11).
#[test]
fn a_bf16_chain_saturates_and_blocks_do_not() {
    let ones = vec![1.0f32; 1000];
    assert_eq!(sum(&ones, SumOrder::Chain, StepRounding::Bf16, &UNIT), 256.0);
    assert_eq!(sum(&ones, SumOrder::Tree32, StepRounding::Bf16, &UNIT), 1000.0);
    let last = |order| running_sum(&ones, order, StepRounding::Bf16, &UNIT)[999];
    assert_eq!(last(ScanOrder::Sequential), 256.0);
    assert_eq!(last(ScanOrder::Blocked(16)), 1000.0);
}
