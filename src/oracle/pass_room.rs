//! Room for what a pass lays out: enclosures are larger than numbers, those of MPFR by far.

use crate::analysis::{self, MOST_WORK, World, describe, work};
use crate::budget::{self, Reserved};
use crate::ir::{Class, Instruction, Op, Shape};

use super::arithmetic::Arithmetic;
use super::elements::Value;
use super::oracle_error::OracleError;

/// Bytes of an element's identity: its class and its key.
const IDENTITY: u128 = 16;

/// Holds the memory for an instruction's arrays, and refuses one whose windows show more elements than anyone waits for.
///
/// # Errors
/// Then, and if the arrays do not fit.
pub(super) fn check<A: Arithmetic>(
    arithmetic: &A,
    instruction: &Instruction,
    operands: &[Value<A>],
    shapes: &[&Shape],
) -> Result<Reserved, OracleError> {
    let op = &instruction.op;
    let shares = matches!(op.class(), Class::Lists | Class::Calls)
        || matches!(op, Op::Reshape | Op::Copy | Op::OptimizationBarrier | Op::ReducePrecision { .. });
    // One number for all elements.
    let spreads = matches!((op, operands), (Op::Broadcast { .. }, [Value::Float(array)]) if array.len == 1);
    if shares || spreads {
        return Ok(Reserved::empty());
    }
    if work(instruction, shapes, World::Truth) > MOST_WORK && matches!(op, Op::ReduceWindow { .. }) {
        let why = "its windows show more elements together than are followed";
        return Err(OracleError::NoMeaning { name: instruction.name.clone(), opcode: op.opcode(), why });
    }
    let needed =
        analysis::instruction_bytes(instruction, shapes, World::Truth).max(bytes_of_array(arithmetic, instruction));
    Ok(budget::reserve(needed, || describe(instruction))?)
}

/// Holds the memory for an array.
///
/// # Errors
/// If its elements do not fit.
pub(super) fn check_array<A: Arithmetic>(arithmetic: &A, instruction: &Instruction) -> Result<Reserved, OracleError> {
    Ok(budget::reserve(bytes_of_array(arithmetic, instruction), || describe(instruction))?)
}

fn bytes_of_array<A: Arithmetic>(arithmetic: &A, instruction: &Instruction) -> u128 {
    let is_float = instruction.shape.dtype().is_some_and(|dtype| dtype.is_float());
    let each = if is_float { arithmetic.number_bytes() as u128 + IDENTITY } else { 16 };
    budget::bytes_of(instruction.shape.dims().iter().copied(), each)
}

/// Whether an instruction computes arrays without elements, and nothing else.
pub(super) fn is_empty(instruction: &Instruction) -> bool {
    let computes = !matches!(instruction.op.class(), Class::Source | Class::Lists | Class::Calls)
        && !matches!(instruction.op, Op::Opaque(_));
    computes && instruction.shape.elements() == 0
}
