//! `bitcast-convert` from and to complex numbers, whose real part comes first in memory.

use crate::builder::array_operation::slice;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Op, Shape, ValueId};
use crate::ops::bitcast;
use crate::tensor::DType;

use super::parts::Parts;

type Result<T> = std::result::Result<T, LowerError>;

/// The bits of complex numbers as another type, or those of another type as complex numbers.
pub fn convert(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let is_complex = e.instruction.shape.is_complex();
    match operands {
        [Value::Complex(parts)] if !is_complex => Ok(Value::Array(from_parts(e, *parts)?)),
        [Value::Array(array)] if is_complex => Ok(Value::Complex(to_parts(e, *array)?)),
        [Value::Complex(parts)] if e.of_one_part().claimed_shape()? == *e.shape(parts[0]) => Ok(Value::Complex(*parts)),
        _ => Err(e.unknown("bitcast-convert between complex numbers of two widths is not supported")),
    }
}

/// Both parts in a last dim, seen as the claimed type. A type narrower than a part has several elements of each.
fn from_parts(e: &mut Emitter, parts: Parts) -> Result<ValueId> {
    let claimed = e.claimed_shape()?;
    let (part, to) = (e.shape(parts[0]).element_type(), claimed.element_type());
    let beside = [e.shape(parts[0]).dims(), &[1]].concat();
    let mut both = [0; 2];
    for (one, whole) in both.iter_mut().zip(parts) {
        *one = e.reshape(whole, &beside)?;
    }
    let pair = e.emit(Op::Concatenate { dim: beside.len() - 1 }, both.to_vec(), None)?;
    let seen = bitcast::convert(e, pair, of_parts(e.shape(pair), part, to))?;
    if e.shape(seen).elements() != claimed.elements() {
        return Err(e.fail(format!("complex numbers of {} bits each are no {claimed}", 2 * part.bits())));
    }
    e.reshape(seen, claimed.dims())
}

/// The parts of what an array's bits are as complex numbers.
fn to_parts(e: &mut Emitter, array: ValueId) -> Result<Parts> {
    let claimed = e.of_one_part().claimed_shape()?;
    let (from, part) = (e.shape(array).element_type(), claimed.element_type());
    let pair = Shape::array(part, &[claimed.dims(), &[2]].concat());
    let needed = match part.bits() / from.bits() {
        0 => claimed.dims().to_vec(),
        1 => pair.dims().to_vec(),
        narrow => [pair.dims(), &[narrow as usize]].concat(),
    };
    if e.shape(array).elements() != needed.iter().product::<usize>() {
        return Err(e.fail(format!("{} holds no complex numbers of {} bits each", e.shape(array), 2 * part.bits())));
    }
    let array = e.reshape(array, &needed)?;
    let seen = bitcast::convert(e, array, pair)?;
    let mut parts = [0; 2];
    for (side, one) in parts.iter_mut().enumerate() {
        let sliced = slice(e, seen, claimed.dims().len(), [side, side + 1])?;
        *one = e.reshape(sliced, claimed.dims())?;
    }
    Ok(parts)
}

/// The shape of a pair of parts seen as another type, by the widths of both.
fn of_parts(pair: &Shape, part: DType, to: DType) -> Shape {
    let dims = pair.dims();
    match part.bits() / to.bits() {
        0 => Shape::array(to, &dims[..dims.len() - 1]),
        1 => Shape::array(to, dims),
        narrow => Shape::array(to, &[dims, &[narrow as usize]].concat()),
    }
}
