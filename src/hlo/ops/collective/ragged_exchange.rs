//! `ragged-all-to-all`: what devices send each other are rows, as many as arrays of sizes say.
//!
//! Source: openxla.org, operation semantics, RaggedAllToAll; `jax.lax.ragged_all_to_all`.

use crate::ir::{Binary, Compare, GatherDims, Op, Shape, ValueId};
use crate::tensor::DType;

use super::per_member::{beside, dims_of, in_groups, join};
use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::array_operation::{binary, compare, select};
use crate::builder::fill::integer;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// Member `i` of a group sends member `j` the rows of `operand` from `input_offsets[j]` on, `send_sizes[j]` of them, which
/// lie in `j`'s result from `output_offsets[j]` on; what nobody sends is as in `output`. All four are arrays of one element
/// a member; how many rows a member receives, the last operand, follows from what is sent.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let [operand, output, input_offsets, send_sizes, output_offsets, _received] = operands else {
        return Err(e.fail(
            "operand, output, input_offsets, send_sizes, output_offsets and recv_sizes are needed, each an array",
        ));
    };
    let each = in_groups(e, output, |e, group| {
        let members: Vec<Value> = group.iter().map(|device| operand.on(*device)).collect();
        if members.iter().any(|member| dims_of(e, member).is_ok_and(|dims| dims.is_empty())) {
            return Err(e.fail("operand and output have rows"));
        }
        // What all members send stands once: each receiver takes its rows of it, so that the work grows with the group.
        let sent = join(e, &members, 0)?;
        let from = table(e, input_offsets, group)?;
        let count = table(e, send_sizes, group)?;
        let to = table(e, output_offsets, group)?;
        let mut results = Vec::with_capacity(group.len());
        for (receiver, device) in group.iter().enumerate() {
            let both = [sent.clone(), output.on(*device)];
            results.push(beside(e, &both, &mut |e, own| received(e, [own[0], own[1]], [from, count, to], receiver))?);
        }
        Ok(results)
    })?;
    Ok(Value::of_devices(each))
}

/// The numbers that each member of a group has for each: s64[members, members], a row for each sender.
fn table(e: &mut Emitter, numbers: &Value, group: &[usize]) -> Result<ValueId> {
    let members = group.len();
    let mut rows = Vec::with_capacity(members);
    for device in group {
        let Value::Array(id) = numbers.on(*device) else { return Err(e.fail("offsets and sizes are arrays")) };
        let shape = e.shape(id).clone();
        if shape.dims() != [members] || !shape.dtype().is_some_and(DType::is_integer) {
            let why =
                format!("offsets and sizes of one integer for each of {members} members are supported, not {shape}");
            return Err(e.unknown(why));
        }
        let wide = e.emit(Op::Convert, vec![id], Some(Shape::array(DType::S64, &[members])))?;
        rows.push(Value::Array(e.emit(Op::Reshape, vec![wide], Some(Shape::array(DType::S64, &[1, members])))?));
    }
    match join(e, &rows, 0)? {
        Value::Array(id) => Ok(id),
        _ => Err(e.fail("offsets and sizes are arrays")),
    }
}

/// The numbers of all senders for one receiver, alike along the receiver's rows: s64[members, height].
fn column(e: &mut Emitter, table: ValueId, receiver: usize, grid: &[usize]) -> Result<ValueId> {
    let start = vec![0, receiver];
    let op = Op::Slice { start, limit: vec![grid[0], receiver + 1], stride: vec![1, 1] };
    let numbers = e.emit(op, vec![table], None)?;
    let numbers = e.emit(Op::Reshape, vec![numbers], Some(Shape::array(DType::S64, &grid[..1])))?;
    e.emit(Op::Broadcast { dims: vec![0] }, vec![numbers], Some(Shape::array(DType::S64, grid)))
}

/// The rows that each row of a receiver's result is, among those of all senders, and -1 where nobody sends one: s64[height]. Of several
/// senders the last one's counts.
fn places(e: &mut Emitter, told: [ValueId; 3], receiver: usize, height: usize, sent: usize) -> Result<ValueId> {
    let members = e.shape(told[0]).dims()[0];
    let grid = [members, height];
    let along = Shape::array(DType::S64, &grid);
    let mut each = [0; 3];
    for (column_of, table) in each.iter_mut().zip(told) {
        *column_of = column(e, table, receiver, &grid)?;
    }
    let [from, count, to] = each;
    let at = e.emit(Op::Iota { dim: 1 }, vec![], Some(along.clone()))?;
    let end = binary(e, Binary::Add, to, count)?;
    let begun = compare(e, Compare::Ge, at, to)?;
    let not_ended = compare(e, Compare::Lt, at, end)?;
    let is_sent = binary(e, Binary::And, begun, not_ended)?;
    let place = binary(e, Binary::Subtract, at, to)?;
    let source = binary(e, Binary::Add, place, from)?;
    // A row beyond those of its sender is the sender's last one, as a gather takes it.
    let (first, last) = (integer(e, DType::S64, 0, &[])?, integer(e, DType::S64, (sent / members - 1) as i64, &[])?);
    let source = e.emit(Op::Clamp, vec![first, source, last], None)?;
    let sender = e.emit(Op::Iota { dim: 0 }, vec![], Some(along))?;
    let rows = integer(e, DType::S64, (sent / members) as i64, &grid)?;
    let before = binary(e, Binary::Multiply, sender, rows)?;
    let source = binary(e, Binary::Add, before, source)?;
    let none = integer(e, DType::S64, -1, &grid)?;
    let source = select(e, is_sent, source, none)?;
    let to_apply = e.combiner(Binary::Maximum, DType::S64);
    let none = integer(e, DType::S64, -1, &[])?;
    e.emit(Op::Reduce { dims: vec![0], to_apply }, vec![source, none], None)
}

/// A receiver's result: of `rows`, which all members send, those that are for it, and `result` elsewhere.
fn received(e: &mut Emitter, [rows, result]: [ValueId; 2], told: [ValueId; 3], receiver: usize) -> Result<ValueId> {
    let (sent, shape) = (e.shape(rows).dims().to_vec(), e.shape(result).clone());
    let (Some((sent, inner)), Some((height, others))) = (sent.split_first(), shape.dims().split_first()) else {
        return Err(e.fail("operand and output have rows"));
    };
    if *sent == 0 {
        return Ok(result);
    }
    if inner != others {
        return Err(e.fail(format!("rows of {} do not fit into {shape}", e.shape(rows))));
    }
    let places = places(e, told, receiver, *height, *sent)?;
    let dims = GatherDims {
        offset_dims: (1..=inner.len()).collect(),
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: [&[1], inner].concat(),
        ..GatherDims::default()
    };
    let taken = e.emit(Op::Gather(dims), vec![rows, places], Some(shape.clone()))?;
    let zeros = integer(e, DType::S64, 0, &[*height])?;
    let is_sent = compare(e, Compare::Ge, places, zeros)?;
    let mask = Shape::array(DType::Pred, shape.dims());
    let is_sent = e.emit(Op::Broadcast { dims: vec![0] }, vec![is_sent], Some(mask))?;
    select(e, is_sent, taken, result)
}
