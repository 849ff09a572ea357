//! Texts of both sides of a disagreement.

use crate::ir::{Binary, Instruction, Op, ValueId};

use super::super::change::number;
use super::super::expression::{ExpressionHead, ExpressionId, Expressions};
use super::super::graph::Graph;
use super::super::matching::{Pair, differences};
use super::labels::label;

/// Texts of both sides of a disagreement.
pub fn operation_texts(pair: &Pair, sides: [ExpressionId; 2]) -> [String; 2] {
    let expressions = &pair.expressions;
    let graphs = [&pair.before, &pair.after];
    if let [(ExpressionHead::Loop(_), _), (ExpressionHead::Loop(_), _)] = sides.map(|id| expressions.get(id)) {
        return differences(expressions, sides).map(|operations| match operations.is_empty() {
            true => "loop without it".to_string(),
            false => {
                let mut labels: Vec<String> = operations.iter().map(label).collect();
                labels.sort();
                format!("loop with {}", labels.join(", "))
            }
        });
    }
    if expressions.without_sign(sides[0]) == expressions.without_sign(sides[1]) {
        return signs(pair, sides);
    }
    let first = pair.before.instance(sides[0]).map(|at| pair.before.name(at));
    let named = [0, 1].map(|side| operation(graphs[side], expressions, sides[side], first));
    if named[0] != named[1] {
        return named;
    }
    let in_full = [0, 1].map(|side| {
        let operands = expressions.get(sides[side]).1;
        let names: Vec<String> = operands.iter().map(|id| called(graphs[side], expressions, *id)).collect();
        let size = match expressions.get(sides[side]).0 {
            ExpressionHead::Reduce { results, .. } | ExpressionHead::Index { results, .. } => {
                format!(" to {results} elements")
            }
            _ => String::new(),
        };
        format!("{}{size} of {}", named[side], names.join(", "))
    });
    if in_full[0] != in_full[1] {
        return in_full;
    }
    let [one, other] = in_full;
    [one, format!("another {other}")]
}

/// `multiply by 0.5`, `compare GE`, `reduce by maximum`: as the instruction of that name has it, else the first.
fn operation(graph: &Graph, expressions: &Expressions, id: ExpressionId, named: Option<&str>) -> String {
    let (head, operands) = expressions.get(id);
    let (instructions, stands_as) = (&graph.entry().instructions, expressions.stands_as(id));
    let computing = graph.instances(stands_as).iter().copied().filter(|at| {
        let is_it = |op: &Op| matches!(op, Op::Compare { .. } | Op::Unary(_) | Op::Binary(_) | Op::Dot { .. });
        graph.values[*at].is_made() && is_it(&instructions[*at].op)
    });
    let computing = computing.min_by_key(|at| (named != Some(graph.name(*at)), *at));
    let name = match computing.map(|at| &instructions[at].op) {
        Some(Op::Compare { direction, .. }) => format!("compare {}", direction.name()),
        // A sum with a negated operand is a difference.
        Some(Op::Binary(Binary::Add | Binary::Subtract)) if matches!(head, ExpressionHead::Binary(_)) => label(head),
        Some(op) if !matches!(head, ExpressionHead::Scan { .. }) => op.opcode().to_string(),
        _ => label(head),
    };
    // The expression has the sign of a factor before it.
    let factor = computing.and_then(|at| graph.values[at].by).filter(|_| name == "multiply").map(number);
    let number = factor.or_else(|| operands.iter().find_map(|operand| exactly(graph, expressions, *operand)));
    match (number, head, name.as_str()) {
        (Some(number), _, "multiply") => format!("multiply by {number}"),
        (Some(number), _, "add") => format!("add {number}"),
        (Some(number), ExpressionHead::Reduce { .. }, _) if operands.len() > 1 => format!("{name} from {number}"),
        (Some(number), ExpressionHead::Binary(_) | ExpressionHead::Compare(_), _) => format!("{name} with {number}"),
        _ => name,
    }
}

/// The number that an expression is in this program, before it was taken as bf16.
fn exactly(graph: &Graph, expressions: &Expressions, id: ExpressionId) -> Option<String> {
    let rounded = expressions.value(id)?;
    let exact = graph.instances(id).iter().find_map(|at| graph.values[*at].scalar);
    Some(number(exact.unwrap_or(rounded)))
}

/// A value as an operand: its name or number.
fn called(graph: &Graph, expressions: &Expressions, id: ExpressionId) -> String {
    let name = |at: ValueId| graph.name(at).rsplit('/').next().unwrap_or_default().to_string();
    exactly(graph, expressions, id)
        .or_else(|| graph.instance(id).map(name))
        .unwrap_or_else(|| label(expressions.get(id).0))
}

/// Texts of two values that differ in their sign alone. A difference with swapped operands is named with its operands.
fn signs(pair: &Pair, sides: [ExpressionId; 2]) -> [String; 2] {
    let difference = |side: usize| {
        let graph = [&pair.before, &pair.after][side];
        let of = |id: &ValueId| match &graph.entry().instructions[*id] {
            Instruction { op: Op::Binary(Binary::Subtract), operands, .. } => Some(operands),
            _ => None,
        };
        let operands = graph.instances(pair.expressions.without_sign(sides[side])).iter().find_map(of)?;
        let name = |id: &ValueId| graph.name(*id).rsplit('/').next().unwrap_or_default().to_string();
        Some(format!("subtract of {}", operands.iter().map(name).collect::<Vec<_>>().join(", ")))
    };
    match [difference(0), difference(1)] {
        [Some(one), Some(other)] if one != other => [one, other],
        _ => sides.map(|id| if pair.expressions.split_sign(id).0 { "negated" } else { "not negated" }.to_string()),
    }
}
