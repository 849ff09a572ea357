//! A matrix unit and what it computes.

use std::num::NonZeroUsize;

use crate::num::flush_f32;

use super::blocks::{Problem, add};
use super::split::split;
use super::{Accumulation, Instructions, Passes, Split};

/// A matrix unit as one mode has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// Products that are summed before a block's sum joins the others.
    pub block: NonZeroUsize,
    /// The order and rounding of additions.
    pub accumulation: Accumulation,
    /// The split of f32 operands into bf16 parts.
    pub split: Split,
    /// Whether f32 products and all their sums flush subnormals and take subnormal operands for zeros, as a CPU's may
    /// (FACTS 3.4). Whether a matrix unit does is not public; bf16 passes keep them (modelling choice).
    pub flush: bool,
    /// Whether f32 products are added before they are rounded, where additions are chains: with one fused
    /// multiply-add after the other all results of jaxlib's f32 dots on a CPU come out (`tests/data/hlo/cpu/matmul_*`).
    pub fused: bool,
    /// Products between which [`Accumulation::Tiled`] and [`Accumulation::Running`] cut K; none where it is not cut.
    pub k_block: Option<NonZeroUsize>,
}

impl Unit {
    /// The unit with as much of the cut as changes bits of a sum of `k` products; without a cut it sums in plain blocks. One sum
    /// that goes on does so whatever cuts it, where each stretch is whole blocks.
    pub fn for_products(self, k: usize) -> Unit {
        let is_cut = |cut: &NonZeroUsize| match self.accumulation {
            Accumulation::Tiled => cut.get() < k,
            // A cut between whole blocks changes nothing: a running sum ends a block there anyway.
            Accumulation::Running => cut.get() < k && !cut.get().is_multiple_of(self.block.get()),
            _ => false,
        };
        let k_block = self.k_block.filter(is_cut);
        let accumulation = match self.accumulation {
            Accumulation::Tiled | Accumulation::Running if k_block.is_none() => Accumulation::Block,
            other => other,
        };
        Unit { k_block, accumulation, ..self }
    }
}

/// `[m,k] x [k,n]`, row-major, operands held in f32, into `out`, which holds `[m,n]` and is overwritten.
///
/// Each pass is one dot over all of K in the unit's order, from +0, so that negative zeros alone sum to +0 as they do in
/// XLA; passes are added smallest first (FACTS 2.3). A NaN in the result is `f32::NAN`, whatever made it.
/// The bits do not depend on the instructions that the processor has, nor on the number of threads.
///
/// # Panics
/// If a slice is not as long as its sizes say.
pub fn matmul(lhs: &[f32], rhs: &[f32], sizes: [usize; 3], passes: Passes, unit: &Unit, out: &mut [f32]) {
    matmul_on(Instructions::best(), lhs, rhs, sizes, passes, unit, out);
}

/// [`matmul`] on a chosen set of instructions.
///
/// # Panics
/// If a slice is not as long as its sizes say.
pub fn matmul_on(
    instructions: Instructions,
    lhs: &[f32],
    rhs: &[f32],
    [m, k, n]: [usize; 3],
    passes: Passes,
    unit: &Unit,
    out: &mut [f32],
) {
    assert!(lhs.len() == m * k && rhs.len() == k * n && out.len() == m * n, "slices of [{m},{k}] x [{k},{n}]");
    let unit = &unit.for_products(k);
    let Some(cut) = unit.k_block.map(NonZeroUsize::get) else {
        return Problem { lhs, rhs, m, k, n, passes, unit, is_part: false }.run(instructions, out);
    };
    if unit.accumulation == Accumulation::Running {
        return go_on(instructions, Problem { lhs, rhs, m, k, n, passes, unit, is_part: false }, cut, out);
    }
    // Each stretch starts from +0, as an accumulator of its own; the published sums of Pallas kernels are such (FACTS 2.5).
    let mut stretch = vec![0.0; m * n];
    for start in (0..k).step_by(cut) {
        let end = k.min(start + cut);
        // A stretch of K is rows of the right operand, which lie together, but columns of the left one, which do not.
        let left: Vec<f32> = lhs.chunks(k).flat_map(|row| &row[start..end]).copied().collect();
        let right = &rhs[start * n..end * n];
        let problem = Problem { lhs: &left, rhs: right, m, k: end - start, n, passes, unit, is_part: false };
        if start == 0 {
            problem.run(instructions, out);
            continue;
        }
        problem.run(instructions, &mut stretch);
        for (sum, part) in out.iter_mut().zip(&stretch) {
            let total = *sum + part;
            // The sign and payload of a NaN would be those of the processor that emulates.
            *sum = if total.is_nan() { f32::NAN } else { total };
        }
    }
}

/// A product whose K is cut every `cut` products inside of blocks: each pass has one sum, which the sums of all blocks join in order.
fn go_on(instructions: Instructions, problem: Problem, cut: usize, out: &mut [f32]) {
    let Problem { lhs, rhs, m, k, n, passes, unit, .. } = problem;
    let unit = &Unit { accumulation: Accumulation::Block, ..*unit };
    let flushes = unit.flush && passes == Passes::F32;
    let parts_of = |values: &[f32]| -> Vec<[f32; 3]> {
        let whole = |v: &f32| match passes {
            Passes::F32 | Passes::Exact => [*v, 0.0, 0.0],
            _ => split(*v, passes.parts(), unit.split),
        };
        values.iter().map(whole).collect()
    };
    let (left, right) = (parts_of(lhs), parts_of(rhs));
    // The parts are split already: each pass takes them as they are.
    let in_pass = if passes == Passes::F32 { Passes::F32 } else { Passes::Exact };
    let ends = (0..k).step_by(cut).flat_map(|start| {
        let end = k.min(start + cut);
        (start..end).step_by(unit.block.get().min(k)).map(move |from| (from, end.min(from + unit.block.get().min(k))))
    });
    let blocks: Vec<(usize, usize)> = ends.collect();
    let sum_of = |[a, b]: [usize; 2]| {
        let mut sum = vec![0.0f32; m * n];
        let mut block = vec![0.0; m * n];
        for (from, end) in &blocks {
            let lhs: Vec<f32> = left.chunks(k).flat_map(|row| &row[*from..*end]).map(|parts| parts[a]).collect();
            let rhs: Vec<f32> = right[from * n..end * n].iter().map(|parts| parts[b]).collect();
            let k = end - from;
            let part = Problem { lhs: &lhs, rhs: &rhs, m, k, n, passes: in_pass, unit, is_part: true };
            part.run(instructions, &mut block);
            for (sum, block) in sum.iter_mut().zip(&block) {
                *sum += block;
                *sum = if flushes { flush_f32(*sum) } else { *sum };
            }
        }
        sum
    };
    let sums: Vec<Vec<f32>> = passes.pairs().iter().map(|pair| sum_of(*pair)).collect();
    for (at, out) in out.iter_mut().enumerate() {
        let pass = |number: usize| [sums[number][at]];
        let mut joined = [0.0];
        match sums.len() {
            1 => add([&pass(0)], &mut joined),
            3 => add([&pass(0), &pass(1), &pass(2)], &mut joined),
            _ => add([&pass(0), &pass(1), &pass(2), &pass(3), &pass(4), &pass(5)], &mut joined),
        }
        *out = joined[0];
    }
}
