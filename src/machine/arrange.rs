//! Operations that move elements and change none.

use crate::ir::{Instruction, Op, Shape, movement};
use crate::tensor::DType;

use super::integer;
use super::operand::Operand;
use super::value::Value;

/// `iota` along `dim`, as a broadcast of its numbers.
pub fn iota(dtype: DType, dims: &[usize], dim: usize) -> Operand {
    let extent = if dims.contains(&0) { 0 } else { dims[dim] };
    let numbers = integer::of_integers(0..extent as i64, DType::S64, dtype);
    Operand::broadcast(&numbers, &[dim], dims).unwrap_or_else(|| Operand::whole(numbers))
}

/// `value` of these dims with them in another order; as it is where that moves nothing.
pub fn permute(value: &Value, dims: &[usize], order: &[usize]) -> Value {
    // Dims of one element may go anywhere.
    if order.iter().filter(|d| dims[**d] != 1).is_sorted() {
        return value.clone();
    }
    let op = Op::Transpose { permutation: order.to_vec() };
    let moved: Vec<usize> = order.iter().map(|d| dims[*d]).collect();
    if let Value::Float(dtype, elements) = value {
        let turn = |list: &[f32]| movement::apply(&op, &[(list, dims)], &[], &[], &moved);
        return Value::Float(*dtype, elements.turn(dims, order, turn));
    }
    applied(&op, std::slice::from_ref(value), &[dims], &[], &[], &moved)
}

/// [`permute`] where there is another order.
pub fn reorder(value: &Value, dims: &[usize], order: Option<&Vec<usize>>) -> Value {
    order.map_or_else(|| value.clone(), |order| permute(value, dims, order))
}

pub fn move_elements(instruction: &Instruction, mut operands: Vec<Value>, shapes: &[&Shape]) -> Value {
    let op = &instruction.op;
    let starts = operands.split_off(op.first_start().unwrap_or(operands.len()));
    let starts: Vec<i64> = starts.iter().flat_map(Value::starts).collect();
    let starts_dims = if matches!(op, Op::Gather(_)) { shapes[1].dims() } else { &[] };
    let dims = instruction.shape.dims();
    if let Some(range) = movement::stretch(op, shapes[0].dims(), &starts, dims) {
        return operands.swap_remove(0).stretch(range);
    }
    if let Op::Transpose { permutation } = op {
        return permute(&operands[0], shapes[0].dims(), permutation);
    }
    if *op == Op::DynamicUpdateSlice {
        let update = operands.swap_remove(1);
        return updated(operands.swap_remove(0), &update, [shapes[0].dims(), shapes[1].dims()], &starts);
    }
    let operand_dims: Vec<&[usize]> = shapes.iter().map(|shape| shape.dims()).collect();
    applied(op, &operands, &operand_dims, &starts, starts_dims, dims)
}

/// `dynamic-update-slice`, in the array's own place where nobody else sees it.
fn updated(array: Value, update: &Value, [dims, update_dims]: [&[usize]; 2], starts: &[i64]) -> Value {
    let of_lists = |lists: &[&[f64]]| {
        let mut values = lists[0].to_vec();
        movement::update(&mut values, dims, lists[1], update_dims, starts);
        values
    };
    if let Some(products) = Value::joint_products(&[&array, update], of_lists) {
        return products;
    }
    macro_rules! of {
        ($values:ident, $slice:ident) => {{
            let mut values = $values.into_vec();
            movement::update(&mut values, dims, update.$slice(), update_dims, starts);
            values
        }};
    }
    match array {
        Value::Float(dtype, values) => Value::float(dtype, of!(values, f32s)),
        Value::Double(values) => Value::double(of!(values, f64s)),
        Value::Integer(dtype, values) => Value::integer(dtype, of!(values, integers)),
        Value::Pred(values) => Value::pred(of!(values, preds)),
        Value::Products(_) | Value::Tuple(_) => unreachable!("shape checking gives arrays to what moves elements"),
    }
}

fn applied(
    op: &Op,
    operands: &[Value],
    operand_dims: &[&[usize]],
    starts: &[i64],
    starts_dims: &[usize],
    dims: &[usize],
) -> Value {
    macro_rules! of {
        ($slice:ident) => {{
            let parts: Vec<_> = operands.iter().zip(operand_dims).map(|(o, dims)| (o.$slice(), *dims)).collect();
            movement::apply(op, &parts, starts, starts_dims, dims)
        }};
    }
    let of_lists = |lists: &[&[f64]]| {
        let parts: Vec<_> = lists.iter().copied().zip(operand_dims.iter().copied()).collect();
        movement::apply(op, &parts, starts, starts_dims, dims)
    };
    if let Some(products) = Value::joint_products(&operands.iter().collect::<Vec<_>>(), of_lists) {
        return products;
    }
    match &operands[0] {
        Value::Float(dtype, _) => Value::float(*dtype, of!(f32s)),
        Value::Double(_) => Value::double(of!(f64s)),
        Value::Integer(dtype, _) => Value::integer(*dtype, of!(integers)),
        Value::Pred(_) => Value::pred(of!(preds)),
        Value::Products(_) | Value::Tuple(_) => unreachable!("shape checking gives arrays to what moves elements"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dims of one element may go anywhere, and no others.
    #[test]
    fn dims_of_more_than_one_element_keep_their_order() {
        for (dims, order, expected) in [
            ([2, 1, 2], [2, 1, 0], [0, 2, 1, 3]),
            ([2, 1, 2], [1, 0, 2], [0, 1, 2, 3]),
            ([1, 2, 2], [1, 2, 0], [0, 1, 2, 3]),
            ([2, 2, 1], [1, 2, 0], [0, 2, 1, 3]),
        ] {
            let values: Vec<i64> = (0..4).collect();
            let moved = permute(&Value::integer(DType::S32, values), &dims, &order);
            assert_eq!(moved.integers(), expected, "{dims:?} {order:?}");
            let moved = permute(&Value::float(DType::F32, vec![0.0, 1.0, 2.0, 3.0]), &dims, &order);
            assert_eq!(moved.f32s(), expected.map(|at: i64| at as f32), "{dims:?} {order:?}");
        }
    }

    #[test]
    fn counting_no_elements_gives_none() {
        for (dims, dim) in [([0, 3], 1), ([0, 3], 0), ([3, 0], 0)] {
            assert!(iota(DType::S32, &dims, dim).elements().is_empty(), "{dims:?} along {dim}");
        }
        assert_eq!(iota(DType::S32, &[2, 3], 1).into_whole(6).integers(), [0, 1, 2, 0, 1, 2]);
    }
}
