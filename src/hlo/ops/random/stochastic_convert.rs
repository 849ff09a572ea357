//! `stochastic-convert`: floats rounded to integers, up as often as their fraction says of random bits that are an operand.
//!
//! Source: openxla/xla `stochastic_convert_decomposer.cc`, which decomposes it for every backend, and `shape_inference.cc`.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, unary};
use crate::builder::fill::{integer, number};
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Shape, Unary, ValueId};
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers it: `operands` are floats and as many unsigned integers of as many bits, and the result is signed integers. NaN gives what a
/// `convert` makes of it; what is outside of the result's type, infinities among them, its smallest or largest integer.
pub fn lower(e: &mut Emitter, operands: &[ValueId], claimed: &Shape) -> Result<ValueId> {
    let [operand, random] = *operands else {
        return Err(e.fail(format!("two operands are needed, {} are given: numbers and random bits", operands.len())));
    };
    let integers = types(e, operand, random, claimed)?;
    let zero = number(e, operand, 0.0)?;
    let is_negative = compare(e, Compare::Lt, operand, zero)?;
    let magnitude = unary(e, Unary::Abs, operand)?;
    let whole = unary(e, Unary::Floor, magnitude)?;
    let is_up = is_rounded_up(e, magnitude, whole, random)?;
    let whole = e.convert(whole, integers)?;
    let one = integer(e, integers, 1, claimed.dims())?;
    let above = binary(e, Binary::Add, whole, one)?;
    let rounded = select(e, is_up, above, whole)?;
    let negated = unary(e, Unary::Negate, rounded)?;
    let result = select(e, is_negative, negated, rounded)?;
    let result = limited(e, operand, result, Compare::Le, i64::MIN >> (64 - integers.bits()))?;
    limited(e, operand, result, Compare::Ge, i64::MAX >> (64 - integers.bits()))
}

/// The result's type, where all types fit.
fn types(e: &Emitter, operand: ValueId, random: ValueId, claimed: &Shape) -> Result<DType> {
    let [from, bits] = [operand, random].map(|id| e.shape(id).element_type());
    let integers = claimed.element_type();
    let is_signed = |dtype: DType| dtype.is_integer() && dtype.is_signed();
    if !from.is_float() || !is_signed(integers) {
        return Err(e.unknown(format!(
            "stochastic-convert from {from} to {integers} is not supported: from floats to signed integers"
        )));
    }
    if !bits.is_integer() || is_signed(bits) || bits.bits() != from.bits() {
        return Err(e.fail(format!("random bits for {from} are unsigned integers of {} bits, not {bits}", from.bits())));
    }
    if e.shape(operand).dims() != e.shape(random).dims() {
        return Err(e.fail(format!(
            "numbers {} and random bits {} are not as many",
            e.shape(operand),
            e.shape(random)
        )));
    }
    Ok(integers)
}

/// Whether the random bits, as a fraction of one, are less than the fraction of a magnitude above its whole part.
fn is_rounded_up(e: &mut Emitter, magnitude: ValueId, whole: ValueId, random: ValueId) -> Result<ValueId> {
    let mut fraction = binary(e, Binary::Subtract, magnitude, whole)?;
    // 2^16 is no number of f16.
    if e.shape(fraction).element_type() == DType::F16 {
        fraction = e.convert(fraction, DType::F32)?;
    }
    let bits = e.shape(random).element_type();
    let scale = number(e, fraction, 2f64.powi(bits.bits() as i32))?;
    let fixed = binary(e, Binary::Multiply, fraction, scale)?;
    let fixed = e.convert(fixed, bits)?;
    compare(e, Compare::Lt, random, fixed)
}

/// The result, or a limit of its type where the operand stands in this relation to it.
fn limited(e: &mut Emitter, operand: ValueId, result: ValueId, relation: Compare, limit: i64) -> Result<ValueId> {
    let of_floats = number(e, operand, limit as f64)?;
    let is_beyond = compare(e, relation, operand, of_floats)?;
    let shape = e.shape(result).clone();
    let limit = integer(e, shape.element_type(), limit, shape.dims())?;
    select(e, is_beyond, limit, result)
}
