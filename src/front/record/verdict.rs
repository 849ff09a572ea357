//! Verdicts on outcomes, given those that the suite expects.

use crate::check::Outcome;
use crate::suite::Expect;

/// The verdict on a case or series, given the outcome that its suite expects. Later verdicts outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Figures alone: no check was asked.
    Measured,
    /// Nothing was found, and nothing was to be.
    Pass,
    /// The check has nothing to say.
    Abstain,
    /// A finding that the suite only reports.
    Reported,
    /// A finding that the suite expects, with a reason.
    ExpectedFinding,
    /// The oracle could not decide what the check needs.
    Undecided,
    /// A finding that the suite expects did not occur.
    MissingFinding,
    /// A finding where the suite expects none.
    UnexpectedFinding,
}

impl Verdict {
    /// All of them, lightest first.
    pub const ALL: [Verdict; 8] = [
        Verdict::Measured,
        Verdict::Pass,
        Verdict::Abstain,
        Verdict::Reported,
        Verdict::ExpectedFinding,
        Verdict::Undecided,
        Verdict::MissingFinding,
        Verdict::UnexpectedFinding,
    ];

    /// Its meaning for a case, for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Verdict::Measured => {
                "The case has figures, and no check was asked of it. A run of such cases alone exits with 2."
            }
            Verdict::Pass => "Nothing was found, and nothing was to be.",
            Verdict::Abstain => "The check has nothing to say of the case; its note says why.",
            Verdict::Reported => "A finding that the suite only reports.",
            Verdict::ExpectedFinding => "A finding that the suite expects, with a reason: a known deviation.",
            Verdict::Undecided => "The oracle could not decide what the check needs. It makes a run exit with 1.",
            Verdict::MissingFinding => "A known deviation did not occur. It makes a run exit with 1.",
            Verdict::UnexpectedFinding => "A finding where the suite expects none. It makes a run exit with 1.",
        }
    }

    /// The name in reports, such as `expected-finding`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Measured => "measured",
            Verdict::Pass => "pass",
            Verdict::Abstain => "abstain",
            Verdict::Reported => "reported-finding",
            Verdict::ExpectedFinding => "expected-finding",
            Verdict::Undecided => "undecided",
            Verdict::MissingFinding => "missing-finding",
            Verdict::UnexpectedFinding => "unexpected-finding",
        }
    }

    /// The verdict of this name.
    pub fn from_name(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.name() == name)
    }

    /// The check's own word, whatever the suite expects; `None` where that was a pass or an abstention, or no check was asked.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Verdict::Pass => Some(Outcome::Pass),
            Verdict::Abstain => Some(Outcome::Abstain),
            Verdict::Reported | Verdict::ExpectedFinding | Verdict::UnexpectedFinding => Some(Outcome::Finding),
            Verdict::Undecided => Some(Outcome::Undecided),
            Verdict::Measured | Verdict::MissingFinding => None,
        }
    }

    /// Whether all is as the suite expects: the last three verdicts make a run exit with 1.
    pub fn as_expected(self) -> bool {
        self < Verdict::Undecided
    }

    /// Whether it is a finding that the suite knows of.
    pub const fn is_known(self) -> bool {
        matches!(self, Verdict::Reported | Verdict::ExpectedFinding)
    }

    /// The verdict on one outcome. If a finding is expected, an abstention is a missing finding.
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
