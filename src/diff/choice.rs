//! Top-k that selects otherwise.

use std::collections::BTreeSet;

use super::change::ChangeKind;
use super::disagree::Disagreement;
use super::expression::{ExpressionId, Head};
use super::pairing::Pair;
use super::vertex::Value;

/// All selections that are another: those of values that both programs have, then of results.
pub(super) fn find_choices(pair: &Pair) -> Vec<Disagreement> {
    let mut found = of_values(pair);
    found.extend(of_results(pair));
    found
}

/// One for each operand that a top-k is taken of.
fn of_values(pair: &Pair) -> Vec<Disagreement> {
    let (mut told, mut found) = (BTreeSet::new(), Vec::new());
    for (value, own) in pair.before.values.iter().enumerate().filter(|(_, v)| v.live) {
        if own.selection.is_none() || own.expressions.len() != 1 {
            continue;
        }
        let side =
            |values: Vec<&Value>| -> BTreeSet<String> { values.iter().filter_map(|v| v.selection.clone()).collect() };
        let [left, right] = pair.both(own.expression()).map(side);
        let same = left.len() == right.len() && left.iter().zip(&right).all(|(one, other)| are_alike(one, other));
        if !same && !right.is_empty() && told.insert(selected_of(pair, own.expression())) {
            let texts = [left, right].map(|set| set.into_iter().collect::<Vec<_>>().join(" and "));
            found.push(Disagreement { value, texts, kind: ChangeKind::TopkChanged, uses_another: false });
        }
    }
    found
}

/// Results that a top-k gives in both programs, where all that the two have in common is that they are results: the best
/// of each bin are no part of the best of all.
fn of_results(pair: &Pair) -> Vec<Disagreement> {
    let (before, after) = (&pair.before, &pair.after);
    let outputs = before.import.program.outputs().into_iter().zip(after.import.program.outputs());
    let (mut told, mut found) = (BTreeSet::new(), Vec::new());
    for (value, other) in outputs {
        let (left, right) = (&before.values[value], &after.values[other]);
        if let (Some(from), Some(to)) = (&left.selection, &right.selection)
            && left.expression() != right.expression()
            && !are_alike(from, to)
            && told.insert(selected_of(pair, left.expression()))
        {
            found.push(Disagreement {
                value,
                texts: [from.clone(), to.clone()],
                kind: ChangeKind::TopkChanged,
                uses_another: false,
            });
        }
    }
    found
}

/// The operand from which a top-k took its values or indices.
fn selected_of(pair: &Pair, mut id: ExpressionId) -> ExpressionId {
    while let (Head::Slice(_) | Head::Sorted { .. } | Head::Reverse | Head::Candidates, [of, ..]) =
        pair.expressions.get(id)
    {
        id = *of;
    }
    id
}

/// Whether two selections are the same as far as both are known: `approximate, 512 bins` leaves the recall open.
fn are_alike(one: &str, other: &str) -> bool {
    let bins = |text: &str| text.rsplit(", ").next().map(str::to_string);
    let is_open = |text: &str| text != "exact" && !text.contains("recall");
    one == other || (is_open(one) || is_open(other)) && bins(one) == bins(other)
}
