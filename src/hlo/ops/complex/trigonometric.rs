//! Trigonometric functions and hyperbolic tangents of complex numbers. The tangents are MLIR's formulas (FACTS 3.6).

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Unary, ValueId};
use crate::tensor::DType;

use super::parts::Parts;
use super::special::{equals, is_infinite, is_special, with_sign};

type Result<T> = std::result::Result<T, LowerError>;

/// Hyperbolic sine and cosine.
fn hyperbolic(e: &mut Emitter, b: ValueId) -> Result<[ValueId; 2]> {
    let half = number(e, b, 0.5)?;
    let minus_b = unary(e, Unary::Negate, b)?;
    let mut halves = |of: Unary, with: Binary| {
        let (up, down) = (unary(e, of, b)?, unary(e, of, minus_b)?);
        let both = binary(e, with, up, down)?;
        binary(e, Binary::Multiply, both, half)
    };
    Ok([halves(Unary::ExponentialMinusOne, Binary::Subtract)?, halves(Unary::Exponential, Binary::Add)?])
}

/// `sin a cosh b + i cos a sinh b`: as C17's csinh of `iz` has it, a part is zero where `a` or `b` is, and of an infinite `b`
/// beside what has no sine it is infinite.
pub fn sine(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let [sinh, cosh] = hyperbolic(e, b)?;
    let (sine, cosine) = (unary(e, Unary::Sine, a)?, unary(e, Unary::Cosine, a)?);
    let (re, im) = (binary(e, Binary::Multiply, sine, cosh)?, binary(e, Binary::Multiply, cosine, sinh)?);
    let (is_zero, has_no_sine) = (equals(e, a, 0.0)?, is_special(e, a)?);
    let (is_real, is_endless) = (equals(e, b, 0.0)?, is_infinite(e, b)?);
    let keeps_b = binary(e, Binary::Or, is_real, is_endless)?;
    let keeps_b = binary(e, Binary::And, keeps_b, has_no_sine)?;
    Ok([select(e, is_zero, a, re)?, select(e, keeps_b, b, im)?])
}

/// `cos a cosh b - i sin a sinh b`, as C17's ccosh of `iz`.
pub fn cosine(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let [sinh, cosh] = hyperbolic(e, b)?;
    let (sine, cosine) = (unary(e, Unary::Sine, a)?, unary(e, Unary::Cosine, a)?);
    let (re, im) = (binary(e, Binary::Multiply, cosine, cosh)?, binary(e, Binary::Multiply, sine, sinh)?);
    let (zero, one) = (number(e, a, 0.0)?, number(e, a, 1.0)?);
    let (is_zero, has_no_sine) = (equals(e, a, 0.0)?, is_special(e, a)?);
    let (is_real, is_endless) = (equals(e, b, 0.0)?, is_infinite(e, b)?);
    let is_endless = binary(e, Binary::And, is_endless, has_no_sine)?;
    // Zeros of either sign times what is infinite or NaN.
    let side = with_sign(e, one, b)?;
    let signed_zero = binary(e, Binary::Multiply, a, side)?;
    let im = select(e, is_zero, signed_zero, im)?;
    let is_lost = binary(e, Binary::And, is_real, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    let size = unary(e, Unary::Abs, b)?;
    Ok([select(e, is_endless, size, re)?, unary(e, Unary::Negate, im)?])
}

/// `tan z = -i tanh (i z)`.
pub fn tan(e: &mut Emitter, z: Parts) -> Result<Parts> {
    let turned = [unary(e, Unary::Negate, z[1])?, z[0]];
    let [re, im] = tanh(e, turned)?;
    Ok([im, unary(e, Unary::Negate, re)?])
}

/// With `s = (e^2a - 1) + (e^-2a - 1)`: `((e^2a - e^-2a) + 4 i cos b sin b) / (s + 4 cos^2 b)`, as MLIR writes it (`TanhOp` of
/// `ComplexToStandard`). Further out, where MLIR's code has 1 and 0, it is the same fraction over `e^2|a|`, whose numbers are
/// moderate.
pub fn tanh(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (zero, one, four) = (number(e, a, 0.0)?, number(e, a, 1.0)?, number(e, a, 4.0)?);
    let infinity = number(e, a, f64::INFINITY)?;
    let (cosine, sine) = (unary(e, Unary::Cosine, b)?, unary(e, Unary::Sine, b)?);
    let square = binary(e, Binary::Multiply, cosine, cosine)?;
    let square = binary(e, Binary::Multiply, square, four)?;
    let product = binary(e, Binary::Multiply, cosine, sine)?;
    let product = binary(e, Binary::Multiply, product, four)?;

    let double = binary(e, Binary::Add, a, a)?;
    let minus_double = unary(e, Unary::Negate, double)?;
    let up = unary(e, Unary::ExponentialMinusOne, double)?;
    let down = unary(e, Unary::ExponentialMinusOne, minus_double)?;
    let (difference, sum) = (binary(e, Binary::Subtract, up, down)?, binary(e, Binary::Add, up, down)?);
    let divisor = binary(e, Binary::Add, sum, square)?;
    let (re, im) = (binary(e, Binary::Divide, difference, divisor)?, binary(e, Binary::Divide, product, divisor)?);
    let is_beyond = compare(e, Compare::Eq, sum, infinity)?;
    let side = with_sign(e, one, a)?;
    let re = select(e, is_beyond, side, re)?;

    // e^-2|a| is zero in the type from there on.
    let far = if e.shape(a).dtype() == Some(DType::F64) { 400.0 } else { 64.0 };
    let (size, far, two) = (unary(e, Unary::Abs, a)?, number(e, a, far)?, number(e, a, 2.0)?);
    let is_far = compare(e, Compare::Gt, size, far)?;
    let exponent = binary(e, Binary::Add, size, size)?;
    let exponent = unary(e, Unary::Negate, exponent)?;
    let (small, below) = (unary(e, Unary::Exponential, exponent)?, unary(e, Unary::ExponentialMinusOne, exponent)?);
    let rest = binary(e, Binary::Multiply, small, square)?;
    let whole = binary(e, Binary::Multiply, below, below)?;
    let divisor = binary(e, Binary::Add, whole, rest)?;
    let sum = binary(e, Binary::Add, below, two)?;
    let numerator = binary(e, Binary::Multiply, below, sum)?;
    let numerator = unary(e, Unary::Negate, numerator)?;
    let far_re = binary(e, Binary::Divide, numerator, divisor)?;
    let far_re = with_sign(e, far_re, a)?;
    let far_im = binary(e, Binary::Multiply, small, product)?;
    let far_im = binary(e, Binary::Divide, far_im, divisor)?;
    let (re, im) = (select(e, is_far, far_re, re)?, select(e, is_far, far_im, im)?);

    // What has no sine is no matter beside an infinity, nor is anything beside a zero.
    let (is_endless, has_no_sine) = (is_infinite(e, a)?, is_special(e, b)?);
    let (is_imaginary, is_real) = (equals(e, a, 0.0)?, equals(e, b, 0.0)?);
    let re = select(e, is_endless, side, re)?;
    let re = select(e, is_imaginary, a, re)?;
    let is_lost = binary(e, Binary::And, is_endless, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    Ok([re, select(e, is_real, b, im)?])
}
