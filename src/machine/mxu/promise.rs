//! The promise of a dot: the constants of its error bound, by the passes, the split and the order that compute it.

use crate::num::{BF16, F32};

use super::{Accumulation, Passes, Split, Unit};

/// The promise of a dot of `k` products. With S = sum |a| |b|, its error is at most `split S + gamma_n (1 + spread) S +
/// (1 + gamma_n) lost` with n = `chain`, for operands as they come through `intake`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DotPromise {
    /// The part of a product that is lost when its operands are split, relative to |a b|.
    pub split: f64,
    /// The excess of the sum of the passes' magnitudes over |a b|, relative to |a b|.
    pub spread: f64,
    /// Unit roundoff of the additions; twice as large where they truncate.
    pub unit_roundoff: f64,
    /// The most roundings that one product meets on its way into the sum.
    pub chain: u64,
    /// Products of all passes.
    pub products: u64,
    /// Whether each product is rounded before it is added, or may be.
    pub rounds_products: bool,
    /// Whether a matrix unit adds products in the order of K, block by block; another unit has lanes.
    pub is_along_k: bool,
    /// The most that underflow or flushing takes of products and sums, in all.
    pub lost: f64,
    /// The loss of small operands, before the other constants apply.
    pub intake: Intake,
}

/// The loss of an operand too small for the relative constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intake {
    /// A magnitude below this counts as zero.
    Flushed(f64),
    /// A magnitude below `below` that bf16 does not hold loses `at_most` of itself: parts of it underflow.
    Split {
        /// Magnitudes from here on lose no more than [`DotPromise::split`] says.
        below: f64,
        /// The largest absolute loss of smaller magnitudes.
        at_most: f64,
    },
}

impl Unit {
    /// The promise for operands of f32 or, with `exact`, of values that a pass takes as they are.
    ///
    /// With u = 2^-8 the unit roundoff of bf16: one pass rounds both operands, so |ab - a'b'| <= (2u + u^2) |ab|. A
    /// part that is rounded to nearest leaves at most u of what it splits, a truncated one 2u. Three passes drop l.l
    /// and what is left of l; six drop m.l, l.m, l.l (FACTS 2.3). Products of parts are exact. A first part to nearest
    /// may exceed what it splits by u, a truncated one never does.
    pub fn promise(&self, passes: Passes, exact: bool, k: usize) -> DotPromise {
        let u = BF16.unit_roundoff();
        let (first, high, middle) = match self.split {
            Split::Mixed => (0.0, 2.0 * u, u),
            Split::Rne => (u, u, u),
            Split::Trunc => (0.0, 2.0 * u, 2.0 * u),
        };
        let square_less_one = |excess: f64| 2.0 * excess + excess * excess;
        // What is left of an operand in the end, what is dropped of a product besides, and the excess of its parts.
        let (left, dropped, excess, joins) = match passes {
            _ if exact && passes != Passes::F32 => (0.0, 0.0, 0.0, 5),
            Passes::F32 | Passes::Exact => (0.0, 0.0, 0.0, 1),
            Passes::One => (u, 0.0, u, 0),
            Passes::Three => (high * u, high * high, first + high, 2),
            Passes::Six => {
                let (m, l) = (high, high * middle);
                (l * u, 2.0 * m * l + l * l, first + m + l, 5)
            }
        };
        let products = passes.pairs().len() as u64 * k as u64;
        let flushes = self.flush && passes == Passes::F32;
        let truncates = self.accumulation == Accumulation::Trunc;
        DotPromise {
            split: square_less_one(left) + dropped,
            spread: square_less_one(excess),
            unit_roundoff: if truncates { 2.0 * F32.unit_roundoff() } else { F32.unit_roundoff() },
            chain: self.longest_chain(k) + joins,
            products,
            rounds_products: passes == Passes::F32,
            is_along_k: true,
            // A rounding in the range of subnormals loses less than one of them.
            lost: products as f64 * if flushes { F32.min_normal() } else { F32.min_subnormal() },
            intake: match flushes {
                true => Intake::Flushed(F32.min_normal()),
                false if left == 0.0 => Intake::Flushed(0.0),
                // The last part is off by half a subnormal of bf16 where that is more than `left`; the parts dropped of
                // a product, and the magnitudes of all, then exceed their share by less than four more.
                false => {
                    let half = BF16.min_subnormal() / 2.0;
                    Intake::Split { below: half / left, at_most: 8.0 * half }
                }
            },
        }
    }

    /// The most additions that round which a product of `k` meets, in the unit's order.
    fn longest_chain(&self, k: usize) -> u64 {
        let k = k.max(1) as u64;
        let block = (self.block.get() as u64).min(k);
        let joins = k.div_ceil(block) - 1;
        match self.accumulation {
            Accumulation::Chain => k - 1,
            Accumulation::Tiled => {
                let cut = self.k_block.map_or(k, |cut| (cut.get() as u64).min(k));
                let block = block.min(cut);
                (block - 1) + (cut.div_ceil(block) - 1) + (k.div_ceil(cut) - 1)
            }
            Accumulation::Running => {
                let cut = self.k_block.map_or(k, |cut| (cut.get() as u64).min(k));
                let block = block.min(cut);
                let blocks = |products: u64| products.div_ceil(block);
                (block - 1) + (k / cut * blocks(cut) + blocks(k % cut) - 1)
            }
            Accumulation::Block | Accumulation::Trunc => (block - 1) + joins,
            Accumulation::Pairwise => u64::from(block.next_power_of_two().ilog2()) + joins,
            // One rounding of the block's sum.
            Accumulation::Exact => 1 + joins,
        }
    }
}
