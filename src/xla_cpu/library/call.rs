//! Operations that XLA:CPU leaves to libraries.

use crate::ir::{LibraryFunction, Shape};
use crate::machine::Value;

use super::{ducc, openblas};

/// Results of the library function that replaces a call.
///
/// # Panics
/// If the function belongs to another instruction than a call.
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
