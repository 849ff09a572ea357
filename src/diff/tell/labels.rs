//! Labels of the operations of expressions.

use super::super::change::number;
use super::super::expression::{Combiner, Head};

/// Name of an operation for which there is no instruction.
pub fn label(head: &Head) -> String {
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
