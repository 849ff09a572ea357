//! Plans of collectives, where two compiled programs have others.

use std::collections::BTreeSet;

use crate::hlo::{Import, PlannedCollective};
use crate::ir::{CollectiveAlgorithm, Setting};

use super::super::change::{Change, ChangeKind};

/// A line for each collective whose plan is another. Only compiled programs have plans.
pub fn find_plans(imports: [&Import; 2]) -> Vec<Change> {
    if !imports.iter().all(|import| import.is_compiled) {
        return Vec::new();
    }
    let mut after: Vec<&PlannedCollective> = imports[1].collectives.iter().collect();
    let mut changes = Vec::new();
    for before in &imports[0].collectives {
        let is_same = |other: &&PlannedCollective| other.opcode == before.opcode && other.op_name == before.op_name;
        let is_alike = |other: &&PlannedCollective| other.opcode == before.opcode;
        let place = after.iter().position(is_same).or_else(|| after.iter().position(is_alike));
        let other = place.map(|place| after.remove(place));
        changes.extend(change(Some(before), other));
    }
    changes.extend(after.into_iter().filter_map(|other| change(None, Some(other))));
    changes
}

/// The algorithms that these lines tell.
pub fn told(imports: [&Import; 2]) -> BTreeSet<&CollectiveAlgorithm> {
    imports.iter().flat_map(|import| &import.collectives).map(|known| &known.algorithm).collect()
}

/// Whether a setting is an algorithm that these lines tell.
pub fn is_told(told: &BTreeSet<&CollectiveAlgorithm>, setting: &Setting) -> bool {
    matches!(setting, Setting::CollectiveAlgorithm(algorithm) if told.contains(algorithm))
}

fn change(before: Option<&PlannedCollective>, after: Option<&PlannedCollective>) -> Option<Change> {
    let text = |known: Option<&PlannedCollective>| known.map(PlannedCollective::algorithm_text);
    let (left, right) = (text(before), text(after));
    let named = before.or(after)?;
    let none = || "no plan".to_string();
    (left != right).then(|| Change {
        kind: ChangeKind::PlanChanged,
        name: named.name.clone(),
        op_name: named.op_name.clone(),
        before: left.unwrap_or_else(none),
        after: right.unwrap_or_else(none),
        of_unit: false,
    })
}
