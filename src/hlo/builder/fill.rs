//! One number for each element of an array.

use crate::ir::{Op, Shape, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::emitter::Emitter;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// An integer.
pub fn integer(e: &mut Emitter, dtype: DType, number: i64, dims: &[usize]) -> Result<ValueId> {
    let data = Data::from_i64s(dtype, &[number]).ok_or_else(|| e.fail(format!("{dtype} is no integer type")))?;
    of_data(e, data, dims)
}

/// A float, of the type and dims of `like`.
pub fn number(e: &mut Emitter, like: ValueId, number: f64) -> Result<ValueId> {
    let shape = e.shape(like).clone();
    let data = Data::from_f64s(shape.element_type(), &[number]).ok_or_else(|| e.fail("parts are floats"))?;
    of_data(e, data, shape.dims())
}

fn of_data(e: &mut Emitter, data: Data, dims: &[usize]) -> Result<ValueId> {
    let scalar = e.emit(Op::Constant(Tensor::new(&[], data)), vec![], None)?;
    spread(e, scalar, dims)
}

/// A scalar.
pub fn spread(e: &mut Emitter, scalar: ValueId, dims: &[usize]) -> Result<ValueId> {
    if dims.is_empty() {
        return Ok(scalar);
    }
    let shape = Shape::array(e.shape(scalar).element_type(), dims);
    e.emit(Op::Broadcast { dims: vec![] }, vec![scalar], Some(shape))
}

impl Emitter<'_, '_> {
    /// The zero of a type.
    pub fn zero(&mut self, dtype: DType) -> Result<ValueId> {
        let zero = if dtype.is_float() { Data::from_f64s(dtype, &[0.0]) } else { Data::from_i64s(dtype, &[0]) };
        let zero = zero.ok_or_else(|| self.fail(format!("{dtype} has no zero to fill up with")))?;
        self.emit(Op::Constant(Tensor::new(&[], zero)), vec![], None)
    }

    /// An array of zeros.
    pub fn zeros(&mut self, dtype: DType, dims: &[usize]) -> Result<ValueId> {
        let zero = self.zero(dtype)?;
        self.emit(Op::Broadcast { dims: vec![] }, vec![zero], Some(Shape::array(dtype, dims)))
    }
}
