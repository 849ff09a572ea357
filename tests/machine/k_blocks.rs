//! Cuts of K against what a v5e printed (FACTS 10.1).
//!
//! [TPU] JAX's `docs/pallas/tpu/sparse.ipynb`: bf16 [16384,16384] squared, normal numbers, half of the outputs masked. Pallas' kernel
//! adds up the results of 16 blocks of K in order; its mean difference from XLA's one dot is printed as 1.0252e-05.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Op, Tiling};
use ulpgate::machine::Mode;
use ulpgate::machine::mxu::{Passes, matmul};
use ulpgate::tensor::{DType, Data};

const K: usize = 16384;
const BLOCK: usize = 1024;
/// Rows and columns of the outputs that are looked at.
const SIDE: usize = 64;
const PRINTED: f64 = 1.0252e-05;

/// Normal numbers, rounded to bf16.
fn normal(count: usize, mut state: u64) -> Vec<f32> {
    let mut uniform = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        ((state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 + 0.5) / 2f64.powi(53)
    };
    let drawn = (0..count).map(|_| ((-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()) as f32);
    Data::from_f32s(DType::BF16, drawn.collect()).unwrap().to_f32s()
}

/// A dot of these operands whose plan cuts K into blocks of 1024.
fn dot(lhs: &[f32], rhs: &[f32], k: usize, mode: &str) -> Vec<f32> {
    let mode: Mode = mode.parse().unwrap();
    let mut out = vec![0.0; SIDE * SIDE];
    let unit = mode.matrix_unit_for(Some(&Tiling::of_k_block(BLOCK)));
    matmul(lhs, rhs, [SIDE, k, SIDE], Passes::Exact, &unit, &mut out);
    out
}

/// The mean difference of one dot and of 16 that are added, half of the outputs masked, and its sampling error.
fn difference(lhs: &[f32], rhs: &[f32], acc: &str) -> [f64; 2] {
    let mode = format!("v5e/default/off+acc={acc}");
    let one = dot(lhs, rhs, K, &mode);
    let mut sixteen = vec![0.0f32; SIDE * SIDE];
    for start in (0..K).step_by(BLOCK) {
        let left: Vec<f32> = lhs.chunks(K).flat_map(|row| &row[start..start + BLOCK]).copied().collect();
        let block = dot(&left, &rhs[start * SIDE..(start + BLOCK) * SIDE], BLOCK, &mode);
        sixteen.iter_mut().zip(block).for_each(|(sum, block)| *sum += block);
    }
    let count = one.len() as f64;
    let apart: Vec<f64> = one.iter().zip(&sixteen).map(|(a, b)| f64::from((a - b).abs()) / 2.0).collect();
    let mean = apart.iter().sum::<f64>() / count;
    let variance = apart.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count;
    [mean, (variance / count).sqrt()]
}

/// One sum that goes on across the blocks is what was printed, up to three sampling errors; blocks that start anew would print 0, and
/// one chain over all of K six times as much.
#[test]
fn a_v5e_goes_on_across_blocks_of_k() {
    let (lhs, rhs) = (normal(SIDE * K, 1), normal(K * SIDE, 2));
    for acc in ["running", "block"] {
        let [mean, error] = difference(&lhs, &rhs, acc);
        assert!(error < 0.02 * PRINTED, "{error:e}");
        assert!((mean - PRINTED).abs() < 3.0 * error, "acc={acc}: {mean:e} +- {error:e}");
    }
    assert_eq!(difference(&lhs, &rhs, "tiled")[0], 0.0);
    let [chain, _] = difference(&lhs, &rhs, "chain");
    assert!(chain > 5.0 * PRINTED, "{chain:e}");
}

/// XLA's own plan for that dot cuts K into the same blocks (libtpu 0.0.42.1).
#[test]
fn the_plan_has_16_blocks() {
    let text = include_str!("../data/tiling/v5e_dot_k16384.hlo");
    let program = lower(&parse(text).unwrap()).unwrap().program;
    let is_dot = |instruction: &&ulpgate::ir::Instruction| matches!(instruction.op, Op::Dot { .. });
    let dots: Vec<_> = program.entry().instructions.iter().filter(is_dot).collect();
    let [dot] = dots[..] else { panic!("{} dots", dots.len()) };
    assert!(dot.on_matrix_unit());
    assert_eq!(dot.tiling().unwrap().cut(K).to_string(), "K in 16 blocks of 1024");
}
