//! Single operations of a sum's term in LLVM's loops: their instructions, and their costs as in x86's
//! `TargetTransformInfo`.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

/// Cost of a call for several elements, however many.
pub const OF_CALL: usize = 6;

/// Cost of a call for one element.
pub const OF_SCALAR_CALL: usize = 10;

/// Instructions of a function for one element at a time, applied to a register: eight calls, and the extraction and
/// insertion of the elements.
pub const OF_REGISTER_OF_CALLS: usize = 22;

/// The number of instructions of an operation before LLVM vectorizes, and its cost in multiplications.
pub fn weight(computation: &Computation, id: ValueId) -> (usize, usize) {
    let instruction = &computation.instructions[id];
    let from = || computation.instructions[instruction.operands[0]].shape.dtype();
    let is_float = |dtype: Option<DType>| dtype.is_some_and(DType::is_float);
    match &instruction.op {
        Op::Unary(unary) => match unary {
            Unary::Exponential | Unary::Log => (1, OF_CALL),
            Unary::Abs | Unary::RoundNearestAfz if is_float(from()) => (2, 1),
            Unary::Tanh | Unary::Rsqrt | Unary::LogPlusOne => (2, 6),
            Unary::Logistic => (4, OF_CALL),
            Unary::ExponentialMinusOne => (13, 13),
            Unary::Erf => (23, 23),
            Unary::Sqrt => (1, 3),
            Unary::Sign => (6, 6),
            Unary::IsFinite => (3, 3),
            _ => (1, 1),
        },
        Op::Binary(Binary::Divide) => (1, 3),
        Op::Binary(Binary::Maximum | Binary::Minimum) => (2, 2),
        Op::Binary(Binary::Remainder) => (4, 4),
        Op::Clamp => (4, 4),
        Op::ReducePrecision { .. } => (12, 12),
        Op::Convert if instruction.shape.dtype() == Some(DType::BF16) => (4, 4),
        Op::Convert if from() == Some(DType::BF16) => (2, 2),
        // What has no integer is brought into their range.
        Op::Convert
            if is_float(from()) && instruction.shape.dtype().is_some_and(|to| !to.is_float() && to != DType::Pred) =>
        {
            (7, 7)
        }
        _ => (1, 1),
    }
}

/// Whether an operation cannot be masked (`LoopVectorizationLegality::canFoldTailByMasking`): it is or contains a call
/// of a function that LLVM knows nothing of, or one whose bits it cannot leave out.
pub fn is_opaque(instruction: &Instruction) -> bool {
    match &instruction.op {
        Op::Unary(Unary::ExponentialMinusOne | Unary::LogPlusOne | Unary::Rsqrt | Unary::Tanh) => true,
        Op::Convert => instruction.shape.dtype() == Some(DType::BF16),
        _ => false,
    }
}

/// Whether an operation is a call of a function for one element at a time.
pub fn is_scalar_call(op: &Op) -> bool {
    matches!(op, Op::Unary(Unary::Sine | Unary::Cosine) | Op::Binary(Binary::Power | Binary::Atan2))
}

/// The value that is added or subtracted in an operand's place: LLVM turns the addition of a negation into a
/// subtraction.
pub fn without_sign(computation: &Computation, fusion: Option<Fusion>, id: ValueId) -> ValueId {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Unary(Unary::Negate) if instruction.fusion() == fusion => instruction.operands[0],
        _ => id,
    }
}

/// Cost of reading an element of each of so many rows that are not adjacent, and of inserting it into its lane.
/// Consecutive rows of up to eight columns are read as one run of memory.
pub fn cost_apart(lanes: usize, columns: usize) -> f64 {
    match (lanes, columns) {
        (1, _) => 1.0,
        (2 | 4, ..=8) => 2.0,
        (_, ..=6) => 4.9,
        (_, ..=8) => 6.7,
        (2, _) => 5.0,
        (4, _) => 12.0,
        (8, _) => 26.0,
        _ => 52.0,
    }
}
