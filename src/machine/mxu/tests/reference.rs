//! The plain definition: one output after the other, every rounding written out, with MPFR where f32 operations do not
//! round as declared.

use rug::Float;
use rug::float::Round;

use crate::mxu::split::split;
use crate::mxu::{Accumulation, Passes, Unit};
use crate::num::flush_f32;

/// Numbers with which any sum of a few thousand f32 products is exact.
const BITS: u32 = 700;

#[derive(Clone, Copy, PartialEq)]
enum Products {
    Exact,
    Rounded,
    Flushed,
    FusedFlushed,
}

/// The product, rounded, truncated or exact.
pub fn matmul(lhs: &[f32], rhs: &[f32], [m, k, n]: [usize; 3], passes: Passes, unit: &Unit) -> Vec<f32> {
    let mut out = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let row: Vec<f32> = (0..k).map(|l| lhs[i * k + l]).collect();
            let column: Vec<f32> = (0..k).map(|l| rhs[l * n + j]).collect();
            let value = output(&row, &column, passes, unit);
            out.push(if value.is_nan() { f32::NAN } else { value });
        }
    }
    out
}

/// One output; where K is cut, the sum of its stretches' outputs.
fn output(row: &[f32], column: &[f32], passes: Passes, unit: &Unit) -> f32 {
    let tiled = unit.accumulation == Accumulation::Tiled;
    let cut = unit.k_block.map(|cut| cut.get()).filter(|_| tiled).unwrap_or(usize::MAX).min(row.len().max(1));
    let running = unit.accumulation == Accumulation::Running;
    let accumulation = if tiled || running { Accumulation::Block } else { unit.accumulation };
    // Where one sum goes on, only blocks end at the cuts.
    let whole = Unit { accumulation, k_block: unit.k_block.filter(|_| running), ..*unit };
    if row.is_empty() {
        return stretch(row, column, passes, &whole);
    }
    let stretches = row.chunks(cut).zip(column.chunks(cut)).map(|(a, b)| stretch(a, b, passes, &whole));
    let sum = stretches.reduce(|sum, part| sum + part).unwrap();
    if sum.is_nan() { f32::NAN } else { sum }
}

fn stretch(row: &[f32], column: &[f32], passes: Passes, unit: &Unit) -> f32 {
    let parts = |values: &[f32], count: usize, part: usize| -> Vec<f32> {
        values.iter().map(|v| split(*v, count, unit.split)[part]).collect()
    };
    // Only chains of additions have instructions for it.
    let fused = unit.fused && matches!(unit.accumulation, Accumulation::Block | Accumulation::Chain);
    let (count, pairs): (usize, &[(usize, usize)]) = match passes {
        Passes::F32 if unit.flush => {
            let flushed = |values: &[f32]| values.iter().map(|v| flush_f32(*v)).collect::<Vec<_>>();
            let products = if fused { Products::FusedFlushed } else { Products::Flushed };
            return dot(&flushed(row), &flushed(column), products, unit);
        }
        Passes::F32 if fused => return dot(row, column, Products::Exact, unit),
        Passes::F32 => return dot(row, column, Products::Rounded, unit),
        Passes::Exact => return dot(row, column, Products::Exact, unit),
        Passes::One => (1, &[(0, 0)]),
        Passes::Three => (2, &[(1, 0), (0, 1), (0, 0)]),
        Passes::Six => (3, &[(1, 1), (0, 2), (2, 0), (0, 1), (1, 0), (0, 0)]),
    };
    let mut total = None;
    for (at, (left, right)) in pairs.iter().enumerate() {
        let pass = dot(&parts(row, count, *left), &parts(column, count, *right), Products::Exact, unit);
        total = Some(match total {
            None => pass,
            Some(sum) if at + 1 == pairs.len() && f32::is_nan(sum) => pass,
            Some(sum) => sum + pass,
        });
    }
    total.unwrap()
}

fn dot(a: &[f32], b: &[f32], products: Products, unit: &Unit) -> f32 {
    let block = if unit.accumulation == Accumulation::Chain { usize::MAX } else { unit.block.get() };
    let settle = |v: f32| if matches!(products, Products::Flushed | Products::FusedFlushed) { flush_f32(v) } else { v };
    // A fused chain that flushes is what its last step gives.
    let is_chain = unit.accumulation == Accumulation::Chain && !a.is_empty();
    let mut sum = if is_chain && products == Products::FusedFlushed { -0.0 } else { 0.0 };
    let whole = a.len().max(1);
    let cut = unit.k_block.map_or(whole, |cut| cut.get().min(whole));
    let blocks = |of: &[f32]| -> Vec<Vec<f32>> {
        of.chunks(cut).flat_map(|of| of.chunks(block.min(whole))).map(<[f32]>::to_vec).collect()
    };
    for (a, b) in blocks(a).iter().zip(&blocks(b)) {
        // Every product as a number that f64 holds.
        let terms: Vec<f64> = a.iter().zip(b).map(|(a, b)| product(*a, *b, products)).collect();
        let part = match unit.accumulation {
            Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain => {
                terms.iter().fold(0.0, |sum, term| settle(rounded(&[f64::from(sum), *term], Round::Nearest)))
            }
            Accumulation::Trunc => {
                terms.iter().fold(0.0, |sum, term| settle(rounded(&[f64::from(sum), *term], Round::Zero)))
            }
            Accumulation::Exact => settle(rounded(&[&[0.0], &terms[..]].concat(), Round::Nearest)),
            Accumulation::Pairwise => tree(&terms, settle),
        };
        let round = if unit.accumulation == Accumulation::Trunc { Round::Zero } else { Round::Nearest };
        sum = settle(rounded(&[f64::from(sum), f64::from(part)], round));
    }
    sum
}

fn product(a: f32, b: f32, products: Products) -> f64 {
    match products {
        Products::Exact | Products::FusedFlushed => f64::from(a) * f64::from(b),
        Products::Rounded => f64::from(a * b),
        Products::Flushed => f64::from(flush_f32(a * b)),
    }
}

fn tree(terms: &[f64], settle: impl Fn(f32) -> f32) -> f32 {
    let mut level: Vec<f64> = terms.to_vec();
    loop {
        level = level.chunks(2).map(|pair| f64::from(settle(rounded(pair, Round::Nearest)))).collect();
        if level.len() == 1 {
            return level[0] as f32;
        }
    }
}

/// The exact sum, rounded once to f32; a zero is negative only if all terms are negative zeros (IEEE 754-2019, 6.3).
fn rounded(terms: &[f64], round: Round) -> f32 {
    if terms.iter().any(|t| !t.is_finite()) {
        return terms.iter().filter(|t| !t.is_finite()).sum::<f64>() as f32;
    }
    if terms.iter().all(|t| t.to_bits() == (-0.0f64).to_bits()) {
        return -0.0;
    }
    let exact = terms.iter().fold(Float::with_val(BITS, 0), |sum, term| sum + term);
    if exact.is_zero() { 0.0 } else { exact.to_f32_round(round) }
}
