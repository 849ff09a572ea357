//! `rng`: bits of a generator inside a compiler's runtime, which are known only where the distribution has one value.

use crate::builder::fill::spread;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Op, ValueId};
use crate::opcode::{Opcode, Outside};

type Result<T> = std::result::Result<T, LowerError>;

/// The value of a uniform distribution between equal bounds, spread over the result; `None` of any other instruction.
pub fn of_one_value(e: &mut Emitter, operands: &[Value]) -> Result<Option<Value>> {
    let is_uniform = e.instruction.opcode == Opcode::Outside(Outside::Rng)
        && e.attributes().word("distribution") == Some("rng_uniform");
    let [Value::Array(low), Value::Array(high)] = *operands else { return Ok(None) };
    if !is_uniform || !is_one_number(e, low, high) || !e.shape(low).dims().is_empty() {
        return Ok(None);
    }
    let claimed = e.claimed_shape()?;
    let value = spread(e, low, claimed.dims())?;
    Ok(Some(Value::Array(e.settle(value, &claimed)?)))
}

/// Whether two scalars are one: the same value of the program, or constants of the same bits.
fn is_one_number(e: &Emitter, low: ValueId, high: ValueId) -> bool {
    let [one, other] = [low, high].map(|id| &e.body.instructions[id].op);
    low == high || matches!((one, other), (Op::Constant(a), Op::Constant(b)) if a == b)
}
