//! An array in another type, or with other dims. Nothing is emitted where it has them already.

use crate::ir::{Op, Shape, ValueId};
use crate::tensor::DType;

use super::Emitter;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

impl Emitter<'_, '_> {
    /// The elements in another type.
    pub fn convert(&mut self, value: ValueId, dtype: DType) -> Result<ValueId> {
        let shape = self.shape(value).with_dtype(dtype);
        if *self.shape(value) == shape { Ok(value) } else { self.emit(Op::Convert, vec![value], Some(shape)) }
    }

    /// The elements, in their order, with other dims.
    pub fn reshape(&mut self, value: ValueId, dims: &[usize]) -> Result<ValueId> {
        let shape = Shape::array(self.shape(value).element_type(), dims);
        if *self.shape(value) == shape { Ok(value) } else { self.emit(Op::Reshape, vec![value], Some(shape)) }
    }
}
