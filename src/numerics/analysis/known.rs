//! What a compiler knows of a value without its operands: a number that it is everywhere, another value that it is the opposite of
//! or leaves as it is.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};

use super::codegen::Codegen;

/// The number that a value of a fusion is at all places, where a compiler knows it.
pub fn known_number(computation: &Computation, mut id: ValueId, fusion: Option<Fusion>) -> Option<f32> {
    let is_inside = computation.instructions[id].fusion == fusion;
    while let Op::Broadcast { .. } | Op::Reshape | Op::Copy = computation.instructions[id].op {
        id = computation.instructions[id].operands[0];
    }
    match &computation.instructions[id].op {
        Op::Constant(value) if is_inside && value.len() == 1 => value.data().to_f32s().first().copied(),
        _ => None,
    }
}

/// What a value negates. LLVM sees no product in one by -1.
pub fn negated_by(computation: &Computation, id: ValueId) -> Option<ValueId> {
    let Instruction { op, operands, fusion, .. } = &computation.instructions[id];
    match (op, &operands[..]) {
        (Op::Unary(Unary::Negate), &[operand]) => Some(operand),
        (Op::Binary(Binary::Multiply), &[left, right]) => {
            let is_minus_one = |factor: ValueId| known_number(computation, factor, *fusion) == Some(-1.0);
            [(left, right), (right, left)].into_iter().find(|(_, factor)| is_minus_one(*factor)).map(|(other, _)| other)
        }
        _ => None,
    }
}

/// The same, also of sums and products of such numbers, which parts of complex numbers often are.
pub fn computed_number(computation: &Computation, id: ValueId, fusion: Option<Fusion>) -> Option<f32> {
    let instruction = &computation.instructions[id];
    let number = |id: ValueId| computed_number(computation, id, fusion);
    match (&instruction.op, &instruction.operands[..]) {
        (Op::Binary(Binary::Multiply), &[left, right]) if instruction.fusion == fusion => {
            Some(number(left)? * number(right)?)
        }
        (Op::Binary(Binary::Add), &[left, right]) if instruction.fusion == fusion => {
            Some(number(left)? + number(right)?)
        }
        (Op::Binary(Binary::Subtract), &[left, right]) if instruction.fusion == fusion => {
            Some(number(left)? - number(right)?)
        }
        _ => known_number(computation, id, fusion),
    }
}

/// The operand that an operation leaves as it is: LLVM leaves out a product with 1, the subtraction of 0, and the addition of 0 to
/// what is no -0, being such a sum already.
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

/// Whether LLVM sees that a value is no -0 (`computeKnownFPClass`): so it leaves out adding a zero.
pub fn is_no_negative_zero(computation: &Computation, id: ValueId, codegen: &Codegen) -> bool {
    let instruction = &computation.instructions[id];
    let operands = &instruction.operands;
    match &instruction.op {
        Op::Binary(Binary::Multiply) if operands[0] == operands[1] => true,
        Op::Binary(Binary::Multiply) => {
            codegen.signs_of_products && operands.iter().all(|operand| has_no_sign(computation, *operand))
        }
        // A sum is -0 only of two.
        Op::Binary(Binary::Add) => operands.iter().any(|operand| is_no_negative_zero(computation, *operand, codegen)),
        Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => {
            is_no_negative_zero(computation, operands[0], codegen)
        }
        _ => has_no_sign(computation, id),
    }
}

/// Whether LLVM sees that a value's sign bit is clear.
fn has_no_sign(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    let operands = &instruction.operands;
    match &instruction.op {
        Op::Constant(value) => value.data().to_f32s().iter().all(|v| v.is_sign_positive()),
        Op::Binary(Binary::Multiply) => {
            operands[0] == operands[1] || operands.iter().all(|operand| has_no_sign(computation, *operand))
        }
        Op::Unary(Unary::Abs | Unary::Exponential) => true,
        Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => has_no_sign(computation, operands[0]),
        _ => false,
    }
}
