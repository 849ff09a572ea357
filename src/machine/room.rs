//! Room for what an instruction lays out: memory, and elements that anyone waits for.

use crate::analysis::{self, MOST_WORK, World, array_bytes, describe, work};
use crate::budget::{self, Reserved};
use crate::ir::{Class, Instruction, Op, Shape};

use super::eval_error::{EvalError, refuse};

/// Holds the memory for an instruction's arrays, with those of its operands written out that `spreads` says are
/// broadcasts.
///
/// # Errors
/// If they do not fit, or as [`check_work`].
pub(super) fn check(
    instruction: &Instruction,
    shapes: &[&Shape],
    spreads: impl Fn(usize) -> bool,
) -> Result<Reserved, EvalError> {
    let op = &instruction.op;
    // These hand a broadcast on as it is.
    if (0..shapes.len()).any(&spreads) && matches!(op, Op::Copy | Op::OptimizationBarrier | Op::Reshape | Op::Convert) {
        return Ok(Reserved::empty());
    }
    check_work(instruction, shapes, World::Machine)?;
    let own = analysis::instruction_bytes(instruction, shapes, World::Machine);
    let spread = shapes.iter().enumerate().filter(|(at, _)| spreads(*at));
    let bytes = spread.map(|(_, shape)| array_bytes(shape, World::Machine)).fold(0, u128::saturating_add);
    Ok(budget::reserve(own.saturating_add(bytes), || describe(instruction))?)
}

/// Whether an instruction computes arrays without elements, and nothing else.
pub(super) fn is_empty(instruction: &Instruction) -> bool {
    let computes = !matches!(instruction.op.class(), Class::Source | Class::Lists | Class::Calls)
        && !matches!(instruction.op, Op::Opaque(_));
    computes && instruction.shape.elements() == 0
}

/// Refuses windows that show more elements than anyone waits for.
///
/// # Errors
/// Then.
pub(super) fn check_work(instruction: &Instruction, shapes: &[&Shape], world: World) -> Result<(), EvalError> {
    let shown = work(instruction, shapes, world);
    if shown > MOST_WORK && matches!(instruction.op, Op::ReduceWindow { .. }) {
        let why = format!("its windows show {shown} elements together, more than the {MOST_WORK} that are followed");
        return Err(refuse(instruction, why));
    }
    Ok(())
}
