//! Roundings that a compiler would drop or add, found by running its rules and comparing the programs value by value.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::analysis::{Analysis, Precision};
use crate::ir::{Program, ValueId};
use crate::machine::Mode;
use crate::rewrite::{self, Rewritten, Rule};

use super::uses::{Reader, View, views};

/// The effect of a rule on one value, or on one value as one reader sees it; in JSON in kebab case
/// (`rounding-removed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The reader sees the value before rounding.
    RoundingRemoved,
    /// The reader sees the value rounded, which it did not before.
    RoundingAdded,
    /// The value itself is computed in a narrower type.
    Narrowed,
}

/// One rounding that a compiler drops or adds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elision {
    /// The mode whose compiler does so.
    pub mode: String,
    /// The rule that does it: `A` (simplify-fp-conversions), `B` (float normalization) or `narrowing` (FACTS 1.3, 9).
    pub rule: &'static str,
    /// The effect.
    pub effect: Effect,
    /// The value's name.
    pub value: String,
    /// The reader that sees another value than before, a value or a result; `None` if the value itself is narrowed.
    pub reader: Option<String>,
    /// The reader's operand, from 0; `None` for a result.
    pub operand: Option<usize>,
    /// The conversions on the way from the value to the reader, before the rule.
    pub conversions: Vec<String>,
    /// The precision that the reader sees before the rule; for a narrowed value, the one that it holds.
    pub from: Precision,
    /// The same after it.
    pub to: Precision,
}

/// The name of a rule in text and JSON.
const fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Normalization => "B",
        Rule::Simplification => "A",
        Rule::Narrowing => "narrowing",
    }
}

/// The changes that the compiler behind each mode's policy would make to the roundings of a program, in the order of
/// the modes, then of the values.
pub fn elisions(program: &Program, modes: &[Mode]) -> Vec<Elision> {
    let declared = SeenPrecisions::of(program, &|id| own_name(program, id));
    modes.iter().flat_map(|mode| of_mode(program, &declared, mode)).collect()
}

fn of_mode(program: &Program, declared: &SeenPrecisions, mode: &Mode) -> Vec<Elision> {
    let steps: Vec<(Rule, SeenPrecisions)> = rewrite::steps(program, mode.excess, &|op| mode.chip.native_bf16(op))
        .iter()
        .map(|(rule, rewritten)| (*rule, SeenPrecisions::of_rewritten(rewritten, program)))
        .collect();
    let Some((_, last)) = steps.last() else { return Vec::new() };
    // The rule that made the last state: the first from which on it holds.
    let made_by = |is_last: &dyn Fn(&SeenPrecisions) -> bool| {
        // The last rule that changed it decides: a later one may undo what an earlier one did.
        let from = steps.iter().rposition(|(_, seen)| !is_last(seen)).map_or(0, |at| at + 1);
        steps.get(from).map_or("", |(rule, _)| rule_name(*rule))
    };
    let mut found: Vec<Elision> = Vec::new();
    let entry = program.entry();
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let name = &instruction.name;
        // The findings about each user.
        let mut told: HashSet<(String, Option<usize>, Precision)> = HashSet::new();
        if let (Some(from), Some(to)) = (declared.computed.get(name), last.computed.get(name))
            && from != to
            && to.within(*from)
        {
            found.push(Elision {
                mode: mode.to_string(),
                rule: made_by(&|seen| seen.computed.get(name) == Some(to)),
                effect: Effect::Narrowed,
                value: name.clone(),
                reader: None,
                operand: None,
                conversions: Vec::new(),
                from: *from,
                to: *to,
            });
        }
        for view in &declared.views[id] {
            let key = key(program, &|id| own_name(program, id), id, view);
            let (Some((from, rounded)), Some((to, _))) = (declared.seen.get(&key), last.seen.get(&key)) else {
                continue;
            };
            // A value that is only picked from others is not rounded itself: what changed, changed before it.
            let removed = from != to && from.within(*to) && (*rounded || declared.computed.contains_key(name));
            let added = from != to && to.within(*from) && last.seen.get(&key).is_some_and(|(_, rounded)| *rounded);
            if (removed || added) && told.insert((key.1.clone(), key.2, *from)) {
                found.push(Elision {
                    mode: mode.to_string(),
                    rule: made_by(&|seen| seen.seen.get(&key).is_some_and(|(now, _)| now == to)),
                    effect: if removed { Effect::RoundingRemoved } else { Effect::RoundingAdded },
                    value: key.0,
                    reader: Some(key.1),
                    operand: key.2,
                    conversions: view.conversions.iter().map(|c| entry.instructions[*c].name.clone()).collect(),
                    from: *from,
                    to: *to,
                });
            }
        }
    }
    found
}

/// A value's name, a reader's name, and the number of its operand.
type ElisionKey = (String, String, Option<usize>);

/// The values that a program's readers see, by the declared names.
struct SeenPrecisions {
    views: Vec<Vec<View>>,
    /// The widest view of a value by a reader, and whether a conversion on the way rounds it.
    seen: HashMap<ElisionKey, (Precision, bool)>,
    /// The precision of each value that rounds its own result.
    computed: HashMap<String, Precision>,
}

impl SeenPrecisions {
    /// `name` gives a value's name in the declared program.
    fn of(program: &Program, name: &dyn Fn(ValueId) -> String) -> SeenPrecisions {
        let analysis = Analysis::new(program);
        let (held, views) = (analysis.precisions(), views(&analysis));
        let mut seen: HashMap<ElisionKey, (Precision, bool)> = HashMap::new();
        let mut computed = HashMap::new();
        for (id, held) in held.iter().enumerate() {
            if let Some(holds) = held.first().filter(|_| held.computes) {
                computed.insert(name(id), holds);
            }
            for view in &views[id] {
                let Some(holds) = view.holds else { continue };
                let key = key(program, name, id, view);
                let widest = seen.entry(key).or_insert((holds, view.rounded_by.is_some()));
                if widest.0.within(holds) {
                    *widest = (holds, view.rounded_by.is_some());
                }
            }
        }
        SeenPrecisions { views, seen, computed }
    }

    fn of_rewritten(rewritten: &Rewritten, declared: &Program) -> SeenPrecisions {
        let Rewritten { program, origins } = rewritten;
        SeenPrecisions::of(program, &|id| match origins[id] {
            Some(origin) => own_name(declared, origin),
            None => own_name(program, id),
        })
    }
}

fn own_name(program: &Program, id: ValueId) -> String {
    program.entry().instructions[id].name.clone()
}

fn key(program: &Program, name: &dyn Fn(ValueId) -> String, id: ValueId, view: &View) -> ElisionKey {
    let (reader, operand) = match view.reader {
        Reader::Value { id, operand } => (name(id), Some(operand)),
        Reader::Result(position) => (program.output_names[position].clone(), None),
    };
    (name(id), reader, operand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, Op, Unary};
    use crate::tensor::DType;

    /// A reader is told by its widest view of a value: one that reads it unrounded as well loses no rounding.
    #[test]
    fn a_reader_that_sees_a_value_wide_as_well_loses_no_rounding() {
        let removed = |wide: [bool; 2]| {
            let mut b = Builder::new("views");
            let x = b.parameter("x", DType::F32, &[4]).unwrap();
            let square = b.binary(Binary::Multiply, x, x).unwrap();
            let narrow = b.convert(square, DType::BF16).unwrap();
            let rounded = b.convert(narrow, DType::F32).unwrap();
            let parts = wide.map(|is_wide| if is_wide { square } else { rounded });
            let both = b.op(Op::Concatenate { dim: 0 }, &parts).unwrap();
            let read = b.unary(Unary::Exponential, both).unwrap();
            let program = b.finish(&[("read", read)]).unwrap();
            let found = elisions(&program, &["v5e/default/gpu".parse().unwrap()]);
            found.iter().filter(|elision| elision.effect == Effect::RoundingRemoved).count()
        };
        assert_eq!(removed([false, false]), 1);
        assert_eq!([removed([true, false]), removed([false, true]), removed([true, true])], [0; 3]);
    }
}
