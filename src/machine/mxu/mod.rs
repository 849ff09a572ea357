//! The matrix unit: bf16 passes, their splits, and the order in which products are summed.

mod accumulate;
mod exact;
mod split;

pub use accumulate::Accumulation;
pub use split::{Passes, Split};

use accumulate::{Step, dot_all};
use split::{combine, parts};

/// A matrix unit as one mode has it.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Products that are summed before a block's sum joins the others.
    pub block: usize,
    pub accumulation: Accumulation,
    pub split: Split,
    /// Whether f32 products and their sums flush subnormals, as XLA:CPU's dots do (FACTS 3.4). Whether a matrix unit does
    /// is not public; bf16 passes keep them (modelling choice).
    pub flush: bool,
}

/// `[m,k] x [k,n]`, row-major, operands held in f32.
///
/// Each pass is one dot over all of K in the unit's order; passes are added smallest first (FACTS 2.3).
pub fn matmul(lhs: &[f32], rhs: &[f32], sizes: [usize; 3], passes: Passes, unit: &Unit) -> Vec<f32> {
    let Some(order) = combine(passes) else {
        let step = if passes == Passes::F32 { rounded_step(lhs, rhs, unit.flush) } else { exact_step(lhs, rhs) };
        return dot_all(lhs, rhs, sizes, step, unit);
    };
    let (lhs, rhs) = (parts(lhs, passes, unit.split), parts(rhs, passes, unit.split));
    let mut total: Option<Vec<f32>> = None;
    for (at, (left, right)) in order.iter().enumerate() {
        let step = exact_step(&lhs[*left], &rhs[*right]);
        let product = dot_all(&lhs[*left], &rhs[*right], sizes, step, unit);
        total = Some(match total {
            None => product,
            Some(mut sum) => {
                if at + 1 == order.len() {
                    // Infinite operands leave NaN in the low parts: the guard lets only numbers and infinities pass.
                    sum.iter_mut().for_each(|s| *s = if f32::INFINITY >= s.abs() { *s } else { 0.0 });
                }
                sum.iter_mut().zip(&product).for_each(|(s, p)| *s += p);
                sum
            }
        });
    }
    total.unwrap_or_default()
}

/// Products of narrow values are exact in f32 unless they leave its normal range; there an addition must take the
/// exact product, as a fused multiply-add does.
fn exact_step(lhs: &[f32], rhs: &[f32]) -> Step {
    let [smallest, largest] = product_range(lhs, rhs);
    // 2^-126 with room for the 16 bits below the leading one of a product of two bf16 numbers.
    if smallest > 2.0 * f64::from(f32::MIN_POSITIVE) && largest < f64::from(f32::MAX) / 2.0 {
        Step::Rounded
    } else {
        Step::Fused
    }
}

/// f32 products, flushed where a product or a sum of them may be subnormal: its last bit lies at most 46 places below the
/// smallest product's first.
fn rounded_step(lhs: &[f32], rhs: &[f32], flush: bool) -> Step {
    let [smallest, _] = product_range(lhs, rhs);
    if flush && smallest < f64::from(f32::MIN_POSITIVE) * (1u64 << 47) as f64 { Step::Flushed } else { Step::Rounded }
}

/// The smallest and the largest magnitude of a product of numbers other than zero.
fn product_range(lhs: &[f32], rhs: &[f32]) -> [f64; 2] {
    let range = |values: &[f32]| {
        let magnitudes = values.iter().map(|v| v.abs()).filter(|v| *v > 0.0 && v.is_finite());
        magnitudes.fold((f32::INFINITY, 0.0f32), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((low_a, high_a), (low_b, high_b)) = (range(lhs), range(rhs));
    [f64::from(low_a) * f64::from(low_b), f64::from(high_a) * f64::from(high_b)]
}

#[cfg(test)]
mod tests;
