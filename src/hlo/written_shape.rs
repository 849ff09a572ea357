//! Shapes as a file writes them.

use crate::ir::Shape;
use crate::tensor::{DTYPES, DType};

use super::ast::{self, Element};
use super::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// The elements that a written element type is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// Those of the type as written.
    Written,
    /// One part of complex numbers: f32 where c64 is written, f64 where c128 is.
    OnePart,
}

impl Elements {
    /// The reading of a shape that has arithmetic: complex numbers by their parts.
    pub fn of(shape: &ast::Shape) -> Elements {
        if shape.is_complex() { Elements::OnePart } else { Elements::Written }
    }
}

/// A written shape with the element types that there is arithmetic for.
pub(super) fn shape_of(instruction: &ast::Instruction, shape: &ast::Shape, elements: Elements) -> Result<Shape> {
    match shape {
        ast::Shape::Array { element, dims, .. } => {
            let dtype = match element {
                Element::Known(dtype) => *dtype,
                Element::Other(name) if elements == Elements::OnePart && name == "c64" => DType::F32,
                Element::Other(name) if elements == Elements::OnePart && name == "c128" => DType::F64,
                Element::Other(name) => {
                    let known: Vec<&str> = DTYPES.iter().map(|d| d.name()).collect();
                    let why = format!("element type {name} is not supported; supported are {}", known.join(", "));
                    return Err(LowerError::new(instruction, why).unknown());
                }
            };
            let extents: Option<Vec<usize>> = dims.iter().map(|d| usize::try_from(*d).ok()).collect();
            let array = extents.map(|dims| Shape::Array { dtype, dims }).filter(Shape::is_countable);
            array.ok_or_else(|| {
                let most = Shape::MOST_ELEMENTS;
                LowerError::new(instruction, format!("an array of more than {most} elements, extents of 0 aside"))
            })
        }
        ast::Shape::Tuple(parts) => {
            let parts = parts.iter().map(|shape| shape_of(instruction, shape, elements));
            Ok(Shape::Tuple(parts.collect::<Result<_>>()?))
        }
    }
}
