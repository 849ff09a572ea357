//! Neighbours of a real result: the largest f64 not above it and the smallest not below it, as a pair.
//!
//! An operation is made once, to nearest; the sign of its exact error then says on which side the real result lies
//! (Dekker 1971; Knuth, TAOCP 4.2.2). Where the result is an f64, both ends are that number. An infinite operand is an
//! unbounded end of an interval, and the result is the limit.

use crate::num::{floor_log2, scale};

/// Dekker's product is exact while neither the split of a factor overflows nor the error underflows.
const SPLIT_LIMIT: f64 = f64::from_bits((1023 + 990) << 52);
const ERROR_LIMIT: f64 = f64::from_bits((1023 - 960) << 52);

/// `(down, up)`.
pub type Bracket = (f64, f64);

/// The neighbours of a real number, from its rounded value and the sign of `real - rounded`; NaN for an unknown sign.
/// If the number overflows, the error is infinite, towards it.
#[inline(always)]
fn bracket(rounded: f64, error: f64) -> Bracket {
    if error == 0.0 {
        (rounded, rounded)
    } else if error > 0.0 {
        (rounded, rounded.next_up())
    } else if error < 0.0 {
        (rounded.next_down(), rounded)
    } else {
        (rounded.next_down(), rounded.next_up())
    }
}

/// `a + b` rounded to nearest, and the exact error of that; the error is not finite where the sum overflows.
#[inline(always)]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `a * b - product`, exact where `product = RN(a * b)` and all three are within the limits.
#[inline(always)]
pub fn product_error(a: f64, b: f64, product: f64) -> f64 {
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
}

/// Veltkamp's split into two halves of at most 26 bits.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let shifted = a * 134_217_729.0;
    let high = shifted - (shifted - a);
    (high, a - high)
}

/// The neighbours of `a + b`; ends of opposite infinities do not occur.
#[inline(always)]
pub fn add(a: f64, b: f64) -> Bracket {
    let sum = a + b;
    // Dekker 1971. With the larger known, no part overflows unless the sum does, as one in `two_sum` may.
    let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    bracket(sum, small - (sum - large))
}

/// The neighbours of `a * b`.
#[inline(always)]
pub fn mul(a: f64, b: f64) -> Bracket {
    let product = a * b;
    if a.abs() < SPLIT_LIMIT && b.abs() < SPLIT_LIMIT && product.abs() > ERROR_LIMIT {
        bracket(product, product_error(a, b, product))
    } else if a == 0.0 || b == 0.0 {
        // Zero times an unbounded end is zero: the factor behind it is finite.
        (0.0, 0.0)
    } else if a.is_infinite() || b.is_infinite() {
        (product, product)
    } else {
        rescaled(a, b, 1, mul)
    }
}

/// The neighbours of `a / b`; `b` is not zero.
#[inline(always)]
pub fn div(a: f64, b: f64) -> Bracket {
    let quotient = a / b;
    let size = a.abs();
    if size < SPLIT_LIMIT
        && size > ERROR_LIMIT
        && b.abs() < SPLIT_LIMIT
        && quotient.abs() < SPLIT_LIMIT
        && quotient.abs() > ERROR_LIMIT
    {
        // The remainder of a quotient rounded to nearest is an f64, and its two parts subtract exactly.
        let product = quotient * b;
        let remainder = (a - product) - product_error(quotient, b, product);
        bracket(quotient, if b < 0.0 { -remainder } else { remainder })
    } else if a == 0.0 || b.is_infinite() {
        (0.0, 0.0)
    } else if a.is_infinite() {
        (quotient, quotient)
    } else {
        rescaled(a, b, -1, div)
    }
}

/// The neighbours of the square root of `x`, which is not negative.
#[inline(always)]
pub fn sqrt(x: f64) -> Bracket {
    if x > ERROR_LIMIT && x < SPLIT_LIMIT {
        // As for the quotient: the remainder of a square root rounded to nearest is an f64.
        let root = x.sqrt();
        let square = root * root;
        bracket(root, (x - square) - product_error(root, root, square))
    } else if x == 0.0 || x.is_infinite() {
        (x, x)
    } else {
        // Exact both ways: no root is subnormal.
        let half = if x < 1.0 { 100 } else { -100 };
        let (down, up) = sqrt(scale(x, 2 * half));
        (scale(down, -half), scale(up, -half))
    }
}

/// `operation` on the significands of two finite numbers that are not zero; its result is then scaled back, outwards.
#[cold]
fn rescaled(a: f64, b: f64, b_exponent_sign: i32, operation: fn(f64, f64) -> Bracket) -> Bracket {
    let (a_exponent, b_exponent) = (floor_log2(a), floor_log2(b));
    let (down, up) = operation(scale(a, -a_exponent), scale(b, -b_exponent));
    // Beyond 1200 everything is zero or infinite all the same, and `scale` has no more room.
    let exponent = (a_exponent + b_exponent_sign * b_exponent).clamp(-1200, 1200);
    scale_back(down, up, exponent)
}

/// The neighbours of `down * 2^exponent` and `up * 2^exponent`, for ends between 2^-2 and 2^3 in magnitude and an
/// exponent within 1200.
#[cold]
pub fn scale_back(down: f64, up: f64, exponent: i32) -> Bracket {
    let (low, high) = (scale(down, exponent), scale(up, exponent));
    // Scaling back is exact, so this sees on which side scaling rounded.
    (
        if scale(low, -exponent) <= down { low } else { low.next_down() },
        if scale(high, -exponent) >= up { high } else { high.next_up() },
    )
}
