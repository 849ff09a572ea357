//! `collective-broadcast` from a member of each group that the program computes (`has_dynamic_root`: openxla/xla
//! `collective_broadcast_thunk.cc`, `collective_ops_e2e_test.cc`).

use crate::builder::array_operation::{compare, select, slice};
use crate::builder::fill::{integer, spread};
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Compare, Op, Shape, ValueId};

use super::per_member::{beside, in_groups, nothing_taken};
use super::{broadcast, each_operand};

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers a `collective-broadcast`: every operand from the first member of each group, or, with `has_dynamic_root`, from the members
/// that the last operand has the ranks of, an integer for each other operand. The runtime fails for a rank that no member has;
/// here a member that is given one gets zeros.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    if !e.attributes().flag("has_dynamic_root")? {
        return each_operand(e, operands, broadcast);
    }
    let Some((roots, sent)) = operands.split_last().filter(|(_, sent)| !sent.is_empty()) else {
        return Err(e.fail("has_dynamic_root needs the ranks of the roots as the last operand, behind an array"));
    };
    let mut results = Vec::with_capacity(sent.len());
    for (number, operand) in sent.iter().enumerate() {
        let each = in_groups(e, operand, |e, group| {
            group.iter().map(|device| from_root(e, operand, (&roots.on(*device), number), group)).collect()
        })?;
        results.push(Value::of_devices(each));
    }
    Ok(Value::of_parts(results))
}

/// The value of the member of a group whose rank is the root with this number, of `roots`.
fn from_root(e: &mut Emitter, sent: &Value, (roots, number): (&Value, usize), group: &[usize]) -> Result<Value> {
    let Value::Array(roots) = roots else { return Err(e.fail("the ranks of the roots are no array")) };
    let (root, mut taken) = (rank(e, *roots, number)?, nothing_taken(e, &sent.on(group[0]))?);
    for (rank, member) in group.iter().enumerate() {
        let rank = integer(e, e.shape(root).element_type(), rank as i64, &[])?;
        let is_root = compare(e, Compare::Eq, root, rank)?;
        let of_member = sent.on(*member);
        taken = beside(e, &[of_member, taken], &mut |e, both| {
            let dims = e.shape(both[0]).dims().to_vec();
            let is_root = spread(e, is_root, &dims)?;
            select(e, is_root, both[0], both[1])
        })?;
    }
    Ok(taken)
}

/// The element with this number of the ranks, as a scalar.
fn rank(e: &mut Emitter, roots: ValueId, number: usize) -> Result<ValueId> {
    let shape = e.shape(roots).clone();
    let is_list = shape.dims().len() == 1 && shape.dims()[0] > number;
    if !is_list || !shape.dtype().is_some_and(|dtype| dtype.is_integer()) {
        return Err(
            e.fail(format!("the ranks of the roots are {shape}, and must be an integer for each array that is sent"))
        );
    }
    let own = slice(e, roots, 0, [number, number + 1])?;
    e.emit(Op::Reshape, vec![own], Some(Shape::array(shape.element_type(), &[])))
}
