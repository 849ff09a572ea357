//! Enclosures by pairs of f64: the rung between f64 intervals and MPFR.
//!
//! A [`Pair`] is a double-word number (Dekker 1971) with a bound on its error, about 2^-100 of it after one operation.
//! A kernel answers for regular operands, those for which its proof holds: finite, not zero, far from overflow and
//! underflow. All others it marks [`IRREGULAR`], and the interval arithmetic answers instead, as IEEE defines. Pairs
//! that do not round to one f64 (Ziv, ACM TOMS 17(3), 1991) are left to MPFR.
//!
//! u = 2^-53 throughout. Bounds are computed with a few roundings themselves; the factor [`GROWN`] covers them.

mod basic;
mod error_function;
mod exponential;
mod functions;
pub(super) mod kernels;
mod logarithm;
mod power;
mod sum;
#[cfg(test)]
mod tests;
mod trigonometry;

use std::sync::LazyLock;

use super::interval::{Interval, directed};

pub(super) use basic::{add, div, mul, rsqrt, sqrt, sub};
pub(super) use error_function::erf;
pub(super) use exponential::{exp, expm1};
pub(super) use functions::{logistic, tanh};
pub(super) use logarithm::{log, log1p};
pub(super) use power::power;
pub(super) use sum::sum;
pub(super) use trigonometry::{cosine, sine, tan};

/// A value within `error` of `hi + lo`, where `hi` is `hi + lo` rounded to nearest.
///
/// - `error == 0`: exactly that value; an infinity or a zero with its sign if `hi` is one.
/// - `hi` NaN: NaN.
/// - an infinite `error`: any value, NaN and the infinities included.
/// - else a finite real number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The sum of both parts, rounded to nearest.
    pub hi: f64,
    /// The remainder of that rounding.
    pub lo: f64,
    /// An absolute bound, rounded up.
    pub error: f64,
}

/// The mark that a kernel returns if its proof does not hold; never kept.
pub(super) const IRREGULAR: Pair = Pair { hi: 0.0, lo: 0.0, error: f64::NAN };

/// The tables of the functions, found once for a whole loop.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// Made on its first use: it takes longer than the others.
    error_function: &'static LazyLock<Box<error_function::Table>>,
    exponential: &'static exponential::Table,
    logarithm: &'static logarithm::Table,
    trigonometry: &'static trigonometry::Table,
}

impl Tables {
    /// The tables, most of them made on the first call.
    pub fn ready() -> Tables {
        Tables {
            error_function: &error_function::TABLE,
            exponential: exponential::table(),
            logarithm: logarithm::table(),
            trigonometry: trigonometry::table(),
        }
    }
}

/// Covers up to 2^10 roundings of an error bound.
const GROWN: f64 = 1.0 + power_of_two(-42);

/// 2^exponent, normal.
const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Pair {
    /// Any value at all.
    pub const UNKNOWN: Pair = Pair { hi: 0.0, lo: 0.0, error: f64::INFINITY };

    /// Exactly this value, NaN and the infinities included.
    #[inline(always)]
    pub const fn exact(value: f64) -> Pair {
        Pair { hi: value, lo: 0.0, error: 0.0 }
    }

    /// Whether a kernel has left this element to the interval arithmetic.
    #[inline(always)]
    pub fn is_irregular(self) -> bool {
        self.error.is_nan()
    }

    /// The value, where it is known exactly and f64 holds it; or NaN.
    #[inline(always)]
    pub fn as_exact(self) -> Option<f64> {
        (self.error == 0.0 && self.lo == 0.0 || self.hi.is_nan()).then_some(self.hi)
    }

    /// The pair with its sign changed, zero included.
    #[inline(always)]
    pub fn neg(self) -> Pair {
        Pair { hi: -self.hi, lo: if self.lo == 0.0 { 0.0 } else { -self.lo }, error: self.error }
    }

    /// An f64 interval around it.
    #[inline]
    pub fn interval(self) -> Interval {
        if let Some(value) = self.as_exact() {
            return Interval::exact(value);
        }
        if self.error == f64::INFINITY {
            return Interval::UNKNOWN;
        }
        Interval { lo: directed::add(self.hi, self.shifted(-1.0)).0, hi: directed::add(self.hi, self.shifted(1.0)).1 }
    }

    /// A pair around an interval.
    pub fn from_interval(x: Interval) -> Pair {
        if x.is_nan() || x.is_exact() {
            return Pair::exact(x.lo);
        }
        let middle = 0.5 * x.lo + 0.5 * x.hi;
        if !middle.is_finite() {
            // So is an end.
            return Pair::UNKNOWN;
        }
        Pair { hi: middle, lo: 0.0, error: (x.hi - middle).max(middle - x.lo).next_up() }
    }

    /// An end of the enclosure less `hi`, rounded outwards: the lower one for `side` -1, the upper one for 1.
    ///
    /// Proof. `reach` exceeds `error` by 2^-51 of `|lo| + error` at least, its own roundings included; `lo + reach`
    /// rounds to nearest and loses at most 2^-53 of `|lo| + reach`. Sums of f64 lose nothing to underflow, and where
    /// `2^-50 |lo|` does, `lo` is so small that the sum is exact.
    #[inline(always)]
    fn shifted(self, side: f64) -> f64 {
        let reach = (self.error + self.lo.abs() * power_of_two(-50)) * (1.0 + power_of_two(-50));
        self.lo + side * reach
    }

    /// The value rounded to nearest even, where the enclosure decides it (Ziv 1991); NaN for an undecided one.
    ///
    /// Both ends of the enclosure, moved outwards, are `hi` plus an f64: one IEEE addition rounds each correctly, and
    /// rounding is monotone. Without an error, `hi + lo` itself rounds correctly, ties included.
    #[inline(always)]
    pub fn round_or_nan(self) -> f64 {
        let (low, high) = (self.hi + self.shifted(-1.0), self.hi + self.shifted(1.0));
        let decided = if low.to_bits() == high.to_bits() { low } else { f64::NAN };
        let exact = if self.lo == 0.0 { self.hi } else { self.hi + self.lo };
        if self.error == 0.0 { exact } else { decided }
    }
}

/// A pair around two others: around the first one, where they are so near to each other that an f64 could not hold both, else
/// around the f64 between them.
pub(super) fn hull(x: Pair, y: Pair) -> Pair {
    let between = Pair::from_interval(x.interval().hull(y.interval()));
    let difference = add(x, y.neg());
    // Its error covers those of both and its own rounding; so y is within this of `x.hi + x.lo`.
    let reach = (difference.hi.abs() + difference.lo.abs() + difference.error) * GROWN;
    // Where the difference is irregular, its error is NaN, and so is this.
    let around = Pair { error: if reach > x.error { reach } else { x.error }, ..x };
    let is_nearer = !difference.is_irregular() && !between.hi.is_nan() && around.error < between.error;
    if is_nearer { around } else { between }
}

/// The order of two pairs that are not NaN; `None` if the enclosures leave it open. The two zeros are equal.
pub(super) fn compare(x: Pair, y: Pair) -> Option<std::cmp::Ordering> {
    use std::cmp::Ordering;
    if x.error == 0.0 && y.error == 0.0 {
        // Rounding to nearest is monotone, so that equal high parts leave it to the low ones.
        return Some(x.hi.partial_cmp(&y.hi)?.then(x.lo.partial_cmp(&y.lo)?));
    }
    let difference = add(x, y.neg());
    if difference.is_irregular() {
        return super::interval::compare(x.interval(), y.interval());
    }
    if difference.hi + difference.shifted(-1.0) > 0.0 {
        Some(Ordering::Greater)
    } else if difference.hi + difference.shifted(1.0) < 0.0 {
        Some(Ordering::Less)
    } else {
        None
    }
}
