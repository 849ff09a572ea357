//! What a glance at a row or a column says about every dot product with it.

use crate::num::floor_log2;

/// Exponents that stand for a vector of zeros: any sum of two of them, and of one with an f64's, keeps its meaning.
const NOWHERE: i32 = 4000;

/// All entries are multiples of `2^grid` and below `2^top` in magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub grid: i32,
    pub top: i32,
    pub finite: bool,
}

impl Facts {
    const ZEROS: Facts = Facts { grid: NOWHERE, top: -NOWHERE, finite: true };

    pub fn of(values: &[f64]) -> Facts {
        values.iter().fold(Facts::ZEROS, |facts, value| Facts {
            grid: facts.grid.min(lowest_bit(*value)),
            top: facts.top.max(if *value == 0.0 { -NOWHERE } else { floor_log2(*value) + 1 }),
            finite: facts.finite && value.is_finite(),
        })
    }

    /// The same of all products.
    #[inline]
    pub fn times(self, other: Facts) -> Facts {
        Facts { grid: self.grid + other.grid, top: self.top + other.top, finite: self.finite && other.finite }
    }

    /// Whether every sum of up to `terms` such numbers is an f64: a multiple of the grid below 2^53 times it, in range.
    /// Then the numbers themselves are.
    #[inline]
    pub fn sums_fit(self, terms: usize) -> bool {
        let sum_top = self.top + ceil_log2(terms);
        sum_top <= 53 + self.grid && sum_top <= 1024 && self.grid >= -1074
    }
}

/// Exponent of the last set bit.
#[inline]
pub fn lowest_bit(value: f64) -> i32 {
    if value == 0.0 {
        return NOWHERE;
    }
    let bits = value.abs().to_bits();
    // A normal number's hidden bit stands above its fraction; a subnormal has the exponent of the smallest normal.
    let (significand, biased) = match bits >> 52 {
        0 => (bits, 1),
        biased => ((bits & ((1 << 52) - 1)) | 1 << 52, biased as i32),
    };
    biased - 1075 + significand.trailing_zeros() as i32
}

#[inline]
pub fn ceil_log2(count: usize) -> i32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as i32
}
