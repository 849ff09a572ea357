//! The first operation of a file that computes in f64.

use crate::ast;
use crate::ir::{Double, Shape, ValueId};
use crate::view::Attributes;

use super::body::Body;

/// The custom calls that part numbers of 64 bits into two of 32 and join them.
const PARTS: [&str; 3] = ["X64SplitLow", "X64SplitHigh", "X64Combine"];

/// The operation `id` of `body` as one that computes in f64, if the file itself asks for f64 in `instruction`, of which
/// `sources` are the operands.
pub fn of(instruction: &ast::Instruction, sources: &[&ast::Instruction], body: &Body, id: ValueId) -> Option<Double> {
    if !asks(instruction, sources) {
        return None;
    }
    let added = &body.instructions[id];
    let shapes: Vec<&Shape> = added.operands.iter().map(|operand| body.shape(*operand)).collect();
    let double = Double::of(&instruction.name, &added.op, &shapes, &added.shape)?;
    Some(Double { opcode: instruction.opcode.to_string(), ..double })
}

/// Whether the file itself asks for f64, or complex numbers of f64, here; the parts of a pair of f32 are not meant.
fn asks(instruction: &ast::Instruction, sources: &[&ast::Instruction]) -> bool {
    let target = Attributes::of(instruction).word("custom_call_target");
    let shapes = sources.iter().map(|source| &source.shape).chain([&instruction.shape]);
    !target.is_some_and(|target| PARTS.contains(&target)) && shapes.into_iter().any(ast::Shape::has_f64)
}
