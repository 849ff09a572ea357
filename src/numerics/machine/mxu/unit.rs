//! A matrix unit and what it computes.

use std::num::NonZeroUsize;

use super::blocks::Problem;
use super::{Accumulation, Instructions, Passes, Split};

/// A matrix unit as one mode has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// Products that are summed before a block's sum joins the others.
    pub block: NonZeroUsize,
    /// The order and rounding of additions.
    pub accumulation: Accumulation,
    /// How f32 operands become bf16 parts.
    pub split: Split,
    /// Whether f32 products and all their sums flush subnormals and take subnormal operands for zeros, as XLA:CPU's dots
    /// do (FACTS 3.4). Whether a matrix unit does is not public; bf16 passes keep them (modelling choice).
    pub flush: bool,
    /// Whether f32 products are added before they are rounded, where additions are chains. XLA:CPU's are: with one fused
    /// multiply-add after the other all results of its f32 dots come out (`tests/data/hlo/cpu/matmul_*`).
    pub fused: bool,
    /// Products between which [`Accumulation::Tiled`] cuts K; none where it is not cut.
    pub k_block: Option<NonZeroUsize>,
}

/// `[m,k] x [k,n]`, row-major, operands held in f32, into `out`, which holds `[m,n]` and is overwritten.
///
/// Each pass is one dot over all of K in the unit's order, from +0, so that negative zeros alone sum to +0 as they do on
/// XLA:CPU; passes are added smallest first (FACTS 2.3). A NaN in the result is `f32::NAN`, whatever made it.
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
    let cut = unit.k_block.map(NonZeroUsize::get).filter(|cut| unit.accumulation == Accumulation::Tiled && *cut < k);
    let Some(cut) = cut else { return Problem { lhs, rhs, m, k, n, passes, unit }.run(instructions, out) };
    let mut stretch = vec![0.0; m * n];
    for start in (0..k).step_by(cut) {
        let end = k.min(start + cut);
        let left: Vec<f32> = lhs.chunks(k).flat_map(|row| &row[start..end]).copied().collect();
        let right = &rhs[start * n..end * n];
        let problem = Problem { lhs: &left, rhs: right, m, k: end - start, n, passes, unit };
        if start == 0 {
            problem.run(instructions, out);
            continue;
        }
        problem.run(instructions, &mut stretch);
        for (sum, part) in out.iter_mut().zip(&stretch) {
            let total = *sum + part;
            *sum = if total.is_nan() { f32::NAN } else { total };
        }
    }
}
