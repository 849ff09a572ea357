//! The subject under test: a program as a compiler would leave it, on the machine.

use crate::ir::Program;
use crate::machine::{self, EvalError, Mode};
use crate::rewrite;
use crate::tensor::Tensor;

/// Why a program has no result in a mode.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SubjectError {
    #[error("unknown excess policy `{name}`; {}", crate::name::hint(name, rewrite::POLICIES.iter().map(|p| p.name)))]
    UnknownPolicy { name: String },
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// `program` as the compiler behind the mode's policy leaves it.
pub fn compiled(program: &Program, mode: &Mode) -> Result<Program, SubjectError> {
    let policy =
        rewrite::policy_named(&mode.excess).ok_or_else(|| SubjectError::UnknownPolicy { name: mode.excess.clone() })?;
    Ok(rewrite::apply(program, policy, &|op| mode.chip.native_bf16(op)))
}

/// The program's results in a mode, rewritten as the mode's policy says.
pub fn evaluate(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, SubjectError> {
    Ok(machine::evaluate(&compiled(program, mode)?, mode, arguments)?)
}

/// The declared results: every operation rounded to its dtype.
pub fn evaluate_declared(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, SubjectError> {
    Ok(machine::evaluate(program, mode, arguments)?)
}
