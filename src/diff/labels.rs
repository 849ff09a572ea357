//! Labels of the operations of expressions, and the operations that only one of two loops has.

use std::collections::BTreeMap;

use crate::ir::{Binary, Compare, Unary};

use super::change::number;
use super::expression::{Combiner, ExpressionId, Expressions, Head};

/// Something that a loop does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label {
    pub text: String,
    pub makes_bits: bool,
    pub is_rounding: bool,
}

impl Label {
    fn of(head: &Head) -> Label {
        let is_rounding = matches!(head, Head::Rounded(_));
        Label { text: label(head), makes_bits: makes_bits(head), is_rounding }
    }
}

pub(super) fn makes_bits(head: &Head) -> bool {
    use Binary::{Maximum, Minimum};
    match head {
        Head::Unary(unary) => !matches!(unary, Unary::Negate | Unary::Abs | Unary::Sign),
        Head::Binary(binary) => !matches!(binary, Maximum | Minimum),
        Head::Reduce { by, .. } | Head::Scan { by, .. } | Head::Window { by, .. } => {
            !matches!(by, Combiner::Known(Maximum | Minimum))
        }
        Head::Reciprocal | Head::FromIntegers | Head::Constant(_) => true,
        Head::Rounded(_) | Head::Accumulated(_) | Head::Fused => true,
        _ => false,
    }
}

pub(super) fn is_leaf(expressions: &Expressions, id: ExpressionId) -> bool {
    expressions.get(id).1.is_empty()
}

/// Operations that only one of two expressions has anywhere below. Loops carry values that the compiler chooses, in any
/// order, so places are left out. The number of times counts if both loops carry as many values, and so as many
/// counters. Roundings are always counted.
pub(super) fn differences(expressions: &Expressions, sides: [ExpressionId; 2]) -> [Vec<Label>; 2] {
    let [one, other] = sides.map(|id| expressions.get(id).1.len());
    let counts = one == other;
    let [left, right] = sides.map(|id| {
        let mut labels = BTreeMap::<Label, usize>::new();
        for part in expressions.parts([id]).into_iter().filter(|part| !is_of_the_loop(expressions, *part)) {
            *labels.entry(Label::of(expressions.get(part).0)).or_default() += 1;
        }
        labels
    });
    let only = |own: &BTreeMap<Label, usize>, other: &BTreeMap<Label, usize>| -> Vec<Label> {
        let is_more = |label: &Label, count: usize| match other.get(label) {
            Some(others) => (counts || label.is_rounding) && *others < count,
            None => true,
        };
        own.iter().filter(|(label, count)| is_more(label, **count)).map(|(label, _)| label.clone()).collect()
    };
    [only(&left, &right), only(&right, &left)]
}

/// Whether an expression has to do with how a loop runs: what it carries, what its first trip takes instead, and where
/// elements lie.
fn is_of_the_loop(expressions: &Expressions, id: ExpressionId) -> bool {
    let (head, operands) = expressions.get(id);
    match head {
        Head::Loop(_) | Head::Argument(_) | Head::Integers | Head::Select => true,
        Head::Slice(_) | Head::Gather { .. } | Head::Reverse | Head::Concatenate | Head::Update => true,
        Head::Compare(Compare::Eq | Compare::Ne) => operands.iter().all(|id| is_leaf(expressions, *id)),
        _ => false,
    }
}

/// Name of an operation for which there is no instruction.
pub(super) fn label(head: &Head) -> String {
    let by = |combiner: &Combiner| match combiner {
        Combiner::Known(binary) => binary.name(),
        Combiner::Region(_) => "a region",
    };
    match head {
        Head::Parameter(n) => format!("parameter {n}"),
        Head::Argument(n) => format!("argument {n}"),
        Head::Constant(bits) => number(f64::from_bits(*bits)),
        Head::Table(_) => "array of constants".to_string(),
        Head::Integers | Head::Counts => "integers".to_string(),
        Head::FromIntegers => "convert of integers".to_string(),
        Head::FromPredicates => "convert of predicates".to_string(),
        Head::Unary(unary) => unary.name().to_string(),
        Head::Reciprocal => "reciprocal".to_string(),
        Head::Binary(binary) => binary.name().to_string(),
        Head::Compare(direction) => format!("compare {}", direction.name()),
        Head::Rounded(format) => format!("rounding to {format}"),
        Head::Fused => "fused multiply-add".to_string(),
        Head::Accumulated(format) => format!("sum in {format}"),
        Head::Select => "select".to_string(),
        Head::Reduce { by: combiner, .. } => format!("reduce by {}", by(combiner)),
        Head::Index { largest: true, .. } => "index of the largest".to_string(),
        Head::Index { largest: false, .. } => "index of the smallest".to_string(),
        Head::Scan { by: combiner, .. } => format!("scan by {}", by(combiner)),
        Head::Window { window, by: combiner } => format!("reduce-window by {} over {{{window}}}", by(combiner)),
        Head::Sorted { descending } => if *descending { "largest first" } else { "smallest first" }.to_string(),
        Head::Candidates => "best of each bin".to_string(),
        Head::Slice(cuts) => {
            let cuts: Vec<String> =
                cuts.iter().map(|(start, limit, stride)| format!("{start}:{limit}:{stride}")).collect();
            format!("slice [{}]", cuts.join(", "))
        }
        Head::Reverse => "reverse".to_string(),
        Head::Concatenate => "concatenate".to_string(),
        Head::Pad(edges) => {
            let edges: Vec<String> =
                edges.iter().map(|edge| format!("{}_{}_{}", edge.low, edge.high, edge.interior)).collect();
            format!("pad {}", edges.join("x"))
        }
        Head::Update => "update".to_string(),
        Head::Scatter { by: combiner, .. } => format!("scatter by {}", by(combiner)),
        Head::Gather { elements } => format!("gather of {elements}"),
        Head::Loop(_) => "loop".to_string(),
        Head::Opaque(opaque) => opaque.name.clone(),
        Head::Other(name) => name.clone(),
    }
}
