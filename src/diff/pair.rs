//! Pairs values that the expressions leave unmatched: by name, in order, and by the results they end in.

use std::collections::{BTreeMap, BTreeSet};

use crate::hlo::Import;
use crate::ir::ValueId;

use super::expression::{ExpressionId, Expressions};
use super::graph::Graph;
use super::rule::Role;

/// Rounds of pairing; each settles at least one pair, and what lies above is matched anew.
const ROUNDS: usize = 200;

/// Two programs over the same expressions.
pub(super) struct Pair<'a> {
    pub before: Graph<'a>,
    pub after: Graph<'a>,
    pub expressions: Expressions,
}

impl<'a> Pair<'a> {
    pub fn new(before: &'a Import, after: &'a Import) -> Pair<'a> {
        let mut expressions = Expressions::default();
        for _ in 0..ROUNDS {
            expressions.forget_taken();
            let graphs = (Graph::new(before, &mut expressions), Graph::new(after, &mut expressions));
            let pairs = pairs(&graphs.0, &graphs.1);
            if pairs.is_empty() {
                return Pair { before: graphs.0, after: graphs.1, expressions };
            }
            pairs.into_iter().for_each(|(one, other)| expressions.identify(one, other));
        }
        expressions.forget_taken();
        let (before, after) = (Graph::new(before, &mut expressions), Graph::new(after, &mut expressions));
        Pair { before, after, expressions }
    }

    /// Expressions that both programs make.
    pub fn common(&self) -> BTreeSet<ExpressionId> {
        let after = made(&self.after);
        made(&self.before).into_keys().filter(|id| after.contains_key(id)).collect()
    }

    /// The expressions that a program makes and that have no part in the other, each with its first value, steps of
    /// sums and scans apart.
    pub fn unmatched(&self) -> [Vec<ValueId>; 2] {
        let alone = |of: &Graph, other: &Graph| {
            let live = other.values.iter().filter(|v| v.live).flat_map(|v| v.expressions.iter().copied());
            let parts = self.expressions.parts(live);
            let mut alone: Vec<ValueId> = made(of)
                .iter()
                .filter(|(id, value)| {
                    of.values[**value].float && !parts.contains(id) && !self.expressions.is_step(**id)
                })
                .map(|(_, value)| *value)
                .collect();
            alone.sort_unstable();
            alone
        };
        [alone(&self.before, &self.after), alone(&self.after, &self.before)]
    }
}

/// The expressions of the values that a program computes, each with the first of them.
pub(super) fn made(graph: &Graph) -> BTreeMap<ExpressionId, ValueId> {
    let mut made = BTreeMap::new();
    for (id, value) in
        graph.values.iter().enumerate().filter(|(_, v)| v.live && v.role == Role::Computes && v.scalar.is_none())
    {
        made.entry(value.expression()).or_insert(id);
    }
    made
}

/// What can be paired at once: (AFTER's expression, BEFORE's).
fn pairs(before: &Graph, after: &Graph) -> Vec<(ExpressionId, ExpressionId)> {
    let (of_before, of_after) = (made(before), made(after));
    let alone = |graph: &Graph, own: &BTreeMap<ExpressionId, ValueId>, other: &BTreeMap<ExpressionId, ValueId>| {
        let mut named: BTreeMap<(String, usize), Vec<(ValueId, ExpressionId)>> = BTreeMap::new();
        for (expression, id) in own.iter().filter(|(e, _)| !other.contains_key(e)) {
            let elements = graph.entry().instructions[*id].shape.elements();
            let key = (graph.base_name(*id).to_string(), elements);
            named.entry(key).or_default().push((*id, *expression));
        }
        named.values_mut().for_each(|list| list.sort_unstable());
        named
    };
    let left = alone(before, &of_before, &of_after);
    let right = alone(after, &of_after, &of_before);
    // The earliest values of each program: what lies above them may match by itself then.
    let mut found: Vec<(ValueId, ExpressionId, ExpressionId)> = Vec::new();
    for (key, list) in &left {
        let Some(others) = right.get(key).filter(|others| others.len() == list.len()) else { continue };
        found.extend(list.iter().zip(others).map(|((id, one), (_, other))| (*id, *other, *one)));
    }
    found.sort_unstable();
    if let Some((_, other, one)) = found.first() {
        return vec![(*other, *one)];
    }
    // A result is what it was, however it is computed.
    let results = before.import.program.outputs().into_iter().zip(after.import.program.outputs());
    for (one, other) in results {
        let (one, other) = (before.values[one].expression(), after.values[other].expression());
        let alone = of_before.contains_key(&one) && !of_after.contains_key(&one);
        if alone && of_after.contains_key(&other) && !of_before.contains_key(&other) {
            return vec![(other, one)];
        }
    }
    Vec::new()
}
