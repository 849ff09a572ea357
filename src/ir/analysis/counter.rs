//! Integers: computations of them alone, and the counters of loops.

use crate::ir::{Binary, Class, Compare, Computation, Instruction, Op, Program, Shape, Unary, ValueId};
use crate::tensor::{DType, Data};

/// Whether an instruction of the entry, with all regions that it calls, has no float, no operation that is not
/// understood, and none that leaves an order open.
pub fn is_of_integers(program: &Program, id: ValueId) -> bool {
    let mut waiting = vec![&program.entry().instructions[id]];
    while let Some(instruction) = waiting.pop() {
        let is_open = matches!(instruction.op, Op::Opaque(_)) || instruction.op.class() == Class::Ranks;
        if is_open || has_floats(&instruction.shape) {
            return false;
        }
        for region in instruction.op.callees() {
            waiting.extend(&program.computations[region].instructions);
        }
    }
    true
}

fn has_floats(shape: &Shape) -> bool {
    match shape {
        Shape::Array { dtype, .. } => dtype.is_float(),
        Shape::Tuple(parts) => parts.iter().any(has_floats),
    }
}

/// The integer or predicate (0 or 1) of an instruction with one element, from its known operands, each with its type; a
/// u64 is the i64 of its bits. `None` for operations that counters do not use.
pub fn known_integer(instruction: &Instruction, operands: &[(Option<i64>, Option<DType>)]) -> Option<i64> {
    let dtype = instruction.shape.dtype().filter(|dtype| !dtype.is_float())?;
    if instruction.shape.elements() != 1 {
        return None;
    }
    let operand = |at: usize| {
        let (known, dtype) = operands.get(at)?;
        dtype.filter(|dtype| !dtype.is_float()).and(*known)
    };
    let value = match &instruction.op {
        Op::Constant(value) => value.data().get_i64(0),
        Op::Copy | Op::Reshape | Op::OptimizationBarrier | Op::Convert | Op::Broadcast { .. } => operand(0)?,
        Op::Unary(Unary::Negate) => operand(0)?.wrapping_neg(),
        Op::Unary(Unary::Not) if dtype == DType::Pred => 1 - operand(0)?,
        Op::Binary(binary) => {
            let (x, y) = (operand(0)?, operand(1)?);
            let x_is_less = operands[0].1?.integer_of(x) < operands[1].1?.integer_of(y);
            match binary {
                Binary::Add => x.wrapping_add(y),
                Binary::Subtract => x.wrapping_sub(y),
                Binary::Multiply => x.wrapping_mul(y),
                Binary::Maximum | Binary::Minimum if x_is_less == (*binary == Binary::Maximum) => y,
                Binary::Maximum | Binary::Minimum => x,
                Binary::And => x & y,
                Binary::Or => x | y,
                _ => return None,
            }
        }
        Op::Compare { direction, .. } => {
            let (x, y) = (operands.first()?.1?.integer_of(operand(0)?), operands.get(1)?.1?.integer_of(operand(1)?));
            i64::from(match direction {
                Compare::Eq => x == y,
                Compare::Ne => x != y,
                Compare::Ge => x >= y,
                Compare::Gt => x > y,
                Compare::Le => x <= y,
                Compare::Lt => x < y,
            })
        }
        Op::Select => operand(if operand(0)? != 0 { 1 } else { 2 })?,
        _ => return None,
    };
    // In the width of its type.
    Some(Data::from_i64s(dtype, &[value])?.get_i64(0))
}

/// The result of a computation over a loop's state, such as its condition, from the known part of the state.
pub fn known_result(computation: &Computation, state: &[Option<i64>]) -> Option<i64> {
    let mut known: Vec<Option<i64>> = Vec::with_capacity(computation.instructions.len());
    for instruction in &computation.instructions {
        known.push(match instruction.op {
            Op::Parameter(number) => state.get(number).copied().flatten(),
            _ => {
                let given = |id: &ValueId| (known[*id], computation.instructions[*id].shape.dtype());
                known_integer(instruction, &instruction.operands.iter().map(given).collect::<Vec<_>>())
            }
        });
    }
    known[computation.root]
}

#[cfg(test)]
mod tests {
    use super::{known_integer, known_result};
    use crate::ir::{Binary, Builder, Compare, Instruction, Op, Shape};
    use crate::tensor::DType;

    #[test]
    fn integers_are_those_of_their_types() {
        let of = |op: Op, gives: DType, takes: DType, x: i64, y: i64| {
            let instruction = Instruction::new("x", op, vec![0, 1], Shape::array(gives, &[]));
            known_integer(&instruction, &[(Some(x), Some(takes)), (Some(y), Some(takes))])
        };
        let add = Op::Binary(Binary::Add);
        assert_eq!(of(add.clone(), DType::S32, DType::S32, i64::from(i32::MAX), 1), Some(i64::from(i32::MIN)));
        assert_eq!(of(add.clone(), DType::U8, DType::U8, 255, 3), Some(2));
        assert_eq!(of(add, DType::F32, DType::F32, 1, 1), None);
        let less = Op::Compare { direction: Compare::Lt, order: crate::ir::CompareOrder::Partial };
        assert_eq!(of(less.clone(), DType::Pred, DType::S64, -1, 1), Some(1));
        assert_eq!(of(less, DType::Pred, DType::U64, -1, 1), Some(0));
        assert_eq!(of(Op::Binary(Binary::Minimum), DType::U64, DType::U64, -1, 1), Some(1));
        assert_eq!(of(Op::Convert, DType::S8, DType::S32, 300, 0), Some(44));
        assert_eq!(of(Op::Binary(Binary::Divide), DType::S32, DType::S32, 4, 2), None);
    }

    /// `i < 7` of a state whose first element is known; `i < n` is known where n is.
    #[test]
    fn a_condition_is_known_where_its_counter_is() {
        let mut b = Builder::new("conditions");
        let mut condition = |limit: Option<f64>| {
            let region = b.region("condition", |b| {
                let i = b.parameter("i", DType::S32, &[])?;
                let n = b.parameter("n", DType::S32, &[])?;
                let limit = limit.map_or(Ok(n), |limit| b.constant(DType::S32, limit))?;
                b.compare(Compare::Lt, i, limit)
            });
            region.unwrap()
        };
        let (constant, given) = (condition(Some(7.0)), condition(None));
        let program = b.finish(&[]).unwrap();
        let of = |region: usize, state: &[Option<i64>]| known_result(&program.computations[region], state);
        assert_eq!(of(constant, &[Some(6), None]), Some(1));
        assert_eq!(of(constant, &[Some(7), None]), Some(0));
        assert_eq!(of(constant, &[None, Some(3)]), None);
        assert_eq!(of(given, &[Some(6), None]), None);
        assert_eq!(of(given, &[Some(6), Some(9)]), Some(1));
    }
}
