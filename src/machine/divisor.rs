//! Divisors of which a compiler may take the reciprocal once for many elements.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op};

/// Whether an instruction is a division by one number for many dividends, a broadcast or a constant, outside of fusions that are
/// compiled already: a compiler may turn it into a multiplication by the reciprocal.
pub fn divides_by_one_number(computation: &Computation, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Binary(Binary::Divide) if !instruction.fusion().is_some_and(Fusion::is_compiled) => {
            is_one_number(computation, instruction.operands[1])
        }
        _ => false,
    }
}

/// Whether a divisor is a broadcast or a constant, seen through moves and conversions.
fn is_one_number(computation: &Computation, id: usize) -> bool {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Constant(_) | Op::Broadcast { .. } => true,
        Op::Convert | Op::Reshape | Op::Copy | Op::Transpose { .. } => {
            is_one_number(computation, instruction.operands[0])
        }
        _ => false,
    }
}
