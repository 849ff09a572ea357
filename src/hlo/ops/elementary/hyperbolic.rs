//! Hyperbolic functions and their inverses.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, truth_or_formula, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Unary, ValueId};
use crate::num::Format;
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// A function in f32 for floats that are narrower, whose result is rounded to their type.
pub fn in_f32(
    e: &mut Emitter,
    x: ValueId,
    function: impl FnOnce(&mut Emitter, ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let dtype = e.shape(x).element_type();
    if matches!(dtype, DType::F32 | DType::F64) {
        return function(e, x);
    }
    let wide = e.convert(x, DType::F32)?;
    let result = function(e, wide)?;
    e.convert(result, dtype)
}

/// The logarithm of a number: a machine has it rounded as a constant of the type of `like`.
fn logarithm(e: &mut Emitter, like: ValueId, of: f64, rounded: f64) -> Result<ValueId> {
    let (of, constant) = (number(e, like, of)?, number(e, like, rounded)?);
    let truth = unary(e, Unary::Log, of)?;
    truth_or_formula(e, truth, constant)
}

/// `log(x) + log(2)`, of magnitudes whose square or double is infinite.
fn of_large(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let two = logarithm(e, x, 2.0, std::f64::consts::LN_2)?;
    let log = unary(e, Unary::Log, x)?;
    binary(e, Binary::Add, log, two)
}

/// `log1p(sqrt(x - 1) (sqrt(x + 1) + sqrt(x - 1)))`, and `log(x) + log(2)` from half of the largest number on.
pub fn acosh(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let largest = largest(e, x)?;
    let limit = number(e, x, largest / 2.0)?;
    let is_large = compare(e, Compare::Ge, x, limit)?;
    let large = of_large(e, x)?;
    let one = number(e, x, 1.0)?;
    let below = binary(e, Binary::Subtract, x, one)?;
    let below = unary(e, Unary::Sqrt, below)?;
    let above = binary(e, Binary::Add, x, one)?;
    let above = unary(e, Unary::Sqrt, above)?;
    let sum = binary(e, Binary::Add, above, below)?;
    let product = binary(e, Binary::Multiply, below, sum)?;
    let small = unary(e, Unary::LogPlusOne, product)?;
    select(e, is_large, large, small)
}

/// `sign(x) log1p(a + a^2 / (sqrt(a^2 + 1) + 1))` for `a = |x|`, with `log(a) + log(2)` from the root of the largest number on.
pub fn asinh(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let (sign, a) = (unary(e, Unary::Sign, x)?, unary(e, Unary::Abs, x)?);
    let largest = largest(e, x)?;
    let limit = number(e, x, largest.sqrt())?;
    let is_large = compare(e, Compare::Ge, a, limit)?;
    let large = of_large(e, a)?;
    let square = binary(e, Binary::Multiply, a, a)?;
    let one = number(e, a, 1.0)?;
    let root = binary(e, Binary::Add, square, one)?;
    let root = unary(e, Unary::Sqrt, root)?;
    let divisor = binary(e, Binary::Add, root, one)?;
    let quotient = binary(e, Binary::Divide, square, divisor)?;
    let sum = binary(e, Binary::Add, a, quotient)?;
    let small = unary(e, Unary::LogPlusOne, sum)?;
    let magnitude = select(e, is_large, large, small)?;
    binary(e, Binary::Multiply, sign, magnitude)
}

/// `(log1p(x) - log1p(-x)) / 2`, and NaN of magnitudes over 1.
pub fn atanh(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let (a, one) = (unary(e, Unary::Abs, x)?, number(e, x, 1.0)?);
    let is_outside = compare(e, Compare::Gt, a, one)?;
    let negated = unary(e, Unary::Negate, x)?;
    let (above, below) = (unary(e, Unary::LogPlusOne, x)?, unary(e, Unary::LogPlusOne, negated)?);
    let twice = binary(e, Binary::Subtract, above, below)?;
    let half = number(e, x, 0.5)?;
    let result = binary(e, Binary::Multiply, twice, half)?;
    let nan = number(e, x, f64::NAN)?;
    select(e, is_outside, nan, result)
}

/// `e^(x - log(2))` and `e^(-log(2) - x)`: half of each exponential, without its overflow.
fn halves(e: &mut Emitter, x: ValueId) -> Result<[ValueId; 2]> {
    let half = logarithm(e, x, 0.5, -std::f64::consts::LN_2)?;
    let (up, down) = (binary(e, Binary::Add, x, half)?, binary(e, Binary::Subtract, half, x)?);
    Ok([unary(e, Unary::Exponential, up)?, unary(e, Unary::Exponential, down)?])
}

/// `e^(x - log(2)) + e^(-log(2) - x)`.
pub fn cosh(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let [up, down] = halves(e, x)?;
    binary(e, Binary::Add, up, down)
}

/// `(u + u / (u + 1)) / 2` for `u = expm1(x)`, of magnitudes below 1, and `e^(x - log(2)) - e^(-log(2) - x)` of others.
pub fn sinh(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let (a, one) = (unary(e, Unary::Abs, x)?, number(e, x, 1.0)?);
    let is_small = compare(e, Compare::Lt, a, one)?;
    let u = unary(e, Unary::ExponentialMinusOne, x)?;
    let divisor = binary(e, Binary::Add, u, one)?;
    let quotient = binary(e, Binary::Divide, u, divisor)?;
    let twice = binary(e, Binary::Add, u, quotient)?;
    let half = number(e, x, 0.5)?;
    let small = binary(e, Binary::Multiply, twice, half)?;
    let [up, down] = halves(e, x)?;
    let large = binary(e, Binary::Subtract, up, down)?;
    select(e, is_small, small, large)
}

/// The largest finite number of the operand's type.
fn largest(e: &Emitter, x: ValueId) -> Result<f64> {
    let dtype = e.shape(x).element_type();
    dtype.format().map(Format::max_finite).ok_or_else(|| e.fail(format!("{dtype} has no largest number")))
}
