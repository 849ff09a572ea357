//! Operations that give their operand: copies and barriers.

use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::Op;

type Result<T> = std::result::Result<T, LowerError>;

/// The operand itself, each array of it by `op`.
pub fn lower(e: &mut Emitter, op: Op, mut operands: Vec<Value>) -> Result<Value> {
    let operand = operands.pop().ok_or_else(|| e.fail("the operand is missing"))?;
    let moved = e.each_array(&operand, &mut |emitter, id| emitter.emit(op.clone(), vec![id], None))?;
    // The TPU compiler fuses a conversion into the copy beside it.
    match moved {
        Value::Array(id) => Ok(Value::Array(e.settle(id, &e.claimed_shape()?)?)),
        other => Ok(other),
    }
}
