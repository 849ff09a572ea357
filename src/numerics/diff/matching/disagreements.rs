//! Differences between values that are paired only by name or as results, and that compute different things.

use std::collections::BTreeSet;

use crate::ir::ValueId;

use super::super::change::ChangeKind;
use super::super::expression::{ExpressionHead, ExpressionId, Expressions};
use super::super::graph::Graph;
use super::loop_operations::{differences, is_leaf, makes_bits};
use super::program_pair::Pair;

/// One difference of two paired values, as deep down as the two can be told apart.
pub struct PairDisagreement {
    /// The value of BEFORE that is reported.
    pub value: ValueId,
    /// The computation in BEFORE, and the one in its place in AFTER.
    pub sides: [ExpressionId; 2],
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Whether it uses another value that both programs have: a difference of operands, not of the operation.
    pub uses_another: bool,
}

/// All disagreements of the pairs that the expressions alone would not have made, and of results that no pair accounts
/// for. What contains a value that the other program does not compute is left to the note on those.
pub fn disagreements(pair: &Pair) -> Vec<PairDisagreement> {
    let graphs = [&pair.before, &pair.after];
    let expressions = &pair.expressions;
    let live: BTreeSet<ExpressionId> = all(&pair.after).collect();
    // An expression of AFTER that stands under another number is found by the value that has it.
    let mut roots: Vec<(Option<ValueId>, ExpressionId, ExpressionId)> = expressions
        .substitutions()
        .filter(|(one, taken_for)| live.contains(taken_for) && !pair.equal.contains(one))
        .map(|(one, taken_for)| (None, taken_for, one))
        .collect();
    let [left, right] = graphs.map(|graph| graph.import.program.outputs());
    for (one, other) in left.into_iter().zip(right) {
        let (before, after) = (&pair.before.values[one], &pair.after.values[other]);
        let selected_otherwise = before.selection.is_some() && after.selection.is_some();
        let are_equal = pair.elements.as_ref().is_some_and(|elements| elements.are_equal([one, other]));
        if before.with_sign() != after.with_sign() && !selected_otherwise && !are_equal {
            roots.push((Some(one), before.with_sign(), after.with_sign()));
        }
    }
    let unknown: [BTreeSet<ExpressionId>; 2] = {
        let [left, right] = pair.without_counterpart();
        let of = |graph: &Graph, ids: Vec<ValueId>| ids.into_iter().map(|id| graph.values[id].expression()).collect();
        [of(&pair.before, left), of(&pair.after, right)]
    };
    // What is made of something unknown: operands have lower numbers than what is made of them.
    let of_unknown = unknown.map(|unknown| {
        let mut of_unknown: Vec<bool> = Vec::with_capacity(expressions.len());
        for id in 0..expressions.len() {
            let below = expressions.get(id).1.iter().any(|operand| of_unknown[*operand]);
            of_unknown.push(below || unknown.contains(&id));
        }
        of_unknown
    });
    let mut found: Vec<PairDisagreement> = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, before, after) in roots {
        let root = at.or_else(|| pair.before.instance(before));
        for sides in apart(pair, before, after) {
            let is_known = |side: usize| !of_unknown[side][sides[side]];
            let Some(value) = pair.before.instance(expressions.without_sign(sides[0])).or(root) else { continue };
            if is_opaque(expressions, sides) {
                continue;
            }
            let uses_another = uses_another(pair, sides);
            if (uses_another || is_known(0) && is_known(1)) && seen.insert((value, sides)) {
                // What is no float may come from a loop that rounds otherwise.
                let kind = match kind(expressions, sides) {
                    ChangeKind::PrecisionChanged if !pair.before.values[value].float => ChangeKind::OperationChanged,
                    kind => kind,
                };
                found.push(PairDisagreement { value, sides, kind, uses_another });
            }
        }
    }
    // In the order of BEFORE's text, in which a person reads them.
    found.sort_by_key(|d| d.value);
    found
}

/// Whether one side or the other is what nothing here has a meaning for, which is named apart (`tell/not_understood`).
fn is_opaque(expressions: &Expressions, sides: [ExpressionId; 2]) -> bool {
    let [one, other] = sides.map(|id| expressions.get(id).0);
    one != other && [one, other].iter().any(|head| matches!(head, ExpressionHead::Opaque(_)))
}

/// Kind of the difference of two expressions on floats. It is one of precision if both operations make new bits, which
/// are rounded; otherwise one of operations. Two loops differ in the operations anywhere below; if only one has more,
/// and these are all roundings, the change is of roundings.
fn kind(expressions: &Expressions, sides: [ExpressionId; 2]) -> ChangeKind {
    let heads = sides.map(|id| expressions.get(id).0);
    let makes_bits = match heads {
        [ExpressionHead::Loop(_), ExpressionHead::Loop(_)] => {
            let operations = differences(expressions, sides);
            let only_roundings = operations.iter().flatten().all(|head| matches!(head, ExpressionHead::Rounded(_)));
            match operations.each_ref().map(Vec::is_empty) {
                [false, true] if only_roundings => return ChangeKind::RoundingRemoved,
                [true, false] if only_roundings => return ChangeKind::RoundingAdded,
                _ => operations.iter().flatten().any(makes_bits),
            }
        }
        heads => heads.into_iter().all(makes_bits),
    };
    if makes_bits { ChangeKind::PrecisionChanged } else { ChangeKind::OperationChanged }
}

fn all(graph: &Graph) -> impl Iterator<Item = ExpressionId> {
    graph.values.iter().filter(|v| v.live).flat_map(|v| v.unsigned.iter().copied())
}

/// The deepest places in which two expressions differ.
fn apart(pair: &Pair, before: ExpressionId, after: ExpressionId) -> Vec<[ExpressionId; 2]> {
    let expressions = &pair.expressions;
    let mut found = Vec::new();
    let mut open = vec![[before, after]];
    let mut passed = BTreeSet::new();
    // Whether operands have the same elements, which may lie elsewhere: then that is what differs.
    let mut hides = false;
    while let Some(sides) = open.pop() {
        if sides[0] == sides[1] || !passed.insert(sides) {
            continue;
        }
        // What has the same elements is no place of a difference, however it is made.
        if sides != [before, after] && pair.have_same_elements(sides) {
            hides = true;
            continue;
        }
        // Where more differs than the sign, the change names it.
        let unsigned = sides.map(|id| expressions.without_sign(id));
        if unsigned != sides && unsigned[0] != unsigned[1] {
            open.push(unsigned);
            continue;
        }
        let [(head, operands), (other, others)] = sides.map(|id| expressions.get(id));
        if matches!((head, other), (ExpressionHead::Loop(_), ExpressionHead::Loop(_))) {
            if !differences(expressions, sides).iter().all(Vec::is_empty) {
                found.push(sides);
            }
            continue;
        }
        // Below two operations that do different things nothing stands for anything.
        if !alike(head, other) || operands.len() != others.len() {
            found.push(sides);
            continue;
        }
        let Some(below) = operand_pairs(expressions, head, operands, others) else {
            found.push(sides);
            continue;
        };
        // A constant is reported with the operation that uses it.
        // Nor is there anything in values that both programs have: another one is used.
        match below.iter().flatten().any(|id| is_leaf(expressions, *id))
            || below.iter().any(|sides| are_known(pair, *sides))
        {
            true => found.push(sides),
            false => open.extend(below),
        }
    }
    if found.is_empty() && hides {
        found.push([before, after]);
    }
    found
}

/// Whether these are two values that both programs have.
fn are_known(pair: &Pair, sides: [ExpressionId; 2]) -> bool {
    let [one, other] = sides.map(|id| pair.expressions.without_sign(id));
    one != other && !pair.after.instances(one).is_empty() && !pair.before.instances(other).is_empty()
}

/// Whether two expressions do the same, one of them with another value that both programs have.
fn uses_another(pair: &Pair, sides: [ExpressionId; 2]) -> bool {
    let [(head, operands), (other, others)] = sides.map(|id| pair.expressions.get(id));
    let below = operand_pairs(&pair.expressions, head, operands, others).unwrap_or_default();
    alike(head, other) && operands.len() == others.len() && below.into_iter().any(|sides| are_known(pair, sides))
}

/// Whether two expressions do the same with their operands. Positions of elements do not affect precision, so a gather
/// is a slice.
fn alike(one: &ExpressionHead, other: &ExpressionHead) -> bool {
    let places = |one: &ExpressionHead, other: &ExpressionHead| {
        matches!((one, other), (ExpressionHead::Gather { .. }, ExpressionHead::Slice(_)))
    };
    one == other || places(one, other) || places(other, one)
}

/// The operands that differ, side by side; `None` where it cannot be said which stands for which.
fn operand_pairs(
    expressions: &Expressions,
    head: &ExpressionHead,
    operands: &[ExpressionId],
    others: &[ExpressionId],
) -> Option<Vec<[ExpressionId; 2]>> {
    if !head.commutes() {
        let pairs: Vec<_> = operands.iter().zip(others).map(|(a, b)| [*a, *b]).filter(|[a, b]| a != b).collect();
        // Operands that changed places.
        let crossed = pairs.len() > 1 && pairs.iter().any(|[a, _]| pairs.iter().any(|[_, b]| a == b));
        // Of operands in exchanged places each would be told as a change, although one exchange is.
        return (!crossed).then_some(pairs);
    }
    let (mut left, mut right) = (operands.to_vec(), others.to_vec());
    left.retain(|id| match right.iter().position(|other| other == id) {
        Some(at) => {
            right.remove(at);
            false
        }
        None => true,
    });
    let alike = |a: ExpressionId, b: ExpressionId| alike(expressions.get(a).0, expressions.get(b).0);
    if let ([a, b], [c, d]) = (&left[..], &right[..]) {
        // Operands of a sum have no order: those that do the same stand for each other.
        let straight = alike(*a, *c) || alike(*b, *d);
        let crossed = alike(*a, *d) || alike(*b, *c);
        return match (straight, crossed) {
            (true, _) => Some(vec![[*a, *c], [*b, *d]]),
            (false, true) => Some(vec![[*a, *d], [*b, *c]]),
            (false, false) => None,
        };
    }
    Some(left.into_iter().zip(right).map(|(a, b)| [a, b]).collect())
}
