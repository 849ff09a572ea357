//! Why a program has no result on the machine.

use crate::budget::TooLarge;
use crate::deadline::OutOfTime;
use crate::ir::Instruction;

/// Why a program has no result on the machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// An argument does not fit its parameter.
    #[error("argument {number} is {given}, but the program takes {expected}")]
    Argument {
        /// The argument's number, from 0.
        number: usize,
        /// Its shape, or that it is missing.
        given: String,
        /// The parameter's shape, or that there are no more parameters.
        expected: String,
    },
    /// The machine has no meaning for an operation.
    #[error("{name}: {opcode} is not supported: {why}")]
    Unsupported {
        /// The instruction's name.
        name: String,
        /// Its opcode.
        opcode: &'static str,
        /// The part of it that is not supported.
        why: String,
    },
    /// An operation computes in f64, on a chip that has none.
    #[error(
        "{name}: {opcode} of f64 is not evaluated as {chip} computes it: TPUs have no f64, their compiler works with pairs of f32, \
         some 48 bits. Evaluate the file that it compiled for {chip} (scripts/dump_hlo.py writes it), or choose the mode \
         cpu/f32/off for IEEE f64"
    )]
    NoDouble {
        /// The instruction's name.
        name: String,
        /// Its opcode.
        opcode: String,
        /// The chip.
        chip: &'static str,
    },
    /// Arrays do not fit in memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// The time that was given is over.
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
}

pub(super) fn refuse(instruction: &Instruction, why: impl Into<String>) -> EvalError {
    EvalError::Unsupported { name: instruction.name.clone(), opcode: instruction.op.opcode(), why: why.into() }
}
