//! Functions of complex numbers as arithmetic of their parts, in the compiler's formulas (FACTS 3.6).

use crate::builder::array_operation::{binary, compare, select, truth_or_formula, unary};
use crate::ir::{Binary, Compare, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use crate::builder::Emitter;
use crate::builder::fill::number;
use crate::error::LowerError;

use super::parts::Parts;
use super::{special, truth};

type Result<T> = std::result::Result<T, LowerError>;

/// The functions that are known.
pub const KNOWN: &str = "abs, compare, convert, divide, exponential, log";

/// `magnitude` with the sign of `x`, its zeros' signs included.
fn with_sign(e: &mut Emitter, magnitude: ValueId, x: ValueId) -> Result<ValueId> {
    let shape = e.shape(x).clone();
    let bits = if shape.dtype() == Some(DType::F64) { DType::S64 } else { DType::S32 };
    let code = e.emit(Op::BitcastConvert, vec![x], Some(shape.with_dtype(bits)))?;
    let zero = e.zeros(bits, shape.dims())?;
    let is_negative = compare(e, Compare::Lt, code, zero)?;
    let negative = unary(e, Unary::Negate, magnitude)?;
    select(e, is_negative, negative, magnitude)
}

/// Equal, or not, in both parts.
pub fn equal(e: &mut Emitter, direction: Compare, [a, b]: Parts, [c, d]: Parts) -> Result<ValueId> {
    let both = match direction {
        Compare::Eq => Binary::And,
        Compare::Ne => Binary::Or,
        _ => return Err(e.refuse("direction", "complex numbers have no order")),
    };
    let (real, imaginary) = (compare(e, direction, a, c)?, compare(e, direction, b, d)?);
    binary(e, both, real, imaginary)
}

/// The magnitude: the larger part times the root of 1 and the square of their quotient; where that is NaN, the smaller part.
pub fn abs(e: &mut Emitter, z: Parts) -> Result<ValueId> {
    let [a, b] = z;
    let (a, b) = (unary(e, Unary::Abs, a)?, unary(e, Unary::Abs, b)?);
    let (larger, smaller) = (binary(e, Binary::Maximum, a, b)?, binary(e, Binary::Minimum, a, b)?);
    let ratio = binary(e, Binary::Divide, smaller, larger)?;
    let square = binary(e, Binary::Multiply, ratio, ratio)?;
    let one = number(e, a, 1.0)?;
    let sum = binary(e, Binary::Add, square, one)?;
    let root = unary(e, Unary::Sqrt, sum)?;
    let magnitude = binary(e, Binary::Multiply, larger, root)?;
    let is_nan = compare(e, Compare::Ne, magnitude, magnitude)?;
    let formula = select(e, is_nan, smaller, magnitude)?;
    truth::abs(e, z, formula)
}

/// `e^a (cos b + i sin b)`; an `e^a` beyond the type is multiplied in two halves, and a real number stays real.
pub fn exponential(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (zero, half) = (number(e, a, 0.0)?, number(e, a, 0.5)?);
    let whole = unary(e, Unary::Exponential, a)?;
    let halved = binary(e, Binary::Multiply, a, half)?;
    let root = unary(e, Unary::Exponential, halved)?;
    let infinity = number(e, a, f64::INFINITY)?;
    let is_beyond = compare(e, Compare::Eq, whole, infinity)?;
    let mut parts = [0; 2];
    for (part, function) in parts.iter_mut().zip([Unary::Cosine, Unary::Sine]) {
        let direction = unary(e, function, b)?;
        let first = binary(e, Binary::Multiply, root, direction)?;
        let twice = binary(e, Binary::Multiply, first, root)?;
        let once = binary(e, Binary::Multiply, whole, direction)?;
        *part = select(e, is_beyond, twice, once)?;
    }
    let is_real = compare(e, Compare::Eq, b, zero)?;
    let formula = [parts[0], select(e, is_real, zero, parts[1])?];
    truth::exponential(e, [a, b], formula)
}

/// A square and what its rounding loses: the square of Dekker's halves, of which the upper one has half the bits.
fn exact_square(e: &mut Emitter, x: ValueId) -> Result<Parts> {
    let is_wide = e.shape(x).dtype() == Some(DType::F64);
    let square = binary(e, Binary::Multiply, x, x)?;
    let splitter = number(e, x, if is_wide { 134_217_729.0 } else { 4097.0 })?;
    let scaled = binary(e, Binary::Multiply, x, splitter)?;
    let rest = binary(e, Binary::Subtract, x, scaled)?;
    let upper = binary(e, Binary::Add, scaled, rest)?;
    let lower = binary(e, Binary::Subtract, x, upper)?;
    let uppers = binary(e, Binary::Multiply, upper, upper)?;
    let both = binary(e, Binary::Multiply, upper, lower)?;
    let lowers = binary(e, Binary::Multiply, lower, lower)?;
    let mut error = unary(e, Unary::Negate, square)?;
    for term in [uppers, both, both, lowers] {
        error = binary(e, Binary::Add, error, term)?;
    }
    Ok([square, error])
}

/// `|z|^2 - 1` of the two parts, with what each sum loses added in the end.
fn square_less_one(e: &mut Emitter, [x, y]: Parts) -> Result<ValueId> {
    let ([x_square, x_error], [y_square, y_error]) = (exact_square(e, x)?, exact_square(e, y)?);
    let is_larger = compare(e, Compare::Gt, y_square, x_square)?;
    let larger = select(e, is_larger, y_square, x_square)?;
    let smaller = select(e, is_larger, x_square, y_square)?;
    let minus_one = number(e, x, -1.0)?;
    let mut sum = binary(e, Binary::Add, larger, minus_one)?;
    let mut lost = binary(e, Binary::Subtract, larger, larger)?;
    for term in [smaller, y_error, x_error] {
        let next = binary(e, Binary::Add, sum, term)?;
        let added = binary(e, Binary::Subtract, next, sum)?;
        let loses = binary(e, Binary::Subtract, term, added)?;
        lost = binary(e, Binary::Add, lost, loses)?;
        sum = next;
    }
    binary(e, Binary::Add, sum, lost)
}

/// `ln |z| + i arg z`, near the unit circle by way of `|z|^2 - 1`.
pub fn log(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (half, one) = (number(e, a, 0.5)?, number(e, a, 1.0)?);
    let beyond_one = square_less_one(e, [a, b])?;
    let distance = unary(e, Unary::Abs, beyond_one)?;
    let is_near = compare(e, Compare::Lt, distance, half)?;
    let logarithm = unary(e, Unary::LogPlusOne, beyond_one)?;
    let near = binary(e, Binary::Multiply, logarithm, half)?;
    let (x, y) = (unary(e, Unary::Abs, a)?, unary(e, Unary::Abs, b)?);
    let (larger, smaller) = (binary(e, Binary::Maximum, x, y)?, binary(e, Binary::Minimum, x, y)?);
    let is_diagonal = compare(e, Compare::Eq, smaller, larger)?;
    let ratio = binary(e, Binary::Divide, smaller, larger)?;
    let ratio = select(e, is_diagonal, one, ratio)?;
    let square = binary(e, Binary::Multiply, ratio, ratio)?;
    let logarithm = unary(e, Unary::LogPlusOne, square)?;
    let beside = binary(e, Binary::Multiply, logarithm, half)?;
    let of_larger = unary(e, Unary::Log, larger)?;
    let far = binary(e, Binary::Add, of_larger, beside)?;
    let formula = [select(e, is_near, near, far)?, binary(e, Binary::Atan2, b, a)?];
    truth::log(e, [a, b], formula)
}

/// A quotient by Smith's method, scaled by the larger part of the divisor; what comes out as NaN in both parts is told from
/// zeros and infinities as C17 annex G.5.1 tells it.
pub fn divide(e: &mut Emitter, [a, b]: Parts, [c, d]: Parts) -> Result<Parts> {
    let (c_size, d_size) = (unary(e, Unary::Abs, c)?, unary(e, Unary::Abs, d)?);
    let by_imaginary = compare(e, Compare::Lt, c_size, d_size)?;
    let minus_a = unary(e, Unary::Negate, a)?;
    let mut pick = |x, y| select(e, by_imaginary, x, y);
    let (smaller, larger) = (pick(c, d)?, pick(d, c)?);
    let (first, second) = (pick(a, b)?, pick(b, a)?);
    let (third, fourth) = (pick(b, minus_a)?, pick(minus_a, b)?);
    let ratio = binary(e, Binary::Divide, smaller, larger)?;
    let scaled = |e: &mut Emitter, x, y| {
        let product = binary(e, Binary::Multiply, x, ratio)?;
        binary(e, Binary::Add, product, y)
    };
    let divisor = scaled(e, smaller, larger)?;
    let (real, imaginary) = (scaled(e, first, second)?, scaled(e, third, fourth)?);
    let parts = [binary(e, Binary::Divide, real, divisor)?, binary(e, Binary::Divide, imaginary, divisor)?];
    recovered(e, parts, [a, b], [c, d])
}

/// The quotient where one side is zero or infinite: where both `parts` are NaN, and the operands tell more.
fn recovered(e: &mut Emitter, parts: Parts, [a, b]: Parts, [c, d]: Parts) -> Result<Parts> {
    let (zero, one, infinity) = (number(e, a, 0.0)?, number(e, a, 1.0)?, number(e, a, f64::INFINITY)?);
    let mut both = |of: &mut dyn FnMut(&mut Emitter, ValueId) -> Result<ValueId>, with: Binary, [x, y]: Parts| {
        let (x, y) = (of(e, x)?, of(e, y)?);
        binary(e, with, x, y)
    };
    let mut is_nan = |e: &mut Emitter, x| compare(e, Compare::Ne, x, x);
    let mut is_zero = |e: &mut Emitter, x| compare(e, Compare::Eq, x, zero);
    let mut is_finite = |e: &mut Emitter, x| unary(e, Unary::IsFinite, x);
    let mut is_infinite = |e: &mut Emitter, x| {
        let size = unary(e, Unary::Abs, x)?;
        compare(e, Compare::Eq, size, infinity)
    };
    let lost = both(&mut is_nan, Binary::And, parts)?;
    let both_nan = both(&mut is_nan, Binary::And, [a, b])?;
    let by_zero = both(&mut is_zero, Binary::And, [c, d])?;
    let numbers = [both(&mut is_finite, Binary::And, [a, b])?, both(&mut is_finite, Binary::And, [c, d])?];
    let infinite = [both(&mut is_infinite, Binary::Or, [a, b])?, both(&mut is_infinite, Binary::Or, [c, d])?];
    let is_number = unary(e, Unary::Not, both_nan)?;
    let by_zero = binary(e, Binary::And, by_zero, is_number)?;
    let from_infinity = binary(e, Binary::And, infinite[0], numbers[1])?;
    let by_infinity = binary(e, Binary::And, infinite[1], numbers[0])?;
    let endless = with_sign(e, infinity, c)?;
    let mut direction = |x: ValueId| {
        let size = unary(e, Unary::Abs, x)?;
        let is_infinite = compare(e, Compare::Eq, size, infinity)?;
        let unit = select(e, is_infinite, one, zero)?;
        let by_bits = with_sign(e, unit, x)?;
        // Over the real numbers NaN has no bits, and other numbers need not be known to the last one.
        let by_order = special::with_sign(e, unit, x)?;
        truth_or_formula(e, by_order, by_bits)
    };
    let (of_dividend, of_divisor) = ([direction(a)?, direction(b)?], [direction(c)?, direction(d)?]);
    let along = product_with_conjugate(e, of_dividend, [c, d])?;
    let across = product_with_conjugate(e, [a, b], of_divisor)?;
    let mut result = [0; 2];
    for (side, (own, part)) in parts.into_iter().zip([a, b]).enumerate() {
        let vanishing = binary(e, Binary::Multiply, zero, across[side])?;
        let growing = binary(e, Binary::Multiply, infinity, along[side])?;
        let pole = binary(e, Binary::Multiply, endless, part)?;
        let mut known = select(e, by_infinity, vanishing, own)?;
        known = select(e, from_infinity, growing, known)?;
        known = select(e, by_zero, pole, known)?;
        result[side] = select(e, lost, known, own)?;
    }
    Ok(result)
}

/// `(a + bi) (c - di)`.
fn product_with_conjugate(e: &mut Emitter, [a, b]: Parts, [c, d]: Parts) -> Result<Parts> {
    let (ac, bd) = (binary(e, Binary::Multiply, a, c)?, binary(e, Binary::Multiply, b, d)?);
    let (bc, ad) = (binary(e, Binary::Multiply, b, c)?, binary(e, Binary::Multiply, a, d)?);
    Ok([binary(e, Binary::Add, ac, bd)?, binary(e, Binary::Subtract, bc, ad)?])
}

/// A real number as a complex one, or the parts in another type.
pub fn convert(e: &mut Emitter, parts: &[ValueId], dtype: DType) -> Result<Parts> {
    let mut converted = [0; 2];
    for (part, own) in converted.iter_mut().zip(parts) {
        *part = e.convert(*own, dtype)?;
    }
    if parts.len() == 1 {
        let shape: Shape = e.shape(converted[0]).clone();
        converted[1] = e.zeros(dtype, shape.dims())?;
    }
    Ok(converted)
}
