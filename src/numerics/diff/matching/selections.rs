//! Top-k that selects otherwise.

use std::collections::{BTreeSet, HashSet};

use crate::ir::ValueId;

use super::super::expression::{ExpressionHead, ExpressionId};
use super::super::graph::{TopKSelection, Value};
use super::program_pair::Pair;

/// A top-k that selects otherwise in AFTER.
pub struct SelectionChange {
    /// The value of BEFORE that it gives.
    pub value: ValueId,
    /// The selections of both programs.
    pub selections: [HashSet<TopKSelection>; 2],
}

/// All selections that are another: those of values that both programs have, then of results.
pub fn find_selections(pair: &Pair) -> Vec<SelectionChange> {
    let mut found = of_values(pair);
    found.extend(of_results(pair));
    found
}

/// One for each operand that a top-k is taken of.
fn of_values(pair: &Pair) -> Vec<SelectionChange> {
    let (mut told, mut found) = (BTreeSet::new(), Vec::new());
    for (value, own) in pair.before.values.iter().enumerate().filter(|(_, v)| v.live) {
        if own.selection.is_none() || own.expressions.len() != 1 {
            continue;
        }
        let side =
            |values: Vec<&Value>| -> HashSet<TopKSelection> { values.iter().filter_map(|v| v.selection).collect() };
        let selections = pair.both(own.expression()).map(side);
        let [left, right] = &selections;
        let has_like = |own: &HashSet<TopKSelection>, other: &HashSet<TopKSelection>| {
            own.iter().all(|one| other.iter().any(|another| one.is_like(*another)))
        };
        let same = left.len() == right.len() && has_like(left, right) && has_like(right, left);
        if !same && !right.is_empty() && told.insert(selected_of(pair, own.expression())) {
            found.push(SelectionChange { value, selections });
        }
    }
    found
}

/// Results that a top-k gives in both programs, where all that the two have in common is that they are results: the best
/// of each bin are no part of the best of all.
fn of_results(pair: &Pair) -> Vec<SelectionChange> {
    let (before, after) = (&pair.before, &pair.after);
    let outputs = before.import.program.outputs().into_iter().zip(after.import.program.outputs());
    let (mut told, mut found) = (BTreeSet::new(), Vec::new());
    for (value, other) in outputs {
        let (left, right) = (&before.values[value], &after.values[other]);
        if let (Some(from), Some(to)) = (left.selection, right.selection)
            && left.expression() != right.expression()
            && !from.is_like(to)
            && told.insert(selected_of(pair, left.expression()))
        {
            found.push(SelectionChange { value, selections: [from, to].map(|one| HashSet::from([one])) });
        }
    }
    found
}

/// The operand from which a top-k took its values or indices.
fn selected_of(pair: &Pair, mut id: ExpressionId) -> ExpressionId {
    while let (
        ExpressionHead::Slice(_) | ExpressionHead::Sorted { .. } | ExpressionHead::Reverse | ExpressionHead::Candidates,
        [of, ..],
    ) = pair.expressions.get(id)
    {
        id = *of;
    }
    id
}
