//! What was edited in integers, which the expressions leave out.

use crate::ir::{Op, ValueId};
use crate::tensor::Tensor;

use super::build::splat;
use super::expression::ExpressionId;
use super::graph::Graph;

/// Integers and predicates that no float has part in and that are another operation, or have other attributes, in
/// AFTER: (the value, what it was, what it is). Compilers compute them as they please, so that nothing is said unless
/// both programs have the same values, by name. `integers` is the expression of all of them.
pub(super) fn edited(before: &Graph, after: &Graph, integers: Option<ExpressionId>) -> Vec<(ValueId, [String; 2])> {
    let [left, right] = [before, after].map(|graph| &graph.entry().instructions);
    let alike = left.len() == right.len()
        && left.iter().zip(right).all(|(a, b)| (&a.name, &a.shape, &a.operands) == (&b.name, &b.shape, &b.operands));
    if !alike {
        return Vec::new();
    }
    let changed = left.iter().zip(right).enumerate().filter(|(id, (a, b))| {
        let value = &before.values[*id];
        a.op != b.op && value.live && value.expressions.first().copied() == integers && a.op.callees().next().is_none()
    });
    changed
        .map(|(id, (a, b))| match [text(&a.op), text(&b.op)] {
            [one, other] if one == other => (id, [one, format!("another {other}")]),
            texts => (id, texts),
        })
        .collect()
}

fn text(op: &Op) -> String {
    let constant = |tensor: &Tensor| splat(tensor).map(|value| format!("constant {value}"));
    match op {
        Op::Constant(tensor) => constant(tensor).unwrap_or_else(|| "array of constants".to_string()),
        Op::Iota { dim } => format!("iota along dim {dim}"),
        Op::Compare { direction, .. } => format!("compare {}", direction.name()),
        op => op.opcode().to_string(),
    }
}
