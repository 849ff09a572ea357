//! Functions in code that XLA:CPU generates or leaves to a library, in the place of its usual ones.

use std::sync::Arc;

use crate::ir::Unary;
use crate::machine::{Coded, FunctionCode};

use super::{polynomials, ynnpack_exponential};

/// The code of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodedFunction {
    /// YNNPACK's exponential.
    LibraryExponential,
    /// A function of a constant that LLVM has folded. In a loop that is unrolled before it is vectorized, the function is still a
    /// call, and LLVM asks its C library. Afterwards it is a polynomial, each operation of which is rounded.
    Folded {
        /// Whether it is the C library's, the nearest value.
        nearest: bool,
    },
}

impl CodedFunction {
    /// The code as the machine runs it.
    pub fn into_code(self) -> Coded<dyn FunctionCode> {
        Coded::new(Arc::new(self))
    }
}

impl FunctionCode for CodedFunction {
    fn apply(&self, unary: Unary, values: &mut [f32], flush: bool) -> bool {
        let mut each = |function: &dyn Fn(f32) -> f32| values.iter_mut().for_each(|v| *v = function(*v));
        match (*self, unary) {
            (CodedFunction::LibraryExponential, _) => ynnpack_exponential::library_exponential(values, flush),
            (CodedFunction::Folded { nearest: true }, Unary::Exponential) => {
                each(&|x| core_math::exp(f64::from(x)) as f32);
            }
            (CodedFunction::Folded { nearest: false }, Unary::Exponential) => each(&polynomials::folded_exponential),
            (CodedFunction::Folded { .. }, Unary::Log) => each(&|x| core_math::log(f64::from(x)) as f32),
            (CodedFunction::Folded { .. }, Unary::Sine) => each(&|x| core_math::sin(f64::from(x)) as f32),
            (CodedFunction::Folded { .. }, Unary::Cosine) => each(&|x| core_math::cos(f64::from(x)) as f32),
            (CodedFunction::Folded { .. }, _) => return false,
        }
        true
    }
}
