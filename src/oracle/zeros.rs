//! Zeros of types that have one.

use crate::ir::Shape;
use crate::num::Format;
use crate::tensor::DType;

use super::arithmetic::Arithmetic;
use super::elements::{Element, Value};
use super::evaluate::Pass;

impl<A: Arithmetic> Pass<'_, A> {
    /// The value with +0 in the place of -0 where its type has no other zero.
    pub(super) fn with_zeros_of(&mut self, value: Value<A>, shape: &Shape) -> Value<A> {
        match (value, shape) {
            (Value::Tuple(values), Shape::Tuple(shapes)) => {
                let parts = values.into_iter().zip(shapes);
                Value::Tuple(parts.map(|(value, shape)| self.with_zeros_of(value, shape)).collect())
            }
            (Value::Float(array), shape) => {
                let format = shape.dtype().and_then(DType::format);
                if format.is_none_or(Format::has_negative_zero) {
                    return Value::Float(array);
                }
                let mut elements = self.world.elements(&array);
                for element in &mut elements {
                    let number = self.world.arithmetic.with_positive_zero(&element.number);
                    *element = match self.world.arithmetic.as_exact(&number) {
                        Some(0.0) => self.world.exact(0.0),
                        _ => Element { number, identity: element.identity },
                    };
                }
                Value::Float(self.world.collect(elements))
            }
            (value, _) => value,
        }
    }
}
