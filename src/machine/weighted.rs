//! Products of a matrix with a vector as compilers write them without a dot: a multiplication by a broadcast, conversions, and a
//! reduction that alone reads them.

use crate::ir::{Binary, Instruction, Op, ValueId};
use crate::tensor::DType;

use super::vector::StepRounding;

/// A product that a reduction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReducedProduct {
    /// The operands of the product, as they lie in memory.
    pub operands: [ValueId; 2],
    /// Format to which the product is rounded.
    pub rounded: StepRounding,
    /// Whether `reduce-precision` rounds it: to the same numbers, but a NaN keeps its bits, and the unit does not flush
    /// its subnormals.
    pub keeps_nan: bool,
}

/// The product that `array` is, with operands that are no `producers`; `None` for any other value. Its factors are
/// floats that f32 holds, and it is rounded to f32 or bf16. The function is for machines on which every conversion of
/// f32 to bf16 rounds, and once.
pub(super) fn find(instructions: &[Instruction], producers: &[ValueId], array: ValueId) -> Option<ReducedProduct> {
    let is_producer = |id: ValueId| producers.binary_search(&id).is_ok();
    let (mut id, mut rounded, mut keeps_nan) = (array, StepRounding::F32, false);
    loop {
        let instruction = &instructions[id];
        if !is_producer(id) {
            return None;
        }
        match instruction.shape.dtype()? {
            DType::F32 => {}
            // A value in bf16 between product and sum has been rounded there, wherever the conversion stands.
            DType::BF16 => rounded = StepRounding::Bf16,
            _ => return None,
        }
        match instruction.op {
            Op::Convert | Op::Copy | Op::Reshape => id = instruction.operands[0],
            Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 } => {
                (rounded, keeps_nan) = (StepRounding::Bf16, true);
                id = instruction.operands[0];
            }
            Op::Binary(Binary::Multiply) => break,
            _ => return None,
        }
    }
    // What f32 holds already is the same number in f32.
    let source = |mut id: ValueId| loop {
        let instruction = &instructions[id];
        let keeps = match instruction.op {
            Op::Convert => instruction.shape.dtype() == Some(DType::F32),
            Op::Copy | Op::Reshape => true,
            _ => false,
        };
        match is_producer(id) {
            true if keeps => id = instruction.operands[0],
            true => return None,
            false => return Some(id),
        }
    };
    let &[left, right] = &instructions[id].operands[..] else { return None };
    Some(ReducedProduct { operands: [source(left)?, source(right)?], rounded, keeps_nan })
}
