//! Sorts and reductions of complex numbers by a region: parts go beside each other, and the region sees both.

use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Computation, Op, ValueId};

type Result<T> = std::result::Result<T, LowerError>;

/// A sort whose comparator takes complex numbers.
pub fn sort(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let (dim, stable) = (e.attributes().one_number("dimensions")?, e.attributes().flag("is_stable")?);
    let named = e.region("to_apply")?;
    let comparator = part_by_part(e.computation(named), operands);
    let to_apply = e.add_computation(comparator);
    of_parts(e, Op::Sort { dim, stable, to_apply }, operands, operands.len())
}

/// A reduction by another region than a sum of two complex numbers.
pub fn reduce(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let dims = e.attributes().numbers("dimensions")?;
    let to_apply = e.tuple_region("to_apply")?;
    of_parts(e, Op::Reduce { dims, to_apply }, operands, operands.len() / 2)
}

/// An operation over the parts of all operands, which gives values of the kinds of the first `results` operands.
fn of_parts(e: &mut Emitter, op: Op, operands: &[Value], results: usize) -> Result<Value> {
    let mut arrays: Vec<ValueId> = Vec::new();
    operands.iter().for_each(|operand| operand.leaves(&mut arrays));
    let whole = e.emit(op, arrays, None)?;
    let mut number = 0;
    let mut next = |e: &mut Emitter| {
        number += 1;
        e.emit(Op::GetTupleElement(number - 1), vec![whole], None)
    };
    let kinds = operands[..results].iter().map(|operand| match operand {
        Value::Complex(_) => Ok(Value::Complex([next(e)?, next(e)?])),
        Value::Array(_) => Ok(Value::Array(next(e)?)),
        _ => Err(e.fail("an operand is no array")),
    });
    Ok(Value::of_parts(kinds.collect::<Result<_>>()?))
}

/// A comparator of whole numbers as one of parts: of each operand it takes both elements, all parts of the first before those of
/// the second, and a sort of parts gives it both elements of each part.
fn part_by_part(comparator: &Computation, operands: &[Value]) -> Computation {
    let mut numbers = Vec::new();
    for operand in operands {
        let parts = if matches!(operand, Value::Complex(_)) { 2 } else { 1 };
        let first = numbers.len();
        for side in 0..2 {
            numbers.extend((0..parts).map(|part| first + 2 * part + side));
        }
    }
    let mut comparator = comparator.clone();
    for instruction in &mut comparator.instructions {
        if let Op::Parameter(number) = &mut instruction.op {
            *number = numbers.get(*number).copied().unwrap_or(*number);
        }
    }
    comparator
}
