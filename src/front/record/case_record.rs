//! The record of one case: its key, the verdicts of its checks, its figures and its worst element.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::check::{Outcome, Witness, column};
use crate::metric::Unit;
use crate::suite::Expect;

use super::key::Key;
use super::verdict::Verdict;

/// The results of one case. It holds no times and no names of machines: the same on any machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The case's key.
    pub key: Key,
    /// One a check, in the order of the suite file.
    pub checks: Vec<CheckRecord>,
    /// Metrics, then the figures of checks; those without a value are left out.
    pub figures: Vec<Figure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The element that the first metric found worst; `None` where it measured nothing.
    pub worst: Option<Witness>,
}

/// The outcome of one check, with the one that the suite expects.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// The check's name, such as `bound`.
    pub check: String,
    /// The settings that distinguish it from other checks of its kind in the case: `key=value`, joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The check's outcome for the case or series.
    pub outcome: Outcome,
    /// The outcome that the suite expects.
    pub expect: Expect,
    /// Why the suite expects a finding, or only reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The judgement in words; the reason, if the check abstained.
    pub note: String,
    /// Up to three lines that show the finding, the first ones by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Elements that show a finding, the worst first: up to three, one a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Witness>,
}

/// Checks that did not pass, in words: the error of [`Record::conforms`]. `Debug` prints them, too: a test that returns the error
/// prints it so, and its lines are to stand on lines.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{case} does not conform: {}", self.reason())]
pub struct Nonconforming {
    /// The case's id.
    pub case: String,
    /// A line a check that did not pass, each followed by its evidence; empty where no check was asked.
    pub lines: Vec<String>,
}

impl fmt::Debug for Nonconforming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Nonconforming {
    fn reason(&self) -> String {
        if self.lines.is_empty() { "no check was asked of it".to_string() } else { self.lines.join("\n") }
    }
}

/// One number that is known of a case.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// A metric, `METRIC vs MODE`, or a figure of a check.
    pub name: String,
    /// The setting of the check that it belongs to ([`CheckRecord::setting`]); `None` for a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The unit of the value.
    pub unit: Unit,
    /// In JSON a string: an infinity or NaN is `inf` or `NaN`.
    #[serde(with = "decimal")]
    pub value: f64,
}

/// The shortest decimal that reads back as `value`; whole numbers below 10^15 without a point.
pub fn shortest(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:?}") }
}

/// Numbers as text: JSON has no infinities and no NaN.
pub(super) mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::shortest(*value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("`{text}` is no number")))
    }
}

impl CheckRecord {
    /// The report's column of the check: its name, with its setting where it has one.
    pub fn column(&self) -> String {
        column(&self.check, self.setting.as_deref())
    }

    /// The verdict on the outcome, given the one that the suite expects.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.outcome, self.expect)
    }
}

impl Figure {
    /// The report's column of the figure: its name, with the check's setting where it has one.
    pub fn column(&self) -> String {
        column(&self.name, self.setting.as_deref())
    }
}

impl Record {
    /// The case's id.
    pub fn id(&self) -> String {
        self.key.to_string()
    }

    /// The weightiest of the checks' verdicts; a case without checks is only measured.
    pub fn verdict(&self) -> Verdict {
        self.checks.iter().map(CheckRecord::verdict).max().unwrap_or(Verdict::Measured)
    }

    /// The element that shows the record's verdict, with the column of the check or metric that found it: the worst
    /// element of the first check with that verdict, else the element that the first metric found worst.
    pub fn witness(&self) -> Option<(String, &Witness)> {
        let verdict = self.verdict();
        let checks = self.checks.iter().filter(|check| check.verdict() == verdict);
        let of_check = checks.filter_map(|check| Some((check.column(), check.witnesses.first()?))).next();
        of_check.or_else(|| Some((self.figures.first()?.column(), self.worst.as_ref()?)))
    }

    /// Nothing, if at least one check was asked and each of them passed: what a test of a kernel ends with.
    ///
    /// ```
    /// # extern crate ulpgate_front as ulpgate;
    /// use ulpgate::{Question, check::Settings};
    ///
    /// let sums = || Question::of("softmax[dtype=bf16,rows=4]", 64)?.check("bound", Settings::default());
    /// sums()?.ask()?.conforms()?;
    ///
    /// // bf16 arithmetic does not keep what six bf16 passes and f32 sums promise.
    /// let rounded = Question::of("matmul[dtype=f32,lhs=8xn,rhs=nx8]", 64)?.mode("v5e/default/off")?;
    /// let declared = Settings { declared: Some("highest".to_string()), ..Settings::default() };
    /// assert!(rounded.check("bound", declared)?.ask()?.conforms().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Nonconforming`], if a check found something, abstained or was left undecided, or if none was asked: a record
    /// that nothing was asked of proves nothing.
    pub fn conforms(&self) -> Result<(), Nonconforming> {
        let failed: Vec<&CheckRecord> = self.checks.iter().filter(|check| check.outcome != Outcome::Pass).collect();
        if failed.is_empty() && !self.checks.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for check in failed {
            lines.push(format!("{}: {}: {}", check.column(), check.outcome.name(), check.note));
            lines.extend(check.evidence.iter().map(|line| format!("  {line}")));
        }
        Err(Nonconforming { case: self.id(), lines })
    }

    /// The value of a figure by its column.
    pub fn figure(&self, column: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.column() == column).map(|f| f.value)
    }

    /// The value of a figure of one of the case's checks.
    pub fn figure_of(&self, check: &CheckRecord, name: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.name == name && f.setting == check.setting).map(|f| f.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Settings;
    use crate::run::Question;

    /// The record of a softmax of four rows, with this outcome of the check that was asked.
    fn record_with(outcome: Outcome) -> Record {
        let asked = Question::of("softmax[dtype=f32,rows=4]", 8).unwrap().check("bound", Settings::default()).unwrap();
        let mut record = asked.ask().unwrap();
        record.checks[0].outcome = outcome;
        record
    }

    #[test]
    fn a_record_conforms_where_each_check_passed() {
        assert_eq!(record_with(Outcome::Pass).conforms(), Ok(()));
        for outcome in [Outcome::Finding, Outcome::Undecided, Outcome::Abstain] {
            let refused = record_with(outcome).conforms().unwrap_err().to_string();
            assert!(refused.contains(&format!("does not conform: bound: {}: ", outcome.name())), "{refused}");
        }
        let mut mixed = record_with(Outcome::Pass);
        let mut second = mixed.checks[0].clone();
        second.outcome = Outcome::Finding;
        mixed.checks.push(second);
        assert_eq!(mixed.conforms().unwrap_err().lines.len(), 1 + mixed.checks[1].evidence.len());
    }

    #[test]
    fn a_record_of_which_nothing_was_asked_does_not_conform() {
        let mut record = record_with(Outcome::Pass);
        record.checks.clear();
        let refused = record.conforms().unwrap_err();
        assert!(refused.to_string().ends_with("no check was asked of it"), "{refused}");
    }

    /// A test of a kernel returns the error, and Rust prints its `Debug`.
    #[test]
    fn the_error_of_a_record_prints_as_lines() {
        let refused = record_with(Outcome::Finding).conforms().unwrap_err();
        assert_eq!(format!("{refused:?}"), refused.to_string());
        assert!(format!("{refused:?}").contains(" does not conform: bound: "), "{refused:?}");
    }
}
