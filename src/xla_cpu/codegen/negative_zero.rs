//! LLVM's knowledge of a value's sign.

use crate::ir::{Binary, Computation, Op, Unary, ValueId};

/// Whether LLVM proves that a value is not -0 (`computeKnownFPClass`), and therefore drops the addition of a zero.
pub fn is_no_negative_zero(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    let operands = &instruction.operands;
    match &instruction.op {
        Op::Binary(Binary::Multiply) if operands[0] == operands[1] => true,
        Op::Binary(Binary::Multiply) => operands.iter().all(|operand| has_no_sign(computation, *operand)),
        // A sum is -0 only of two.
        Op::Binary(Binary::Add) => operands.iter().any(|operand| is_no_negative_zero(computation, *operand)),
        Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => {
            is_no_negative_zero(computation, operands[0])
        }
        _ => has_no_sign(computation, id),
    }
}

/// Whether LLVM proves that a value's sign bit is clear.
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
