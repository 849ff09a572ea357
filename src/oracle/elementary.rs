//! Enclosures of elementary functions, from IEEE `+ - * /` alone: the same on every machine.
//!
//! Each function is monotone, so the ends of an interval map to the ends of its image. At one number, a value is
//! computed together with a proven bound of its error, and the ends lie just outside. Exact results are exact where an
//! f64 goes in and an f64 is the real result: at 0, at 1 for `log`, at the infinities. (By Lindemann's theorem there are
//! no others.) Where the real result overflows, the enclosure is unbounded from `f64::MAX` on, or from just below it;
//! where it underflows, it lies between zero and the smallest subnormals.

mod exponential;
mod logarithm;
#[cfg(test)]
mod tests;

use crate::num::exp2i;

use super::interval::regular::IRREGULAR;
use super::interval::{Interval, directed, two_sum};
pub(super) use exponential::{Table, table};
use exponential::{minus_one_minus, parts, scale_normal};

const TINY: f64 = f64::from_bits(1);

/// `1 - 2^-53`.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// `e^x`. Relative width at one number: at most 2^-51 where the result is normal.
#[inline]
pub fn exp(x: Interval) -> Interval {
    monotone(x, exp_at)
}

/// `e^x - 1`, right near 0 as well. Relative width at one number: at most 2^-47.
#[inline]
pub fn expm1(x: Interval) -> Interval {
    monotone(x, expm1_at)
}

/// `ln x`; -inf at a zero, NaN below. Relative width at one number: at most 2^-51.
#[inline]
pub fn log(x: Interval) -> Interval {
    from_pole(x, 0.0, log_at)
}

/// `ln(1 + x)`; -inf at -1, NaN below. Relative width at one number: at most 2^-51.
#[inline]
pub fn log1p(x: Interval) -> Interval {
    from_pole(x, -1.0, log1p_at)
}

/// `(e^2x - 1) / (e^2x + 1)`. Relative width at one number: at most 2^-47.
#[inline]
pub fn tanh(x: Interval) -> Interval {
    monotone(x, tanh_at)
}

/// `1 / (1 + e^-x)`. Relative width at one number: at most 2^-49 where the result is normal.
#[inline]
pub fn logistic(x: Interval) -> Interval {
    monotone(x, logistic_at)
}

/// An increasing function defined everywhere, from its enclosure at one number.
#[inline(always)]
fn monotone(x: Interval, at: impl Fn(f64) -> Interval) -> Interval {
    if x.is_exact() {
        at(x.lo)
    } else if x.is_nan() || x.is_unknown() {
        x
    } else {
        Interval { lo: at(x.lo).lo, hi: at(x.hi).hi }
    }
}

/// An increasing function that is -inf at `pole` and NaN below.
#[inline(always)]
fn from_pole(x: Interval, pole: f64, at: impl Fn(f64) -> Interval) -> Interval {
    if x.hi < pole {
        Interval::NAN
    } else if x.is_exact() && x.lo == pole {
        Interval::exact(f64::NEG_INFINITY)
    } else if x.lo <= pole {
        // The pole itself is among the values, or numbers on both sides of it.
        Interval::UNKNOWN
    } else {
        monotone(x, at)
    }
}

/// The numbers next to `y`, which is the result of rounding, to nearest, a number within a relative error of 2^-57 of
/// the real one. They enclose it: half the spacing on either side, and little more. (Where y is a power of two and the
/// real number lies below it, half the spacing of the numbers below.)
#[inline(always)]
fn next_to(y: f64) -> Interval {
    Interval { lo: y.next_down(), hi: y.next_up() }
}

#[inline]
fn exp_at(x: f64) -> Interval {
    if x == 0.0 {
        return Interval::exact(1.0);
    }
    if x.abs() > 750.0 {
        return match (x.is_infinite(), x > 0.0) {
            (true, true) => Interval::exact(f64::INFINITY),
            (true, false) => Interval::exact(0.0),
            (false, true) => Interval { lo: f64::MAX, hi: f64::INFINITY },
            (false, false) => Interval { lo: 0.0, hi: TINY },
        };
    }
    let e = parts(x);
    let significand = next_to(e.power + e.tail);
    if e.exponent.abs() < 1022 {
        let scale = |end| scale_normal(end, e.exponent);
        Interval { lo: scale(significand.lo), hi: scale(significand.hi) }
    } else {
        let (lo, hi) = directed::scale_back(significand.lo, significand.hi, e.exponent);
        Interval { lo, hi }
    }
}

/// [`exp`] for long loops: no branches, and narrow intervals without zero between -690 and 709 only; else
/// [`IRREGULAR`].
///
/// Proof of the upper end. `e^hi = e^lo e^w` and `e^w < 1 + w (1 + 2^-12)` for `w < 2^-12`; the factor covers that and four
/// roundings of the small term, and stepping up the rounding of the sum.
#[inline(always)]
pub(super) fn exp_kernel(x: Interval, table: &Table) -> Interval {
    let e = exponential::parts_by(table, x.lo);
    let significand = e.power + e.tail;
    let neighbor = |by: i64| f64::from_bits(significand.to_bits().wrapping_add_signed(by));
    let width = x.hi - x.lo;
    let reach = neighbor(1) * (width * (1.0 + 1.0 / 2048.0));
    let wide = f64::from_bits((neighbor(1) + reach).to_bits().wrapping_add(1));
    let scale = scale_of(&e);
    let (lo, hi) = (neighbor(-1) * scale, if width == 0.0 { neighbor(1) } else { wide } * scale);
    if is_regular(x) && is_narrow(x) { Interval { lo, hi } } else { IRREGULAR }
}

/// [`exp`] for long loops, of intervals of any width: each end by itself; else as [`exp_kernel`].
#[inline(always)]
pub(super) fn exp_ends_kernel(x: Interval, table: &Table) -> Interval {
    let end = |at: f64, by: i64| {
        let e = exponential::parts_by(table, at);
        f64::from_bits((e.power + e.tail).to_bits().wrapping_add_signed(by)) * scale_of(&e)
    };
    let (lo, hi) = (end(x.lo, -1), end(x.hi, 1));
    if is_regular(x) && x.lo <= x.hi { Interval { lo, hi } } else { IRREGULAR }
}

/// The power of two of an exponential that is far from overflow and underflow, without a branch.
#[inline(always)]
fn scale_of(e: &exponential::Parts) -> f64 {
    f64::from_bits(((1023 + i64::from(e.exponent)) as u64) << 52)
}

/// Whether the loops' kernels take an interval that lies here: without zero, whose exponential is exact, and with normal results.
#[inline(always)]
fn is_regular(x: Interval) -> bool {
    x.lo > -690.0 && x.hi < 709.0 && (x.lo > 0.0 || x.hi < 0.0)
}

/// Whether [`exp_kernel`] takes an interval of this width.
#[inline(always)]
pub(super) fn is_narrow(x: Interval) -> bool {
    x.hi - x.lo < 1.0 / 4096.0
}

fn expm1_at(x: f64) -> Interval {
    if x == 0.0 || x == f64::INFINITY {
        Interval::exact(x)
    } else if x == f64::NEG_INFINITY {
        Interval::exact(-1.0)
    } else if x.abs() < exp2i(-54) {
        // Between x and x + x^2, and x^2 is below half an ulp of x.
        Interval { lo: x, hi: x.next_up() }
    } else if x > 60.0 {
        // One is less than an ulp of e^60.
        let e = exp_at(x);
        Interval { lo: e.lo.next_down(), hi: e.hi }
    } else if x < -45.0 {
        Interval { lo: -1.0, hi: -BELOW_ONE }
    } else if x.abs() < 0.0027 {
        // The second summand, below 2^-9 of the first, has an error of 2^-50 of itself.
        next_to(x + minus_one_minus(x))
    } else {
        // The tail's error is below 2^-59 of e^x, and so below 2^(exponent - 58). The second summand is below
        // 2^(exponent - 6.5) plus half an ulp of the head, and rounding it loses 2^-53 of that.
        let e = parts(x);
        let (head, rounded_off) = two_sum(scale_normal(e.power, e.exponent), -1.0);
        let y = head + (rounded_off + scale_normal(e.tail, e.exponent));
        let error = scale_normal(1.0, e.exponent - 57);
        Interval { lo: (y - error).next_down().next_down(), hi: (y + error).next_up().next_up() }
    }
}

fn log_at(x: f64) -> Interval {
    if x == 1.0 {
        Interval::exact(0.0)
    } else if x == f64::INFINITY {
        Interval::exact(x)
    } else {
        next_to(logarithm::ln(x, 0.0))
    }
}

fn log1p_at(x: f64) -> Interval {
    if x == 0.0 || x == f64::INFINITY {
        Interval::exact(x)
    } else if x.abs() < exp2i(-54) {
        // Between x - x^2 and x.
        Interval { lo: x.next_down(), hi: x }
    } else if x.abs() < exp2i(-8) {
        next_to(logarithm::ln_plus_one(x))
    } else {
        let (sum, rounded_off) = two_sum(1.0, x);
        next_to(logarithm::ln(sum, rounded_off))
    }
}

fn tanh_at(x: f64) -> Interval {
    if x == 0.0 {
        return Interval::exact(x);
    }
    let size = x.abs();
    let result = if size.is_infinite() {
        Interval::exact(1.0)
    } else if size < exp2i(-27) {
        // Between x - x^3/3 and x.
        Interval { lo: size.next_down(), hi: size }
    } else if size > 20.0 {
        // 2 e^-40 < 2^-56.
        Interval { lo: BELOW_ONE, hi: 1.0 }
    } else {
        // Increasing in `e^2x - 1`.
        let e = expm1_at(2.0 * size);
        let quotient = |e: f64| Interval::exact(e).div(Interval::exact(e).add(Interval::exact(2.0)));
        Interval { lo: quotient(e.lo).lo, hi: quotient(e.hi).hi.min(1.0) }
    };
    if x < 0.0 { result.neg() } else { result }
}

fn logistic_at(x: f64) -> Interval {
    if x < -700.0 {
        let e = exp_at(x);
        // e^x - e^2x and e^x enclose it, and e^x < 2^-1000.
        if e.is_exact() { e } else { Interval { lo: e.lo.next_down().max(0.0), hi: e.hi } }
    } else {
        let one = Interval::exact(1.0);
        one.div(one.add(exp_at(-x)))
    }
}
