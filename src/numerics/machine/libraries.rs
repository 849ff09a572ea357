//! Operations that a compiler leaves to libraries.

use crate::ir::{Fusion, Instruction, LibraryFunction, Shape};
use crate::tensor::DType;

use super::chip::Library;
use super::evaluate::Machine;
use super::value::Value;
use super::{ducc, openblas};

impl Machine<'_> {
    /// Whether a library computes this, where a fusion has a kind of its own.
    pub fn library_computes(&self, instruction: &Instruction) -> bool {
        let f32s = instruction.shape.dtype() == Some(DType::F32);
        f32s && matches!(instruction.fusion, Some(Fusion::Custom { .. }))
            && self.mode.chip.library == Some(Library::Ynnpack)
    }

    /// The library function that computes an instruction, if the machine has the library and the mode leaves sums as
    /// they are.
    pub fn library_function<'i>(&self, instruction: &'i Instruction) -> Option<&'i LibraryFunction> {
        let choices = &self.mode.choices;
        let own = self.mode.chip.library.is_some() && choices.acc == self.mode.chip.accumulation;
        instruction.library.as_deref().filter(|function| match function {
            LibraryFunction::Cholesky | LibraryFunction::TriangularSystem(_) | LibraryFunction::Decomposition(_) => own,
            _ => own,
        })
    }
}

/// Results of the library function that replaces a call.
///
/// # Panics
/// If the function stands beside another instruction than a call.
pub fn call(function: &LibraryFunction, operands: Vec<Value>, shapes: &[&Shape]) -> Value {
    match (function, &operands[..]) {
        (LibraryFunction::Fft(fft), _) => ducc::fft(fft, operands),
        (LibraryFunction::Cholesky, [matrices]) => openblas::cholesky(matrices, shapes[0]),
        (LibraryFunction::TriangularSystem(system), [matrices, sides]) => {
            openblas::solve(system, matrices, sides, shapes[0])
        }
        (LibraryFunction::Decomposition(function), _) => openblas::decompose(*function, &operands, shapes),
        _ => unreachable!("calls have the functions of calls, with as many operands"),
    }
}
