//! The readers of a value, and the width that each sees.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Precision;
use crate::ir::{Op, ValueId};

use super::super::expression::ExpressionId;
use super::super::graph::Graph;
use super::super::graph::Value;
use super::super::graph::roles::{self, ValueRole};

/// Destination of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueReader {
    /// An operation that computes with it.
    Value(ExpressionId),
    /// A result of the program.
    Result(usize),
}

/// Precision with which a reader sees a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Width {
    /// The bits that are left.
    pub left: Precision,
    /// The narrowest format below f32 that the value was rounded to before a narrower one: rounded twice, it may lie
    /// elsewhere than rounded once.
    pub over: Option<Precision>,
}

impl Width {
    /// All that a value has.
    pub const WHOLE: Width = Width::of(Precision::UNLIMITED);

    /// These bits, rounded to at once.
    pub const fn of(left: Precision) -> Width {
        Width { left, over: None }
    }

    /// The same of a value that was rounded to `format` before.
    fn after(self, format: Precision) -> Width {
        if format.within(self.left) {
            return Width::of(format);
        }
        let over = if format.narrows() { Some(self.over.map_or(format, |over| over.meet(format))) } else { self.over };
        Width { left: format.meet(self.left), over }
    }

    /// The same of a value that has only these bits. If it has them without being rounded to them, a rounding to as
    /// many bits changes nothing.
    fn of_value(self, value: &Value) -> Width {
        let rounds = |over: &Precision| value.rounds || !value.effective.within(*over);
        Width { left: self.left.meet(value.effective), over: self.over.filter(rounds) }
    }

    /// Width for a reader of both: roundings on the way only if both have the same.
    fn join(self, other: Width) -> Width {
        Width { left: self.left.join(other.left), over: self.over.filter(|_| self.over == other.over) }
    }
}

/// The widths in which each reader sees a value; more than one where several instances differ.
pub type Readings = BTreeMap<ValueReader, BTreeSet<Width>>;

/// The fewest and the most bits that are left to any instance.
pub fn bounds(widths: &BTreeSet<Width>) -> (Precision, Precision) {
    let left = || widths.iter().map(|width| width.left);
    let (meet, join) = (left().reduce(Precision::meet), left().reduce(Precision::join));
    (meet.unwrap_or(Precision::ANY), join.unwrap_or(Precision::ANY))
}

/// The narrowest format on the way of any instance.
pub fn way(widths: &BTreeSet<Width>) -> Precision {
    widths.iter().filter_map(|width| width.over).reduce(Precision::meet).unwrap_or(Precision::UNLIMITED)
}

/// The readings of each expression that a program makes: of all instances together, each as wide as the value can be.
pub fn readings(graph: &Graph) -> BTreeMap<ExpressionId, Readings> {
    let entry = graph.entry();
    let users = graph.analysis.users();
    let mut of_values: Vec<Readings> = vec![Readings::new(); entry.instructions.len()];
    let mut of_expressions: BTreeMap<ExpressionId, Readings> = BTreeMap::new();
    for (result, id) in graph.import.program.outputs().into_iter().enumerate() {
        add(&mut of_values[id], ValueReader::Result(result), Width::WHOLE);
    }
    for id in (0..entry.instructions.len()).rev().filter(|id| graph.values[*id].live) {
        let value = &graph.values[id];
        let mut found = std::mem::take(&mut of_values[id]);
        let mut last = None;
        for user in users[id].iter().copied().filter(|user| graph.values[*user].live) {
            // A user stands once for each use; all its uses are looked at together.
            if last.replace(user) != Some(user) {
                for slot in slots(graph, user, id) {
                    read(graph, users, &of_values, user, slot, &mut found);
                }
            }
        }
        let seen: Readings = found
            .into_iter()
            .map(|(reader, widths)| (reader, widths.into_iter().map(|w| w.after(value.holds)).collect()))
            .collect();
        if value.is_made() && value.float {
            let whole = of_expressions.entry(value.expression()).or_default();
            for (reader, widths) in &seen {
                widths.iter().for_each(|w| add(whole, *reader, w.of_value(value)));
            }
        }
        of_values[id] = seen;
    }
    of_expressions
}

/// The readings of an expression by values that both programs make: a reader that only one has stands for its own.
pub fn common_readings(
    own: &BTreeMap<ExpressionId, Readings>,
    common: &BTreeSet<ExpressionId>,
    id: ExpressionId,
) -> Readings {
    let mut found = Readings::new();
    let mut passed = BTreeSet::from([id]);
    let mut open: Vec<(ValueReader, Option<BTreeSet<Width>>, ExpressionId)> = vec![(ValueReader::Value(id), None, id)];
    while let Some((_, seen, at)) = open.pop() {
        for (reader, widths) in own.get(&at).into_iter().flatten() {
            let widths = seen.as_ref().unwrap_or(widths);
            match reader {
                ValueReader::Value(next) if !common.contains(next) || *next == id => {
                    if passed.insert(*next) {
                        open.push((*reader, Some(widths.clone()), *next));
                    }
                }
                _ => found.entry(*reader).or_default().extend(widths.iter().copied()),
            }
        }
    }
    found
}

fn add(readings: &mut Readings, reader: ValueReader, width: Width) {
    readings.entry(reader).or_default().insert(width);
}

fn slots(graph: &Graph, user: ValueId, id: ValueId) -> impl Iterator<Item = usize> {
    let operands = &graph.entry().instructions[user].operands;
    operands.iter().enumerate().filter(move |(_, o)| **o == id).map(|(slot, _)| slot)
}

/// Adds what `user` makes of its operand in `slot`.
fn read(
    graph: &Graph,
    users: &[Vec<ValueId>],
    of_values: &[Readings],
    user: ValueId,
    slot: usize,
    found: &mut Readings,
) {
    let picks = |id: ValueId| roles::picks(&graph.entry().instructions[id].op, &graph.analysis.regions);
    let entering = |id: ValueId| {
        let (entry, program) = (graph.entry(), &graph.import.program);
        roles::entry_precision(&entry.instructions[id], entry, program, graph.habits, slot)
    };
    let through = |reader: ValueId, picks: bool, entering: Precision, found: &mut Readings| {
        let value = &graph.values[reader];
        // Rounding what was picked is picking among the rounded.
        let rest = of_values[reader].values().flatten().copied().reduce(Width::join);
        let width = rest.filter(|_| picks && value.float).unwrap_or(Width::WHOLE);
        let width = Width { left: width.left.meet(entering), ..width };
        add(found, ValueReader::Value(value.expression()), width);
    };
    let pass = |moved: ValueId, found: &mut Readings| {
        for (reader, widths) in &of_values[moved] {
            widths.iter().for_each(|w| add(found, *reader, *w));
        }
    };
    match graph.values[user].role {
        ValueRole::Moves { from, to } if (from..to).contains(&slot) => {
            pass(user, found);
        }
        ValueRole::Moves { .. } | ValueRole::Leaf | ValueRole::Results => {}
        ValueRole::Computes => through(user, picks(user), entering(user), found),
        ValueRole::Group => {
            for element in users[user].iter().copied().filter(|e| graph.values[*e].live) {
                let Op::GetTupleElement(index) = graph.entry().instructions[element].op else { continue };
                match graph.values[element].role {
                    // A loop hands it on.
                    ValueRole::Moves { .. } if slot == index => pass(element, found),
                    ValueRole::Moves { .. } => {}
                    _ if graph.feeds(user, slot, index) => through(element, picks(user), entering(user), found),
                    _ => {}
                }
            }
        }
    }
}
