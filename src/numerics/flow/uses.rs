//! Readers of values, and the precisions in which they see them: from each value that computes, through moves and
//! conversions, to the values that read it.

use std::collections::{HashMap, HashSet};

use crate::analysis::{Analysis, Precision, target};
use crate::ir::{self, Class, Computation, Instruction, Op, Unary, ValueId};
use crate::machine::DotSite;
use crate::num::BF16;

/// A reader of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reader {
    /// A value that computes.
    Value {
        /// The value.
        id: ValueId,
        /// Its operand through which it sees the other, from 0.
        operand: usize,
    },
    /// A result of the program, by position.
    Result(usize),
}

/// One value as one reader sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The reader.
    pub reader: Reader,
    /// The precision that the reader sees; `None` for integers.
    pub holds: Option<Precision>,
    /// The conversion or `reduce-precision` on the way that last dropped bits, or the dot that does so on a matrix unit.
    pub rounded_by: Option<ValueId>,
    /// All conversions and `reduce-precision` on the way.
    pub conversions: Vec<ValueId>,
}

/// The most values, and the most readers, that a concatenation hands on without a mention of its own.
const FEW: usize = 8;

/// Whether a value is a concatenation of many values for many readers, as devices make one of what they send each other. It is a reader
/// and a value of its own: each part named beside each reader would be the square of what the program has.
fn is_exchange(analysis: &Analysis, id: ValueId) -> bool {
    let instructions = &analysis.program.entry().instructions;
    if instructions[id].operands.len() <= FEW || !matches!(instructions[id].op, Op::Concatenate { .. }) {
        return false;
    }
    let mut users = &analysis.users()[id];
    while let [user] = users[..]
        && instructions[user].op.class() == Class::Moves
    {
        users = &analysis.users()[user];
    }
    users.len() > FEW
}

/// Whether an operation hands on the numbers that it is given, up to rounding and sign: moves, conversions between
/// floats, elements of tuples, negation.
pub fn is_passage(analysis: &Analysis, id: ValueId) -> bool {
    let (instruction, held) = (&analysis.program.entry().instructions[id], analysis.precisions());
    match instruction.op {
        Op::ReducePrecision { .. } | Op::GetTupleElement(_) | Op::Tuple => true,
        Op::Unary(Unary::Negate) => true,
        Op::Convert => {
            let from_float = instruction.operands.first().is_some_and(|o| held[*o].first().is_some());
            from_float && held[id].first().is_some()
        }
        ref op => op.class() == Class::Moves && !is_exchange(analysis, id),
    }
}

/// The format that an operation of a compiled file rounds its operands to before it computes: that of a dot in one pass (FACTS 2.3).
fn taken_in(entry: &Computation, reading: &Instruction) -> Precision {
    let is_in_one_pass = |dot: &DotSite| dot.on_matrix_unit && dot.precision == [ir::Precision::Default; 2];
    match DotSite::within(entry, reading).filter(is_in_one_pass) {
        Some(_) => Precision::of(&BF16),
        None => Precision::UNLIMITED,
    }
}

/// Whether an operation has nothing to read: parameters, constants and counters.
pub fn is_source(op: &Op) -> bool {
    matches!(op, Op::Parameter(_) | Op::Constant(_) | Op::Iota { .. })
}

/// For each value of the entry, its readers; none for values that only move or convert, constants and counters.
pub fn views(analysis: &Analysis) -> Vec<Vec<View>> {
    let entry = analysis.program.entry();
    let mut results: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for (position, output) in analysis.program.outputs().into_iter().enumerate() {
        results.entry(output).or_default().push(position);
    }
    let walk = UseWalk { analysis, results };
    let mut views = vec![Vec::new(); entry.instructions.len()];
    // Readers first: an exchange is told as those behind it see it.
    for id in (0..views.len()).rev() {
        views[id] = match entry.instructions[id].op {
            Op::Constant(_) | Op::Iota { .. } => Vec::new(),
            _ if is_passage(analysis, id) => Vec::new(),
            _ => walk.from(id, &views),
        };
    }
    views
}

/// A value as it is seen behind an exchange: once in each precision.
fn through(entry: &Computation, step: &Step, exchange: ValueId, behind: &[View]) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    let operands = || entry.instructions[exchange].operands.iter().enumerate().filter(|(_, o)| **o == step.id);
    for seen in behind {
        let holds = step.holds.zip(seen.holds).map(|(own, seen)| own.round_to(seen));
        if views.iter().any(|view| view.holds == holds) {
            continue;
        }
        let rounded_by = if holds == step.holds { step.rounded_by } else { seen.rounded_by };
        let conversions = [step.conversions.as_slice(), &seen.conversions].concat();
        views.extend(operands().map(|(operand, _)| View {
            reader: Reader::Value { id: exchange, operand },
            holds,
            rounded_by,
            conversions: conversions.clone(),
        }));
    }
    views
}

struct UseWalk<'a> {
    analysis: &'a Analysis<'a>,
    /// The results that a value is, by position.
    results: HashMap<ValueId, Vec<usize>>,
}

/// A position of a walk, with the view of its source there.
#[derive(Clone)]
struct Step {
    id: ValueId,
    holds: Option<Precision>,
    rounded_by: Option<ValueId>,
    conversions: Vec<ValueId>,
}

impl UseWalk<'_> {
    /// The position behind a user that passes on the value: an element of a tuple, or a conversion.
    fn past(&self, step: &Step, user: ValueId) -> Step {
        let passage = &self.analysis.program.entry().instructions[user];
        let mut next = Step { id: user, ..step.clone() };
        if let Op::GetTupleElement(index) = passage.op {
            next.holds = self.analysis.precisions()[step.id].elements.get(index).copied().flatten();
        } else if let Some(to) = target(passage, step.holds) {
            next.conversions.push(user);
            next.holds = step.holds.map(|holds| holds.round_to(to));
            if next.holds != step.holds {
                next.rounded_by = Some(user);
            }
        }
        next
    }

    /// The readers of a value, of which those of later ones are known.
    fn from(&self, source: ValueId, later: &[Vec<View>]) -> Vec<View> {
        let (entry, held) = (self.analysis.program.entry(), self.analysis.precisions());
        let mut views: Vec<View> = Vec::new();
        let mut known: HashSet<(Reader, Option<Precision>, Option<ValueId>)> = HashSet::new();
        let start = Step { id: source, holds: held[source].first(), rounded_by: None, conversions: Vec::new() };
        let mut seen = HashSet::new();
        let mut open = std::collections::VecDeque::from([start]);
        while let Some(step) = open.pop_front() {
            let view = |reader: Reader, holds: Option<Precision>, rounded_by: Option<ValueId>| View {
                reader,
                holds,
                rounded_by,
                conversions: step.conversions.clone(),
            };
            let mut add = |view: View| {
                if known.insert((view.reader, view.holds, view.rounded_by)) {
                    views.push(view);
                }
            };
            for position in self.results.get(&step.id).into_iter().flatten() {
                add(view(Reader::Result(*position), step.holds, step.rounded_by));
            }
            let mut last = None;
            for user in &self.analysis.users()[step.id] {
                // A user stands once in the list for each operand.
                if last == Some(*user) {
                    continue;
                }
                last = Some(*user);
                let reading = &entry.instructions[*user];
                if reading.op == Op::Tuple {
                    continue;
                }
                if !is_passage(self.analysis, *user) {
                    // What integers are used for says nothing about precision.
                    if let Some(holds) = step.holds {
                        if is_exchange(self.analysis, *user) && !later[*user].is_empty() {
                            through(entry, &step, *user, &later[*user]).into_iter().for_each(&mut add);
                            continue;
                        }
                        let operands = reading.operands.iter().enumerate().filter(|(_, o)| **o == step.id);
                        let taken = holds.round_to(taken_in(entry, reading));
                        let rounded_by = if taken == holds { step.rounded_by } else { Some(*user) };
                        operands.for_each(|(operand, _)| {
                            add(view(Reader::Value { id: *user, operand }, Some(taken), rounded_by));
                        });
                    }
                    continue;
                }
                let next = self.past(&step, *user);
                if seen.insert((next.id, next.holds, next.rounded_by)) {
                    open.push_back(next);
                }
            }
        }
        views
    }
}
