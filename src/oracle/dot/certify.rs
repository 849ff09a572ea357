//! Certified facts from an unevaluated sum of two f64.

use std::cmp::Ordering;

use super::{Interval, two_sum};
use crate::num::{Direction, F64, Format, round_f64};

/// Proven facts about an exact sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// The sum, rounded to nearest even.
    pub rounded: f64,
    /// The sum: one number where it is an f64, else the two neighbours around it.
    pub enclosure: Interval,
}

impl Certified {
    /// A sum that is this number.
    #[inline]
    pub fn exactly(value: f64) -> Certified {
        Certified { rounded: value, enclosure: Interval::exact(value) }
    }

    /// From the rounded sum and on which side of it the sum lies; `Equal` is the number itself.
    pub fn beside(rounded: f64, side: Ordering) -> Certified {
        let enclosure = match side {
            Ordering::Less => Interval { lo: rounded.next_down(), hi: rounded },
            Ordering::Equal => Interval::exact(rounded),
            Ordering::Greater => Interval { lo: rounded, hi: rounded.next_up() },
        };
        Certified { rounded, enclosure }
    }

    /// The same, but an exact zero has the sign that `zero` gives.
    #[inline]
    pub fn with_sign_of_zero(self, zero: impl FnOnce() -> f64) -> Certified {
        if self.enclosure == Interval::exact(0.0) { Certified::exactly(zero()) } else { self }
    }

    /// The value `total + rest`, that sum being exact.
    #[inline]
    pub fn sum(total: f64, rest: f64) -> Certified {
        let (rounded, error) = two_sum(total, rest);
        let side = if error < 0.0 { Ordering::Less } else { Ordering::Greater };
        if error == 0.0 { Certified::exactly(rounded) } else { Certified::beside(rounded, side) }
    }

    /// The facts that follow from a sum within `bound` of `total + rest`; `None` if they are not proven.
    ///
    /// With `two_sum`, it is within `bound` of `rounded + error`. Rounding is monotone: if both ends of that range round
    /// to `rounded`, so does the sum (Ziv, ACM TOMS 17(3), 1991), and if both lie on one side of it, so does the sum,
    /// which then has `rounded` and the next number on that side as neighbours. A range that holds an f64 is left to
    /// exact methods.
    #[inline]
    pub fn within(total: f64, rest: f64, bound: f64) -> Option<Certified> {
        let (rounded, error) = two_sum(total, rest);
        // More than what rounding `error - margin` and `error + margin` takes, u each, and rounding the margin itself.
        let margin = (1.0 + 8.0 * f64::EPSILON) * bound + 4.0 * f64::EPSILON * error.abs();
        let (low, high) = (error - margin, error + margin);
        let is_decided = (rounded + low == rounded) & (rounded + high == rounded) & ((low > 0.0) | (high < 0.0));
        // With an error, `rounded` is not zero: the next number away from zero has the next bits.
        let away = (error > 0.0) == (rounded > 0.0);
        let next = f64::from_bits(rounded.to_bits().wrapping_add(if away { 1 } else { u64::MAX }));
        let enclosure =
            Interval { lo: if error > 0.0 { rounded } else { next }, hi: if error > 0.0 { next } else { rounded } };
        is_decided.then_some(Certified { rounded, enclosure })
    }

    /// The sum correctly rounded to `format`, whatever the direction; f64 itself is rounded to nearest.
    ///
    /// Of the two neighbours around an inexact sum, the one with the odd significand is the sum rounded to odd. All
    /// formats but f64 have at least two bits fewer and no wider range, so rounding that is rounding the sum (Boldo and
    /// Melquiond, IEEE Trans. Comput. 57(4), 2008): nothing goes through the f64 nearest to the sum.
    pub fn in_format(self, format: &Format, direction: Direction) -> f64 {
        if format == &F64 {
            return self.rounded;
        }
        let Interval { lo, hi } = self.enclosure;
        // Of two neighbours one has an odd last bit: it stands for all numbers between them.
        let odd = if lo == hi || lo.to_bits() & 1 == 1 { lo } else { hi };
        round_f64(format, odd, direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::exp2i;

    /// A range that ends in the rounded number holds it: which neighbours the sum has is open.
    #[test]
    fn nothing_is_certified_at_the_end_of_a_range() {
        let error = exp2i(-56);
        // The margin is the bound and 12 epsilons of it: some bound near makes it the error itself.
        let margin = |bound: f64| (1.0 + 8.0 * f64::EPSILON) * bound + 4.0 * f64::EPSILON * error;
        let mut bound = error * (1.0 - 16.0 * f64::EPSILON);
        while margin(bound) < error {
            bound = bound.next_up();
        }
        assert_eq!(margin(bound), error);
        for sign in [1.0, -1.0] {
            assert_eq!(Certified::within(sign, error, bound), None);
            assert_eq!(Certified::within(sign, -error, bound), None);
            assert!(Certified::within(sign, error, bound * 0.999).is_some());
        }
    }

    /// The bound itself is computed: a range that ends in an f64, or beyond, is left to exact methods.
    #[test]
    fn nothing_is_certified_within_a_rounding_of_its_bound() {
        let (error, beside) = (exp2i(-54), 1.0 + 4.0 * f64::EPSILON);
        assert_eq!(Certified::within(1.0, error, error), None);
        assert_eq!(Certified::within(1.0, error, error / beside), None);
        assert_eq!(Certified::within(-1.0, -error, error / beside), None);
        let certified = Certified { rounded: 1.0, enclosure: Interval { lo: 1.0, hi: 1.0 + f64::EPSILON } };
        assert_eq!(Certified::within(1.0, error, error / 1.000_001), Some(certified));
        // Within reach of the middle of two f64 the rounding is open.
        let half = exp2i(-53);
        assert_eq!(Certified::within(1.0, half * (1.0 - exp2i(-40)), half * exp2i(-40)), None);
        assert_eq!(Certified::within(1.0, half * (1.0 - exp2i(-40)), half * exp2i(-41)), Some(certified));
    }
}
