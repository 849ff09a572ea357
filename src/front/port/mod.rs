//! A program's move from one chip to another: the operations that change, the errors and tokens that come of it, and whether a
//! test's tolerance survives.
//!
//! Two things change ([`operation_changes`]). The compiler writes another file for the other chip, as [`crate::diff`] tells it.
//! And the other chip computes operations of one and the same file otherwise, as the machine has both chips. Of one source that
//! goes to two chips the second is all. [`moved_results`] runs both sides on the same arguments and holds them to the truth,
//! [`kept_tolerance`] puts a tolerance to honest runs of both ([`crate::criterion`]).

mod chip_habits;
mod kept_tolerance;
mod move_changes;
mod moved_result;
mod operation_change;
mod port_report;

use crate::hlo::Import;
use crate::machine::Mode;

pub use kept_tolerance::{HonestCounts, HonestInputs, KeptResult, KeptTolerance, Survival, kept_tolerance};
pub use move_changes::{OperationChanges, operation_changes};
pub use moved_result::{ErrorFigures, MovedResult, MovedResults, MovedTokens, moved_results};
pub use operation_change::{Aspect, Cause, OperationChange};
pub use port_report::{PortReport, SideText};

/// A program as one chip runs it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The file's name, for messages.
    pub name: &'a str,
    /// The program.
    pub import: &'a Import,
    /// The machine.
    pub mode: &'a Mode,
}

/// Why nothing can be said of a move.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The two files are no forms of one program.
    #[error("{0}")]
    Programs(#[from] crate::diff::DiffError),
    /// The two files take different arguments.
    #[error("the first file takes {before} and the second {after}: they cannot run on the same inputs")]
    Arguments {
        /// Those of the first.
        before: String,
        /// Those of the second.
        after: String,
    },
    /// A program is too large for the memory.
    #[error("{file}: {error}")]
    Memory {
        /// The file.
        file: String,
        /// The size that it asks for.
        error: crate::run::TooLarge,
    },
    /// The machine does not support a program.
    #[error("{file}: {error}")]
    Machine {
        /// The file.
        file: String,
        /// The operation.
        error: crate::machine::EvalError,
    },
    /// The results do not fit the truth.
    #[error("{0}")]
    Truth(String),
    /// A tolerance that cannot be judged.
    #[error(transparent)]
    Tolerance(#[from] crate::criterion::QuestionError),
}

impl From<crate::criterion::TrialError> for PortError {
    fn from(error: crate::criterion::TrialError) -> PortError {
        PortError::Tolerance(error.into())
    }
}
