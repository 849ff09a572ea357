//! Lengths of the instruction chains of operations. The rank of an operation exceeds those of its operands by this
//! length.

use crate::ir::{Op, Unary};

/// Instructions between a call that rounds to bf16 and its result in f32: two integers and a shift.
pub const NARROWED: u32 = 3;

/// Whether an operation is or contains a call of a function that LLVM knows nothing of (`xla.tanh`, `cbrtf`). Such a
/// call keeps its position, as a read does.
pub fn is_call(op: &Op) -> bool {
    let Op::Unary(unary) = op else { return false };
    matches!(
        unary,
        Unary::Cbrt | Unary::Erf | Unary::ExponentialMinusOne | Unary::LogPlusOne | Unary::Rsqrt | Unary::Tanh
    )
}

/// The number of instructions in the chain of an operation, counted from its last call if it has one.
pub fn steps(op: &Op) -> u32 {
    match op {
        // The product with what the call gives, and two choices.
        Op::Unary(Unary::ExponentialMinusOne | Unary::Logistic) => 3,
        Op::Clamp => 2,
        _ if is_call(op) => 0,
        _ => 1,
    }
}
