//! All operations that change in a move.

use serde::Serialize;

use crate::diff::{NotUnderstood, difference};
use crate::machine::releases_of_dot_units;

use super::chip_habits::{chip_changes, chip_notes};
use super::operation_change::OperationChange;
use super::{PortError, Side};

/// All operations that change, and the values of which nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperationChanges {
    /// The changes by their aspect, those of one aspect in the order of the files.
    pub changes: Vec<OperationChange>,
    /// Values without a counterpart, and operations without a meaning here, in words.
    pub open: Vec<String>,
    /// Reservations.
    pub notes: Vec<String>,
}

/// Finds the operations that change from one side to the other. `is_one_source` says that both run the same file.
///
/// # Errors
/// If the two files are no forms of one program.
pub fn operation_changes(before: Side, after: Side, is_one_source: bool) -> Result<OperationChanges, PortError> {
    let modes = [before.mode, after.mode];
    let mut found = OperationChanges { notes: chip_notes(after.import, modes), ..OperationChanges::default() };
    if is_one_source {
        found.notes.push(format!(
            "no compiler's file stands behind this: units are those that {} chose for each dot alone, roundings are as written; fusions \
             and plans of sums are not known. scripts/dump_hlo.py compiles the source for both chips",
            releases_of_dot_units()
        ));
    } else {
        let differing = difference(before.import, after.import, Some(before.mode.chip))?;
        found.open = open_values([before.name, after.name], &differing.unmatched, &differing.not_understood);
        found.changes.extend(differing.changes.into_iter().map(OperationChange::from));
    }
    found.changes.extend(chip_changes(after.import, modes));
    found.changes.sort_by_key(|change| change.aspect);
    Ok(found)
}

/// The values of which nothing is known, each file's once.
fn open_values(names: [&str; 2], unmatched: &[Vec<String>; 2], unknown: &NotUnderstood) -> Vec<String> {
    let mut open = Vec::new();
    for side in [0, 1] {
        let (one, other) = (names[side], names[1 - side]);
        for (values, what) in
            [(&unmatched[side], "has no counterpart in"), (&unknown.apart[side], "is not understood, and is not in")]
        {
            let mut each: Vec<&str> = Vec::new();
            values.iter().for_each(|value| {
                if !each.contains(&value.as_str()) {
                    each.push(value);
                }
            });
            open.extend(each.into_iter().map(|value| format!("{value} of {one} {what} {other}")));
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of either file are told once, each under the name of the file that has it.
    #[test]
    fn open_values_of_either_file_are_told() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
        let unknown = NotUnderstood { apart: [names(&["k"]), names(&["l"])], ..NotUnderstood::default() };
        let found = open_values(["a", "b"], &[names(&["x", "x"]), names(&["y"])], &unknown);
        let told = [
            "x of a has no counterpart in b",
            "k of a is not understood, and is not in b",
            "y of b has no counterpart in a",
            "l of b is not understood, and is not in a",
        ];
        assert_eq!(found, told);
    }
}
