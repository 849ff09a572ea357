//! More functions of complex numbers, in textbook formulas: modelling choice, since XLA:CPU's differ in last bits.

use crate::ir::{Binary, Compare, Unary, ValueId};

use super::complex_function::{Parts, abs, binary, compare, divide, exponential, select, unary};
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

/// `|x|^c e^(-d arg x) (cos q + i sin q)` with `q = c arg x + d ln |x|` for `y = c + di`, as MLIR writes it (`PowOp` of
/// `ComplexToStandard`); powers with a real exponent of zero, one and infinity, and those with exponent zero, are known.
pub(super) fn power(e: &mut Emitter, x: Parts, [c, d]: Parts) -> Result<Parts> {
    let size = abs(e, x)?;
    let grown = binary(e, Binary::Power, size, c)?;
    let minus_d = unary(e, Unary::Negate, d)?;
    let angle = binary(e, Binary::Atan2, x[1], x[0])?;
    let turned = binary(e, Binary::Multiply, minus_d, angle)?;
    let turned = unary(e, Unary::Exponential, turned)?;
    let scale = binary(e, Binary::Multiply, grown, turned)?;
    let logarithm = unary(e, Unary::Log, size)?;
    let (along, across) = (binary(e, Binary::Multiply, c, angle)?, binary(e, Binary::Multiply, d, logarithm)?);
    let q = binary(e, Binary::Add, along, across)?;
    let (cosine, sine) = (unary(e, Unary::Cosine, q)?, unary(e, Unary::Sine, q)?);
    let power = [binary(e, Binary::Multiply, scale, cosine)?, binary(e, Binary::Multiply, scale, sine)?];

    let (zero, one, infinity) = (number(e, size, 0.0)?, number(e, size, 1.0)?, number(e, size, f64::INFINITY)?);
    let of_zero = compare(e, Compare::Eq, size, zero)?;
    let is_real = compare(e, Compare::Eq, x[1], zero)?;
    let real_exponent = compare(e, Compare::Eq, d, zero)?;
    let [none, not_negative, positive, negative] =
        [Compare::Eq, Compare::Ge, Compare::Gt, Compare::Lt].map(|direction| compare(e, direction, c, zero));
    let (none, positive, negative) = (none?, positive?, negative?);
    let mut both = |left, right| binary(e, Binary::And, left, right);
    let vanishes = both(of_zero, real_exponent)?;
    let vanishes = both(vanishes, not_negative?)?;
    let to_zero = both(none, real_exponent)?;
    let of_real = |e: &mut Emitter, number| -> Result<ValueId> {
        let equal = compare(e, Compare::Eq, x[0], number)?;
        binary(e, Binary::And, equal, is_real)
    };
    let (of_one, of_infinity) = (of_real(e, one)?, of_real(e, infinity)?);
    let endless = binary(e, Binary::And, of_infinity, real_exponent)?;
    let (grows, shrinks) = (binary(e, Binary::And, endless, positive)?, binary(e, Binary::And, endless, negative)?);
    let at_zero = select(e, none, one, zero)?;
    let mut parts = power;
    for (part, [at_zero, one, infinity]) in parts.iter_mut().zip([[at_zero, one, infinity], [zero; 3]]) {
        let known = [(vanishes, at_zero), (to_zero, one), (of_one, one), (grows, infinity), (shrinks, zero)];
        for (is_known, value) in known {
            *part = select(e, is_known, value, *part)?;
        }
    }
    Ok(parts)
}
