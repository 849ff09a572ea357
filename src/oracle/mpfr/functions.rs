//! Functions that are enclosed by MPFR in every rung: the periodic ones, those of two arguments, and monotone ones for
//! the rungs that compute in f64.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use rug::float::{Constant, Round};
use rug::ops::Pow;
use rug::{Float, Integer};

use crate::ir::Unary;

use super::super::arithmetic::{Arithmetic, Bivariate, Field};
use super::super::between::{Between, What};
use super::super::form::{self, Form};
use super::super::interval::Interval;
use super::super::pair::Pair;
use super::super::turn::Turn;
use super::Mpfr;
use super::error_function::erf;

/// Precision of the results for the f64 rungs: more than they keep.
const INTERVAL_BITS: u32 = 64;
const PAIR_BITS: u32 = 128;

/// Beyond this exponent the place of an angle within its turn is not worth its price, which grows with the exponent.
const FAR: i32 = 1 << 14;

/// A function of an interval of f64.
pub(in super::super) fn of_interval(unary: Unary, x: Interval) -> Interval {
    interval(&Mpfr::new(INTERVAL_BITS).function(unary, &between(x)))
}

/// A function of two intervals of f64.
pub(in super::super) fn of_intervals(function: Bivariate, x: Interval, y: Interval) -> Interval {
    interval(&Mpfr::new(INTERVAL_BITS).bivariate(function, &between(x), &between(y)))
}

/// A function of a pair.
pub(in super::super) fn of_pair(unary: Unary, x: Pair) -> Pair {
    let mpfr = Mpfr::new(PAIR_BITS);
    pair(&mpfr.function(unary, &mpfr.between(x)))
}

/// A function of two pairs.
pub(in super::super) fn of_pairs(function: Bivariate, x: Pair, y: Pair) -> Pair {
    let mpfr = Mpfr::new(PAIR_BITS);
    pair(&mpfr.bivariate(function, &mpfr.between(x), &mpfr.between(y)))
}

/// A multiple of the cosine of a part of a turn, as an interval of f64.
pub(in super::super) fn cosine_interval(turn: Turn, factor: i32) -> Interval {
    interval(&Mpfr::new(INTERVAL_BITS).cosine(turn, factor))
}

/// A multiple of the cosine of a part of a turn, as a pair.
pub(in super::super) fn cosine_pair(turn: Turn, factor: i32) -> Pair {
    pair(&Mpfr::new(PAIR_BITS).cosine(turn, factor))
}

fn between(x: Interval) -> Between {
    if x.is_nan() || x.is_exact() {
        return Between::exact(x.lo);
    }
    if x.is_unknown() {
        return Between::Unknown;
    }
    let end = |end: f64| Float::with_val(f64::MANTISSA_DIGITS, end);
    Between::real(end(x.lo), end(x.hi))
}

fn interval(x: &Between) -> Interval {
    match x {
        _ if x.is_nan() => Interval::NAN,
        Between::Unknown => Interval::UNKNOWN,
        // Of these two zeros neither is claimed.
        Between::Real { lo, hi, .. } if lo.is_zero() && hi.is_zero() => Interval::SIGNLESS_ZERO,
        Between::Exact(value) => ends(value, value),
        Between::Real { lo, hi, .. } => ends(lo, hi),
    }
}

fn ends(lo: &Float, hi: &Float) -> Interval {
    Interval { lo: lo.to_f64_round(Round::Down), hi: hi.to_f64_round(Round::Up) }
}

/// The pair of the middle's two leading f64. Its error is the remainder of the middle and half the width.
fn pair(x: &Between) -> Pair {
    let Some((lo, hi)) = x.ends() else {
        return if x.is_nan() { Pair::exact(f64::NAN) } else { Pair::UNKNOWN };
    };
    // Sums of any f64 are exact in it, and ends of PAIR_BITS nearly so: what is lost is rounded outwards below.
    const WIDE: u32 = 2200;
    let middle = Float::with_val(WIDE, lo + hi) / 2u32;
    let high = middle.to_f64();
    if let Between::Exact(value) = x
        && *value == high
    {
        return Pair::exact(high);
    }
    let low = Float::with_val(WIDE, &middle - high).to_f64();
    if !high.is_finite() || lo.is_zero() && hi.is_zero() {
        return Pair::from_interval(interval(x));
    }
    let center = Float::with_val(WIDE, high) + low;
    let above = Float::with_val_round(f64::MANTISSA_DIGITS, hi - &center, Round::Up).0.to_f64_round(Round::Up);
    let below = Float::with_val_round(f64::MANTISSA_DIGITS, &center - lo, Round::Up).0.to_f64_round(Round::Up);
    Pair { hi: high, lo: low, error: above.max(below).max(0.0) }
}

impl Mpfr {
    /// The enclosure of a pair; an infinite radius stands for any value, NaN and the infinities included.
    fn between(&self, x: Pair) -> Between {
        if x.error == f64::INFINITY {
            return Between::Unknown;
        }
        self.enclose_pair(x).map_or(Between::Unknown, |x| (*x).clone())
    }

    /// A function that is increasing above `pole` and infinite there; below, it is NaN.
    fn above_pole(&self, x: &Between, pole: i32, function: impl Fn(&Float, Round) -> (Float, Ordering)) -> Between {
        match x {
            Between::Real { hi, .. } if *hi < pole => Between::nan(),
            // A zero of either sign, where that is the pole.
            Between::Real { lo, hi, .. } if *lo == pole && *hi == pole => {
                self.monotone(&Between::Exact(lo.clone()), false, function)
            }
            Between::Real { lo, .. } if *lo <= pole => Between::Unknown,
            _ => self.monotone(x, false, function),
        }
    }

    pub(super) fn function(&self, unary: Unary, x: &Between) -> Between {
        let bits = self.bits;
        macro_rules! rounded {
            ($method:ident) => {
                |v: &Float, round| Float::with_val_round(bits, v.$method(), round)
            };
        }
        match unary {
            Unary::Exponential => self.monotone(x, false, rounded!(exp_ref)),
            Unary::ExponentialMinusOne => self.monotone(x, false, rounded!(exp_m1_ref)),
            Unary::Log => self.above_pole(x, 0, rounded!(ln_ref)),
            Unary::LogPlusOne => self.above_pole(x, -1, rounded!(ln_1p_ref)),
            Unary::Tanh => self.monotone(x, false, rounded!(tanh_ref)),
            Unary::Cbrt => self.monotone(x, false, rounded!(cbrt_ref)),
            Unary::Erf => self.monotone(x, false, |v, round| erf(v, bits, round)),
            Unary::Cosine | Unary::Sine => self.wave(unary, x),
            Unary::Tan => self.tangent(x),
            Unary::Sqrt => self.sqrt(x),
            Unary::Rsqrt => {
                let root = self.sqrt(x);
                match &root {
                    // MPFR rounds the reciprocal root of what is not a square once instead of twice.
                    Between::Real { lo, what: What::Anonymous, .. } if *lo > 0 => {
                        self.monotone(x, true, rounded!(recip_sqrt_ref))
                    }
                    _ => self.binary(Field::Divide, &Between::exact(1.0), &root),
                }
            }
            // To integers, each of which MPFR holds at the operand's own precision; a zero keeps the sign of its side.
            Unary::RoundNearestAfz => self.monotone(x, false, |v, _| (v.clone().round(), Ordering::Equal)),
            Unary::RoundNearestEven => self.monotone(x, false, |v, _| (v.clone().round_even(), Ordering::Equal)),
            Unary::Floor => self.monotone(x, false, |v, _| (v.clone().floor(), Ordering::Equal)),
            Unary::Ceil => self.monotone(x, false, |v, _| (v.clone().ceil(), Ordering::Equal)),
            Unary::Logistic => {
                let one = Between::exact(1.0);
                let exp = self.function(Unary::Exponential, &x.negate());
                self.binary(Field::Divide, &one, &self.binary(Field::Add, &one, &exp))
            }
            Unary::Negate => x.negate(),
            Unary::Abs => x.magnitude(),
            Unary::Sign => x.sign(),
            Unary::CountLeadingZeros | Unary::IsFinite | Unary::Not | Unary::PopulationCount => Between::Unknown,
        }
    }

    /// A multiple of the cosine of a part of a turn.
    pub(super) fn cosine(&self, turn: Turn, factor: i32) -> Between {
        let (numerator, denominator) = turn.parts();
        let part = Float::with_val(u32::BITS, numerator);
        // It lies strictly between 0 and 1.
        let ends = if factor < 0 { [Round::Up, Round::Down] } else { [Round::Down, Round::Up] };
        let [lo, hi] = ends.map(|round| {
            let cosine = Float::with_val_round(self.bits, part.cos_u_ref(denominator), round).0;
            Float::with_val(self.bits + i32::BITS, &cosine * factor)
        });
        let form = Form::cosine(turn, factor);
        Between::real(lo, hi).with_form(Some(form), || 0)
    }

    /// The square root: of a ratio of squares a ratio.
    fn sqrt(&self, x: &Between) -> Between {
        match x {
            Between::Real { hi, .. } if *hi < 0 => return Between::nan(),
            Between::Real { lo, .. } if *lo < 0 => return Between::Unknown,
            _ => {}
        }
        if let Some(root) = x.form().and_then(|x| form::root(x.as_rational()?)) {
            return Between::of_rational(&root, self.bits);
        }
        self.monotone(x, false, |v, round| Float::with_val_round(self.bits, v.sqrt_ref(), round))
    }

    /// The sine or cosine.
    ///
    /// Proof. On each piece, from one extreme to the next, the function is monotone. Both ends' pieces are rounded
    /// outwards: where they come out as one, both ends lie in it; where they are neighbours, both lie in these two, and
    /// the extreme between them is the hull's other end; else nothing better is said than -1 to 1.
    fn wave(&self, unary: Unary, x: &Between) -> Between {
        let is_cosine = unary == Unary::Cosine;
        let bits = self.bits;
        let at = |v: &Float, round| match is_cosine {
            true => Float::with_val_round(bits, v.cos_ref(), round),
            false => Float::with_val_round(bits, v.sin_ref(), round),
        };
        let whole = || Between::real(Float::with_val(bits, -1), Float::with_val(bits, 1));
        let Some((lo, hi)) = x.ends() else { return x.clone() };
        if x.is_infinite() {
            return Between::nan();
        }
        if is_far(lo) || is_far(hi) {
            return whole();
        }
        if matches!(x, Between::Exact(_)) {
            return self.monotone(x, false, at);
        }
        // Pieces of the cosine begin at multiples of pi, those of the sine halfway between.
        let (first, last) = (self.piece(lo, !is_cosine, Round::Down), self.piece(hi, !is_cosine, Round::Up));
        let between = Integer::from(&last - &first);
        if between == 0 {
            return self.monotone(x, first.is_even() == is_cosine, at);
        }
        if between != 1 {
            return whole();
        }
        let is_top = last.is_even() == is_cosine;
        let round = if is_top { Round::Down } else { Round::Up };
        let (a, b) = (at(lo, round).0, at(hi, round).0);
        if is_top {
            Between::real(if a < b { a } else { b }, Float::with_val(bits, 1))
        } else {
            Between::real(Float::with_val(bits, -1), if a > b { a } else { b })
        }
    }

    /// The tangent; unknown where the enclosure may hold a pole.
    fn tangent(&self, x: &Between) -> Between {
        let at = |v: &Float, round| Float::with_val_round(self.bits, v.tan_ref(), round);
        let Some((lo, hi)) = x.ends() else { return x.clone() };
        if x.is_infinite() {
            return Between::nan();
        }
        if is_far(lo) || is_far(hi) {
            return Between::Unknown;
        }
        // No f64, nor any other binary fraction, is a pole.
        let is_exact = matches!(x, Between::Exact(_));
        if is_exact || self.piece(lo, true, Round::Down) == self.piece(hi, true, Round::Up) {
            return self.monotone(x, false, at);
        }
        Between::Unknown
    }

    /// The number of the piece that begins at `n pi`, or with `is_shifted` at `(n - 1/2) pi`, and holds x: rounded.
    fn piece(&self, x: &Float, is_shifted: bool, round: Round) -> Integer {
        let bits = self.bits + 32 + x.get_exp().unwrap_or(0).max(0) as u32;
        // The larger divisor gives the smaller quotient of a positive number, and the larger one of a negative.
        let is_larger = (round == Round::Down) == x.is_sign_positive();
        let pi = Float::with_val_round(bits, Constant::Pi, if is_larger { Round::Up } else { Round::Down }).0;
        let mut turns = Float::with_val_round(bits, x / &pi, round).0;
        if is_shifted {
            turns = Float::with_val_round(bits + 1, turns + 0.5f64, round).0;
        }
        turns.floor().to_integer().unwrap_or_default()
    }

    /// `power` and `atan2`, with C's special values (C17 F.10.4.4 and F.10.1.4).
    pub(super) fn bivariate(&self, function: Bivariate, x: &Between, y: &Between) -> Between {
        match function {
            Bivariate::Atan2 => self.atan2(x, y),
            Bivariate::Power => self.power(x, y),
        }
    }

    fn power(&self, x: &Between, y: &Between) -> Between {
        let at = |a: &Float, b: &Float, round| Float::with_val_round(self.bits, a.pow(b), round);
        let is = |v: &Between, number: i32| matches!(v, Between::Exact(v) if *v == number);
        // Whatever the other one is, NaN included.
        if is(x, 1) || is(y, 0) {
            return Between::exact(1.0);
        }
        if x.is_nan() || y.is_nan() {
            return Between::nan();
        }
        if let (Between::Exact(a), Between::Exact(b)) = (x, y) {
            let value = Between::from_down(at(a, b, Round::Down));
            // The NaN of an operation is positive, whatever MPFR's is.
            return if value.is_nan() { Between::nan() } else { value };
        }
        let (Some((x_lo, x_hi)), Some((y_lo, _))) = (x.ends(), y.ends()) else { return Between::Unknown };
        if x.is_infinite() || y.is_infinite() {
            return Between::Unknown;
        }
        // Monotone in each operand; at a base of zero as the limit, for exponents above zero.
        if *x_lo > 0 || x_lo.is_sign_positive() && x_lo.is_zero() && *y_lo > 0 {
            return self.corners(x, y, |a, b, round| at(a, b, round).0);
        }
        let Between::Exact(exponent) = y else { return Between::Unknown };
        if !exponent.is_integer() {
            return if *x_hi < 0 { Between::nan() } else { Between::Unknown };
        }
        // The base may be negative or zero.
        if *exponent < 0 && x.may_be_zero() {
            return Between::Unknown;
        }
        // Beyond its own bits a number is even, and it may have more digits than memory holds.
        let is_beyond = exponent.get_exp().is_some_and(|last| i64::from(last) > i64::from(exponent.prec()));
        let is_even = is_beyond || exponent.to_integer().is_some_and(|n| n.is_even());
        let base = if is_even { x.magnitude() } else { x.clone() };
        self.monotone(&base, *exponent < 0, |v, round| at(v, exponent, round))
    }

    /// Proof. A box that neither holds the origin nor meets the negative abscissas is convex and lies in the plane
    /// without the cut, where the angle of a convex set is extreme at its corners.
    fn atan2(&self, y: &Between, x: &Between) -> Between {
        let at = |a: &Float, b: &Float, round| Float::with_val_round(self.bits, a.atan2_ref(b), round);
        if x.is_nan() || y.is_nan() {
            return Between::nan();
        }
        if let (Between::Exact(a), Between::Exact(b)) = (y, x) {
            return Between::from_down(at(a, b, Round::Down));
        }
        let (Some((x_lo, _)), Some((y_lo, y_hi))) = (x.ends(), y.ends()) else { return Between::Unknown };
        if *x_lo > 0 || *y_lo > 0 || *y_hi < 0 {
            return self.corners(y, x, |a, b, round| at(a, b, round).0);
        }
        let pi = Float::with_val_round(self.bits, Constant::Pi, Round::Up).0;
        Between::real(-pi.clone(), pi)
    }
}

/// Whether an angle lies too far out for its turn to be counted.
fn is_far(x: &Float) -> bool {
    !x.is_finite() || x.get_exp().is_some_and(|exponent| exponent > FAR)
}
