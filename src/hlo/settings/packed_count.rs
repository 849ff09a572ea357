//! Operations that tpu7x emits packed, two elements of bf16 in a lane, as a fusion's `bf16_mapped_op_count` tells (FACTS 9).

use std::collections::HashMap;

use crate::ast::{Computation, Element, Instruction, Operands, Shape};
use crate::ir::{self, Binary, Op, Unary};
use crate::opcode::{Control, Elementwise, Opcode};
use crate::tensor::DType;
use crate::view::Attributes;

/// The operations in bf16 of a computation that are emitted packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packed {
    /// None, or the count does not say which.
    #[default]
    None,
    /// Those of the fusions in it alone: the operands' side of a convolution.
    Inner,
    /// All of them.
    All,
}

/// Whether an operation's packed code gives another result than its code in f32 with the result rounded.
pub fn has_code_of_its_own(instruction: &ir::Instruction) -> bool {
    let is_one = matches!(instruction.op, Op::Unary(Unary::Exponential | Unary::Sqrt) | Op::Binary(Binary::Divide));
    is_one && instruction.shape.dtype() == Some(DType::BF16)
}

/// The packed operations of a fusion's computation, which stands where `around` of the operations are packed. `find` gives the
/// computation of a name; what takes more steps than `steps` to count is not packed.
pub fn packed_part<'a>(
    fusion: &Instruction,
    callee: &'a Computation,
    around: Packed,
    find: &impl Fn(&str) -> Option<&'a Computation>,
    mut steps: usize,
) -> Packed {
    let Some(count) = super::packed_operations(fusion) else {
        return if around == Packed::None { Packed::None } else { Packed::All };
    };
    match operations(find, callee, 0, &mut steps) {
        Some([own, inner]) if count == own + inner => Packed::All,
        Some([_, inner]) if count == inner => Packed::Inner,
        _ => Packed::None,
    }
}

/// Fusions in fusions; compilers make two.
const DEPTH: usize = 8;

/// The operations in bf16 that a count may hold: of a computation itself, and of the fusions in it; `None` where finding them takes
/// more than so many steps.
fn operations<'a>(
    find: &impl Fn(&str) -> Option<&'a Computation>,
    computation: &Computation,
    depth: usize,
    steps: &mut usize,
) -> Option<[u64; 2]> {
    let [mut own, mut inner] = [0, 0];
    let shapes: HashMap<&str, &Shape> =
        computation.instructions.iter().map(|instruction| (instruction.name.as_str(), &instruction.shape)).collect();
    for instruction in &computation.instructions {
        *steps = steps.checked_sub(1)?;
        match &instruction.opcode {
            Opcode::Control(Control::Fusion) if depth < DEPTH => {
                let callee = Attributes::of(instruction).callee("calls").ok();
                if let Some(callee) = callee.and_then(find) {
                    inner += operations(find, callee, depth + 1, steps)?.iter().sum::<u64>();
                }
            }
            // A comparison's own type says nothing of its operands'.
            Opcode::Elementwise(Elementwise::Compare) => {
                let Operands::Values(operands) = &instruction.operands else { continue };
                let first = operands.first().and_then(|operand| shapes.get(operand.name.as_str()).copied());
                own += u64::from(first.is_some_and(is_bf16));
            }
            Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Elementwise(Elementwise::Select | Elementwise::Clamp) => {
                own += u64::from(is_bf16(&instruction.shape));
            }
            _ => {}
        }
    }
    Some([own, inner])
}

fn is_bf16(shape: &Shape) -> bool {
    matches!(shape, Shape::Array { element: Element::Known(DType::BF16), .. })
}
