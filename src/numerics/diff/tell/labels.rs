//! Labels of the operations of expressions.

use super::super::change::number;
use super::super::expression::{ExpressionHead, ReductionOperation};

/// Name of an operation for which there is no instruction.
pub fn label(head: &ExpressionHead) -> String {
    let by = |combiner: &ReductionOperation| match combiner {
        ReductionOperation::Known(binary) => binary.name(),
        ReductionOperation::Region(_) => "a region",
    };
    match head {
        ExpressionHead::Parameter(n) => format!("parameter {n}"),
        ExpressionHead::Argument(n) => format!("argument {n}"),
        ExpressionHead::Constant(bits) => number(f64::from_bits(*bits)),
        ExpressionHead::Table(_) => "array of constants".to_string(),
        ExpressionHead::Integers | ExpressionHead::Counts => "integers".to_string(),
        ExpressionHead::FromIntegers => "convert of integers".to_string(),
        ExpressionHead::FromPredicates => "convert of predicates".to_string(),
        ExpressionHead::Unary(unary) => unary.name().to_string(),
        ExpressionHead::Reciprocal => "reciprocal".to_string(),
        ExpressionHead::Binary(binary) => binary.name().to_string(),
        ExpressionHead::Compare(direction) => format!("compare {}", direction.name()),
        ExpressionHead::Rounded(format) => format!("rounding to {format}"),
        ExpressionHead::Fused => "fused multiply-add".to_string(),
        ExpressionHead::Accumulated(format) => format!("sum in {format}"),
        ExpressionHead::Select => "select".to_string(),
        ExpressionHead::Reduce { by: combiner, .. } => format!("reduce by {}", by(combiner)),
        ExpressionHead::Index { largest: true, .. } => "index of the largest".to_string(),
        ExpressionHead::Index { largest: false, .. } => "index of the smallest".to_string(),
        ExpressionHead::Scan { by: combiner, .. } => format!("scan by {}", by(combiner)),
        ExpressionHead::Window { window, by: combiner } => {
            format!("reduce-window by {} over {{{window}}}", by(combiner))
        }
        ExpressionHead::Sorted { descending } => {
            if *descending { "largest first" } else { "smallest first" }.to_string()
        }
        ExpressionHead::Candidates => "best of each bin".to_string(),
        ExpressionHead::Slice(cuts) => {
            let cuts: Vec<String> =
                cuts.iter().map(|(start, limit, stride)| format!("{start}:{limit}:{stride}")).collect();
            format!("slice [{}]", cuts.join(", "))
        }
        ExpressionHead::Reverse => "reverse".to_string(),
        ExpressionHead::Concatenate => "concatenate".to_string(),
        ExpressionHead::Pad(edges) => {
            let edges: Vec<String> =
                edges.iter().map(|edge| format!("{}_{}_{}", edge.low, edge.high, edge.interior)).collect();
            format!("pad {}", edges.join("x"))
        }
        ExpressionHead::Update => "update".to_string(),
        ExpressionHead::Scatter { by: combiner, .. } => format!("scatter by {}", by(combiner)),
        ExpressionHead::Gather { elements } => format!("gather of {elements}"),
        ExpressionHead::Loop(_) => "loop".to_string(),
        ExpressionHead::Opaque(opaque) => opaque.name.clone(),
        ExpressionHead::Other(name) => name.clone(),
    }
}
