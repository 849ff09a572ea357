//! Scalings that a second number undoes, in one of two programs or by other steps in each.

use std::collections::HashSet;

use crate::ir::ValueId;

use super::super::expression::ExpressionId;
use super::super::graph::{Graph, RoundingForm};
use super::program_pair::Pair;

/// Steps that undo each other and that only one program takes, or that are others.
pub struct ScaledBack<'a> {
    /// The value of BEFORE that they make.
    pub value: ValueId,
    /// `op_name` of the value that they make, in the first program that has one.
    pub op_name: Option<&'a str>,
    /// The steps of both programs; none where the value is used as it is.
    pub steps: [HashSet<RoundingForm>; 2],
}

/// The steps to report of the values of an expression; the first of BEFORE is given.
pub fn find_scaled_back<'a>(pair: &Pair<'a>, first: ValueId, id: ExpressionId) -> Option<ScaledBack<'a>> {
    let graphs = [&pair.before, &pair.after];
    let [left, right] = graphs.map(|graph| {
        let steps = graph.instances(id).iter().filter_map(|at| graph.values[*at].undone.clone());
        steps.collect::<HashSet<RoundingForm>>()
    });
    if left == right {
        return None;
    }
    let of = |graph: &Graph| graph.instances(id).iter().find(|at| graph.values[**at].undone.is_some()).copied();
    let places = graphs.map(of);
    let op_name = graphs.into_iter().zip(places).find_map(|(graph, at)| graph.op_name(at?));
    Some(ScaledBack { value: places[0].unwrap_or(first), op_name, steps: [left, right] })
}
