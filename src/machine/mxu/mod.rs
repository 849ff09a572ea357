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
}

/// `[m,k] x [k,n]`, row-major, operands held in f32.
///
/// Each pass is one dot over all of K in the unit's order; passes are added smallest first (FACTS 2.3).
pub fn matmul(lhs: &[f32], rhs: &[f32], sizes: [usize; 3], passes: Passes, unit: &Unit) -> Vec<f32> {
    let Some(order) = combine(passes) else {
        let step = if passes == Passes::F32 { Step::Rounded } else { exact_step(lhs, rhs) };
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
    let range = |values: &[f32]| {
        let magnitudes = values.iter().map(|v| v.abs()).filter(|v| *v > 0.0 && v.is_finite());
        magnitudes.fold((f32::INFINITY, 0.0f32), |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((low_a, high_a), (low_b, high_b)) = (range(lhs), range(rhs));
    let smallest = f64::from(low_a) * f64::from(low_b);
    let largest = f64::from(high_a) * f64::from(high_b);
    // 2^-126 with room for the 16 bits below the leading one of a product of two bf16 numbers.
    if smallest > 2.0 * f64::from(f32::MIN_POSITIVE) && largest < f64::from(f32::MAX) / 2.0 {
        Step::Rounded
    } else {
        Step::Fused
    }
}

#[cfg(test)]
mod tests;
