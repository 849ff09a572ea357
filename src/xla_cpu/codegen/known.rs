//! A compiler's knowledge of a value: the constant that it equals everywhere, or the operand that it negates or leaves
//! unchanged.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};

/// The constant that all elements of a value of a fusion equal, if a compiler knows it.
pub fn known_number(computation: &Computation, mut id: ValueId, fusion: Option<Fusion>) -> Option<f32> {
    let is_inside = computation.instructions[id].fusion() == fusion;
    while let Op::Broadcast { .. } | Op::Reshape | Op::Copy = computation.instructions[id].op {
        id = computation.instructions[id].operands[0];
    }
    match &computation.instructions[id].op {
        Op::Constant(value) if is_inside && value.len() == 1 => value.data().to_f32s().first().copied(),
        _ => None,
    }
}

/// The operand that a value negates. LLVM treats a product with -1 as a negation.
pub fn negated_by(computation: &Computation, id: ValueId) -> Option<ValueId> {
    let Instruction { op, operands, .. } = &computation.instructions[id];
    let fusion = computation.instructions[id].fusion();
    match (op, &operands[..]) {
        (Op::Unary(Unary::Negate), &[operand]) => Some(operand),
        (Op::Binary(Binary::Multiply), &[left, right]) => {
            let is_minus_one = |factor: ValueId| known_number(computation, factor, fusion) == Some(-1.0);
            [(left, right), (right, left)].into_iter().find(|(_, factor)| is_minus_one(*factor)).map(|(other, _)| other)
        }
        _ => None,
    }
}

/// The same as [`known_number`], also for sums, differences and products of such constants, which parts of complex
/// numbers often are.
pub fn computed_number(computation: &Computation, id: ValueId, fusion: Option<Fusion>) -> Option<f32> {
    let instruction = &computation.instructions[id];
    let number = |id: ValueId| computed_number(computation, id, fusion);
    match (&instruction.op, &instruction.operands[..]) {
        (Op::Binary(Binary::Multiply), &[left, right]) if instruction.fusion() == fusion => {
            Some(number(left)? * number(right)?)
        }
        (Op::Binary(Binary::Add), &[left, right]) if instruction.fusion() == fusion => {
            Some(number(left)? + number(right)?)
        }
        (Op::Binary(Binary::Subtract), &[left, right]) if instruction.fusion() == fusion => {
            Some(number(left)? - number(right)?)
        }
        _ => known_number(computation, id, fusion),
    }
}

/// The operand that an operation leaves unchanged. LLVM drops a product with 1, the subtraction of 0, and the addition
/// of 0 to a value that is not -0 because it is such a sum already.
pub fn left_as_it_is(computation: &Computation, id: ValueId, fusion: Option<Fusion>) -> Option<ValueId> {
    let Instruction { op, operands, .. } = &computation.instructions[id];
    let (Op::Binary(binary), &[left, right]) = (op, &operands[..]) else { return None };
    let is = |id: ValueId, number: f32| {
        computed_number(computation, id, fusion).is_some_and(|own| own.to_bits() == number.to_bits())
    };
    let adds_zero = |id: ValueId| {
        let sum = &computation.instructions[id];
        sum.op == Op::Binary(Binary::Add) && sum.operands.iter().any(|operand| is(*operand, 0.0))
    };
    let either = |leaves: &dyn Fn(ValueId, ValueId) -> bool| {
        [(left, right), (right, left)].into_iter().find(|(kept, other)| leaves(*kept, *other)).map(|(kept, _)| kept)
    };
    match binary {
        Binary::Multiply => either(&|_, other| is(other, 1.0)),
        Binary::Subtract => is(right, 0.0).then_some(left),
        Binary::Add => either(&|kept, other| is(other, 0.0) && adds_zero(kept)),
        _ => None,
    }
}
