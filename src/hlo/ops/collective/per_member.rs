//! The values of the members of a group, changed or put together part by part.

use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Op, ValueId};
use crate::tensor::DType;

use super::replica_groups::groups;

type Result<T> = std::result::Result<T, LowerError>;

/// The arrays that a value is made of, and a value of the same kind made of others.
pub fn arrays(e: &Emitter, value: &Value) -> Result<Vec<ValueId>> {
    match value {
        Value::Array(id) => Ok(vec![*id]),
        Value::Complex(parts) => Ok(parts.to_vec()),
        _ => Err(e.fail("an operand is no array")),
    }
}

fn of_arrays(arrays: &[ValueId]) -> Value {
    match arrays {
        [one] => Value::Array(*one),
        [re, im] => Value::Complex([*re, *im]),
        _ => Value::Nothing,
    }
}

/// Applies `change` to the arrays of several values together: once to the real parts, and once to the imaginary ones.
pub fn beside(
    e: &mut Emitter,
    values: &[Value],
    change: &mut dyn FnMut(&mut Emitter, Vec<ValueId>) -> Result<ValueId>,
) -> Result<Value> {
    let all: Vec<Vec<ValueId>> = values.iter().map(|value| arrays(e, value)).collect::<Result<_>>()?;
    let kinds = all.first().map_or(0, Vec::len);
    let mut results = Vec::new();
    for part in 0..kinds {
        let own: Option<Vec<ValueId>> = all.iter().map(|arrays| arrays.get(part).copied()).collect();
        results.push(change(e, own.ok_or_else(|| e.fail("the operands are of different kinds"))?)?);
    }
    Ok(of_arrays(&results))
}

/// The dims of an array, or of the parts of a complex one.
pub fn dims_of(e: &Emitter, value: &Value) -> Result<Vec<usize>> {
    Ok(e.shape(arrays(e, value)?[0]).dims().to_vec())
}

/// The element type of an array, or of the parts of a complex one.
pub fn element_type(e: &Emitter, value: &Value) -> Result<DType> {
    Ok(e.shape(arrays(e, value)?[0]).element_type())
}

/// The result of each device, from those of its group; zeros for a device in no group.
pub fn in_groups(
    e: &mut Emitter,
    operand: &Value,
    mut of_group: impl FnMut(&mut Emitter, &[usize]) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let mut each = vec![None; e.lowering.devices.count()];
    for group in groups(e)? {
        for (device, own) in group.iter().zip(of_group(e, &group)?) {
            each[*device] = Some(own);
        }
    }
    let mut all = Vec::with_capacity(each.len());
    for (device, own) in each.into_iter().enumerate() {
        all.push(match own {
            Some(own) => own,
            None => nothing_taken(e, &operand.on(device))?,
        });
    }
    Ok(all)
}

/// Zeros in the place of what no device gives.
pub fn nothing_taken(e: &mut Emitter, like: &Value) -> Result<Value> {
    beside(e, std::slice::from_ref(like), &mut |e, own| {
        let shape = e.shape(own[0]).clone();
        e.zeros(shape.element_type(), shape.dims())
    })
}

/// Values one behind the other along a dim.
pub fn join(e: &mut Emitter, values: &[Value], dim: usize) -> Result<Value> {
    if let [one] = values {
        return Ok(one.clone());
    }
    beside(e, values, &mut |e, own| e.emit(Op::Concatenate { dim }, own, None))
}
