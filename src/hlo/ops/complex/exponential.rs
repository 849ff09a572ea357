//! Exponentials, logarithms and powers of complex numbers beside those of `complex_function`.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Unary, ValueId};
use crate::tensor::DType;

use super::complex_function::{abs, divide, exponential};
use super::parts::Parts;
use super::special::{equals, is_infinite, is_special};
use super::truth;

type Result<T> = std::result::Result<T, LowerError>;

/// `1 / (1 + e^-z)`.
pub fn logistic(e: &mut Emitter, z: Parts) -> Result<Parts> {
    let negative = [unary(e, Unary::Negate, z[0])?, unary(e, Unary::Negate, z[1])?];
    let power = exponential(e, negative)?;
    let (one, zero) = (number(e, z[0], 1.0)?, number(e, z[0], 0.0)?);
    let divisor = [binary(e, Binary::Add, power[0], one)?, power[1]];
    let quotient = divide(e, [one, zero], divisor)?;
    truth::logistic(e, z, quotient)
}

/// The numbers in f64, if they are narrower.
fn widened(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    e.convert(x, DType::F64)
}

/// `e^z - 1`: the real part is `(e^a - 1) cos b + (cos b - 1)`, in f64 where that is wider, since its terms may cancel; the
/// imaginary one `e^a sin b`. Infinities and NaN are those of C17's cexp.
pub fn exponential_minus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let dtype = e.shape(a).element_type();
    let (wide_a, wide_b) = (widened(e, a)?, widened(e, b)?);
    let (half, minus_two) = (number(e, wide_b, 0.5)?, number(e, wide_b, -2.0)?);
    let (grown, cosine) = (unary(e, Unary::ExponentialMinusOne, wide_a)?, unary(e, Unary::Cosine, wide_b)?);
    let halved = binary(e, Binary::Multiply, wide_b, half)?;
    let of_half = unary(e, Unary::Sine, halved)?;
    let square = binary(e, Binary::Multiply, of_half, of_half)?;
    let below_one = binary(e, Binary::Multiply, square, minus_two)?;
    let first = binary(e, Binary::Multiply, grown, cosine)?;
    let re = binary(e, Binary::Add, first, below_one)?;
    let re = e.convert(re, dtype)?;
    let (whole, sine) = (unary(e, Unary::Exponential, a)?, unary(e, Unary::Sine, b)?);
    let im = binary(e, Binary::Multiply, whole, sine)?;

    let (zero, minus_one) = (number(e, a, 0.0)?, number(e, a, -1.0)?);
    let (vanishes, is_endless) = (equals(e, a, f64::NEG_INFINITY)?, equals(e, a, f64::INFINITY)?);
    let (is_real, has_no_sine) = (equals(e, b, 0.0)?, is_special(e, b)?);
    let is_endless = binary(e, Binary::And, is_endless, has_no_sine)?;
    let re = select(e, is_endless, a, re)?;
    let re = select(e, vanishes, minus_one, re)?;
    let is_lost = binary(e, Binary::And, vanishes, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    Ok([re, select(e, is_real, b, im)?])
}

/// `ln |1 + z| + i arg (1 + z)`, the logarithm in f64 where that is wider; infinite where a part is. Near the circle of the
/// points with `|1 + z| = 1` it is `ln (1 + a (a + 2) + b^2) / 2`, elsewhere that of the larger part and of the parts' ratio.
pub fn log_plus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let dtype = e.shape(a).element_type();
    let (wide_a, wide_b) = (widened(e, a)?, widened(e, b)?);
    let (zero, half) = (number(e, wide_a, 0.0)?, number(e, wide_a, 0.5)?);
    let (one, two) = (number(e, wide_a, 1.0)?, number(e, wide_a, 2.0)?);
    let sum = binary(e, Binary::Add, wide_a, two)?;
    let product = binary(e, Binary::Multiply, wide_a, sum)?;
    let square = binary(e, Binary::Multiply, wide_b, wide_b)?;
    let beyond_one = binary(e, Binary::Add, product, square)?;
    let logarithm = unary(e, Unary::LogPlusOne, beyond_one)?;
    let near = binary(e, Binary::Multiply, logarithm, half)?;

    let real = binary(e, Binary::Add, wide_a, one)?;
    let (x, y) = (unary(e, Unary::Abs, real)?, unary(e, Unary::Abs, wide_b)?);
    let (larger, smaller) = (binary(e, Binary::Maximum, x, y)?, binary(e, Binary::Minimum, x, y)?);
    let (is_zero, ratio) = (equals(e, larger, 0.0)?, binary(e, Binary::Divide, smaller, larger)?);
    let ratio = select(e, is_zero, zero, ratio)?;
    let square = binary(e, Binary::Multiply, ratio, ratio)?;
    let beside = unary(e, Unary::LogPlusOne, square)?;
    let beside = binary(e, Binary::Multiply, beside, half)?;
    let of_larger = unary(e, Unary::Log, larger)?;
    let far = binary(e, Binary::Add, of_larger, beside)?;
    let distance = unary(e, Unary::Abs, beyond_one)?;
    let is_near = compare(e, Compare::Lt, distance, half)?;
    let re = select(e, is_near, near, far)?;
    let re = e.convert(re, dtype)?;

    let (one, infinity) = (number(e, a, 1.0)?, number(e, a, f64::INFINITY)?);
    let (a_endless, b_endless) = (is_infinite(e, a)?, is_infinite(e, b)?);
    let is_endless = binary(e, Binary::Or, a_endless, b_endless)?;
    let real = binary(e, Binary::Add, a, one)?;
    Ok([select(e, is_endless, infinity, re)?, binary(e, Binary::Atan2, b, real)?])
}

/// `|x|^c e^(-d arg x) (cos q + i sin q)` with `q = c arg x + d ln |x|` for `y = c + di`, as MLIR writes it (`PowOp` of
/// `ComplexToStandard`); powers with a real exponent of zero, one and infinity, and those with exponent zero, are known.
pub fn power(e: &mut Emitter, x: Parts, [c, d]: Parts) -> Result<Parts> {
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
