//! Divisors of which a compiler may take the reciprocal once for many elements.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op};

use super::vector::Spread;

/// The divisor of a division that a compiler may turn into a multiplication by the reciprocal; nothing where the
/// division stands in a fusion that is compiled already.
pub fn divisor_of(computation: &Computation, instruction: &Instruction) -> Option<Spread> {
    match instruction.op {
        Op::Binary(Binary::Divide) if !instruction.fusion.is_some_and(Fusion::is_compiled) => {
            spread_of(computation, instruction.operands[1])
        }
        _ => None,
    }
}

/// Whether a divisor is a broadcast or a constant, seen through moves and conversions.
fn spread_of(computation: &Computation, id: usize) -> Option<Spread> {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Constant(_) => Some(Spread::Constant),
        Op::Broadcast { .. } => spread_of(computation, instruction.operands[0]).or(Some(Spread::Broadcast)),
        Op::Convert | Op::Reshape | Op::Copy | Op::Transpose { .. } => spread_of(computation, instruction.operands[0]),
        _ => None,
    }
}
