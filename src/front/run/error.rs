//! Why a run stops.

use crate::check::ObserveError;
use crate::input::InputError;
use crate::machine::EvalError;
use crate::oracle::OracleError;
use crate::program::BuildError;
use crate::subject::SubjectError;
use crate::suite::Case;

use super::{JournalError, TooLarge};

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A case could not be evaluated, or one of its checks could not judge what came out.
    #[error("{case}: {source}")]
    Case {
        /// The case's id.
        case: String,
        /// The error of the program, the input, the subject, the oracle or the check.
        source: Box<CaseError>,
    },
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl RunError {
    pub(super) fn of(case: &Case, source: CaseError) -> RunError {
        RunError::Case { case: case.id.clone(), source: Box::new(source) }
    }
}

/// Why a case cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The program cannot be built for the case's size.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The system has not the memory.
    #[error("`n = {n}` is too large for this machine: {source}")]
    Memory {
        /// The size that the suite asks for.
        n: usize,
        /// The memory that it would take.
        source: TooLarge,
    },
    /// The arguments cannot be filled.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The machine does not support the program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// The subject has no results.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The program has no truth.
    #[error(transparent)]
    Truth(#[from] OracleError),
    /// A check cannot judge a batch.
    #[error("check {check}: {source}")]
    Check {
        /// The check's name.
        check: &'static str,
        /// Why not.
        source: ObserveError,
    },
    /// A check asks for tokens of a program without.
    #[error("{program} ranks no tokens")]
    NoTokens {
        /// The program.
        program: String,
    },
    /// The result measured is of integers or truth values.
    #[error("metrics measure floats")]
    NoFloat,
    /// The oracle was not asked for the result measured.
    #[error("the result measured has no truth")]
    NoTruth,
    /// The oracle's highest precision left elements open.
    #[error("{0} elements have no decided truth; raise the oracle's precision")]
    Undecided(usize),
}
