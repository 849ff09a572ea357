//! Infinities, NaN and zeros of a complex number's parts.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Op, Unary, ValueId};
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// Whether numbers are infinite.
pub fn is_infinite(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let (size, infinity) = (unary(e, Unary::Abs, x)?, number(e, x, f64::INFINITY)?);
    compare(e, Compare::Eq, size, infinity)
}

/// Whether numbers are infinite or NaN.
pub fn is_special(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let is_finite = unary(e, Unary::IsFinite, x)?;
    unary(e, Unary::Not, is_finite)
}

/// Whether numbers are equal to this one.
pub fn equals(e: &mut Emitter, x: ValueId, value: f64) -> Result<ValueId> {
    let value = number(e, x, value)?;
    compare(e, Compare::Eq, x, value)
}

/// `magnitude` with the sign of `x`, its zeros' signs included; that of NaN is positive. Bits are asked of zeros alone: of
/// other numbers less is needed to tell the sign.
pub fn with_sign(e: &mut Emitter, magnitude: ValueId, x: ValueId) -> Result<ValueId> {
    let shape = e.shape(x).clone();
    let bits = if shape.dtype() == Some(DType::F64) { DType::S64 } else { DType::S32 };
    let (zero, no_bits) = (number(e, x, 0.0)?, e.zeros(bits, shape.dims())?);
    let (is_below, is_zero) = (compare(e, Compare::Lt, x, zero)?, compare(e, Compare::Eq, x, zero)?);
    let code = e.emit(Op::BitcastConvert, vec![x], Some(shape.with_dtype(bits)))?;
    let has_sign = compare(e, Compare::Lt, code, no_bits)?;
    let is_negative_zero = binary(e, Binary::And, is_zero, has_sign)?;
    let is_negative = binary(e, Binary::Or, is_below, is_negative_zero)?;
    let negative = unary(e, Unary::Negate, magnitude)?;
    select(e, is_negative, negative, magnitude)
}
