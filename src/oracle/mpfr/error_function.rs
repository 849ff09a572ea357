//! The error function, correctly rounded in one direction.
//!
//! MPFR has one of its own, which is never called: its partial sums alternate, and where one of them is nearly zero, as the
//! second one is at |x| = sqrt(3), it ends the process with an assertion or takes some 2^61 steps (`erf.c` of MPFR 4.2.2:
//! `nuk` is the distance of the exponents of a term and of that sum, and `mul_2exp` counts it down).

use std::cmp::Ordering;

use rug::Float;
use rug::float::{Constant, Round};
use rug::ops::{AddAssignRound, DivAssignRound, MulAssignRound};

/// Bits beyond those asked for, at first: the series below loses some 14 of them.
const GUARD: u32 = 64;
/// From this exponent on `x^2` is above 2^80, and `e^(-x^2)` below the last bit of any precision.
const LARGE: i32 = 41;

/// `erf(x)`, rounded down or up to so many bits, and how that compares with it.
pub(super) fn erf(x: &Float, bits: u32, round: Round) -> (Float, Ordering) {
    if x.is_nan() || x.is_zero() {
        return Float::with_val_round(bits, x, round);
    }
    let is_negative = x.is_sign_negative();
    let down = (round == Round::Down) != is_negative;
    let value = if x.is_infinite() { None } else { of_positive(&x.clone().abs(), bits, down) };
    let (value, ternary) = value.unwrap_or_else(|| (Float::with_val(bits, 1), Ordering::Equal));
    if is_negative { (-value, ternary.reverse()) } else { (value, ternary) }
}

/// `erf(x)` of a positive number; `None` for what is no number.
fn of_positive(x: &Float, bits: u32, down: bool) -> Option<(Float, Ordering)> {
    let exponent = x.get_exp()?;
    let away = if down { Ordering::Less } else { Ordering::Greater };
    if is_next_to_one(x, exponent, bits) {
        let mut value = Float::with_val(bits, 1);
        if down {
            value.next_down();
        }
        return Some((value, away));
    }
    let mut guard = GUARD;
    loop {
        // The value at an argument that is algebraic and not zero is transcendental: no rounding leaves nothing, and more
        // bits tell on which side of every number it lies.
        let ends = match guard == GUARD && exponent < -(bits.max(GUARD) as i32) {
            true => near_zero(x, bits + guard),
            false => series(x, bits + guard),
        };
        let round = if down { Round::Down } else { Round::Up };
        let [lo, hi] = ends.map(|end| Float::with_val_round(bits, end, round).0);
        if lo == hi {
            return Some((lo, away));
        }
        guard *= 2;
    }
}

/// Whether `1 - erf(x)`, at most `e^(-x^2)`, is below `2^-bits`, so that no number of so many bits lies between it and one.
fn is_next_to_one(x: &Float, exponent: i32, bits: u32) -> bool {
    if exponent >= LARGE {
        return true;
    }
    // ln 2 is below 0.6932.
    let square = Float::with_val_round(64, x.square_ref(), Round::Down).0;
    square > (f64::from(bits) + 1.0) * 0.6932
}

/// Bounds of `2 x / sqrt(pi)`, times what lies between `1 - x^2 / 3` and 1, for an x below `2^-bits`.
fn near_zero(x: &Float, bits: u32) -> [Float; 2] {
    // Of zero 0 says that all may be lost, which leaves the bounds 0.
    let exponent = x.get_exp().unwrap_or(0).unsigned_abs().min(bits);
    let mut ends = slope(x, bits);
    // x^2 / 3 is below 2^(-2 exponent).
    let loss = Float::with_val(bits, Float::i_exp(1, -2 * exponent as i32));
    let kept = Float::with_val_round(bits, 1 - loss, Round::Down).0;
    ends[0].mul_assign_round(kept, Round::Down);
    ends
}

/// Bounds of `2 x / sqrt(pi)`.
fn slope(x: &Float, bits: u32) -> [Float; 2] {
    [Round::Down, Round::Up].map(|round| {
        let other = if round == Round::Down { Round::Up } else { Round::Down };
        let pi = Float::with_val_round(bits, Constant::Pi, other).0;
        let root = Float::with_val_round(bits, pi.sqrt_ref(), other).0;
        let mut slope = Float::with_val_round(bits, x * 2u32, round).0;
        slope.div_assign_round(root, round);
        slope
    })
}

/// Bounds of `2 x / sqrt(pi) e^(-x^2) (1 + 2x^2/3 + (2x^2)^2/(3 5) + ...)` (NIST DLMF 7.6.2): no term is negative, so that
/// nothing cancels.
fn series(x: &Float, bits: u32) -> [Float; 2] {
    let mut ends = slope(x, bits);
    for (end, round) in ends.iter_mut().zip([Round::Down, Round::Up]) {
        let other = if round == Round::Down { Round::Up } else { Round::Down };
        let square = Float::with_val_round(bits, x.square_ref(), round).0;
        let double = Float::with_val(bits, &square * 2u32);
        let (mut term, mut sum) = (Float::with_val(bits, 1), Float::with_val(bits, 1));
        for k in 1u32.. {
            term.mul_assign_round(&double, round);
            term.div_assign_round(2 * k + 1, round);
            sum.add_assign_round(&term, round);
            // The sum begins with 1 and grows, so that it has an exponent.
            let is_small = term.get_exp().is_none_or(|small| small < sum.get_exp().unwrap_or(0) - bits as i32);
            // From here on each term is at most half of the one before: all of them together are at most the last one.
            if is_small && double <= k + 1 {
                break;
            }
        }
        if round == Round::Up {
            sum.add_assign_round(&term, round);
        }
        let negative = -Float::with_val_round(bits, x.square_ref(), other).0;
        let decay = Float::with_val_round(bits, negative.exp_ref(), round).0;
        end.mul_assign_round(sum, round);
        end.mul_assign_round(decay, round);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole series, alternating, in many more bits than cancel.
    fn plain(x: &Float) -> Float {
        const BITS: u32 = 16_000;
        let square = -Float::with_val(BITS, x.square_ref());
        let (mut term, mut sum) = (Float::with_val(BITS, x), Float::with_val(BITS, x));
        for k in 1u32..60_000 {
            term *= &square;
            term /= k;
            sum += Float::with_val(BITS, &term / (2 * k + 1));
            if term.get_exp().is_none_or(|exponent| exponent < -12_000) {
                break;
            }
        }
        sum * 2u32 / Float::with_val(BITS, Constant::Pi).sqrt()
    }

    #[test]
    fn ends_are_neighbours_around_the_value() {
        let root = |bits| Float::with_val(bits, 3).sqrt();
        let arguments = |bits: u32| {
            let mut all: Vec<Float> = [1e-300, 1e-30, 0.1, 0.5, 1.0, 1.75, 2.0, 3.5, 5.0, 9.0]
                .map(|value| Float::with_val(53, value))
                .to_vec();
            all.extend([root(24), root(53), root(bits), root(2 * bits)]);
            all
        };
        for bits in [2, 3, 8, 24, 64, 128, 1021, 1024, 2048] {
            for x in arguments(bits) {
                let exact = plain(&x);
                let (lo, below) = erf(&x, bits, Round::Down);
                let (hi, above) = erf(&x, bits, Round::Up);
                assert!(lo < exact && exact < hi, "{x} at {bits} bits: {lo} to {hi}");
                let mut next = lo.clone();
                next.next_up();
                assert_eq!((next, below, above), (hi.clone(), Ordering::Less, Ordering::Greater), "{x} at {bits} bits");
                let (negative, ternary) = erf(&-x, bits, Round::Down);
                assert_eq!((negative, ternary), (-hi, Ordering::Less));
            }
        }
    }

    #[test]
    fn special_arguments() {
        let of = |value: f64, round| erf(&Float::with_val(53, value), 53, round);
        let signed = |value: f64| (of(value, Round::Down).0.to_f64(), of(value, Round::Down).1);
        assert_eq!(signed(f64::INFINITY), (1.0, Ordering::Equal));
        assert_eq!(signed(f64::NEG_INFINITY), (-1.0, Ordering::Equal));
        assert!(signed(-0.0).0.is_sign_negative() && signed(0.0).0.is_sign_positive() && signed(f64::NAN).0.is_nan());
        assert_eq!(signed(1e300), (1.0 - f64::EPSILON / 2.0, Ordering::Less));
        assert_eq!(signed(-1e300), (-1.0, Ordering::Less));
        // Smaller than any f64, and larger.
        for exponent in [-(1 << 29), 1 << 29] {
            let x = Float::with_val(8, Float::i_exp(3, exponent));
            let (lo, hi) = (erf(&x, 64, Round::Down).0, erf(&x, 64, Round::Up).0);
            assert!(lo < hi && lo > 0 && hi <= 1, "{lo} to {hi}");
        }
    }
}
