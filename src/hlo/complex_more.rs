//! More functions of complex numbers, in textbook formulas: modelling choice, since XLA:CPU's differ in last bits.

use crate::ir::{Binary, Compare, Unary};

use super::complex_function::{Parts, abs, binary, compare, divide, exponential, log, select, unary};
use super::emit::Emitter;
use super::error::LowerError;
use super::fill::number;

type Result<T> = std::result::Result<T, LowerError>;

/// The functions of one number that are known here.
pub(super) const KNOWN: &[&str] =
    &["cosine", "exponential-minus-one", "log-plus-one", "logistic", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"];

/// A function by its opcode, one of [`KNOWN`].
pub(super) fn of_one(e: &mut Emitter, opcode: &str, z: Parts) -> Result<Parts> {
    match opcode {
        "cosine" => {
            let [(sine, cosine), (sinh, cosh)] = of_both(e, z)?;
            let product = binary(e, Binary::Multiply, sine, sinh)?;
            Ok([binary(e, Binary::Multiply, cosine, cosh)?, unary(e, Unary::Negate, product)?])
        }
        "sine" => {
            let [(sine, cosine), (sinh, cosh)] = of_both(e, z)?;
            Ok([binary(e, Binary::Multiply, sine, cosh)?, binary(e, Binary::Multiply, cosine, sinh)?])
        }
        "exponential-minus-one" => exponential_minus_one(e, z),
        "log-plus-one" => log_plus_one(e, z),
        "logistic" => {
            let negative = negate(e, z)?;
            let power = exponential(e, negative)?;
            let (one, zero) = (number(e, z[0], 1.0)?, number(e, z[0], 0.0)?);
            let divisor = [binary(e, Binary::Add, power[0], one)?, power[1]];
            divide(e, [one, zero], divisor)
        }
        "sqrt" => root(e, z, Unary::Sqrt, 0.5),
        "rsqrt" => root(e, z, Unary::Rsqrt, -0.5),
        "sign" => sign(e, z),
        // tan z = -i tanh (i z)
        "tan" => {
            let turned = [unary(e, Unary::Negate, z[1])?, z[0]];
            let [re, im] = tanh(e, turned)?;
            Ok([im, unary(e, Unary::Negate, re)?])
        }
        _ => tanh(e, z),
    }
}

fn negate(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    Ok([unary(e, Unary::Negate, a)?, unary(e, Unary::Negate, b)?])
}

/// Sine and cosine of the real part, hyperbolic sine and cosine of the imaginary one.
fn of_both(e: &mut Emitter, [a, b]: Parts) -> Result<[(usize, usize); 2]> {
    let half = number(e, a, 0.5)?;
    let minus_b = unary(e, Unary::Negate, b)?;
    let mut halves = |of: Unary, with: Binary| {
        let (up, down) = (unary(e, of, b)?, unary(e, of, minus_b)?);
        let both = binary(e, with, up, down)?;
        binary(e, Binary::Multiply, both, half)
    };
    let sinh = halves(Unary::ExponentialMinusOne, Binary::Subtract)?;
    let cosh = halves(Unary::Exponential, Binary::Add)?;
    Ok([(unary(e, Unary::Sine, a)?, unary(e, Unary::Cosine, a)?), (sinh, cosh)])
}

/// `(e^a - 1) cos b - 2 sin^2 (b / 2) + i e^a sin b`.
fn exponential_minus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (half, two) = (number(e, a, 0.5)?, number(e, a, 2.0)?);
    let (grown, whole) = (unary(e, Unary::ExponentialMinusOne, a)?, unary(e, Unary::Exponential, a)?);
    let (sine, cosine) = (unary(e, Unary::Sine, b)?, unary(e, Unary::Cosine, b)?);
    let halved = binary(e, Binary::Multiply, b, half)?;
    let of_half = unary(e, Unary::Sine, halved)?;
    let square = binary(e, Binary::Multiply, of_half, of_half)?;
    let lost = binary(e, Binary::Multiply, square, two)?;
    let first = binary(e, Binary::Multiply, grown, cosine)?;
    Ok([binary(e, Binary::Subtract, first, lost)?, binary(e, Binary::Multiply, whole, sine)?])
}

/// `ln (1 + a (a + 2) + b^2) / 2 + i arg (1 + z)`.
fn log_plus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (half, one, two) = (number(e, a, 0.5)?, number(e, a, 1.0)?, number(e, a, 2.0)?);
    let sum = binary(e, Binary::Add, a, two)?;
    let product = binary(e, Binary::Multiply, a, sum)?;
    let square = binary(e, Binary::Multiply, b, b)?;
    let beyond_one = binary(e, Binary::Add, product, square)?;
    let logarithm = unary(e, Unary::LogPlusOne, beyond_one)?;
    let real = binary(e, Binary::Add, a, one)?;
    Ok([binary(e, Binary::Multiply, logarithm, half)?, binary(e, Binary::Atan2, b, real)?])
}

/// `|z|^p (cos (p arg z) + i sin (p arg z))`, `of` being the power of real numbers.
fn root(e: &mut Emitter, [a, b]: Parts, of: Unary, power: f64) -> Result<Parts> {
    let magnitude = abs(e, [a, b])?;
    let size = unary(e, of, magnitude)?;
    let angle = binary(e, Binary::Atan2, b, a)?;
    let power = number(e, a, power)?;
    let angle = binary(e, Binary::Multiply, angle, power)?;
    let (sine, cosine) = (unary(e, Unary::Sine, angle)?, unary(e, Unary::Cosine, angle)?);
    Ok([binary(e, Binary::Multiply, size, cosine)?, binary(e, Binary::Multiply, size, sine)?])
}

/// `z / |z|`, zero of zero.
fn sign(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (magnitude, zero) = (abs(e, [a, b])?, number(e, a, 0.0)?);
    let is_zero = compare(e, Compare::Eq, magnitude, zero)?;
    let mut parts = [a, b];
    for part in &mut parts {
        let quotient = binary(e, Binary::Divide, *part, magnitude)?;
        *part = select(e, is_zero, zero, quotient)?;
    }
    Ok(parts)
}

/// With t = tanh a and u = tan b: `(t (1 + u^2) + i u (1 - t^2)) / (1 + t^2 u^2)`.
fn tanh(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let one = number(e, a, 1.0)?;
    let (t, u) = (unary(e, Unary::Tanh, a)?, unary(e, Unary::Tan, b)?);
    let (t_square, u_square) = (binary(e, Binary::Multiply, t, t)?, binary(e, Binary::Multiply, u, u)?);
    let both = binary(e, Binary::Multiply, t_square, u_square)?;
    let divisor = binary(e, Binary::Add, both, one)?;
    let (more, less) = (binary(e, Binary::Add, u_square, one)?, binary(e, Binary::Subtract, one, t_square)?);
    let (re, im) = (binary(e, Binary::Multiply, t, more)?, binary(e, Binary::Multiply, u, less)?);
    Ok([binary(e, Binary::Divide, re, divisor)?, binary(e, Binary::Divide, im, divisor)?])
}

/// `e^(y ln x)`; of zero it is zero, but one where `y` is zero.
pub(super) fn power(e: &mut Emitter, x: Parts, y: Parts) -> Result<Parts> {
    let [a, b] = log(e, x)?;
    let [c, d] = y;
    let (ac, bd) = (binary(e, Binary::Multiply, a, c)?, binary(e, Binary::Multiply, b, d)?);
    let (ad, bc) = (binary(e, Binary::Multiply, a, d)?, binary(e, Binary::Multiply, b, c)?);
    let exponent = [binary(e, Binary::Subtract, ac, bd)?, binary(e, Binary::Add, ad, bc)?];
    let result = exponential(e, exponent)?;
    let (zero, one) = (number(e, a, 0.0)?, number(e, a, 1.0)?);
    let mut is_zero = |[re, im]: Parts| {
        let (re, im) = (compare(e, Compare::Eq, re, zero)?, compare(e, Compare::Eq, im, zero)?);
        binary(e, Binary::And, re, im)
    };
    let (of_zero, to_zero) = (is_zero(x)?, is_zero(y)?);
    let mut parts = result;
    for (part, at_zero) in parts.iter_mut().zip([one, zero]) {
        let other = select(e, of_zero, zero, *part)?;
        *part = select(e, to_zero, at_zero, other)?;
    }
    Ok(parts)
}
