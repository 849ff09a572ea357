//! From matched values to lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Precision;
use crate::hlo::Import;
use crate::ir::{Binary, Op, ValueId};
use crate::machine::Chip;

use super::change::{Change, ChangeKind, Difference};
use super::change_steps::without_steps;
use super::choice::find_choices;
use super::disagree::{Disagreement, disagreements};
use super::edited::find_edits;
use super::expression::{ExpressionId, Head};
use super::factors;
use super::graph::Graph;
use super::not_understood::find_unknown;
use super::other_settings::find_settings;
use super::pairing::Pair;
use super::plan_of_collective::find_plans;
use super::reading::{self, Reader, Readings, Width, common_readings, readings};
use super::results::{DiffError, same_results};
use super::rule::{Role, Unit};
use super::sign;
use super::undone::{Undone, find_undone};
use super::upstream::reach;
use super::vertex::Value;

/// The changes of precision from one program to the other. A given `chip` decides the unit that computes a dot of a
/// program as written. If the chip contracts multiply and add ([`Chip::contracts`]), changed contractions are reported.
/// If a library computes its fusions ([`Chip::library`]), changes of that are reported too.
///
/// # Errors
/// If they do not have the same results.
pub fn difference(before: &Import, after: &Import, chip: Option<&'static Chip>) -> Result<Difference, DiffError> {
    same_results(before, after)?;
    let pair = Pair::new(before, after, chip);
    let comparison = Comparison::new(&pair);
    let disagreements = disagreements(&pair);
    let mut changes = Vec::new();
    let mut seen = BTreeSet::new();
    for (id, value) in pair.before.values.iter().enumerate() {
        if value.live && value.role != Role::Group && value.role != Role::Results && seen.insert(value.expression()) {
            let mut found = comparison.value(id, value.expression());
            found.sort_by_key(|change| change.kind);
            changes.append(&mut found);
        }
    }
    changes.extend(find_choices(&pair).into_iter().map(|d| comparison.told(d)));
    comparison.constants(&mut changes);
    comparison.others(disagreements, &mut changes);
    comparison.elements(&mut changes);
    changes.extend(find_plans([before, after]));
    changes.extend(find_settings(&pair));
    // Several elements of one tuple may have the same to tell.
    let mut told = BTreeSet::new();
    changes.retain(|change| told.insert(change.to_string()));
    // What a value is made of that is told of as made otherwise has no counterpart.
    let is_made_otherwise = |change: &&Change| {
        matches!(change.kind, ChangeKind::PrecisionChanged | ChangeKind::OperationChanged) && !sign::is_of_zeros(change)
    };
    let names: BTreeSet<&str> = changes.iter().filter(is_made_otherwise).map(|change| change.name.as_str()).collect();
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
    // What a top-k that selects otherwise leaves has no counterpart, but it is told of.
    let told = changes.iter().any(|change| change.kind == ChangeKind::TopkChanged);
    let names = |graph: &Graph, ids: Vec<ValueId>| {
        let ids = ids.into_iter().filter(|id| !told || graph.values[*id].selection.is_none());
        ids.map(|id| graph.name(id).to_string()).collect()
    };
    let unmatched = [names(&pair.before, left), names(&pair.after, right)];
    let mut found = Difference { changes, unmatched, not_understood: find_unknown(&pair), reached: Vec::new() };
    // Without a change no result lies below one.
    if found != Difference::default() {
        found.reached = reach(&pair, &found);
    }
    Ok(found)
}

pub(super) struct Comparison<'p, 'a> {
    pub pair: &'p Pair<'a>,
    readings: [BTreeMap<ExpressionId, Readings>; 2],
}

impl<'p, 'a> Comparison<'p, 'a> {
    fn new(pair: &'p Pair<'a>) -> Self {
        let graphs = [&pair.before, &pair.after];
        let common = pair.common();
        let readings = graphs.map(|graph| {
            let own = readings(graph);
            let hop = |id: &ExpressionId| (*id, common_readings(&own, &common, *id));
            own.keys().map(hop).collect()
        });
        Comparison { pair, readings }
    }

    fn told(&self, found: Disagreement) -> Change {
        let [left, right] = found.texts;
        self.change(found.kind, found.value, left, right)
    }

    pub fn change(&self, kind: ChangeKind, id: ValueId, before: String, after: String) -> Change {
        let graph = &self.pair.before;
        let ids = self.pair.after.instances(graph.values[id].expression());
        let made = ids.iter().find(|v| self.pair.after.values[**v].is_made());
        let other = made.or(ids.first()).and_then(|id| self.pair.after.op_name(*id));
        let op_name = graph.op_name(id).or(other).map(str::to_string);
        Change { kind, name: graph.name(id).to_string(), op_name, before, after }
    }

    /// The changes of the value that `first` of BEFORE is an instance of.
    fn value(&self, first: ValueId, id: ExpressionId) -> Vec<Change> {
        let mut changes = Vec::new();
        let [before, after] = self.pair.both(id);
        if before.is_empty() || after.is_empty() || !before.iter().any(|v| v.is_made()) {
            return changes;
        }
        self.roundings(first, id, &mut changes);
        if !before[0].float {
            return changes;
        }
        if let Some(Undone { value, op_name, texts: [left, right] }) = find_undone(self.pair, first, id) {
            let change = self.change(ChangeKind::PrecisionChanged, value, left, right);
            changes.push(Change { op_name: op_name.map(str::to_string), ..change });
        }
        if before[0].role == Role::Leaf {
            return changes;
        }
        let sides = |of: &dyn Fn(&Value) -> Option<String>| {
            let side = |values: &[&Value]| -> BTreeSet<String> {
                values.iter().filter(|v| v.role == Role::Computes).filter_map(|v| of(v)).collect()
            };
            let (left, right) = (side(&before), side(&after));
            let text = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" and ");
            (left != right && !left.is_empty() && !right.is_empty()).then(|| (text(left), text(right)))
        };
        let sum = |values: &[&Value]| values.iter().filter_map(|v| v.accumulation).reduce(Precision::meet);
        if let (Some(left), Some(right)) = (sum(&before), sum(&after))
            && left != right
        {
            let kind = if right.join(left) == left { ChangeKind::Narrowed } else { ChangeKind::Widened };
            changes.push(self.change(kind, first, format!("sum in {left}"), format!("sum in {right}")));
        }
        if before.iter().any(|v| v.accumulation.is_some())
            && let Some((left, right)) = sides(&|v| (!v.steps.is_empty()).then(|| steps(&v.steps)))
        {
            changes.push(self.change(ChangeKind::Reordered, first, left, right));
        }
        if let Some((left, right)) = sides(&|v| v.order.clone()) {
            changes.push(self.change(ChangeKind::Reordered, first, left, right));
        }
        // Numbers put beside zeros are moved.
        let negated = |values: &[&Value]| values.iter().filter_map(|v| v.negated_before).collect::<BTreeSet<bool>>();
        let [left, right] = [negated(&before), negated(&after)];
        if left != right && !left.is_empty() && !right.is_empty() {
            let [left, right] = [left, right].map(sign::text);
            changes.push(self.change(ChangeKind::OperationChanged, first, left, right));
        }
        if let Some((left, right)) = sides(&|v| v.plan.clone()) {
            changes.push(self.change(ChangeKind::PlanChanged, first, left, right));
        }
        if let Some((left, right)) = sides(&|v| v.form.as_ref().map(|_| addition(v.fused))) {
            changes.push(self.change(ChangeKind::PrecisionChanged, first, left, right));
        }
        // A dot does not round its products, so it matters whether what stands for it does; the reciprocal that stands
        // for a divisor may be rounded.
        let of_dots = [&before, &after].into_iter().flatten().any(|v| v.accumulation.is_some() && v.steps.is_empty());
        let units = [&before, &after].map(|values| values.iter().filter_map(|v| v.unit).collect::<Vec<Unit>>());
        let on_two_units = units[0].iter().any(|unit| !units[1].is_empty() && !units[1].contains(unit));
        let reciprocal = self.is_by_reciprocal(id);
        let in_full = |v: &Value| {
            let form = v.form.as_ref()?;
            let unit = v.unit.filter(|_| on_two_units).map(|unit| format!(" on {}", unit.name())).unwrap_or_default();
            Some(match (v.products.filter(|_| of_dots), v.by) {
                (None, None) if reciprocal && form == "multiply" => "multiply by the reciprocal".to_string(),
                (Some(width), _) => format!("{form}{unit}, products in {width}"),
                (None, Some(by)) => factors::step(form, by),
                (None, None) => format!("{form}{unit}"),
            })
        };
        if (of_dots || sides(&|v| v.form.clone()).is_some())
            && let Some((left, right)) = sides(&in_full)
        {
            changes.push(self.change(ChangeKind::PrecisionChanged, first, left, right));
        }
        changes
    }

    /// Whether a value is a product with a reciprocal in both programs, which is what a division is as well.
    fn is_by_reciprocal(&self, id: ExpressionId) -> bool {
        let expressions = &self.pair.expressions;
        let (head, operands) = expressions.get(id);
        let of_both =
            *head == Head::Binary(Binary::Multiply) && expressions.substitutions().all(|(_, other)| other != id);
        of_both && operands.iter().any(|operand| *expressions.get(*operand).0 == Head::Reciprocal)
    }

    /// Readers that see more or fewer bits than before.
    fn roundings(&self, first: ValueId, id: ExpressionId, changes: &mut Vec<Change>) {
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
            // How many bits a dot takes is told of by the precision that it asks for.
            if matches!(reader, Reader::Value(id) if self.pair.before.habits.one_pass && self.asks_otherwise(*id)) {
                continue;
            }
            let entry = (*reader, reading::text(left), reading::text(right));
            let (least, most) = (reading::bounds(left), reading::bounds(right));
            let is_wider = match least == most {
                // The same bits by another way: over a wider format, or over none.
                true => reading::way(left).within(reading::way(right)),
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
            let left = self.side(list.iter().map(|(reader, width, _)| (*reader, width)));
            let mut right = self.side(list.iter().map(|(reader, _, width)| (*reader, width)));
            if !kept.is_empty() {
                right += &format!("; still {}", self.side(kept.iter().map(|(reader, width, _)| (*reader, width))));
            }
            changes.push(self.change(kind, first, left, right));
        }
    }

    /// Whether a value is a dot in both programs, but of another precision.
    fn asks_otherwise(&self, id: ExpressionId) -> bool {
        let graphs = [&self.pair.before, &self.pair.after];
        let forms = graphs.map(|graph| {
            let is_dot = |id: &&ValueId| matches!(graph.entry().instructions[**id].op, Op::Dot { .. });
            let dots = graph.instances(id).iter().filter(is_dot);
            dots.filter_map(|id| graph.values[*id].form.clone()).collect::<BTreeSet<String>>()
        });
        forms[0] != forms[1] && forms.iter().all(|forms| !forms.is_empty())
    }

    /// `bf16 for sub.7, result 0; f32 for reduce_sum.15`, readers in BEFORE's order.
    fn side<'w>(&self, readers: impl Iterator<Item = (Reader, &'w String)>) -> String {
        let mut groups: BTreeMap<&str, Vec<(usize, String)>> = BTreeMap::new();
        for (reader, width) in readers {
            groups.entry(width).or_default().push(self.reader(reader));
        }
        let mut parts: Vec<(usize, String)> = groups
            .into_iter()
            .map(|(width, mut readers)| {
                readers.sort();
                readers.dedup_by(|one, other| one.1 == other.1);
                let names: Vec<&str> = readers.iter().map(|(_, name)| name.as_str()).collect();
                (readers[0].0, format!("{width} for {}", names.join(", ")))
            })
            .collect();
        parts.sort();
        parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join("; ")
    }

    /// A reader's place in BEFORE and what it is called.
    fn reader(&self, reader: Reader) -> (usize, String) {
        let graph = &self.pair.before;
        match reader {
            Reader::Result(index) => (graph.values.len() + index, format!("result {index}")),
            Reader::Value(id) => {
                let ids = graph.instances(id);
                let made = ids.iter().find(|v| graph.values[**v].role == Role::Computes).or(ids.first());
                let name = |id: &ValueId| {
                    let short = graph.name(*id).rsplit('/').next().unwrap_or_default();
                    let element = graph.element(*id).map(|index| format!("{{{index}}}")).unwrap_or_default();
                    (*id, format!("{short}{element}"))
                };
                made.map(name).unwrap_or_default()
            }
        }
    }

    /// Values that only names or results paired and that do not compute the same, and what was edited.
    fn others(&self, found: Vec<Disagreement>, changes: &mut Vec<Change>) {
        // A value of the other sign is more than a zero of the other sign.
        let names: BTreeSet<&str> = found.iter().map(|d| self.pair.before.name(d.value)).collect();
        changes.retain(|change| !sign::is_of_zeros(change) || !names.contains(change.name.as_str()));
        for found in found {
            match found.uses_another {
                true => changes.push(self.told(found)),
                false => self.other(found.kind, found.value, found.texts, changes),
            }
        }
        let (seen, unseen): (Vec<_>, Vec<_>) = find_edits(&self.pair.before, &self.pair.after, &self.pair.expressions)
            .into_iter()
            .partition(|edit| edit.seen);
        unseen.into_iter().for_each(|edit| self.other(ChangeKind::OperationChanged, edit.value, edit.texts, changes));
        // What the expressions saw and found no words for.
        if changes.is_empty() {
            seen.into_iter().for_each(|edit| self.other(ChangeKind::OperationChanged, edit.value, edit.texts, changes));
        }
    }

    /// Elements that both programs have and that are made otherwise where no value as a whole is compared.
    fn elements(&self, changes: &mut Vec<Change>) {
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
        let mut found: Vec<_> = elements.claims(&is_known).into_iter().map(|c| (c.value, c.texts, c.kind)).collect();
        for (one, other) in outputs[0].iter().zip(&outputs[1]) {
            let same = graphs[0].values[*one].with_sign() == graphs[1].values[*other].with_sign();
            if !same
                && elements.are_equal([*one, *other])
                && let Some((texts, kind)) = elements.rounded_otherwise([*one, *other])
            {
                found.push((*one, texts, kind));
            }
        }
        for (value, texts, kind) in found {
            let told = |change: &Change| change.name == graphs[0].name(value) && change.kind == kind;
            if !changes.iter().any(told) {
                self.other(kind, value, texts, changes);
            }
        }
    }

    /// Reports another operation in a value's place, unless a change of the same value covers it.
    fn other(&self, kind: ChangeKind, value: ValueId, [left, right]: [String; 2], changes: &mut Vec<Change>) {
        let change = self.change(kind, value, left, right);
        let told = |c: &Change| {
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

/// Name of an addition, by whether its product is rounded before it.
fn addition(fused: bool) -> String {
    if fused { "fused multiply-add" } else { "multiply, then add" }.to_string()
}

fn steps(steps: &[usize]) -> String {
    let [one] = steps else {
        let list: Vec<String> = steps.iter().map(usize::to_string).collect();
        return format!("blocks of {}", list.join(", then "));
    };
    format!("{one} at once")
}
