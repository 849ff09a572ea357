//! The error of a dot's additions, in all orders that are permitted of them.
//!
//! Each addition errs by at most u of the partial sum that it gives, so that a dot errs by u times the sum of the magnitudes of all
//! its partial sums. Of products taken in any order a partial sum is no larger than the positive products together, or the negative
//! ones. Where products are added in the order of K, cut into stretches and blocks, it is the sum of a range of K, but for the
//! block that is being added: the difference of two running sums, which grows as the root of K where signs are mixed. In lanes, each
//! of which takes every so many-th product, it is such a range of its lane.

#[cfg(test)]
mod tests;

use crate::ir::{DotDims, DotPlan, Shape};

use super::super::elements::Value;
use super::super::evaluate::Pass;
use super::super::fast::Fast;

/// The additions of a dot of two operands, in every order that is permitted.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductOrder {
    /// The share of their magnitude that products lose before they are added: parts that are dropped, and their own rounding.
    pub split: f64,
    /// The unit roundoff of an addition to nearest.
    pub unit_roundoff: f64,
    /// Additions of the pass with the largest products, and those that join other passes to it.
    pub additions: u64,
    /// The share of the magnitudes by which a partial sum may differ from the sum of its products: by the parts that products are
    /// split into, and by the additions before it.
    pub apart: f64,
    /// The error of the additions of the smaller passes, as a share of the magnitudes.
    pub smaller: f64,
    /// Whether products are added along K, which is one dim then: in blocks of [`BLOCK`] at most in any order, these in the order of
    /// K in 64 stretches at most, and their sums in any order.
    pub is_along_k: bool,
    /// Whether they may be added in lanes as well: in any power of two up to 64, each in the order of K.
    pub has_lanes: bool,
    /// The most additions that a product meets in an order of more lanes; 0 if there is none.
    pub in_many_lanes: u64,
    /// Additions that truncate in place of all those: how many a product meets in its block, and how many join blocks.
    pub truncated: Option<[u64; 2]>,
}

/// Consecutive products that may be added in any order: the longest side of a matrix unit (FACTS 2.4).
pub const BLOCK: usize = 256;

/// Stretches of K, or lanes, that may be added in any order, at most: FACTS 10.1 has 1 to 28 stretches.
const STRETCHES: usize = 64;

impl ProductOrder {
    /// The most that the dot errs by whose products have magnitudes that add up to `magnitudes`, if `subset` is no less than the sum
    /// of any of them, and `partial` no less than one along K.
    pub fn error(&self, magnitudes: f64, subset: f64, partial: f64) -> f64 {
        let apart = self.apart * magnitudes;
        let to_nearest = self.unit_roundoff * self.additions as f64 * (partial + apart);
        let of_stretches = if self.is_along_k { STRETCHES as f64 } else { 0.0 };
        let joined = self.unit_roundoff * of_stretches * (subset + apart);
        let truncating = self.truncated.map_or(0.0, |[in_block, joins]| {
            2.0 * self.unit_roundoff * (in_block as f64 * (magnitudes + apart) + joins as f64 * (partial + apart))
        });
        let in_many_lanes = self.unit_roundoff * self.in_many_lanes as f64 * (magnitudes + apart);
        let additions = to_nearest.max(truncating).max(in_many_lanes) + joined;
        // The sums and products above are rounded themselves.
        (self.split * magnitudes + self.smaller * magnitudes + additions) * (1.0 + 16.0 * f64::EPSILON)
    }

    /// All that either permits.
    pub(super) fn or(self, other: ProductOrder) -> ProductOrder {
        let both = |one: [u64; 2], other: [u64; 2]| [one[0].max(other[0]), one[1].max(other[1])];
        ProductOrder {
            split: self.split.max(other.split),
            unit_roundoff: self.unit_roundoff.max(other.unit_roundoff),
            additions: self.additions.max(other.additions),
            apart: self.apart.max(other.apart),
            smaller: self.smaller.max(other.smaller),
            is_along_k: self.is_along_k && other.is_along_k,
            has_lanes: self.has_lanes || other.has_lanes,
            in_many_lanes: self.in_many_lanes.max(other.in_many_lanes),
            truncated: match (self.truncated, other.truncated) {
                (Some(one), Some(other)) => Some(both(one, other)),
                (one, other) => one.or(other),
            },
        }
    }

    /// Whether partial sums along K say more than the magnitudes of all products do, for `k` products.
    fn takes_partial_sums(&self, k: usize) -> bool {
        let of_any_order = self.unit_roundoff * self.additions as f64;
        self.is_along_k && k > 2 * BLOCK && of_any_order > self.split / 4.0
    }
}

impl Pass<'_, Fast> {
    /// For each result of a dot no less than any partial sum of its products along K, but for the radii of the operands, and the sum
    /// of the magnitudes of its middles' products; `None` where that says no more than the magnitudes do.
    pub(super) fn partial_sums(
        &mut self,
        numbers: &DotDims,
        operands: &[Value<Fast>],
        shapes: &[&Shape],
        order: &ProductOrder,
    ) -> Option<Vec<[f64; 2]>> {
        let plan = DotPlan::new(numbers, shapes[0].dims(), shapes[1].dims());
        if !order.takes_partial_sums(plan.k) {
            return None;
        }
        let mut middles = |at: usize, order: &Option<Vec<usize>>| -> Vec<f64> {
            let array = self.arrange(&operands[at], shapes[at], order);
            (0..array.len)
                .map(|at| {
                    let number = self.world.number(&array, at);
                    number.lo + (number.hi - number.lo) / 2.0
                })
                .collect()
        };
        let (lhs, rhs) = (middles(0, &plan.lhs_transpose), middles(1, &plan.rhs_transpose));
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let lanes: Vec<usize> = (1..=STRETCHES.ilog2()).map(|power| 1 << power).filter(|_| order.has_lanes).collect();
        let mut found = vec![[0.0; 2]; plan.batch * m * n];
        for (row, out) in found.chunks_mut(n.max(1)).enumerate() {
            let left = &lhs[row * k..(row + 1) * k];
            let right = &rhs[row / m.max(1) * k * n..][..k * n];
            for (columns, out) in out.chunks_mut(COLUMNS).enumerate() {
                let width = out.len();
                let product = |at: usize| (left[at], &right[at * n + columns * COLUMNS..][..width]);
                let mut sums = Running::default();
                for at in 0..k {
                    sums.add(product(at));
                    if (at + 1).is_multiple_of(BLOCK) || at + 1 == k {
                        sums.end_block();
                    }
                }
                let lanes = lanes.iter().flat_map(|lanes| (0..*lanes).map(move |lane| (lane..k).step_by(*lanes)));
                let mut of_lanes = [0.0f64; COLUMNS];
                for lane in lanes {
                    let mut sums = Running::default();
                    lane.for_each(|at| sums.add(product(at)));
                    (0..width).for_each(|at| of_lanes[at] = of_lanes[at].max(sums.range(at)));
                }
                for (at, out) in out.iter_mut().enumerate() {
                    *out = sums.found(at, k, of_lanes[at]);
                }
            }
        }
        Some(found)
    }
}

/// Columns whose sums run side by side.
const COLUMNS: usize = 8;

/// Running sums of products along K, a column each.
#[derive(Default)]
struct Running {
    sum: [f64; COLUMNS],
    highest: [f64; COLUMNS],
    lowest: [f64; COLUMNS],
    /// The sum of all magnitudes.
    magnitudes: [f64; COLUMNS],
    /// The sum, and that of the magnitudes, where the block began.
    began: [[f64; 2]; COLUMNS],
    /// The largest sum of products of one sign in a block.
    block: [f64; COLUMNS],
}

impl Running {
    #[inline]
    fn add(&mut self, (factor, right): (f64, &[f64])) {
        for (at, right) in right.iter().enumerate() {
            let product = factor * right;
            self.sum[at] += product;
            self.magnitudes[at] += product.abs();
            self.highest[at] = self.highest[at].max(self.sum[at]);
            self.lowest[at] = self.lowest[at].min(self.sum[at]);
        }
    }

    fn end_block(&mut self) {
        for at in 0..COLUMNS {
            let [sum, magnitudes] = self.began[at];
            let of_one_sign = (self.magnitudes[at] - magnitudes + (self.sum[at] - sum).abs()) / 2.0;
            self.block[at] = self.block[at].max(of_one_sign);
            self.began[at] = [self.sum[at], self.magnitudes[at]];
        }
    }

    /// The largest sum of a range of K, as the running sums have it.
    fn range(&self, at: usize) -> f64 {
        self.highest[at] - self.lowest[at]
    }

    /// The largest partial sum of a column, and its magnitudes; `of_lanes` is the largest one of a lane. Blocks may begin anywhere, so
    /// that one lies in two of those here; running sums are rounded, by less than a share of the magnitudes.
    fn found(&self, at: usize, k: usize, of_lanes: f64) -> [f64; 2] {
        let rounded = (k as f64 + 8.0) * f64::EPSILON * self.magnitudes[at];
        let along_k = self.range(at) + 2.0 * self.block[at];
        [along_k.max(of_lanes) + 4.0 * rounded, self.magnitudes[at] - rounded]
    }
}
