//! Results that no suite expects, with their evidence: the terminal, the gate and its JSON name the same.

use std::fmt::{self, Display, Formatter};

use crate::record::{SuiteRecord, Verdict};

/// A case or series that is not as expected: a finding that no suite expects, a missing one, or none decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Unexpected {
    /// The difference from the expectation.
    pub verdict: Verdict,
    /// The check's column, or the growth of a metric.
    pub check: String,
    /// The id of the case or series.
    pub of: String,
    /// The check's note.
    pub note: String,
    /// Why a finding was expected that did not occur.
    pub because: Option<String>,
    /// Elements that show it, a line each.
    pub evidence: Vec<String>,
}

/// The findings of a suite that it does not expect: of its series, then of its cases.
pub fn findings(suite: &SuiteRecord) -> Vec<Unexpected> {
    let series = suite.series.iter().map(|record| Unexpected {
        verdict: record.verdict(),
        check: format!("growth of {}", record.metric),
        of: record.series.to_string(),
        note: record.check.note.clone(),
        because: None,
        evidence: Vec::new(),
    });
    let cases = suite.cases.iter().flat_map(|record| {
        record.checks.iter().map(|check| Unexpected {
            verdict: check.verdict(),
            check: check.column(),
            of: record.key.to_string(),
            note: check.note.clone(),
            because: check.because.clone().filter(|_| check.verdict() == Verdict::MissingFinding),
            evidence: check.evidence.clone(),
        })
    });
    series.chain(cases).filter(|found| !found.verdict.as_expected()).collect()
}

impl Display for Unexpected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Unexpected { verdict, check, of, note, because, evidence } = self;
        write!(f, "{}: {check} in {of}: {note}", verdict.name())?;
        if let Some(because) = because {
            write!(f, "\n  expected because {because}")?;
        }
        evidence.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
