//! Why a program has no truth.

use crate::budget::TooLarge;

/// Why a program has no truth for some arguments.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// An argument is missing, or its dtype or dims are not the parameter's.
    #[error("argument {number} is {given}, but the program takes {expected}")]
    Argument {
        /// The parameter's number, from 0.
        number: usize,
        /// The argument's shape, such as `f32[8,128]`, or `missing`.
        given: String,
        /// The parameter's shape.
        expected: String,
    },
    /// An operation means nothing over the real numbers, such as a loop that does not end.
    #[error("{name}: {opcode} has no meaning over the real numbers here: {why}")]
    NoMeaning {
        /// The instruction's name.
        name: String,
        /// Its HLO opcode.
        opcode: &'static str,
        /// The part that is not defined.
        why: &'static str,
    },
    /// Arrays do not fit in memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
}
