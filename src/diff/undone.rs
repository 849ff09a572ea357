//! Numbers that undo each other: a value that is the one it was made of, up to rounding.

use std::collections::BTreeSet;

use crate::ir::{Instruction, ValueId};

use super::build::Builder;
use super::expression::ExpressionId;
use super::factors::{Scale, step};
use super::graph::Graph;
use super::pairing::Pair;
use super::vertex::Value;

impl<'p, 'e> Builder<'p, 'e> {
    /// The expression of a value that numbers scale and scale back: the value itself. The steps are recorded if they
    /// round.
    pub fn undone(&mut self, scale: &Scale, instruction: &Instruction, value: &mut Value) -> ExpressionId {
        let (form, by) = scale.form();
        let steps = by.map_or(form.clone(), |by| step(&form, by));
        let of = self.expressions.without_sign(scale.of);
        for id in instruction.operands.iter().filter(|id| self.uses[**id] == 1 && self.values[**id].scalar.is_none()) {
            let step = self.values[*id].expression();
            if step != of {
                self.expressions.absorb(step);
            }
        }
        self.again(scale.of, scale.by < 0.0, Some(steps).filter(|_| scale.rounds()), value)
    }

    /// A value again, or its negative, by these steps.
    pub fn again(&mut self, of: ExpressionId, negated: bool, steps: Option<String>, value: &mut Value) -> ExpressionId {
        (value.form, value.undone) = (None, steps);
        if negated { self.expressions.negate(of) } else { of }
    }
}

/// Steps that undo each other and that only one program takes, or that are others: where, and what they are.
pub(super) struct Undone<'a> {
    pub value: ValueId,
    pub op_name: Option<&'a str>,
    pub texts: [String; 2],
}

/// The undone steps to report of the values of an expression; the first of BEFORE is given.
pub(super) fn find_undone<'a>(pair: &Pair<'a>, first: ValueId, id: ExpressionId) -> Option<Undone<'a>> {
    let graphs = [&pair.before, &pair.after];
    let [left, right] = graphs.map(|graph| {
        let steps = graph.instances(id).iter().filter_map(|at| graph.values[*at].undone.clone());
        steps.collect::<BTreeSet<String>>()
    });
    if left == right {
        return None;
    }
    let of = |graph: &Graph| graph.instances(id).iter().find(|at| graph.values[**at].undone.is_some()).copied();
    let places = graphs.map(of);
    let op_name = graphs.into_iter().zip(places).find_map(|(graph, at)| graph.op_name(at?));
    let texts = [left, right].map(|steps| match steps.is_empty() {
        true => "as it is".to_string(),
        false => steps.into_iter().collect::<Vec<_>>().join(" and "),
    });
    Some(Undone { value: places[0].unwrap_or(first), op_name, texts })
}
