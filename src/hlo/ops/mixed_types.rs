//! Operations whose operands and results have several float types, as compiled programs mix them.

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{ComputationId, Op, Shape, ValueId};
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// The claimed shape of elements that are only moved, in their own float type: compiled programs widen or round them on
/// the way.
pub fn in_type_of(e: &Emitter, operands: &[ValueId], claimed: Shape) -> Shape {
    let own = operands.first().and_then(|operand| e.shape(*operand).dtype());
    match (own, claimed.dtype()) {
        (Some(own), Some(dtype)) if own.is_float() && dtype.is_float() => claimed.with_dtype(own),
        _ => claimed,
    }
}

/// A reduction, of windows or of whole dims, a scatter or a sort; where its operands and region differ in their float
/// types, in the widest. `parameter` tells which one of the region takes elements of an operand, the first if several do.
///
/// Modelling choice: a bf16 region over f32 operands, as the TPU compiler writes it (FACTS 9), sees them unrounded.
pub fn over_region(
    e: &mut Emitter,
    mut operands: Vec<ValueId>,
    attribute: &str,
    parameter: impl Fn(usize) -> Option<usize>,
    op: impl FnOnce(ComputationId) -> Op,
) -> Result<ValueId> {
    let mut to_apply = e.region(attribute)?;
    let takes: Vec<Option<DType>> =
        e.computation(to_apply).parameter_shapes().into_iter().map(|shape| shape.dtype()).collect();
    let other = |(number, operand): (usize, &ValueId)| {
        parameter(number).and_then(|p| takes.get(p)).is_some_and(|dtype| e.shape(*operand).dtype() != *dtype)
    };
    if operands.iter().enumerate().any(other) {
        // Widening rounds nothing: operands and region go to f32 together.
        to_apply = e.wide_region(attribute)?;
        for operand in &mut operands {
            if e.shape(*operand).dtype() == Some(DType::BF16) {
                let wide = e.shape(*operand).widen();
                *operand = e.emit(Op::Convert, vec![*operand], Some(wide))?;
            }
        }
    }
    e.emit(op(to_apply), operands, None)
}
