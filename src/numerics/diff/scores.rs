//! Recognition of scores among the results: numbers by which tokens are picked.

use std::collections::BTreeSet;

use crate::hlo::Import;
use crate::ir::Binary;
use crate::tensor::{DType, Tensor};

use super::expression::{ExpressionHead, ExpressionId, Expressions, ReductionOperation};
use super::graph::ArithmeticHabits;
use super::graph::Graph;

/// Whether each result of a program ranks tokens: it picks by them, or gives what was picked beside them. `results` are those
/// of one call, for their types and dims.
pub fn rank_tokens(import: &Import, results: &[Tensor]) -> Vec<bool> {
    let mut expressions = Expressions::default();
    let mut graph = Graph::new(import, ArithmeticHabits::default());
    graph.read(&mut expressions, &mut |_, _, _| None);
    scores(&graph, &expressions, results)
}

/// Whether each result is scores: the program itself picks by it (an argmax, a top-k, a sort or a comparison with its
/// maximum reads it), or a row of it goes with an integer or a kept set that is a result as well. Of other floats, such
/// as gradients, nothing says that the largest of a row is a token.
pub(super) fn scores(graph: &Graph, expressions: &Expressions, results: &[Tensor]) -> Vec<bool> {
    let picked_by = picked_by(graph, expressions);
    let outputs = graph.import.program.outputs();
    let is_score = |(result, id): (&Tensor, usize)| {
        let picks = picked_by.contains(&expressions.origin(graph.values[id].with_sign()));
        result.dtype().is_float() && (picks || results.iter().any(|other| goes_with(other, result)))
    };
    results.iter().zip(outputs).map(is_score).collect()
}

/// Whether a result can be what was picked by the rows of another: tokens, one or several a row, or a kept set.
fn goes_with(picked: &Tensor, scores: &Tensor) -> bool {
    let Some((_, rows)) = scores.dims().split_last() else { return false };
    let dtype = picked.dtype();
    match dtype {
        DType::Pred => picked.dims() == scores.dims(),
        _ if dtype.is_float() || dtype.bits() < 32 => false,
        _ => {
            picked.dims() == rows || picked.dims().split_last().is_some_and(|(_, own)| own == rows && !rows.is_empty())
        }
    }
}

/// All values by whose size something is picked.
fn picked_by(graph: &Graph, expressions: &Expressions) -> BTreeSet<ExpressionId> {
    let live = graph.values.iter().filter(|value| value.live).flat_map(|value| value.expressions.iter().copied());
    let maximum_of = |id: ExpressionId| match expressions.get(expressions.origin(id)) {
        (ExpressionHead::Reduce { by: ReductionOperation::Known(Binary::Maximum), .. }, &[of]) => Some(of),
        _ => None,
    };
    let key = |id: ExpressionId| match expressions.get(id) {
        (ExpressionHead::Index { .. } | ExpressionHead::Sorted { .. } | ExpressionHead::Candidates, &[key, ..]) => {
            Some(key)
        }
        (ExpressionHead::Compare(_), &[a, b]) => {
            [(a, b), (b, a)].into_iter().find(|(x, y)| maximum_of(*y) == Some(*x)).map(|(x, _)| x)
        }
        _ => None,
    };
    expressions.parts(live).into_iter().filter_map(key).map(|key| expressions.origin(key)).collect()
}
