//! Exchange between devices: each collective as operations between the values of the devices in a group.

use crate::ir::{Fusion, Op, ValueId};
use crate::tensor::DType;

use super::emit::Emitter;
use super::error::LowerError;
use super::lowered_value::Value;
use super::opcode::{Collective, CollectiveDone};
use super::replica_groups::{groups, pairs};
use super::{collective_algorithm, ragged_exchange};

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers a collective.
///
/// A reduction adds in the order of the plan that a compiled TPU file has of it (`collective_algorithm`). Without one it adds in
/// the group's order, one device after the other, each step in the region's type: XLA:CPU does so (FACTS 6.1), and for a TPU's
/// program before compilation it is a modelling choice.
pub(super) fn lower(e: &mut Emitter, collective: Collective, operands: &[Value]) -> Result<Value> {
    match collective {
        Collective::AllReduce | Collective::AllReduceStart => each_operand(e, operands, all_reduce),
        Collective::AllGather => each_operand(e, operands, all_gather),
        Collective::ReduceScatter => each_operand(e, operands, reduce_scatter),
        Collective::CollectiveBroadcast => each_operand(e, operands, broadcast),
        Collective::CollectivePermute => permute(e, operands),
        Collective::AllGatherStart => Ok(begun(operands, each_operand(e, operands, all_gather)?)),
        Collective::CollectivePermuteStart => Ok(begun(operands, permute(e, operands)?)),
        Collective::AllToAll => match operands {
            [operand] => all_to_all(e, operand),
            _ => all_to_all_of_parts(e, operands),
        },
        Collective::RaggedAllToAll => ragged_exchange::lower(e, operands),
    }
}

/// The end of a collective: the result that its beginning has.
pub(super) fn done(e: &Emitter, end: CollectiveDone, operands: &[Value]) -> Result<Value> {
    match end {
        CollectiveDone::AllReduceDone => operands.first().cloned().ok_or_else(|| e.fail("the operand is missing")),
        CollectiveDone::AllGatherDone | CollectiveDone::CollectivePermuteDone => match operands {
            [Value::Tuple(parts)] if parts.len() >= 2 => Ok(parts[1].clone()),
            _ => Err(e.fail("the operand is no beginning of a collective")),
        },
    }
}

/// The tuple of operands, results and contexts that a collective begins with.
fn begun(operands: &[Value], result: Value) -> Value {
    let operand = Value::of_parts(operands.to_vec());
    Value::Tuple(vec![operand, result, Value::Nothing, Value::Nothing])
}

/// The values that each device gets of one operand, which has this number among all.
type OfOne = fn(&mut Emitter, &Value, usize) -> Result<Vec<Value>>;

/// A collective over several operands is one over each.
fn each_operand(e: &mut Emitter, operands: &[Value], collective: OfOne) -> Result<Value> {
    if operands.is_empty() {
        return Err(e.fail("the operand is missing"));
    }
    let mut results = Vec::with_capacity(operands.len());
    for (number, operand) in operands.iter().enumerate() {
        results.push(Value::of_devices(collective(e, operand, number)?));
    }
    Ok(Value::of_parts(results))
}

/// The arrays that a value is made of, and a value of the same kind made of others.
fn arrays(e: &Emitter, value: &Value) -> Result<Vec<ValueId>> {
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
pub(super) fn beside(
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
pub(super) fn dims_of(e: &Emitter, value: &Value) -> Result<Vec<usize>> {
    Ok(e.shape(arrays(e, value)?[0]).dims().to_vec())
}

/// The element type of an array, or of the parts of a complex one.
pub(super) fn element_type(e: &Emitter, value: &Value) -> Result<DType> {
    Ok(e.shape(arrays(e, value)?[0]).element_type())
}

/// The devices' values of a group, reduced by the region: by the file's plan, or in the group's order.
fn reduced(e: &mut Emitter, operand: &Value, number: usize, group: &[usize]) -> Result<Value> {
    if let Some(planned) = collective_algorithm::sum(e, operand, number, group)? {
        return Ok(planned);
    }
    let mut members = group.iter().map(|device| operand.on(*device));
    let mut sum = members.next().ok_or_else(|| e.refuse("replica_groups", "a group is empty"))?;
    let region = e.attributes().callee("to_apply")?;
    let shape = e.shape(arrays(e, &sum)?[0]).clone();
    e.lowering.fusions += 1;
    let exchange = Fusion::Exchange { number: e.lowering.fusions, carries: shape.element_type(), is_planned: false };
    for member in members {
        sum = e.inline_within(region, &[sum, member], Some(shape.dims().to_vec()), Some(exchange))?;
    }
    Ok(sum)
}

/// The result of each device, from those of its group; zeros for a device in no group.
pub(super) fn in_groups(
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
fn nothing_taken(e: &mut Emitter, like: &Value) -> Result<Value> {
    beside(e, std::slice::from_ref(like), &mut |e, own| {
        let shape = e.shape(own[0]).clone();
        e.zeros(shape.element_type(), shape.dims())
    })
}

fn all_reduce(e: &mut Emitter, operand: &Value, number: usize) -> Result<Vec<Value>> {
    in_groups(e, operand, |e, group| Ok(vec![reduced(e, operand, number, group)?; group.len()]))
}

/// The dim that a collective joins or cuts along.
fn dim(e: &Emitter) -> Result<usize> {
    match e.attributes().numbers("dimensions")?[..] {
        [dim] => Ok(dim),
        _ => Err(e.refuse("dimensions", "dimensions must be one dim")),
    }
}

pub(super) fn join(e: &mut Emitter, values: &[Value], dim: usize) -> Result<Value> {
    if let [one] = values {
        return Ok(one.clone());
    }
    beside(e, values, &mut |e, own| e.emit(Op::Concatenate { dim }, own, None))
}

/// The part with this number, of as many equal ones along a dim.
fn part(e: &mut Emitter, value: &Value, dim: usize, number: usize, parts: usize) -> Result<Value> {
    beside(e, std::slice::from_ref(value), &mut |e, own| {
        let dims = e.shape(own[0]).dims().to_vec();
        let Some(size) = dims.get(dim).filter(|size| size.is_multiple_of(parts)).map(|size| size / parts) else {
            return Err(
                e.refuse("dimensions", format!("{} has no {parts} equal parts along dim {dim}", e.shape(own[0])))
            );
        };
        slice(e, own[0], dim, [number * size, (number + 1) * size])
    })
}

/// The elements of an array from one place along a dim to another.
pub(super) fn slice(e: &mut Emitter, own: ValueId, dim: usize, [from, to]: [usize; 2]) -> Result<ValueId> {
    let dims = e.shape(own).dims().to_vec();
    let (mut start, mut limit) = (vec![0; dims.len()], dims);
    (start[dim], limit[dim]) = (from, to);
    let stride = vec![1; start.len()];
    e.emit(Op::Slice { start, limit, stride }, vec![own], None)
}

fn all_gather(e: &mut Emitter, operand: &Value, _: usize) -> Result<Vec<Value>> {
    let dim = dim(e)?;
    in_groups(e, operand, |e, group| {
        let members: Vec<Value> = group.iter().map(|device| operand.on(*device)).collect();
        Ok(vec![join(e, &members, dim)?; group.len()])
    })
}

fn reduce_scatter(e: &mut Emitter, operand: &Value, number: usize) -> Result<Vec<Value>> {
    let dim = dim(e)?;
    in_groups(e, operand, |e, group| {
        let whole = reduced(e, operand, number, group)?;
        (0..group.len()).map(|member| part(e, &whole, dim, member, group.len())).collect()
    })
}

/// The value of the first device of each group.
fn broadcast(e: &mut Emitter, operand: &Value, _: usize) -> Result<Vec<Value>> {
    in_groups(e, operand, |_, group| {
        Ok(vec![group.first().map_or(Value::Nothing, |first| operand.on(*first)); group.len()])
    })
}

/// The value of the source device; zeros if no device sends one.
fn permute(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let [operand] = operands else { return Err(e.unknown("a collective-permute of one operand is supported")) };
    let pairs = pairs(e)?;
    let mut each = Vec::new();
    for device in 0..e.lowering.devices.count() {
        each.push(match pairs.iter().find(|pair| pair[1] == device) {
            Some([source, _]) => operand.on(*source),
            None => nothing_taken(e, &operand.on(device))?,
        });
    }
    Ok(Value::of_devices(each))
}

/// Member `i` gets the `i`-th part of what each member has along a dim, joined along it.
fn all_to_all(e: &mut Emitter, operand: &Value) -> Result<Value> {
    let dim = dim(e)?;
    let each = in_groups(e, operand, |e, group| {
        let mut each = Vec::with_capacity(group.len());
        for number in 0..group.len() {
            let mut parts = Vec::with_capacity(group.len());
            for device in group {
                parts.push(part(e, &operand.on(*device), dim, number, group.len())?);
            }
            each.push(join(e, &parts, dim)?);
        }
        Ok(each)
    })?;
    Ok(Value::of_devices(each))
}

/// Of as many operands as a group has members, member `i` gets the `i`-th of each member, as a tuple.
fn all_to_all_of_parts(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let first = operands.first().ok_or_else(|| e.fail("the operand is missing"))?;
    let each = in_groups(e, first, |e, group| {
        if group.len() != operands.len() {
            return Err(e.fail(format!("{} operands for a group of {}", operands.len(), group.len())));
        }
        let of_member = |number: usize| Value::Tuple(group.iter().map(|device| operands[number].on(*device)).collect());
        Ok((0..group.len()).map(of_member).collect())
    })?;
    Ok(Value::of_devices(each))
}
