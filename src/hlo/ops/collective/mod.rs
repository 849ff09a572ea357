//! Exchange between devices: each collective as operations between the values of the devices in a group.

mod collective_algorithm;
pub mod device_number;
mod dynamic_root;
pub mod each_device;
pub mod manual;
mod memory_tiles;
mod per_member;
mod ragged_exchange;
mod replica_groups;

use crate::builder::array_operation::slice;
use crate::builder::{Emitter, Value};
use crate::devices::device_exchange;
use crate::error::LowerError;
use crate::ir::{Mark, Op, Shape, ValueId};
use crate::opcode::{Collective, CollectiveDone, Opcode, Outside};

use per_member::{arrays, beside, in_groups, join, nothing_taken};
use replica_groups::pairs;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers a collective.
///
/// A reduction adds in the order of the plan that a compiled TPU file has of it (`collective_algorithm`). Without one it adds in
/// the group's order, one device after the other, each step in the region's type: a CPU's code does so (FACTS 6.1), and for
/// a TPU's program before compilation it is a modelling choice.
pub fn lower(e: &mut Emitter, collective: Collective, operands: &[Value]) -> Result<Value> {
    match collective {
        Collective::AllReduce | Collective::AllReduceStart => each_operand(e, operands, all_reduce),
        Collective::AllGather => each_operand(e, operands, all_gather),
        Collective::ReduceScatter => each_operand(e, operands, reduce_scatter),
        Collective::CollectiveBroadcast => dynamic_root::lower(e, operands),
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
pub fn done(e: &Emitter, end: CollectiveDone, operands: &[Value]) -> Result<Value> {
    match end {
        CollectiveDone::AllReduceDone => operands.first().cloned().ok_or_else(|| e.fail("the operand is missing")),
        CollectiveDone::AllGatherDone | CollectiveDone::CollectivePermuteDone => match operands {
            [Value::Tuple(parts)] if parts.len() >= 2 => Ok(parts[1].clone()),
            _ => Err(e.fail("the operand is no beginning of a collective")),
        },
    }
}

/// The parts of an exchange between two devices: what is sent, and what is received, each in a tuple with its context and a token,
/// and the ends of both; `None` of one with a host.
pub fn in_two_parts(e: &mut Emitter, part: Outside, operands: &[Value]) -> Result<Option<Value>> {
    let begun = |value: Value| Value::Tuple(vec![value, Value::Nothing, Value::Nothing]);
    let source = e.sources.first().copied().filter(|source| device_exchange::pairs(source).is_some());
    let source = source.map(|source| &source.opcode);
    let is_between_devices = device_exchange::pairs(e.instruction).is_some();
    Ok(match (part, operands) {
        (Outside::Send, [data, ..]) if is_between_devices => Some(begun(data.clone())),
        (Outside::Recv, [_, data]) if is_between_devices => Some(begun(permute(e, std::slice::from_ref(data))?)),
        (Outside::SendDone, _) if source == Some(&Opcode::Outside(Outside::Send)) => Some(Value::Nothing),
        (Outside::RecvDone, [Value::Tuple(parts)]) if source == Some(&Opcode::Outside(Outside::Recv)) => {
            parts.first().map(|data| Value::Tuple(vec![data.clone(), Value::Nothing]))
        }
        _ => None,
    })
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
    let exchange = Mark::Exchange { number: e.lowering.fusions, carries: shape.element_type(), is_planned: false };
    for member in members {
        sum = e.inline_within(region, &[sum, member], Some(shape.dims().to_vec()), Some(exchange.clone()))?;
    }
    Ok(sum)
}

fn all_reduce(e: &mut Emitter, operand: &Value, number: usize) -> Result<Vec<Value>> {
    in_groups(e, operand, |e, group| Ok(vec![reduced(e, operand, number, group)?; group.len()]))
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

fn all_gather(e: &mut Emitter, operand: &Value, _: usize) -> Result<Vec<Value>> {
    let dim = e.attributes().one_number("dimensions")?;
    in_groups(e, operand, |e, group| {
        let members: Vec<Value> = group.iter().map(|device| operand.on(*device)).collect();
        Ok(vec![join(e, &members, dim)?; group.len()])
    })
}

fn reduce_scatter(e: &mut Emitter, operand: &Value, number: usize) -> Result<Vec<Value>> {
    let dim = e.attributes().one_number("dimensions")?;
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
    let dim = e.attributes().one_number("dimensions")?;
    let each = in_groups(e, operand, |e, group| {
        let (members, count) = (group.iter().map(|device| operand.on(*device)).collect::<Vec<_>>(), group.len());
        if count == 1 {
            // Nothing moves, along a dim that is there all the same.
            return Ok(vec![beside(e, &members, &mut |e, own| with_dim(e, own[0], dim))?]);
        }
        // What all members have stands once, and each takes its parts of it, so that the work grows with the group.
        let all = join(e, &members, dim)?;
        let apart = beside(e, &[all], &mut |e, own| in_parts(e, own[0], dim, count))?;
        (0..count)
            .map(|number| beside(e, std::slice::from_ref(&apart), &mut |e, own| parts(e, own[0], dim, number)))
            .collect()
    })?;
    Ok(Value::of_devices(each))
}

/// The array itself, if it has this dim.
fn with_dim(e: &mut Emitter, array: ValueId, dim: usize) -> Result<ValueId> {
    let shape = e.shape(array);
    if dim >= shape.dims().len() {
        let why = format!("{shape} has no dim {dim}");
        return Err(e.refuse("dimensions", why));
    }
    Ok(array)
}

/// An array of `members` arrays one behind the other along a dim, each cut into as many parts along it: in the place of that dim
/// stand the members, the parts of one, and the elements of a part.
fn in_parts(e: &mut Emitter, all: ValueId, dim: usize, members: usize) -> Result<ValueId> {
    let shape = e.shape(all).clone();
    let (dtype, mut dims) = (shape.element_type(), shape.dims().to_vec());
    let own = dims[dim] / members;
    if !own.is_multiple_of(members) {
        dims[dim] = own;
        let shape = Shape::array(dtype, &dims);
        return Err(e.refuse("dimensions", format!("{shape} has no {members} equal parts along dim {dim}")));
    }
    let apart = [&dims[..dim], &[members, members, own / members], &dims[dim + 1..]].concat();
    e.emit(Op::Reshape, vec![all], Some(Shape::array(dtype, &apart)))
}

/// The parts with this number of all members, one behind the other along the dim.
fn parts(e: &mut Emitter, apart: ValueId, dim: usize, number: usize) -> Result<ValueId> {
    let taken = slice(e, apart, dim + 1, [number, number + 1])?;
    let shape = e.shape(taken).clone();
    let dims = shape.dims();
    let together = [&dims[..dim], &[dims[dim] * dims[dim + 2]], &dims[dim + 3..]].concat();
    e.emit(Op::Reshape, vec![taken], Some(Shape::array(shape.element_type(), &together)))
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
