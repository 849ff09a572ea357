//! `trsm`: triangular systems, block by block.

use std::ops::Range;

use crate::num::flush_f32;

use super::chains::{chain, less};

/// Unknowns whose products one pass of the matrix product takes (`GEMM_Q`).
const PASS: usize = 448;

/// A system of unknowns in order, of which each is known from those before it, or from those behind it.
pub struct System<'a> {
    /// The factor in the row of the first unknown of the second one.
    pub factor: &'a dyn Fn(usize, usize) -> f32,
    /// Last factor of each unknown: 1 over its diagonal element.
    pub inverses: Vec<f32>,
    /// Whether the first unknown is known first.
    pub forward: bool,
    /// Unknowns of a block (`GEMM_UNROLL_M` or `_N`): those left over are blocks of half as many, and so on.
    pub block: usize,
    /// Whether passes are counted off from the last unknown.
    pub from_last: bool,
}

impl System<'_> {
    /// The unknowns, in place of the right-hand side.
    pub fn solve(&self, x: &mut [f32]) {
        let passes = self.ordered(passes(x.len(), self.from_last));
        for (number, pass) in passes.iter().enumerate() {
            for block in self.ordered(blocks(pass.clone(), self.block)) {
                let known = if self.forward { pass.start..block.start } else { block.end..pass.end };
                block.clone().for_each(|row| self.take(x, row, known.clone()));
                for row in self.ordered(block.clone()) {
                    x[row] = flush_f32(x[row] * self.inverses[row]);
                    let others = if self.forward { row + 1..block.end } else { block.start..row };
                    others.for_each(|other| x[other] = less(x[other], x[row], (self.factor)(other, row)));
                }
            }
            for row in passes[number + 1..].iter().cloned().flatten() {
                self.take(x, row, pass.clone());
            }
        }
    }

    /// Subtracts the products of known unknowns from a row.
    fn take(&self, x: &mut [f32], row: usize, known: Range<usize>) {
        if !known.is_empty() {
            x[row] = flush_f32(x[row] - chain(known.map(|at| (x[at], (self.factor)(row, at)))));
        }
    }

    fn ordered<T>(&self, parts: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut parts: Vec<T> = parts.into_iter().collect();
        if !self.forward {
            parts.reverse();
        }
        parts
    }
}

/// The unknowns of each pass.
fn passes(count: usize, from_last: bool) -> Vec<Range<usize>> {
    let first = if from_last { count % PASS } else { 0 };
    let others = (first..count).step_by(PASS).map(|start| start..count.min(start + PASS));
    std::iter::once(0..first).chain(others).filter(|pass| !pass.is_empty()).collect()
}

/// The blocks of a pass.
fn blocks(pass: Range<usize>, mut size: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = pass.start;
    while start < pass.end {
        while pass.end - start < size {
            size /= 2;
        }
        blocks.push(start..start + size);
        start += size;
    }
    blocks
}
