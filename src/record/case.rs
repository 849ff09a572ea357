//! The record of one case.

use serde::{Deserialize, Serialize};

use crate::check::{Outcome, column};
use crate::metric::Unit;
use crate::suite::Expect;

use super::key::Key;
use super::verdict::Verdict;

/// What is known of one case after it ran. It holds no times and no names of machines: the same on any machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub key: Key,
    pub checks: Vec<CheckRecord>,
    /// Metrics, then the figures of checks.
    pub figures: Vec<Figure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
}

/// The verdict of one check.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// The check's name.
    pub check: String,
    /// What tells it from the others of its kind in the case: `key=value` settings, joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    pub outcome: Outcome,
    pub expect: Expect,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    pub note: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// One figure.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// A metric, `METRIC vs MODE`, or a figure of a check.
    pub name: String,
    /// The setting of the check that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    pub unit: Unit,
    #[serde(with = "decimal")]
    pub value: f64,
}

/// The element that the first metric found worst.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Worst {
    /// Position in the whole result, row-major.
    pub index: u64,
    /// Bits of what the program computed, in its own type.
    pub value_hex: String,
    /// Bits of the truth in f64.
    pub truth_hex: String,
}

/// The shortest decimal that reads back as `value`; whole numbers without a point.
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
    pub fn column(&self) -> String {
        column(&self.check, self.setting.as_deref())
    }

    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.outcome, self.expect)
    }
}

impl Figure {
    pub fn column(&self) -> String {
        column(&self.name, self.setting.as_deref())
    }
}

impl Record {
    /// The case's id.
    pub fn id(&self) -> String {
        self.key.to_string()
    }

    /// The weightiest of the checks' verdicts; without checks there is nothing to find.
    pub fn verdict(&self) -> Verdict {
        self.checks.iter().map(CheckRecord::verdict).max().unwrap_or(Verdict::Pass)
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
