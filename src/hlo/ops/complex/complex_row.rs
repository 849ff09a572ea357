//! A dot of a single row of complex numbers and a matrix, in files compiled for a CPU: complex products, added one after
//! the other (FACTS 3.6).

use std::sync::Arc;

use crate::builder::array_operation::binary;
use crate::ir::{Binary, LibraryFunction, Op, Shape};

use super::parts::Parts;
use crate::builder::Emitter;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// The dot, if it is one of a single row and several columns.
pub fn product(e: &mut Emitter, x: Parts, y: Parts) -> Result<Option<Parts>> {
    let numbers = |name: &str| e.attributes().numbers(name);
    let (batch, along) = (numbers("lhs_batch_dims")?, numbers("rhs_contracting_dims")?);
    let (row, matrix) = (e.shape(x[0]).clone(), e.shape(y[0]).clone());
    let (true, &[along]) = (e.lowering.is_code && batch.is_empty(), &along[..]) else { return Ok(None) };
    let Some(length) = matrix.dims().get(along).copied() else { return Ok(None) };
    if row.elements() != length || matrix.elements() <= length {
        return Ok(None);
    }
    let dtype = matrix.element_type();
    let mut spread = x;
    for part in &mut spread {
        let flat = e.emit(Op::Reshape, vec![*part], Some(Shape::array(dtype, &[length])))?;
        *part = e.emit(Op::Broadcast { dims: vec![along] }, vec![flat], Some(matrix.clone()))?;
    }
    let ([a, b], [c, d]) = (spread, y);
    let (ac, bd) = (binary(e, Binary::Multiply, a, c)?, binary(e, Binary::Multiply, b, d)?);
    let (ad, bc) = (binary(e, Binary::Multiply, a, d)?, binary(e, Binary::Multiply, b, c)?);
    let mut parts = [binary(e, Binary::Subtract, ac, bd)?, binary(e, Binary::Add, ad, bc)?];
    let claimed = e.of_one_part().claimed_shape()?;
    for part in &mut parts {
        let (zero, to_apply) = (e.zero(dtype)?, e.adder(dtype));
        let sum = e.emit(Op::Reduce { dims: vec![along], to_apply }, vec![*part, zero], None)?;
        e.body.instructions[sum].record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::ComplexSum)));
        *part = e.emit(Op::Reshape, vec![sum], Some(claimed.clone()))?;
    }
    Ok(Some(parts))
}
