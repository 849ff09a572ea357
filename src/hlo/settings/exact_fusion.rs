//! Fusions that have one result however they are carried out: nothing in them is rounded, added in an order or ranked.

use std::collections::HashMap;

use crate::ast::{Computation, Element, Instruction, Operands, Shape};
use crate::opcode::{Control, Opcode, Single};
use crate::view::Attributes;

use super::attribute_table::MOVES;

/// Custom calls that mark the indices of a gather, which come out as they are.
const INDEX_MARKS: &[&str] = &["AssumeGatherIndicesInBound", "GatherScatterIndicesBitpacked"];

/// Whether a fusion only moves elements and computes with integers, in the place of each of them. Scatters, sorts and reductions do not
/// count: where elements meet, a plan may decide which comes first.
pub fn is_exact<'a>(fusion: &'a Instruction, find: &impl Fn(&str) -> Option<&'a Computation>) -> bool {
    if fusion.opcode != Opcode::Control(Control::Fusion) {
        return false;
    }
    let mut callees = fusion.attributes.iter().flat_map(|attribute| super::called(attribute, find)).peekable();
    callees.peek().is_some() && callees.all(of_computation)
}

fn of_computation(computation: &Computation) -> bool {
    let shapes: HashMap<&str, &Shape> =
        computation.instructions.iter().map(|instruction| (instruction.name.as_str(), &instruction.shape)).collect();
    computation.instructions.iter().all(|instruction| {
        let operands = match &instruction.operands {
            Operands::Values(operands) => &operands[..],
            Operands::Number(_) | Operands::Literal(_) => &[],
        };
        // Of an operand that is not there nothing is known.
        let are_integers = || {
            let shapes = operands.iter().map(|operand| shapes.get(operand.name.as_str()).copied());
            shapes.chain([Some(&instruction.shape)]).all(|shape| shape.is_some_and(is_integer))
        };
        match &instruction.opcode {
            opcode if MOVES.contains(opcode) => true,
            Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Elementwise(_) => are_integers(),
            // A marker around the indices of a gather (FACTS 9).
            Opcode::Single(Single::CustomCall) => {
                let target = Attributes::of(instruction).word("custom_call_target");
                target.is_some_and(|target| INDEX_MARKS.contains(&target)) && are_integers()
            }
            _ => false,
        }
    })
}

fn is_integer(shape: &Shape) -> bool {
    matches!(shape, Shape::Array { element: Element::Known(dtype), .. } if !dtype.is_float())
}
