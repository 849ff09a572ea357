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
    /// The column's name in the file.
    pub header: &'a str,
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

/// The cells that changed, in words: first those that decide the row's direction, each with its own, then the others that count.
/// Cells that follow from them, such as the place and the bits of the worst element, are counted, unless nothing else changed.
pub(super) fn told(cells: &[ReportCell]) -> String {
    let mut steps: Vec<(&ReportCell, (ColumnDirection, Step))> = cells.iter().map(|cell| (cell, cell.step())).collect();
    steps.sort_by_key(|(_, (_, step))| match step {
        Step::Worse => 0,
        Step::Better => 1,
        Step::Open => 2,
        Step::Follows => 3,
    });
    let describes = |direction: ColumnDirection| direction == ColumnDirection::Describes;
    let counts = steps.iter().filter(|(_, (direction, _))| !describes(*direction)).count();
    let is_shown = |direction: ColumnDirection| counts == 0 || !describes(direction);
    let shown = steps.iter().filter(|(_, (direction, _))| is_shown(*direction)).map(|(cell, (_, step))| {
        let (old, fresh) = cell.short();
        let direction = match step {
            Step::Worse => " (worse)",
            Step::Better => " (better)",
            Step::Open | Step::Follows => "",
        };
        format!("{}: {old} -> {fresh}{direction}", cell.header)
    });
    let shown: Vec<String> = shown.collect();
    let left = match steps.len() - shown.len() {
        0 => String::new(),
        1 => "; and a cell that follows".to_string(),
        left => format!("; and {left} cells that follow"),
    };
    shown.join(", ") + &left
}

impl ReportCell<'_> {
    /// Both values, figures to four digits where these tell them apart. The report has them whole.
    fn short(&self) -> (String, String) {
        let whole = (self.old.to_string(), self.fresh.to_string());
        let (ColumnDirection::Figure(_), Ok(old), Ok(fresh)) =
            (direction_of(self.column), self.old.parse::<f64>(), self.fresh.parse::<f64>())
        else {
            return whole;
        };
        let (old, fresh) = (four_digits(old, &whole.0), four_digits(fresh, &whole.1));
        if old == fresh { whole } else { (old, fresh) }
    }

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

/// Four digits of a figure; `whole` where it is short.
fn four_digits(value: f64, whole: &str) -> String {
    let scientific = format!("{value:.3e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -3..=3) if whole.len() > 7 => {
            let decimals = usize::try_from(3 - exponent).unwrap_or(0);
            format!("{value:.decimals$}")
        }
        Some(_) if whole.len() > 7 => scientific,
        _ => whole.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[(&str, &str, &str)]) -> RowChange {
        let cells: Vec<ReportCell> =
            cells.iter().map(|(column, old, fresh)| ReportCell { header: column, column, old, fresh }).collect();
        change(&cells)
    }

    /// The deciding cell comes first and says its direction; the others follow, and those that only describe are counted.
    #[test]
    fn the_deciding_cell_comes_first() {
        let cells = |list: &[(&'static str, &'static str, &'static str)]| {
            let cell = |(column, old, fresh): &(&'static str, &'static str, &'static str)| ReportCell {
                header: column,
                column,
                old,
                fresh,
            };
            told(&list.iter().map(cell).collect::<Vec<_>>())
        };
        let row = [
            ("index", "7", "9"),
            ("max_ulp", "8.482800465077162", "2.5"),
            ("mean_ulp", "0.00012345678", "0.00022345678"),
            ("rows", "4", "5"),
            ("value_hex", "0x1", "0x2"),
        ];
        let told = "mean_ulp: 1.235e-4 -> 2.235e-4 (worse), max_ulp: 8.483 -> 2.5 (better), rows: 4 -> 5; and 2 cells that follow";
        assert_eq!(cells(&row), told);
        assert_eq!(cells(&row[..1]), "index: 7 -> 9");
        assert_eq!(cells(&row[..2]), "max_ulp: 8.483 -> 2.5 (better); and a cell that follows");
        // Figures that four digits do not tell apart are whole.
        let near = [("max_ulp", "8.482800465077162", "8.482800465077163")];
        assert_eq!(cells(&near), "max_ulp: 8.482800465077162 -> 8.482800465077163 (worse)");
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
        // A finding that came back with less of it.
        let back = [("verdict", "missing-finding", "expected-finding"), ("max_ulp", "2", "1")];
        assert_eq!(of(&back), RowChange::Better);
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
