//! The record of one case: the only bridge from the runner to reports and gate.

use serde::{Deserialize, Serialize};

use crate::check::Outcome;
use crate::suite::Expect;

/// What is known of one case after it ran. Append-only on disk; [`crate::run::Journal`] carries the version.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub case: String,
    pub suite: String,
    /// The id with `n` in the place of the size.
    pub series: String,
    pub n: u64,
    pub rows: u64,
    pub checks: Vec<CheckRecord>,
    /// Metrics, then the figures of checks.
    pub figures: Vec<Figure>,
    pub worst: Option<Worst>,
    /// Wall time of the case's group, in seconds: for the terminal and the journal, never for a report.
    pub seconds: f64,
}

/// The verdict of one check.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    pub column: String,
    pub kind: String,
    pub outcome: String,
    pub expect: String,
    pub because: Option<String>,
    pub note: String,
    pub evidence: Vec<String>,
}

/// One figure by name. The value is its shortest decimal that reads back as the same f64: JSON has no infinities.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub name: String,
    pub value: String,
}

/// The element that the first metric found worst.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Worst {
    pub index: u64,
    /// Bits of what the program computed, in its own type.
    pub value_hex: String,
    /// Bits of the truth in f64.
    pub truth_hex: String,
}

/// What a case or fit comes to, given what its suite expects. Later ones outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Pass,
    Abstain,
    /// A finding that the suite only reports.
    Reported,
    ExpectedFinding,
    Undecided,
    MissingFinding,
    UnexpectedFinding,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Abstain => "abstain",
            Verdict::Reported => "reported-finding",
            Verdict::ExpectedFinding => "expected-finding",
            Verdict::Undecided => "undecided",
            Verdict::MissingFinding => "missing-finding",
            Verdict::UnexpectedFinding => "unexpected-finding",
        }
    }

    /// Whether all is as the suite expects.
    pub fn as_expected(self) -> bool {
        self < Verdict::Undecided
    }

    /// What one outcome comes to.
    pub fn of(outcome: Outcome, expect: Expect) -> Verdict {
        match (outcome, expect) {
            (Outcome::Undecided, _) => Verdict::Undecided,
            (Outcome::Finding, Expect::Finding) => Verdict::ExpectedFinding,
            (Outcome::Finding, Expect::Report) => Verdict::Reported,
            (Outcome::Finding, Expect::Pass) => Verdict::UnexpectedFinding,
            (_, Expect::Finding) => Verdict::MissingFinding,
            (Outcome::Pass, _) => Verdict::Pass,
            (Outcome::Abstain, _) => Verdict::Abstain,
        }
    }
}

impl CheckRecord {
    pub fn outcome(&self) -> Outcome {
        Outcome::named(&self.outcome).unwrap_or(Outcome::Undecided)
    }

    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.outcome(), Expect::named(&self.expect))
    }
}

impl Figure {
    pub fn new(name: &str, value: f64) -> Figure {
        Figure { name: name.to_string(), value: shortest(value) }
    }

    /// NaN if the text is no number, which only a foreign journal could hold.
    pub fn number(&self) -> f64 {
        self.value.parse().unwrap_or(f64::NAN)
    }
}

/// The shortest decimal that reads back as `value`; whole numbers without a point.
pub fn shortest(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:?}") }
}

impl Record {
    /// The weightiest of the checks' verdicts; without checks there is nothing to find.
    pub fn verdict(&self) -> Verdict {
        self.checks.iter().map(CheckRecord::verdict).max().unwrap_or(Verdict::Pass)
    }

    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.name == name).map(Figure::number)
    }
}
