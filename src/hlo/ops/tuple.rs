//! Tuples, which dissolve.

use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::opcode::Tuples;

type Result<T> = std::result::Result<T, LowerError>;

/// A tuple, or an element of one.
pub fn lower(e: &Emitter, tuples: Tuples, mut operands: Vec<Value>) -> Result<Value> {
    match tuples {
        Tuples::Tuple => Ok(Value::Tuple(operands)),
        Tuples::GetTupleElement => {
            let index = e.attributes().number("index")?;
            match operands.pop() {
                Some(Value::Tuple(mut parts)) if index < parts.len() => Ok(parts.swap_remove(index)),
                _ => Err(e.fail(format!("the operand is no tuple with an element {index}"))),
            }
        }
    }
}
