//! What an outcome comes to.

use crate::check::Outcome;
use crate::suite::Expect;

/// What a case or series comes to, given what its suite expects. Later ones outweigh earlier ones.
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
