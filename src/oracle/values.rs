//! Values that no operation makes: of tensors, of counters, and those of which nothing is known.

use crate::ir::Shape;
use crate::tensor::{DType, Tensor};

use super::arithmetic::Arithmetic;
use super::bits;
use super::elements::Value;
use super::evaluate::Pass;
use super::integer;

impl<A: Arithmetic> Pass<'_, A> {
    /// Exactly what a tensor holds.
    pub(super) fn tensor_value(&self, tensor: &Tensor) -> Value<A> {
        if tensor.dtype().is_float() {
            Value::Float(self.world.exacts(bits::values(tensor.data())))
        } else {
            Value::integer(tensor.dtype(), tensor.data().to_i64s().into_iter().map(Some).collect())
        }
    }

    /// Integers in a type, be it a float.
    pub(super) fn integer_value(&self, dtype: DType, values: Vec<i64>) -> Value<A> {
        if dtype.is_float() {
            Value::Float(self.world.exacts(values.into_iter().map(|v| v as f64).collect()))
        } else {
            Value::integer(dtype, integer::wrap_all(dtype, values).into_iter().map(Some).collect())
        }
    }

    /// A value of this shape of which nothing is known.
    pub(super) fn forget(&mut self, shape: &Shape) -> Value<A> {
        match shape {
            Shape::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.forget(part)).collect()),
            Shape::Array { dtype, .. } if dtype.is_float() => {
                let numbers = vec![self.world.arithmetic.unknown(); shape.elements()];
                Value::Float(self.world.fresh_all(numbers))
            }
            Shape::Array { dtype, .. } => Value::integer(*dtype, vec![None; shape.elements()]),
        }
    }
}
