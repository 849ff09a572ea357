//! Why a token flipped: which operations' errors decided, and which of them, left out, turn it back.
//!
//! A row of scores names the token of its largest; a row is *flipped* where the machine names another token than the truth.
//! [`find_flips`] compares the two, [`explain`] gives each operation its share of what became of the two candidates' margin
//! ([`crate::machine::LocalErrors`]), and [`undo`] runs the program again with operations kept wide
//! ([`crate::rewrite::keep_wide`]) until the row names the token of the truth: what it says turns a token back was run.

mod explanation;
mod flips;
mod trial;

pub use explanation::{Explanation, Line, explain};
pub use flips::{Flip, Flips, count_flips, find_flips, tokens, tops};
pub use trial::{Trial, Undone, evaluate_wide, undo};

use crate::ir::{ComputationId, Program, ShapeError, ValueId};
use crate::machine::{EvalError, Mode};
use crate::oracle::OracleError;

/// An instruction of a computation of the program, in all trips of the loops around it.
pub type Operation = (ComputationId, ValueId);

/// A program on a machine.
#[derive(Clone, Copy)]
pub struct ProgramOnMachine<'a> {
    /// The program as the machine runs it: what the mode's excess policy makes of it ([`crate::subject::compile`]).
    pub program: &'a Program,
    /// The machine.
    pub mode: &'a Mode,
    /// The result that ranks tokens along its last dim, a position among the program's outputs.
    pub scores: usize,
}

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// The machine does not support the program, or f64 does not.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// The truth has no scores.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The program with an operation kept wide is no program.
    #[error("with {kept} kept wide: {why}")]
    Wide {
        /// The operations' names.
        kept: String,
        /// The mismatch.
        why: ShapeError,
    },
    /// The scores rank nothing.
    #[error("result {name} is {shape}, which ranks no tokens: floats [rows, tokens] are wanted")]
    Scores {
        /// The result's name.
        name: String,
        /// Its shape.
        shape: String,
    },
}
