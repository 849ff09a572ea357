//! `ragged-all-to-all`: what devices send each other are rows, as many as arrays of sizes say.
//!
//! Source: openxla.org, operation semantics, RaggedAllToAll; `jax.lax.ragged_all_to_all`.

use crate::ir::{Binary, Compare, CompareOrder, GatherDims, Op, Shape, ValueId};
use crate::tensor::DType;

use super::per_member::{beside, in_groups};
use crate::builder::Emitter;
use crate::builder::Value;
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
        let mut results = Vec::with_capacity(group.len());
        for (receiver, device) in group.iter().enumerate() {
            let mut result = output.on(*device);
            for sender in group {
                let told = [input_offsets, send_sizes, output_offsets].map(|numbers| numbers.on(*sender));
                let told = [&told[0], &told[1], &told[2]].map(|numbers| number_for(e, numbers, receiver, group.len()));
                let [from, count, to] = told;
                let told = [from?, count?, to?];
                result = beside(e, &[operand.on(*sender), result], &mut |e, own| received(e, [own[0], own[1]], told))?;
            }
            results.push(result);
        }
        Ok(results)
    })?;
    Ok(Value::of_devices(each))
}

/// Element of one member, as a scalar, from an array with one number per member.
fn number_for(e: &mut Emitter, numbers: &Value, member: usize, members: usize) -> Result<ValueId> {
    let Value::Array(id) = *numbers else { return Err(e.fail("offsets and sizes are arrays")) };
    let shape = e.shape(id).clone();
    if shape.dims() != [members] || !shape.dtype().is_some_and(DType::is_integer) {
        let why = format!("offsets and sizes of one integer for each of {members} members are supported, not {shape}");
        return Err(e.unknown(why));
    }
    let op = Op::Slice { start: vec![member], limit: vec![member + 1], stride: vec![1] };
    let one = e.emit(op, vec![id], None)?;
    e.emit(Op::Reshape, vec![one], Some(Shape::array(shape.element_type(), &[])))
}

/// The result so far, with the rows that one member sends: `count` rows of its array from `from` on, to lie from `to` on.
fn received(e: &mut Emitter, [rows, result]: [ValueId; 2], told: [ValueId; 3]) -> Result<ValueId> {
    let (sent, shape) = (e.shape(rows).dims().to_vec(), e.shape(result).clone());
    let (Some((_, inner)), Some((_, others))) = (sent.split_first(), shape.dims().split_first()) else {
        return Err(e.fail("operand and output have rows"));
    };
    if sent[0] == 0 {
        return Ok(result);
    }
    if inner != others {
        return Err(e.fail(format!("rows of {} do not fit into {shape}", e.shape(rows))));
    }
    let height = &shape.dims()[..1];
    let [from, count, to] = told;
    let dtype = e.shape(to).element_type();
    let along = Shape::array(dtype, height);
    let at = e.emit(Op::Iota { dim: 0 }, vec![], Some(along.clone()))?;
    let mut each = Vec::with_capacity(3);
    for scalar in [from, count, to] {
        let alike = e.emit(Op::Convert, vec![scalar], Some(Shape::array(dtype, &[])))?;
        each.push(e.emit(Op::Broadcast { dims: vec![] }, vec![alike], Some(along.clone()))?);
    }
    // Unsigned offsets may wrap below the first row that is sent: those are not taken.
    let place = e.emit(Op::Binary(Binary::Subtract), vec![at, each[2]], None)?;
    let order = CompareOrder::Partial;
    let end = e.emit(Op::Binary(Binary::Add), vec![each[2], each[1]], None)?;
    let begun = e.emit(Op::Compare { direction: Compare::Ge, order }, vec![at, each[2]], None)?;
    let not_ended = e.emit(Op::Compare { direction: Compare::Lt, order }, vec![at, end], None)?;
    let is_sent = e.emit(Op::Binary(Binary::And), vec![begun, not_ended], None)?;
    let source = e.emit(Op::Binary(Binary::Add), vec![place, each[0]], None)?;
    let dims = GatherDims {
        offset_dims: (1..sent.len()).collect(),
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: [&[1], inner].concat(),
        ..GatherDims::default()
    };
    let taken = e.emit(Op::Gather(dims), vec![rows, source], Some(shape.clone()))?;
    let mask = Shape::array(DType::Pred, shape.dims());
    let is_sent = e.emit(Op::Broadcast { dims: vec![0] }, vec![is_sent], Some(mask))?;
    e.emit(Op::Select, vec![is_sent, taken, result], None)
}
