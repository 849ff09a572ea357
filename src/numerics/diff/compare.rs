//! From matched values to lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;

use crate::analysis::Precision;
use crate::hlo::Import;
use crate::ir::{Binary, Op, ValueId};
use crate::machine::Chip;

use super::change::{Change, ChangeKind, Difference};
use super::element::Making;
use super::expression::{ExpressionHead, ExpressionId, NumberBits};
use super::graph::{Graph, RoundingForm, TpuUnit, Value, ValueRole};
use super::matching::{
    Edit, Pair, PairDisagreement, Readings, ScaledBack, SelectionChange, StoredConstant, ValueReader, Width, bounds,
    common_readings, disagreements, find_edits, find_scaled_back, find_selections, find_stored, readings, way,
    without_steps,
};
use super::results::{DiffError, same_results};
use super::tell::{
    RoundedBy, SeenBy, State, StateChange, edit_texts, find_plans, find_settings, find_unknown, operation_texts, reach,
};

/// The changes of precision from one program to the other. A given `chip` decides the unit that computes a dot of a
/// program as written. If the chip contracts multiply and add ([`Chip::plans_code`]), changed contractions are reported.
/// If a library computes its fusions, changes of that are reported too.
///
/// # Errors
/// If they do not have the same results.
pub fn difference(before: &Import, after: &Import, chip: Option<&'static Chip>) -> Result<Difference, DiffError> {
    same_results(before, after)?;
    let pair = Pair::new(before, after, chip);
    let mut changes = PairComparison::new(&pair).changes();
    let mut other_changes = find_plans([before, after]);
    other_changes.extend(find_settings(&pair));
    // Operands of a value that is reported as made otherwise have no counterpart.
    let is_other = |kind: ChangeKind| matches!(kind, ChangeKind::PrecisionChanged | ChangeKind::OperationChanged);
    let made_otherwise = changes.iter().filter(|change| is_other(change.kind) && !change.is_of_zeros());
    let of_settings = other_changes.iter().filter(|change| is_other(change.kind));
    let names: BTreeSet<String> =
        made_otherwise.map(|change| change.name.clone()).chain(of_settings.map(|change| change.name.clone())).collect();
    let values = pair.before.values.iter().enumerate();
    let made_otherwise = values
        .filter(|(id, value)| value.is_computed() && names.contains(pair.before.name(*id)))
        .map(|(_, value)| value.expression())
        .collect();
    let [left, right] = pair.without_counterpart();
    let is_compared = |side: usize| {
        let elements = pair.elements.as_ref();
        move |id: ValueId| elements.is_some_and(|elements| elements.is_accounted(side, id))
    };
    let left = without_steps(&pair.before, left, &made_otherwise, &is_compared(0));
    let right = without_steps(&pair.after, right, &made_otherwise, &is_compared(1));
    // The result of a top-k that selects otherwise has no counterpart, but it is reported.
    let told = changes.iter().any(|change| change.kind == ChangeKind::TopkChanged);
    let names_of = |graph: &Graph, ids: Vec<ValueId>| {
        let ids = ids.into_iter().filter(|id| !told || graph.values[*id].selection.is_none());
        ids.map(|id| graph.name(id).to_string()).collect()
    };
    let unmatched = [names_of(&pair.before, left), names_of(&pair.after, right)];
    let mut changes: Vec<Change> = changes.drain(..).map(StateChange::into_change).chain(other_changes).collect();
    // Several elements of one tuple may have the same to tell.
    let mut lines = BTreeSet::new();
    changes.retain(|change| lines.insert(change.to_string()));
    let mut found = Difference { changes, unmatched, not_understood: find_unknown(&pair), reached: Vec::new() };
    // Without a change no result lies below one.
    if found != Difference::default() {
        found.reached = reach(&pair, &found);
    }
    Ok(found)
}

struct PairComparison<'p, 'a> {
    pair: &'p Pair<'a>,
    readings: [BTreeMap<ExpressionId, Readings>; 2],
}

impl<'p, 'a> PairComparison<'p, 'a> {
    fn new(pair: &'p Pair<'a>) -> Self {
        let graphs = [&pair.before, &pair.after];
        let common = pair.common();
        let readings = graphs.map(|graph| {
            let own = readings(graph);
            let hop = |id: &ExpressionId| (*id, common_readings(&own, &common, *id));
            own.keys().map(hop).collect()
        });
        PairComparison { pair, readings }
    }

    /// All changes, of the values in BEFORE's order first.
    fn changes(&self) -> Vec<StateChange> {
        let pair = self.pair;
        let mut changes = Vec::new();
        let mut seen = BTreeSet::new();
        for (id, value) in pair.before.values.iter().enumerate() {
            let is_compared = value.live && value.role != ValueRole::Group && value.role != ValueRole::Results;
            if is_compared && seen.insert(value.expression()) {
                let mut found = self.value(id, value.expression());
                found.sort_by_key(|change| change.kind);
                changes.append(&mut found);
            }
        }
        for SelectionChange { value, selections } in find_selections(pair) {
            changes.push(self.change(ChangeKind::TopkChanged, value, selections.map(State::Selection)));
        }
        for StoredConstant { value, numbers } in find_stored(pair) {
            changes.push(self.change(ChangeKind::PrecisionChanged, value, numbers.map(State::Stored)));
        }
        self.others(disagreements(pair), &mut changes);
        self.elements(&mut changes);
        changes
    }

    fn change(&self, kind: ChangeKind, id: ValueId, states: [State; 2]) -> StateChange {
        let graph = &self.pair.before;
        let ids = self.pair.after.instances(graph.values[id].expression());
        let made = ids.iter().find(|v| self.pair.after.values[**v].is_made());
        let other = made.or(ids.first()).and_then(|id| self.pair.after.op_name(*id));
        let op_name = graph.op_name(id).or(other).map(str::to_string);
        StateChange { kind, name: graph.name(id).to_string(), op_name, states }
    }

    /// The changes of the value that `first` of BEFORE is an instance of.
    fn value(&self, first: ValueId, id: ExpressionId) -> Vec<StateChange> {
        let mut changes = Vec::new();
        let both = self.pair.both(id);
        let [before, after] = &both;
        if before.is_empty() || after.is_empty() || !before.iter().any(|v| v.is_made()) {
            return changes;
        }
        self.roundings(first, id, &mut changes);
        if !before[0].float {
            return changes;
        }
        if let Some(ScaledBack { value, op_name, steps }) = find_scaled_back(self.pair, first, id) {
            let change = self.change(ChangeKind::PrecisionChanged, value, steps.map(State::ScaledBack));
            changes.push(StateChange { op_name: op_name.map(str::to_string), ..change });
        }
        if before[0].role == ValueRole::Leaf {
            return changes;
        }
        let mut add = |kind: ChangeKind, states: Option<[State; 2]>| {
            changes.extend(states.map(|states| self.change(kind, first, states)));
        };
        let sum = |values: &[&Value]| values.iter().filter_map(|v| v.accumulation).reduce(Precision::meet);
        if let (Some(left), Some(right)) = (sum(before), sum(after))
            && left != right
        {
            let kind = if right.join(left) == left { ChangeKind::Narrowed } else { ChangeKind::Widened };
            add(kind, Some([left, right].map(State::Accumulation)));
        }
        if before.iter().any(|v| v.accumulation.is_some()) {
            let steps = differing(&both, |v| (!v.steps.is_empty()).then(|| v.steps.clone()));
            add(ChangeKind::Reordered, steps.map(|sides| sides.map(State::Steps)));
        }
        add(ChangeKind::Reordered, differing(&both, |v| v.order).map(|sides| sides.map(State::Order)));
        // Numbers put beside zeros are moved.
        let negated = |values: &Vec<&Value>| values.iter().filter_map(|v| v.negated_before).collect::<BTreeSet<bool>>();
        let [left, right] = both.each_ref().map(negated);
        if left != right && !left.is_empty() && !right.is_empty() {
            add(ChangeKind::OperationChanged, Some([left, right].map(State::NegatedBefore)));
        }
        add(ChangeKind::PlanChanged, differing(&both, |v| v.plan.clone()).map(|sides| sides.map(State::Plan)));
        let fused = differing(&both, |v| v.form.as_ref().map(|_| v.fused));
        add(ChangeKind::PrecisionChanged, fused.map(|sides| sides.map(State::Fused)));
        add(ChangeKind::PrecisionChanged, self.rounding(&both, id).map(|sides| sides.map(State::Rounding)));
        changes
    }

    /// The operations that round a value, where these differ. A dot does not round its products, so it matters whether
    /// the operation in its place does; the reciprocal in the place of a divisor may be rounded.
    fn rounding(&self, both: &[Vec<&Value>; 2], id: ExpressionId) -> Option<[HashSet<RoundedBy>; 2]> {
        let of_dots = both.iter().flatten().any(|v| v.accumulation.is_some() && v.steps.is_empty());
        if !of_dots && differing(both, |v| v.form.clone()).is_none() {
            return None;
        }
        let units = both.each_ref().map(|values| values.iter().filter_map(|v| v.unit).collect::<Vec<TpuUnit>>());
        let on_two_units = units[0].iter().any(|unit| !units[1].is_empty() && !units[1].contains(unit));
        let reciprocal = self.is_by_reciprocal(id);
        differing(both, |v| {
            let form = v.form.clone()?;
            let unit = v.unit.filter(|_| on_two_units);
            Some(match (v.products.filter(|_| of_dots), v.by, form) {
                (None, None, RoundingForm::Binary(Binary::Multiply)) if reciprocal => RoundedBy::ByReciprocal,
                (Some(width), _, form) => RoundedBy::Products(form, unit, width),
                (None, Some(by), RoundingForm::Binary(binary)) => {
                    RoundedBy::Operation(RoundingForm::Scaled(vec![(binary, NumberBits::of(by))]), None)
                }
                (None, _, form) => RoundedBy::Operation(form, unit),
            })
        })
    }

    /// Whether a value is a product with a reciprocal in both programs, which is what a division is as well.
    fn is_by_reciprocal(&self, id: ExpressionId) -> bool {
        let expressions = &self.pair.expressions;
        let (head, operands) = expressions.get(id);
        let of_both = *head == ExpressionHead::Binary(Binary::Multiply)
            && expressions.substitutions().all(|(_, other)| other != id);
        of_both && operands.iter().any(|operand| *expressions.get(*operand).0 == ExpressionHead::Reciprocal)
    }

    /// Readers that see more or fewer bits than before.
    fn roundings(&self, first: ValueId, id: ExpressionId, changes: &mut Vec<StateChange>) {
        let [Some(before), Some(after)] = [0, 1].map(|side| self.readings[side].get(&id)) else { return };
        if self.pair.expressions.value(id).is_some() {
            return;
        }
        let (mut removed, mut added, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let whole = self.pair.both(id).map(|values| {
            let picked = values.iter().filter(|v| v.picks).map(|v| v.effective);
            picked.reduce(Precision::join).map(|width| BTreeSet::from([Width::of(width)]))
        });
        for (reader, left) in before {
            let Some(right) = after.get(reader) else { continue };
            // Whoever reads all that was picked sees what the operands' own lines tell.
            if whole[0].as_ref() == Some(left) && whole[1].as_ref() == Some(right) {
                continue;
            }
            // The bits of a dot's operands follow from the precision that it asks for.
            if matches!(reader, ValueReader::Value(id) if self.pair.before.habits.one_pass && self.asks_otherwise(*id))
            {
                continue;
            }
            let entry = (self.reader(*reader), left.clone(), right.clone());
            let (least, most) = (bounds(left), bounds(right));
            let is_wider = match least == most {
                // The same bits by another way: over a wider format, or over none.
                true => way(left).within(way(right)),
                false => most.0.join(least.0) == most.0 && most.1.join(least.1) == most.1,
            };
            if left == right {
                kept.push(entry);
            } else if is_wider {
                removed.push(entry);
            } else {
                added.push(entry);
            }
        }
        for (kind, list) in [(ChangeKind::RoundingRemoved, removed), (ChangeKind::RoundingAdded, added)] {
            if list.is_empty() {
                continue;
            }
            let side = |of: fn(&ReadTwice) -> &BTreeSet<Width>, list: &[ReadTwice]| {
                list.iter().map(|entry| (entry.0.clone(), of(entry).clone())).collect::<Vec<_>>()
            };
            let (seen_before, seen_after) = (side(|(_, left, _)| left, &list), side(|(_, _, right)| right, &list));
            let states = [
                State::Readings { seen: seen_before, still: Vec::new() },
                State::Readings { seen: seen_after, still: side(|(_, left, _)| left, &kept) },
            ];
            changes.push(self.change(kind, first, states));
        }
    }

    /// Whether a value is a dot in both programs, but of another precision.
    fn asks_otherwise(&self, id: ExpressionId) -> bool {
        let graphs = [&self.pair.before, &self.pair.after];
        let forms = graphs.map(|graph| {
            let is_dot = |id: &&ValueId| matches!(graph.entry().instructions[**id].op, Op::Dot { .. });
            let dots = graph.instances(id).iter().filter(is_dot);
            dots.filter_map(|id| graph.values[*id].form.clone()).collect::<HashSet<RoundingForm>>()
        });
        forms[0] != forms[1] && forms.iter().all(|forms| !forms.is_empty())
    }

    /// A reader's place in BEFORE and its name.
    fn reader(&self, reader: ValueReader) -> SeenBy {
        let graph = &self.pair.before;
        match reader {
            ValueReader::Result(index) => SeenBy { place: graph.values.len() + index, name: format!("result {index}") },
            ValueReader::Value(id) => {
                let ids = graph.instances(id);
                let made = ids.iter().find(|v| graph.values[**v].role == ValueRole::Computes).or(ids.first());
                let name = |id: &ValueId| {
                    let short = graph.name(*id).rsplit('/').next().unwrap_or_default();
                    let element = graph.element(*id).map(|index| format!("{{{index}}}")).unwrap_or_default();
                    SeenBy { place: *id, name: format!("{short}{element}") }
                };
                made.map(name).unwrap_or_default()
            }
        }
    }

    /// Values that only names or results paired and that do not compute the same, and what was edited.
    fn others(&self, found: Vec<PairDisagreement>, changes: &mut Vec<StateChange>) {
        // A value of the other sign is more than a zero of the other sign.
        let names: BTreeSet<&str> = found.iter().map(|d| self.pair.before.name(d.value)).collect();
        changes.retain(|change| !change.is_of_zeros() || !names.contains(change.name.as_str()));
        for PairDisagreement { value, sides, kind, uses_another } in found {
            let states = operation_texts(self.pair, sides).map(State::Operation);
            match uses_another {
                true => changes.push(self.change(kind, value, states)),
                false => self.other(kind, value, states, changes),
            }
        }
        let graphs = [&self.pair.before, &self.pair.after];
        let edit = |edit: Edit, changes: &mut Vec<StateChange>| {
            let states = edit_texts(graphs, [edit.value, edit.other]).map(State::Operation);
            self.other(ChangeKind::OperationChanged, edit.value, states, changes);
        };
        let (seen, unseen): (Vec<_>, Vec<_>) =
            find_edits(graphs[0], graphs[1], &self.pair.expressions).into_iter().partition(|edit| edit.seen);
        unseen.into_iter().for_each(|one| edit(one, changes));
        // What the expressions saw and found no words for.
        if changes.is_empty() {
            seen.into_iter().for_each(|one| edit(one, changes));
        }
    }

    /// Elements that both programs have and that are made otherwise where no value as a whole is compared.
    fn elements(&self, changes: &mut Vec<StateChange>) {
        let Some(elements) = &self.pair.elements else { return };
        let graphs = [&self.pair.before, &self.pair.after];
        let is_known = |side: usize, id: ValueId| {
            let value = &graphs[side].values[id];
            let is_in_other = |id: &ExpressionId| {
                let taken = self.pair.expressions.substitutions().any(|(_, other)| other == *id);
                !graphs[1 - side].instances(*id).is_empty() && !taken
            };
            value.unsigned.iter().all(is_in_other)
        };
        let outputs = graphs.map(|graph| graph.import.program.outputs());
        let mut found: Vec<(ValueId, [Making; 2], ChangeKind)> =
            elements.claims(&is_known).into_iter().map(|c| (c.value, c.makings, c.kind)).collect();
        // In BEFORE's order, of one value by the words of its lines.
        found.sort_by_cached_key(|(value, makings, _)| (*value, makings.each_ref().map(Making::to_string)));
        for (one, other) in outputs[0].iter().zip(&outputs[1]) {
            let same = graphs[0].values[*one].with_sign() == graphs[1].values[*other].with_sign();
            if !same
                && elements.are_equal([*one, *other])
                && let Some((makings, kind)) = elements.rounded_otherwise([*one, *other])
            {
                found.push((*one, makings, kind));
            }
        }
        for (value, makings, kind) in found {
            let told = |change: &StateChange| change.name == graphs[0].name(value) && change.kind == kind;
            if !changes.iter().any(told) {
                self.other(kind, value, makings.map(State::Element), changes);
            }
        }
    }

    /// Reports another operation in a value's place, unless a change of the same value covers it.
    fn other(&self, kind: ChangeKind, value: ValueId, states: [State; 2], changes: &mut Vec<StateChange>) {
        let change = self.change(kind, value, states);
        let told = |c: &StateChange| {
            c.name == change.name
                && matches!(
                    c.kind,
                    ChangeKind::PrecisionChanged | ChangeKind::OperationChanged | ChangeKind::TopkChanged
                )
        };
        if !changes.iter().any(told) {
            changes.push(change);
        }
    }
}

/// A reader, and the widths in which it sees a value in BEFORE and in AFTER.
type ReadTwice = (SeenBy, BTreeSet<Width>, BTreeSet<Width>);

/// A property of the instances of a value that compute, where both programs have it and it differs.
fn differing<T: Eq + Hash>(both: &[Vec<&Value>; 2], of: impl Fn(&Value) -> Option<T>) -> Option<[HashSet<T>; 2]> {
    let side = |values: &Vec<&Value>| -> HashSet<T> {
        values.iter().filter(|v| v.role == ValueRole::Computes).filter_map(|v| of(v)).collect()
    };
    let [left, right] = both.each_ref().map(side);
    (left != right && !left.is_empty() && !right.is_empty()).then_some([left, right])
}
