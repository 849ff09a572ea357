//! Texts of operations that were edited.

use crate::ir::{Instruction, Op, ValueId};
use crate::tensor::Tensor;

use super::super::change::number;
use super::super::graph::{Graph, splat};

/// Texts of both sides of an edit, with the operands if the operations alone do not tell the sides apart.
pub fn edit_texts(graphs: [&Graph; 2], values: [ValueId; 2]) -> [String; 2] {
    let sides: [&Instruction; 2] = [0, 1].map(|side| &graphs[side].entry().instructions[values[side]]);
    let named = sides.map(|side| text(&side.op));
    if named[0] != named[1] {
        return named;
    }
    let [left, right] = [0, 1].map(|side| {
        let names: Vec<String> = sides[side].operands.iter().map(|id| name_of(graphs[side], *id)).collect();
        format!("{} of {}", named[side], names.join(", "))
    });
    if left != right {
        return [left, right];
    }
    let [one, other] = named;
    [one, format!("another {other}")]
}

/// A value as an operand: its name or number.
fn name_of(graph: &Graph, id: ValueId) -> String {
    let name = graph.name(id).rsplit('/').next().unwrap_or_default();
    let element = graph.element(id).map(|index| format!("{{{index}}}")).unwrap_or_default();
    graph.values[id].scalar.map_or(format!("{name}{element}"), number)
}

fn text(op: &Op) -> String {
    let constant = |tensor: &Tensor| splat(tensor).map(|value| format!("constant {value}"));
    match op {
        Op::Constant(tensor) => constant(tensor).unwrap_or_else(|| "array of constants".to_string()),
        Op::Iota { dim } => format!("iota along dim {dim}"),
        Op::Compare { direction, .. } => format!("compare {}", direction.name()),
        Op::Opaque(opaque) => opaque.name.clone(),
        Op::Sort { stable: true, .. } => "stable sort".to_string(),
        op => op.opcode().to_string(),
    }
}
