//! How many instructions, each of the one before, an operation is: by so many its rank is higher than its operands'.

use crate::ir::{Op, Unary};

/// What a call gives as bf16 is two integers and shifted, before it is f32 again.
pub const NARROWED: u32 = 3;

/// Whether it is a call of a function that LLVM knows nothing of (`xla.tanh`, `cbrtf`), or has one in it: that stands where it
/// is as a read does.
pub fn is_call(op: &Op) -> bool {
    let Op::Unary(unary) = op else { return false };
    matches!(
        unary,
        Unary::Cbrt | Unary::Erf | Unary::ExponentialMinusOne | Unary::LogPlusOne | Unary::Rsqrt | Unary::Tanh
    )
}

/// How many instructions, each of the one before, an operation is; what comes behind a call is counted from there.
pub fn steps(op: &Op) -> u32 {
    match op {
        // The product with what the call gives, and two choices.
        Op::Unary(Unary::ExponentialMinusOne | Unary::Logistic) => 3,
        Op::Clamp => 2,
        _ if is_call(op) => 0,
        _ => 1,
    }
}
