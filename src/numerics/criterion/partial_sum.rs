//! The variance of the error of a floating-point sum, from its exact partial sums.

use std::cmp::Ordering;

use crate::num::{Format, exp2i, floor_log2};

/// A partial sum: its exact value, and what is known of the error of the computed one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PartialSum {
    /// The exact value.
    pub value: f64,
    /// The exponent of a power of two that the computed value is a multiple of; [`i32::MAX`] for an empty sum.
    pub grid: i32,
    /// Whether it is an odd multiple of that.
    pub is_odd: bool,
    /// The mean of the error: not zero where additions truncate.
    pub mean: f64,
    /// The variance of the error.
    pub variance: f64,
}

/// The way in which one addition is rounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdditionRounding {
    /// The format that holds sums.
    pub format: &'static Format,
    /// Whether it truncates; otherwise it rounds to nearest, ties to even.
    pub truncates: bool,
}

impl PartialSum {
    /// The sum of nothing.
    pub const EMPTY: PartialSum = PartialSum { value: 0.0, grid: i32::MAX, is_odd: false, mean: 0.0, variance: 0.0 };

    /// One exact term.
    pub fn of(value: f64) -> PartialSum {
        PartialSum { value, grid: lowest_bit(value), is_odd: true, mean: 0.0, variance: 0.0 }
    }

    /// The sum of both, not rounded.
    pub fn join(self, other: PartialSum) -> PartialSum {
        let value = self.value + other.value;
        let (grid, is_odd) = match self.grid.cmp(&other.grid) {
            Ordering::Less => (self.grid, self.is_odd),
            Ordering::Greater => (other.grid, other.is_odd),
            // The sum of two odd multiples is an even one.
            Ordering::Equal if self.is_odd && other.is_odd => (self.grid.saturating_add(1), false),
            Ordering::Equal => (self.grid, false),
        };
        PartialSum { value, grid, is_odd, mean: self.mean + other.mean, variance: self.variance + other.variance }
    }

    /// The sum of both, rounded once. An addition to an empty sum is exact.
    pub fn add(self, other: PartialSum, rounding: &AdditionRounding) -> PartialSum {
        match (self.grid, other.grid) {
            (i32::MAX, _) => other,
            (_, i32::MAX) => self,
            _ => self.join(other).round(rounding),
        }
    }

    /// The value rounded to a format. With U the spacing of the format there and G the grid, the bits that are lost are taken for
    /// uniform: multiples of G in a width of U, or odd ones. The variance of all is `(U^2 + 2 G^2) / 12` to nearest, where a tie goes
    /// either way, and `(U^2 - G^2) / 12` about `(U - G) / 2` where they are cut off. That of odd ones is `(U^2 - 4 G^2) / 12` both
    /// ways, about `U / 2` where they are cut off; if half of U is their only one, it always is a tie. What the format holds loses
    /// nothing.
    pub fn round(self, rounding: &AdditionRounding) -> PartialSum {
        if self.value == 0.0 || !self.value.is_finite() {
            return self;
        }
        let format = rounding.format;
        let place = floor_log2(self.value).max(format.emin()) - format.fraction_bits as i32;
        if place <= self.grid {
            return self;
        }
        let (unit, grid) = (exp2i(place), exp2i(self.grid));
        let is_tie = self.is_odd && place == self.grid + 1;
        let variance = match (rounding.truncates, self.is_odd) {
            (false, true) if is_tie => unit * unit / 4.0,
            (_, true) => (unit * unit - 4.0 * grid * grid) / 12.0,
            (true, false) => (unit * unit - grid * grid) / 12.0,
            (false, false) => (unit * unit + 2.0 * grid * grid) / 12.0,
        };
        let cut = if self.is_odd { unit } else { unit - grid };
        let mean = if rounding.truncates { cut.copysign(-self.value) / 2.0 } else { 0.0 };
        let variance = self.variance + variance;
        PartialSum { grid: place, is_odd: false, mean: self.mean + mean, variance, ..self }
    }
}

/// The exponent of the lowest bit of a number that is set; [`i32::MAX`] for zero.
fn lowest_bit(value: f64) -> i32 {
    let bits = value.abs().to_bits();
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    match (biased, fraction) {
        (0, 0) => i32::MAX,
        (0, _) => fraction.trailing_zeros() as i32 - 1074,
        (_, 0) => biased - 1023,
        _ => biased - 1075 + fraction.trailing_zeros() as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, Direction, F32, round_f64};

    const NEAREST: AdditionRounding = AdditionRounding { format: &BF16, truncates: false };

    #[test]
    fn the_lowest_bit_is_that_of_the_significand() {
        let lowest = [1.0, 1.5, -12.0, 0.1f32 as f64, f64::MIN_POSITIVE, 5e-324, 0.0].map(lowest_bit);
        assert_eq!(lowest, [0, -1, 2, -27, -1022, -1074, i32::MAX]);
    }

    #[test]
    fn sums_that_the_format_holds_lose_nothing() {
        let sum = PartialSum::of(100.0).add(PartialSum::of(28.0), &NEAREST);
        assert_eq!((sum.value, sum.variance, sum.grid), (128.0, 0.0, 3));
        let empty = PartialSum::EMPTY.add(PartialSum::of(257.0), &NEAREST);
        assert_eq!(empty, PartialSum::of(257.0));
        assert!(sum.add(PartialSum::of(1.0 / 3.0), &NEAREST).variance > 0.0);
    }

    /// All multiples of a grid in a binade, rounded.
    #[test]
    fn the_variance_is_that_of_all_numbers_of_the_grid() {
        for grid in [-1, -2, -5] {
            for (truncates, is_odd) in [(false, false), (false, true), (true, false), (true, true)] {
                let direction = if truncates { Direction::TowardZero } else { Direction::NearestEven };
                let (first, step) = if is_odd { (1, 2) } else { (0, 1) };
                let errors: Vec<f64> = (first..128 << -grid)
                    .step_by(step)
                    .map(|i| 128.0 + f64::from(i) * exp2i(grid))
                    .map(|value| round_f64(&BF16, value, direction) - value)
                    .collect();
                let mean = errors.iter().sum::<f64>() / errors.len() as f64;
                let variance = errors.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / errors.len() as f64;
                let sum = PartialSum { grid, is_odd, ..PartialSum::of(200.0) };
                let got = sum.round(&AdditionRounding { format: &BF16, truncates });
                assert!((got.mean - mean).abs() < 1e-12, "{grid} {truncates} {is_odd}: {} {mean}", got.mean);
                assert!(
                    (got.variance - variance).abs() < 1e-12,
                    "{grid} {truncates} {is_odd}: {} {variance}",
                    got.variance
                );
                let negative = PartialSum { grid, is_odd, ..PartialSum::of(-200.0) };
                assert_eq!(negative.round(&AdditionRounding { format: &BF16, truncates }).mean, -got.mean);
            }
        }
        let fine = PartialSum::of(0.1).round(&AdditionRounding { format: &F32, truncates: false });
        let unit = F32.ulp(0.1);
        assert!((fine.variance / (unit * unit / 12.0) - 1.0).abs() < 1e-12);
    }
}
