//! Rational numbers, as far as they stay short: sums, products and quotients of floats are known exactly, whatever
//! cancels, and so a mean taken off a constant row is a zero, and equal quotients tie.

use rug::float::Round;
use rug::{Float, Integer, Rational};

use crate::ir::Binary;

/// The most bits of numerator and denominator together. Sums of quotients grow by their denominators; beyond this, an
/// enclosure has to do.
pub(super) const LARGEST: u32 = 4096;

/// Bits of numerator and denominator together.
pub(super) fn size(value: &Rational) -> u32 {
    value.numer().significant_bits().saturating_add(value.denom().significant_bits())
}

/// A finite number; `None` where it takes too many bits.
pub(super) fn of_float(value: &Float) -> Option<Rational> {
    let reach = value.get_exp().unwrap_or(0).unsigned_abs().saturating_add(value.prec());
    if !value.is_finite() || reach > LARGEST { None } else { value.to_rational() }
}

/// Add, subtract, multiply or divide; `None` for a quotient by zero.
pub(super) fn binary(binary: Binary, x: Rational, y: Rational) -> Option<Rational> {
    match binary {
        Binary::Add => Some(x + y),
        Binary::Subtract => Some(x - y),
        Binary::Multiply => Some(x * y),
        Binary::Divide if !y.is_zero() => Some(x / y),
        _ => None,
    }
}

/// The sum, if it stays short.
pub(super) fn sum(terms: Vec<Rational>) -> Option<Rational> {
    let mut total = Rational::new();
    for term in terms {
        total += term;
        if size(&total) > LARGEST {
            return None;
        }
    }
    Some(total)
}

/// The square root, if it is rational.
pub(super) fn root(value: &Rational) -> Option<Rational> {
    let squares = *value > 0 && value.numer().is_perfect_square() && value.denom().is_perfect_square();
    squares.then(|| Rational::from((value.numer().clone().sqrt(), value.denom().clone().sqrt())))
}

/// The value without its fraction, saturated.
pub(super) fn truncated(value: &Rational) -> i128 {
    saturated_integer(Integer::from(value.trunc_ref()))
}

/// The value of a number without its fraction, saturated.
pub(super) fn saturated(value: &Float) -> i128 {
    let beyond = if value.is_sign_negative() { i128::MIN } else { i128::MAX };
    // An integer of so many bits is not worth making.
    if value.get_exp().is_some_and(|exponent| exponent > i128::BITS as i32) {
        return beyond;
    }
    value.to_integer_round(Round::Zero).map_or(beyond, |(integer, _)| saturated_integer(integer))
}

fn saturated_integer(value: Integer) -> i128 {
    let beyond = if value < 0 { i128::MIN } else { i128::MAX };
    value.to_i128().unwrap_or(beyond)
}
