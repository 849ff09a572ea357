//! Why a file that is HLO is no program here.

use super::ast::{self, Position};

/// Why a file is no program here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {name}: {why}")]
pub struct LowerError {
    /// Position of the fault in the file.
    pub at: Position,
    /// The instruction's name and opcode, or a computation's name.
    pub name: String,
    /// The reason: a contradiction in the file, or a part that the tool assigns no semantics to.
    pub why: String,
    /// Whether this is about something that HLO has a meaning for, as far as is known, but that has none here: no
    /// contradiction.
    pub is_unknown: bool,
}

impl LowerError {
    pub(super) fn new(instruction: &ast::Instruction, why: impl ToString) -> LowerError {
        let name = format!("{} of opcode `{}`", instruction.name, instruction.opcode);
        LowerError { at: instruction.at, name, why: why.to_string(), is_unknown: false }
    }

    /// The same, of something that has no meaning here.
    pub(super) fn unknown(self) -> LowerError {
        LowerError { is_unknown: true, ..self }
    }
}

/// An instruction that has no meaning here.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The instruction's name in the file.
    pub name: String,
    /// Name of its operation: the opcode, or the target of a custom call.
    pub what: String,
    /// Its place in the file.
    pub at: Position,
    /// Why it has no meaning here.
    pub why: String,
}
