//! Why a check cannot be put to a case, and why a batch cannot be judged.

use crate::ir::approx::BinsError;
use crate::machine::{EvalError, ModeError};
use crate::name::hint;
use crate::program::{BuildError, ParameterError};
use crate::subject::SubjectError;

/// Why a check cannot be put to a case. Completes "check NAME: ".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{fault}")]
pub struct PlanError {
    /// The setting at fault, where it is one; otherwise check and case do not go together.
    pub setting: Option<&'static str>,
    /// The fault.
    pub fault: PlanFault,
}

/// Fault of a check, its settings or its case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanFault {
    /// There is no such check.
    #[error("no check has this name")]
    Unknown,
    /// Not a check of one case.
    #[error("it is put to the cases of a series, not to one")]
    Series,
    /// A setting without which the check asks nothing.
    #[error("`{setting}` is needed: {expected}")]
    Missing {
        /// The setting.
        setting: &'static str,
        /// The values that it takes, in words.
        expected: &'static str,
    },
    /// A number out of its range.
    #[error("{setting} = {value} is no {expected}")]
    BadValue {
        /// The setting.
        setting: &'static str,
        /// The given value.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// A setting names a result that the program has not.
    #[error("{program} has no result `{name}`; it has {}", has.join(", "))]
    NoResult {
        /// The program.
        program: String,
        /// The given value.
        name: String,
        /// Its results.
        has: Vec<String>,
    },
    /// The program is not of the kind that the check asks about.
    #[error("{program} {lack}")]
    Lacks {
        /// The program.
        program: String,
        /// The lack, as the rest of a sentence.
        lack: String,
    },
    /// A metric that the case does not measure.
    #[error("`{metric}` is not measured; {}", add_or_hint(metric, measured))]
    NotMeasured {
        /// The metric.
        metric: String,
        /// Those that it does measure.
        measured: Vec<String>,
    },
    /// The program cannot be built for a single row.
    #[error("no row stands alone: {0}")]
    NotAlone(BuildError),
    /// The program compared with cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The program compared with is not known.
    #[error(transparent)]
    Program(#[from] ParameterError),
    /// The mode compared with is not known.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// A criterion that is not known.
    #[error("unknown criterion `{name}`; {hint}")]
    Criterion {
        /// The name as given.
        name: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// An approximate top-k with too few bins.
    #[error(transparent)]
    Bins(#[from] BinsError),
}

fn add_or_hint(metric: &str, measured: &[String]) -> String {
    match measured {
        [] => format!("add `metric = [\"{metric}\"]`"),
        measured => hint(metric, measured.iter().map(String::as_str)),
    }
}

impl PlanFault {
    /// This fault lies in a setting.
    pub fn of(self, setting: &'static str) -> PlanError {
        PlanError { setting: Some(setting), fault: self }
    }
}

/// A fault that lies in no single setting.
impl<F: Into<PlanFault>> From<F> for PlanError {
    fn from(fault: F) -> PlanError {
        PlanError { setting: None, fault: fault.into() }
    }
}

/// Why a batch cannot be judged. Completes "check NAME: ".
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The oracle was not asked for what the check needs.
    #[error("the truth of {0} is missing")]
    NoTruth(&'static str),
    /// Nothing has rows.
    #[error("the program takes no argument")]
    NoArgument,
    /// No name of a result stands on both sides.
    #[error("the two sides have no result in common")]
    NothingInCommon,
    /// A result has other dims on the other side.
    #[error("{name} has dims {ours:?} on one side and {theirs:?} on the other")]
    Dims {
        /// The result's name.
        name: String,
        /// Its dims in the case's program.
        ours: Vec<usize>,
        /// Its dims on the other side.
        theirs: Vec<usize>,
    },
    /// The other side's program cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The machine does not support a program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// The subject is asked for more than it holds.
    #[error("{0} only holds results: it can be compared with a mode, with nothing else")]
    ComputesNothing(String),
    /// The subject has no results for another program or other rows.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}
