//! Attributes and configurations, where two programs have others, and operations that one of them has packed.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Op, Setting, Unary};
use crate::machine::{PACKED, accuracy_in_words};

use super::super::change::{Change, ChangeKind};
use super::super::expression::ExpressionId;
use super::super::graph::Graph;
use super::super::matching::Pair;
use super::collectives;

/// A fact that a file has of an operation beside its meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told<'a> {
    Setting(&'a Setting),
    /// It is emitted packed.
    Packed,
}

impl Told<'_> {
    fn name(&self) -> &str {
        match self {
            Told::Setting(setting) => setting.name(),
            Told::Packed => "packed code of bf16",
        }
    }
}

/// A setting of one program, or its packed code.
struct AskedSetting<'a> {
    name: &'a str,
    op_name: Option<&'a str>,
    /// The fusion or call that it stands in, whose own settings all of its instructions have.
    within: Option<&'a str>,
    /// The value's expression; of a region's instruction none.
    expression: Option<ExpressionId>,
    /// The function whose accuracy may be asked.
    unary: Option<Unary>,
    told: Told<'a>,
}

/// A line for each value, and for the module, that other settings are asked of. A compiler's own are compared where both programs
/// are compiled, or neither is.
pub fn find_settings(pair: &Pair) -> Vec<Change> {
    let imports = [pair.before.import, pair.after.import];
    let alike = imports[0].is_compiled == imports[1].is_compiled;
    let told = collectives::told(imports);
    let is_compared = |setting: &Setting| (alike || !setting.is_of_compiler()) && !collectives::is_told(&told, setting);
    let mut changes = Vec::new();
    let headers =
        imports.map(|import| import.program.settings.iter().filter(|s| is_compared(s)).map(Told::Setting).collect());
    changes.extend(change("the module", None, None, headers));
    let asked = [&pair.before, &pair.after].map(|graph| asked(graph, &is_compared));
    let by_expression = [0, 1].map(|side: usize| {
        let mut sets: BTreeMap<ExpressionId, BTreeSet<Told>> = BTreeMap::new();
        for one in &asked[side] {
            if let Some(id) = one.expression {
                sets.entry(id).or_default().insert(one.told);
            }
        }
        sets
    });
    let none = BTreeSet::new();
    let graphs = [&pair.before, &pair.after];
    let mut told: BTreeSet<ExpressionId> = BTreeSet::new();
    // Values that only one program has, whose settings may be those of a value that only the other has.
    let mut left = [Vec::new(), Vec::new()];
    for side in [0, 1] {
        for one in &asked[side] {
            let Some(id) = one.expression.filter(|id| !graphs[1 - side].instances(*id).is_empty()) else {
                left[side].push(one);
                continue;
            };
            if told.insert(id) {
                // A change is told by BEFORE's name.
                let named = pair.before.instances(id).first().copied();
                let (name, op_name) =
                    named.map_or((one.name, one.op_name), |at| (pair.before.name(at), pair.before.op_name(at)));
                let sets = [0, 1].map(|side: usize| by_expression[side].get(&id).unwrap_or(&none).clone());
                changes.extend(change(name, op_name, one.unary, sets));
            }
        }
    }
    let sets = [0, 1].map(|side: usize| left[side].iter().map(|one| one.told).collect::<BTreeSet<Told>>());
    for side in [0, 1] {
        for one in left[side].iter().filter(|one| !sets[1 - side].contains(&one.told)) {
            let alone = BTreeSet::from([one.told]);
            let sets = if side == 0 { [alone, none.clone()] } else { [none.clone(), alone] };
            changes.extend(change(one.within.unwrap_or(one.name), one.op_name, one.unary, sets));
        }
    }
    changes
}

/// The settings of a program that decide results, in its order.
fn asked<'a>(graph: &Graph<'a>, is_compared: &dyn Fn(&Setting) -> bool) -> Vec<AskedSetting<'a>> {
    let program = &graph.import.program;
    let mut found = Vec::new();
    for (number, computation) in program.computations.iter().enumerate() {
        let is_entry = number == program.entry;
        for (id, instruction) in computation.instructions.iter().enumerate() {
            let own = instruction.settings.as_deref().unwrap_or_default().iter();
            if is_entry && !graph.values[id].live {
                continue;
            }
            let own = own.filter(|setting| is_compared(setting)).map(Told::Setting);
            found.extend(own.chain(instruction.is_packed().then_some(Told::Packed)).map(|told| AskedSetting {
                name: if is_entry { graph.name(id) } else { &instruction.name },
                op_name: if is_entry { graph.op_name(id) } else { None },
                within: if is_entry { graph.import.origins[id].within.as_deref() } else { Some(&computation.name) },
                expression: is_entry.then(|| graph.values[id].expression()),
                unary: match &instruction.op {
                    Op::Unary(unary) => Some(*unary),
                    _ => None,
                },
                told,
            }));
        }
    }
    found
}

/// Settings and packed code that one program has and the other has not; of an accuracy, the implementations of the function that TPUs
/// take.
fn change(
    name: &str,
    op_name: Option<&str>,
    unary: Option<Unary>,
    [before, after]: [BTreeSet<Told>; 2],
) -> Option<Change> {
    let in_words = |told: &Told| match (told, unary) {
        (Told::Setting(Setting::Accuracy(accuracy)), Some(unary)) => accuracy_in_words(unary, *accuracy),
        (Told::Setting(setting), _) => setting.to_string(),
        (Told::Packed, _) => PACKED.to_string(),
    };
    let text = |own: &BTreeSet<Told>, other: &BTreeSet<Told>| {
        let alone: Vec<String> = own.difference(other).map(in_words).collect();
        match alone.is_empty() {
            true => {
                let names: BTreeSet<&str> = other.difference(own).map(Told::name).collect();
                format!("no {}", names.into_iter().collect::<Vec<_>>().join(", "))
            }
            false => alone.join(", "),
        }
    };
    // The machine follows packed code, and no attribute.
    let kind = match before.symmetric_difference(&after).any(|told| *told == Told::Packed) {
        true => ChangeKind::PrecisionChanged,
        false => ChangeKind::AttributeChanged,
    };
    (before != after).then(|| Change {
        kind,
        name: name.to_string(),
        op_name: op_name.map(str::to_string),
        before: text(&before, &after),
        after: text(&after, &before),
        of_unit: false,
    })
}
