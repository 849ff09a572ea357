//! Exact sums of products, rounded once to f32.
//!
//! Three ways, the cheapest that the operands' range proves exact: f64 additions, f64 additions with their errors summed
//! beside them, and an expansion for each output.

use std::marker::PhantomData;

use super::arithmetic::{Arithmetic, round_to_odd, sum_to_f32, two_sum};
use super::isa::Work;
use super::tile::Tile;

/// Blocks whose partial sums are exact in f64 ([`super::range::Range::sums_exact_in_f64`]).
pub(super) struct InF64<'a, A, const R: usize, const C: usize>(pub Tile<'a, R, C>, pub PhantomData<A>);

impl<A: Arithmetic, const R: usize, const C: usize> Work for InF64<'_, A, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tile = self.0;
        let depth = tile.left.len().min(tile.right.len());
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let (left, right) = (&tile.left[start..end], &tile.right[start..end]);
            for (r, sums) in tile.sums.iter_mut().enumerate() {
                let mut exact = [0.0f64; C];
                for (a, b) in left.iter().zip(right) {
                    for j in 0..C {
                        exact[j] = A::wide_step(exact[j], a[r], b[j]);
                    }
                }
                for j in 0..C {
                    sums[j] = A::add(sums[j], A::settle(exact[j] as f32));
                }
            }
        }
    }
}

/// Blocks whose sums are exact in a f64 sum and its errors' sum ([`super::range::Range::sums_exact_in_two_f64`]).
pub(super) struct InTwoF64<'a, A, const R: usize, const C: usize>(pub Tile<'a, R, C>, pub PhantomData<A>);

impl<A: Arithmetic, const R: usize, const C: usize> Work for InTwoF64<'_, A, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tile = self.0;
        let depth = tile.left.len().min(tile.right.len());
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let (left, right) = (&tile.left[start..end], &tile.right[start..end]);
            for (r, sums) in tile.sums.iter_mut().enumerate() {
                let (mut high, mut low) = ([0.0f64; C], [0.0f64; C]);
                for (a, b) in left.iter().zip(right) {
                    for j in 0..C {
                        let [sum, error] = two_sum(high[j], A::wide_product(a[r], b[j]));
                        high[j] = sum;
                        low[j] += error;
                    }
                }
                for j in 0..C {
                    // Beside infinities and NaNs stand errors without meaning.
                    let sum = if high[j].is_finite() { sum_to_f32(high[j], low[j]) } else { high[j] as f32 };
                    sums[j] = A::add(sums[j], A::settle(sum));
                }
            }
        }
    }
}

/// Blocks of any numbers.
pub(super) struct InExpansions<'a, A, const R: usize, const C: usize>(pub Tile<'a, R, C>, pub PhantomData<A>);

impl<A: Arithmetic, const R: usize, const C: usize> Work for InExpansions<'_, A, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tile = self.0;
        let depth = tile.left.len().min(tile.right.len());
        let mut exact = ExactSum::default();
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let (left, right) = (&tile.left[start..end], &tile.right[start..end]);
            for (r, sums) in tile.sums.iter_mut().enumerate() {
                for (j, sum) in sums.iter_mut().enumerate() {
                    exact.clear();
                    left.iter().zip(right).for_each(|(a, b)| exact.add(A::wide_product(a[r], b[j])));
                    *sum = A::add(*sum, A::settle(exact.to_f32()));
                }
            }
        }
    }
}

/// A sum as an expansion: numbers whose exact sum is the exact sum of all that was added (Shewchuk 1997).
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    /// Nonoverlapping, by ascending magnitude.
    parts: Vec<f64>,
    /// Infinities and NaNs, which no expansion holds.
    special: f64,
}

impl ExactSum {
    /// Back to zero.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.special = 0.0;
    }

    /// Adds a number, exactly.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            // Infinities and NaN add up among themselves to what any order gives.
            self.special += value;
            return;
        }
        let mut carried = value;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let part = self.parts[at];
            let [sum, error] = two_sum(carried, part);
            if error != 0.0 {
                self.parts[kept] = error;
                kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(kept);
        if carried != 0.0 {
            self.parts.push(carried);
        }
    }

    /// The sum rounded to nearest even.
    pub fn to_f32(&self) -> f32 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special as f32;
        }
        // Nonoverlapping parts may still be adjacent, as 64 and 256 are after a cancellation: add from the top until an
        // addition rounds. Its error is below the sum's last place and outweighs all parts under it.
        let (mut head, mut error) = (0.0, 0.0);
        // The top part alone decides most of the result, and the first error that is not zero the rest.
        for part in self.parts.iter().rev() {
            let sum = head + part;
            error = part - (sum - head);
            head = sum;
            if error != 0.0 {
                break;
            }
        }
        round_to_odd(head, error) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;
    use proptest::prelude::*;
    use rug::Float;

    /// Found where a large part cancels: what is left of it is followed by a part of nearly its size.
    #[test]
    fn parts_left_by_a_cancellation_all_count() {
        let mut sum = ExactSum::default();
        [2f64.powi(60), 256.0, 64.0, -(2f64.powi(60))].iter().for_each(|v| sum.add(*v));
        assert_eq!(sum.to_f32(), 320.0);
    }

    proptest! {
        #[test]
        fn sums_round_once(values in prop::collection::vec(any::<f32>(), 1..40), scale in -60i32..60) {
            let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite())
                .flat_map(|v| [f64::from(v), f64::from(v) * 2f64.powi(scale) * (1.0 + 2f64.powi(-20))]).collect();
            let mut sum = ExactSum::default();
            values.iter().for_each(|v| sum.add(*v));
            let wide: Vec<Float> = values.iter().map(|v| Float::with_val(53, *v)).collect();
            let exact = Float::with_val(2000, Float::sum(wide.iter()));
            prop_assert_eq!(sum.to_f32(), exact.to_f32());
        }
    }
}
