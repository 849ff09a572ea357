//! Instructions that have one result however they are carried out: nothing in them is rounded, added in an order or ranked.

use std::collections::{HashMap, HashSet};

use crate::ast::{Computation, Element, Instruction, Operands, Shape};
use crate::ir::Binary;
use crate::opcode::{Asynchronous, Control, Indexed, Opcode, Reduction, Single};
use crate::view::Attributes;

use super::attribute_table::MOVES;

/// Custom calls that mark the indices of a gather, which come out as they are.
const INDEX_MARKS: &[&str] = &["AssumeGatherIndicesInBound", "GatherScatterIndicesBitpacked"];

/// Calls within calls that are looked into.
const DEPTH: usize = 4;

/// Whether an instruction has one result, whatever carries it out: an operation on two integers, a fusion or call that only moves
/// elements and computes with integers, and a scatter or reduction of integers that meet in a sum, a product, an extremum or in their
/// bits, in any order. Sorts do not count: where elements are equal, a plan may decide which comes first.
pub fn is_exact<'a>(instruction: &'a Instruction, find: &impl Fn(&str) -> Option<&'a Computation>) -> bool {
    within(instruction, find, DEPTH)
}

fn within<'a>(instruction: &'a Instruction, find: &impl Fn(&str) -> Option<&'a Computation>, depth: usize) -> bool {
    let all = |holds: &dyn Fn(&'a Computation) -> bool| {
        let mut callees = instruction.attributes.iter().flat_map(|attribute| super::called(attribute, find)).peekable();
        callees.peek().is_some() && callees.all(holds)
    };
    match instruction.opcode {
        Opcode::Control(Control::Call | Control::Fusion) | Opcode::Asynchronous(Asynchronous::CallStart) => {
            depth > 0 && all(&|callee| of_computation(callee, find, depth - 1))
        }
        Opcode::Indexed(Indexed::Scatter) | Opcode::Reduction(Reduction::Reduce) => {
            is_integer(&instruction.shape) && all(&meets_in_any_order)
        }
        Opcode::Binary(_) => is_integer(&instruction.shape),
        _ => false,
    }
}

/// Whether a region of two integers is one operation that gives the same in any order of them.
fn meets_in_any_order(region: &Computation) -> bool {
    let [a, b, result] = &region.instructions[..] else { return false };
    let is_parameter = |instruction: &Instruction| instruction.opcode == Opcode::Single(Single::Parameter);
    let Opcode::Binary(binary) = result.opcode else { return false };
    let both = match &result.operands {
        Operands::Values(operands) => operands.iter().map(|operand| operand.name.as_str()).collect::<HashSet<_>>(),
        Operands::Number(_) | Operands::Literal(_) => HashSet::new(),
    };
    // The upper half of a product is commutative, and depends on the order of three.
    is_parameter(a)
        && is_parameter(b)
        && is_integer(&result.shape)
        && both == HashSet::from([a.name.as_str(), b.name.as_str()])
        && binary.commutes()
        && binary != Binary::MultiplyHigh
}

fn of_computation<'a>(
    computation: &'a Computation,
    find: &impl Fn(&str) -> Option<&'a Computation>,
    depth: usize,
) -> bool {
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
            // Its start says what is computed.
            Opcode::Asynchronous(Asynchronous::CallDone) => true,
            _ => within(instruction, find, depth),
        }
    })
}

fn is_integer(shape: &Shape) -> bool {
    matches!(shape, Shape::Array { element: Element::Known(dtype), .. } if !dtype.is_float())
}
