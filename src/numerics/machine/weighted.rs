//! Products of a matrix with a vector as compilers write them without a dot: a multiplication by a broadcast, conversions, and a
//! reduction that alone reads them.

use crate::ir::{Binary, Instruction, Op, ValueId};
use crate::tensor::DType;

use super::evaluate::Machine;
use super::integer::conversion_steps;
use super::value::{Operand, Value};
use super::vector::StepRounding;

/// A product that a reduction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Product {
    /// What is multiplied, as it stands in memory.
    pub operands: [ValueId; 2],
    /// What the product is rounded to.
    pub rounded: StepRounding,
}

/// The product that `array` is, of values that are no `producers`: rounded to f32 or bf16, of floats that f32 holds, multiplied as
/// the vector unit does where no library has a say. `None` for anything else.
pub(super) fn find(
    machine: &Machine,
    instructions: &[Instruction],
    producers: &[ValueId],
    array: ValueId,
) -> Option<Product> {
    let is_producer = |id: ValueId| producers.binary_search(&id).is_ok();
    if machine.mode.chip.library.is_some() || machine.unit.contracts {
        return None;
    }
    let rounds_once = conversion_steps(DType::F32, DType::BF16, machine.unit.release.through_half).eq([DType::BF16]);
    let (mut id, mut rounded) = (array, StepRounding::F32);
    loop {
        let instruction = &instructions[id];
        if !is_producer(id) {
            return None;
        }
        match instruction.shape.dtype()? {
            DType::F32 => {}
            DType::BF16 if rounds_once => rounded = StepRounding::Bf16,
            _ => return None,
        }
        match instruction.op {
            Op::Convert | Op::Copy | Op::Reshape => id = instruction.operands[0],
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
    Some(Product { operands: [source(left)?, source(right)?], rounded })
}

/// A matrix and a vector, of two operands of which one is whole and the other one is repeated so that each of `reduced` numbers
/// meets one of its own, where `inner` columns lie side by side.
pub(super) fn matrix_and_vector(operands: [&Operand; 2], [reduced, inner]: [usize; 2]) -> Option<[&[f32]; 2]> {
    let [matrix, vector] = match operands.map(Operand::each) {
        [None, Some(_)] => operands,
        [Some(_), None] => [operands[1], operands[0]],
        _ => return None,
    };
    match [matrix, vector].map(Operand::elements) {
        [Value::Float(_, matrix), Value::Float(_, factors)]
            if vector.each() == Some(inner) && factors.len() == reduced =>
        {
            Some([matrix, factors])
        }
        _ => None,
    }
}
