//! The direction of a row that changed: that of each cell by itself, and of all cells together.

use crate::check::Outcome;
use crate::metric::Better;
use crate::record::Verdict;
use crate::report::{ColumnDirection, direction_of};

use super::RowChange;

/// The direction of one cell's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Better,
    Worse,
    /// It decides nothing by itself: it describes, or is empty on one side.
    Follows,
    /// Neither can be said: the row is about something else now, or its suite expects something else.
    Open,
}

/// A cell that changed.
pub(super) struct ReportCell<'a> {
    /// The column, or the metric that the column holds.
    pub column: &'a str,
    pub old: &'a str,
    pub fresh: &'a str,
}

/// The direction of a row whose cells changed so.
pub(super) fn change(cells: &[ReportCell]) -> RowChange {
    let steps: Vec<(ColumnDirection, Step)> = cells.iter().map(ReportCell::step).collect();
    let any = |step: Step| steps.iter().any(|(_, other)| *other == step);
    let any_verdict = |step: Step| steps.contains(&(ColumnDirection::Verdict, step));
    match (any(Step::Better), any(Step::Worse)) {
        // A finding that is gone at the cost of a larger error elsewhere.
        (true, true) if any_verdict(Step::Better) && !any_verdict(Step::Worse) => RowChange::Changed,
        (_, true) => RowChange::Worse,
        (true, false) if !any(Step::Open) => RowChange::Better,
        _ => RowChange::Changed,
    }
}

impl ReportCell<'_> {
    fn step(&self) -> (ColumnDirection, Step) {
        let direction = direction_of(self.column);
        let step = match direction {
            ColumnDirection::Identifies => Step::Open,
            ColumnDirection::Describes => Step::Follows,
            _ if self.old.is_empty() || self.fresh.is_empty() => Step::Follows,
            ColumnDirection::Verdict => self.of_verdicts(),
            ColumnDirection::Figure(better) => self.of_figures(better),
        };
        (direction, step)
    }

    fn of_figures(&self, better: Better) -> Step {
        let (Ok(old), Ok(fresh)) = (self.old.parse::<f64>(), self.fresh.parse::<f64>()) else { return Step::Open };
        match (old.is_nan(), fresh.is_nan()) {
            (true, true) => return Step::Follows,
            // What is no number is no error either that could be borne.
            (is_better @ true, false) | (is_better, true) => return if is_better { Step::Better } else { Step::Worse },
            (false, false) => {}
        }
        let (worse, improved) = match better {
            Better::Lower => (old, fresh),
            Better::Higher => (fresh, old),
        };
        // Two ways of writing one number are none.
        if improved < worse {
            Step::Better
        } else if improved > worse {
            Step::Worse
        } else {
            Step::Follows
        }
    }

    /// A verdict counts by the check's outcome, not by the suite's expectation.
    fn of_verdicts(&self) -> Step {
        let said = |name: &str| match Verdict::from_name(name) {
            // Nothing was asked on one side.
            Some(Verdict::Measured) => None,
            Some(verdict) => Some(verdict.outcome()),
            None => Outcome::from_name(name).map(Some),
        };
        let (Some(old), Some(fresh)) = (said(self.old), said(self.fresh)) else { return Step::Open };
        match (old, fresh) {
            // A finding that did not occur: the figures say whether it was repaired.
            (Some(Outcome::Finding), None) | (None, Some(Outcome::Finding)) => Step::Follows,
            (Some(Outcome::Pass), Some(Outcome::Finding | Outcome::Abstain | Outcome::Undecided)) => Step::Worse,
            (Some(Outcome::Finding | Outcome::Abstain | Outcome::Undecided), Some(Outcome::Pass)) => Step::Better,
            _ => Step::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[(&str, &str, &str)]) -> RowChange {
        let cells: Vec<ReportCell> =
            cells.iter().map(|(column, old, fresh)| ReportCell { column, old, fresh }).collect();
        change(&cells)
    }

    #[test]
    fn figures_go_their_own_way() {
        assert_eq!(of(&[("lost", "203", "0")]), RowChange::Better);
        assert_eq!(of(&[("lost", "0", "203")]), RowChange::Worse);
        assert_eq!(of(&[("recall_observed", "0.9", "0.95")]), RowChange::Better);
        assert_eq!(of(&[("recall_observed[output=token]", "0.95", "0.9")]), RowChange::Worse);
        assert_eq!(of(&[("max_ulp vs v5e/default/off", "3", "4")]), RowChange::Worse);
        assert_eq!(of(&[("max_ulp", "inf", "4")]), RowChange::Better);
        assert_eq!(of(&[("max_ulp", "NaN", "4")]), RowChange::Better);
        assert_eq!(of(&[("max_ulp", "4", "NaN")]), RowChange::Worse);
        assert_eq!(of(&[("max_ulp", "4", "4.0")]), RowChange::Changed);
        assert_eq!(of(&[("max_ulp", "3", "4"), ("lost", "203", "0")]), RowChange::Worse);
    }

    /// An empty cell is not applicable, or its figure was not found.
    #[test]
    fn an_empty_cell_decides_nothing() {
        let witness = [("found_by", "dropped_token", ""), ("row", "7", ""), ("value_hex", "0x1", "")];
        let repaired =
            [&[("verdict", "expected-finding", "pass"), ("lost", "203", "0"), ("flips", "3", "")][..], &witness];
        assert_eq!(of(&repaired.concat()), RowChange::Better);
        // The suite still expects the finding: the figures say that it was repaired.
        let missing = [&[("verdict", "expected-finding", "missing-finding"), ("lost", "203", "0")][..], &witness];
        assert_eq!(of(&missing.concat()), RowChange::Better);
        assert_eq!(of(&[("verdict", "expected-finding", "missing-finding")]), RowChange::Changed);
        assert_eq!(of(&[("max_ulp", "3", "")]), RowChange::Changed);
        assert_eq!(of(&[("max_ulp", "", "3")]), RowChange::Changed);
        assert_eq!(of(&[("max_ulp", "", "3"), ("verdict", "pass", "unexpected-finding")]), RowChange::Worse);
        assert_eq!(of(&witness), RowChange::Changed);
    }

    #[test]
    fn an_edit_that_was_reviewed_is_a_change() {
        assert_eq!(of(&[("fingerprint", "a", "b")]), RowChange::Changed);
        assert_eq!(of(&[("rows", "4", "5")]), RowChange::Changed);
        assert_eq!(of(&[("rows", "4", "5"), ("lost", "1", "0")]), RowChange::Changed);
        assert_eq!(of(&[("rows", "4", "5"), ("lost", "0", "1")]), RowChange::Worse);
        assert_eq!(of(&[("verdict", "unexpected-finding", "expected-finding")]), RowChange::Changed);
        assert_eq!(of(&[("a column of another version", "1", "2")]), RowChange::Changed);
    }

    #[test]
    fn verdicts_go_by_what_was_said() {
        for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Pass) {
            for column in ["outcome", "dropped_token", "dropped_token[output=token]"] {
                assert_eq!(of(&[(column, outcome.name(), "pass")]), RowChange::Better);
                assert_eq!(of(&[(column, "pass", outcome.name())]), RowChange::Worse);
            }
        }
        assert_eq!(of(&[("outcome", "finding", "undecided")]), RowChange::Changed);
        assert_eq!(of(&[("outcome", "finding", "no verdict")]), RowChange::Changed);
        // A finding that is gone at the cost of an error, and one that came.
        assert_eq!(of(&[("verdict", "unexpected-finding", "pass"), ("max_ulp", "1", "2")]), RowChange::Changed);
        assert_eq!(of(&[("verdict", "pass", "unexpected-finding"), ("max_ulp", "2", "1")]), RowChange::Worse);
        let exchanged =
            [("dropped_token[output=one]", "finding", "pass"), ("dropped_token[output=other]", "pass", "finding")];
        assert_eq!(of(&exchanged), RowChange::Worse);
    }
}
