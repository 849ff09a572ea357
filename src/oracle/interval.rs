//! Enclosures of extended reals, with f64 ends.
//!
//! Infinities, NaN and the sign of zero follow IEEE 754, as results of exact operations on exact values do. Everything
//! an operation cannot tell (a quotient by an interval with zero in it) is [`Interval::UNKNOWN`], never a guess.

pub(super) mod directed;
pub(super) mod regular;
mod sum;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use directed::two_sum;
pub use sum::sum;

/// A value known to lie in `lo..=hi`.
///
/// - `lo == hi`: exactly that value, be it finite, a zero with its sign, or an infinity.
/// - both NaN: NaN.
/// - `lo < hi`: a finite real number. An infinite end means that this side is unbounded; a zero end has no sign.
/// - [`Interval::UNKNOWN`]: any value, NaN and the infinities included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

// Named as the HLO opcodes are; operators would hide which arithmetic an expression uses.
#[allow(clippy::should_implement_trait)]
impl Interval {
    /// Any value at all.
    pub const UNKNOWN: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    /// NaN, for certain.
    pub const NAN: Interval = Interval { lo: f64::NAN, hi: f64::NAN };
    /// Encloses a zero whose sign is not known; an exact zero would claim one.
    pub(super) const SIGNLESS_ZERO: Interval = Interval { lo: -f64::from_bits(1), hi: f64::from_bits(1) };

    /// The enclosure of exactly this value, NaN and the infinities included.
    #[inline]
    pub const fn exact(value: f64) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// Whether this is exactly one number, finite or not; false for NaN.
    #[inline]
    pub fn is_exact(self) -> bool {
        self.lo == self.hi
    }

    /// Whether this is NaN, for certain.
    #[inline]
    pub const fn is_nan(self) -> bool {
        self.lo.is_nan()
    }

    /// Whether nothing at all is known.
    #[inline]
    pub fn is_unknown(self) -> bool {
        self.lo == f64::NEG_INFINITY && self.hi == f64::INFINITY
    }

    /// Whether this is exactly an infinity.
    #[inline]
    fn is_infinity(self) -> bool {
        self.lo == self.hi && self.lo.is_infinite()
    }

    /// Whether nothing but a nonzero value of one sign is possible.
    #[inline]
    fn excludes_zero(self) -> bool {
        self.lo > 0.0 || self.hi < 0.0
    }

    /// 1 with the sign of the values, where zero is excluded.
    #[inline]
    fn signed(self) -> f64 {
        if self.lo > 0.0 { 1.0 } else { -1.0 }
    }

    /// The result if an operand is NaN or unknown: NaN prevails, as no operation turns it into a number.
    #[inline]
    fn absorb(self, other: Interval) -> Option<Interval> {
        if self.is_nan() || other.is_nan() {
            Some(Interval::NAN)
        } else if self.is_unknown() || other.is_unknown() {
            Some(Interval::UNKNOWN)
        } else {
            None
        }
    }

    /// The smallest enclosure of both, neither of them NaN or an infinity alone.
    #[inline]
    pub fn hull(self, other: Interval) -> Interval {
        let (lo, hi) = (self.lo.min(other.lo), self.hi.max(other.hi));
        // min and max of two zeros give either of them: an end of zero would claim its sign.
        let zeros_of_both_signs = lo == 0.0 && hi == 0.0 && self.lo.to_bits() != other.lo.to_bits();
        if zeros_of_both_signs { Interval::SIGNLESS_ZERO } else { Interval { lo, hi } }
    }

    /// The sum; opposite infinities give NaN.
    #[inline]
    pub fn add(self, other: Interval) -> Interval {
        if self.is_exact() && other.is_exact() {
            return point(self.lo, other.lo, self.lo + other.lo, directed::add);
        }
        if let Some(absorbed) = self.absorb(other) {
            return absorbed;
        }
        if self.is_infinity() {
            return self;
        }
        if other.is_infinity() {
            return other;
        }
        Interval { lo: directed::add(self.lo, other.lo).0, hi: directed::add(self.hi, other.hi).1 }
    }

    /// The difference; equal infinities give NaN.
    #[inline]
    pub fn sub(self, other: Interval) -> Interval {
        self.add(other.neg())
    }

    /// The product; zero times an infinity gives NaN.
    #[inline]
    pub fn mul(self, other: Interval) -> Interval {
        if self.is_exact() && other.is_exact() {
            return point(self.lo, other.lo, self.lo * other.lo, directed::mul);
        }
        if let Some(absorbed) = self.absorb(other) {
            return absorbed;
        }
        for (a, b) in [(self, other), (other, self)] {
            if a.is_exact() && (a.lo == 0.0 || a.lo.is_infinite()) {
                return match (b.excludes_zero(), a.lo == 0.0) {
                    (true, _) => Interval::exact(a.lo * b.signed()),
                    (false, true) => Interval::SIGNLESS_ZERO,
                    (false, false) => Interval::UNKNOWN,
                };
            }
        }
        if self.lo >= 0.0 && other.lo >= 0.0 {
            return Interval { lo: directed::mul(self.lo, other.lo).0, hi: directed::mul(self.hi, other.hi).1 };
        }
        corners(self, other, directed::mul)
    }

    /// The quotient; unknown where the divisor may, but need not, be zero.
    #[inline]
    pub fn div(self, other: Interval) -> Interval {
        if self.is_exact() && other.is_exact() {
            let quotient = self.lo / other.lo;
            return if other.lo == 0.0 {
                Interval::exact(quotient)
            } else {
                point(self.lo, other.lo, quotient, directed::div)
            };
        }
        if let Some(absorbed) = self.absorb(other) {
            return absorbed;
        }
        if other.is_exact() && (other.lo == 0.0 || other.lo.is_infinite()) {
            return match (self.excludes_zero(), other.lo == 0.0) {
                (true, _) => Interval::exact(self.signed() / other.lo),
                (false, true) => Interval::UNKNOWN,
                (false, false) => Interval::SIGNLESS_ZERO,
            };
        }
        if !other.excludes_zero() {
            return Interval::UNKNOWN;
        }
        if self.is_exact() && (self.lo == 0.0 || self.lo.is_infinite()) {
            return Interval::exact(self.lo / other.signed());
        }
        if self.lo >= 0.0 && other.lo >= 0.0 {
            return Interval { lo: directed::div(self.lo, other.hi).0, hi: directed::div(self.hi, other.lo).1 };
        }
        corners(self, other, directed::div)
    }

    /// The value with its sign changed, zero included.
    #[inline]
    pub fn neg(self) -> Interval {
        // Exact, as a change of sign is: no end has to move outward.
        Interval { lo: -self.hi, hi: -self.lo }
    }

    /// The magnitude.
    #[inline]
    pub fn abs(self) -> Interval {
        if self.is_exact() || self.is_nan() {
            Interval::exact(self.lo.abs())
        } else if self.lo >= 0.0 || self.is_unknown() {
            self
        } else if self.hi <= 0.0 {
            self.neg()
        } else {
            Interval { lo: 0.0, hi: self.hi.max(-self.lo) }
        }
    }

    /// The square root: NaN below zero, and -0 for -0.
    #[inline]
    pub fn sqrt(self) -> Interval {
        if self.is_nan() || self.hi < 0.0 {
            Interval::NAN
        // A value that may lie below zero may have NaN for its root, which no pair of ends encloses.
        } else if self.lo < 0.0 {
            Interval::UNKNOWN
        } else {
            Interval { lo: directed::sqrt(self.lo).0, hi: directed::sqrt(self.hi).1 }
        }
    }

    /// `1 / sqrt(x)`; as in IEEE 754 section 9.2, a zero gives the infinity of its sign.
    #[inline]
    pub fn rsqrt(self) -> Interval {
        Interval::exact(1.0).div(self.sqrt())
    }

    /// IEEE 754-2019 `maximum`: NaN prevails, and +0 is above -0.
    #[inline]
    pub fn max(self, other: Interval) -> Interval {
        if let Some(absorbed) = self.absorb(other) {
            return absorbed;
        }
        let (lo, hi) = (self.lo.max(other.lo), self.hi.max(other.hi));
        if lo != 0.0 || hi != 0.0 {
            return Interval { lo, hi };
        }
        // One operand is an exact zero, the other at most zero.
        let is = |x: Interval, zero: f64| [x.lo, x.hi].iter().all(|end| end.to_bits() == zero.to_bits());
        if is(self, 0.0) || is(other, 0.0) {
            Interval::exact(0.0)
        } else if [self, other].iter().all(|x| x.is_exact() || x.hi < 0.0) {
            Interval::exact(-0.0)
        } else {
            Interval::SIGNLESS_ZERO
        }
    }

    /// IEEE 754-2019 `minimum`: NaN prevails, and -0 is below +0.
    #[inline]
    pub fn min(self, other: Interval) -> Interval {
        self.neg().max(other.neg()).neg()
    }

    /// The largest integer not above; a zero keeps its sign.
    #[inline]
    pub fn floor(self) -> Interval {
        self.to_integers(f64::floor)
    }

    /// An increasing function to integers that keeps the sign of a zero.
    #[inline]
    pub fn to_integers(self, function: impl Fn(f64) -> f64) -> Interval {
        if self.is_exact() || self.is_nan() {
            return Interval::exact(function(self.lo));
        }
        let (lo, hi) = (function(self.lo), function(self.hi));
        // A zero end may be a zero of either sign, and the function keeps it.
        if lo == 0.0 && hi == 0.0 && self.lo <= 0.0 { Interval::SIGNLESS_ZERO } else { Interval { lo, hi } }
    }

    /// The smallest integer not below; a zero keeps its sign, and what rises to zero from below is -0.
    #[inline]
    pub fn ceil(self) -> Interval {
        self.neg().floor().neg()
    }

    /// -1, 1, or a zero with its sign.
    #[inline]
    pub fn sign(self) -> Interval {
        if self.is_nan() || self.is_unknown() || (self.is_exact() && self.lo == 0.0) {
            self
        } else if self.excludes_zero() {
            Interval::exact(self.signed())
        } else {
            Interval { lo: if self.lo < 0.0 { -1.0 } else { 0.0 }, hi: if self.hi > 0.0 { 1.0 } else { 0.0 } }
        }
    }
}

/// The order of two values that are not NaN; `None` if the enclosures leave it open. The two zeros are equal.
#[inline]
pub fn compare(a: Interval, b: Interval) -> Option<Ordering> {
    if a.is_exact() && b.is_exact() {
        return a.lo.partial_cmp(&b.lo);
    }
    if a.is_unknown() || b.is_unknown() {
        return None;
    }
    // No end of NaN is below another. An exact infinity lies beyond the unbounded end of a finite value.
    let touches = |upper: f64, lower: f64| upper == lower && upper.is_infinite();
    if a.hi < b.lo || touches(a.hi, b.lo) {
        Some(Ordering::Less)
    } else if a.lo > b.hi || touches(a.lo, b.hi) {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// An operation on two exact numbers: IEEE decides infinities, NaN and the sign of an exact zero.
#[inline(always)]
fn point(a: f64, b: f64, rounded: f64, bracket: impl Fn(f64, f64) -> (f64, f64)) -> Interval {
    if a.is_finite() && b.is_finite() {
        let (lo, hi) = bracket(a, b);
        if lo == hi { Interval::exact(rounded) } else { Interval { lo, hi } }
    } else {
        Interval::exact(rounded)
    }
}

/// The hull over the four pairs of ends, for an operation monotone in each operand.
#[inline(always)]
fn corners(a: Interval, b: Interval, bracket: impl Fn(f64, f64) -> (f64, f64)) -> Interval {
    let pairs = [bracket(a.lo, b.lo), bracket(a.lo, b.hi), bracket(a.hi, b.lo), bracket(a.hi, b.hi)];
    Interval {
        lo: pairs.iter().map(|pair| pair.0).fold(f64::INFINITY, f64::min),
        hi: pairs.iter().map(|pair| pair.1).fold(f64::NEG_INFINITY, f64::max),
    }
}
