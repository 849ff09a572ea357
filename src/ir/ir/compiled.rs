//! Records of a compiled file: the code that its compiler made of an instruction.

use std::sync::Arc;

use super::library_function::LibraryFunction;
use super::tiling::Tiling;

/// A compiler's record of one instruction. The import of a file writes it; a program as written has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// The fusion that computes it.
    pub fusion: Option<Fusion>,
    /// Its tiling, if it is a matmul.
    pub tiling: Option<Arc<Tiling>>,
    /// Whether it is a dot that a TPU's compiler has left one: such a dot is on the matrix unit, whatever its shape (FACTS 2.3).
    pub on_matrix_unit: bool,
    /// The library function that is computed in its place, on a machine that has the library.
    pub library: Option<Arc<LibraryFunction>>,
    /// Whether it is a part of what a quotient or a function of complex numbers gives: compilers have several formulas of these, and
    /// rewrite them as wholes (FACTS 9.1).
    pub of_complex_function: bool,
    /// Whether a TPU's compiler emits it packed, two elements of bf16 in a lane, by code of another result (FACTS 3.3): an
    /// exponential, a quotient or a square root.
    pub packed: bool,
    /// The dim along which elements lie side by side, where the file says that it is another than the last one.
    pub minor: Option<usize>,
}

/// The fusion that an instruction was compiled into; each has a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fusion {
    /// One that the compiler makes code for: its values meet in registers.
    Compiled(usize),
    /// One that is compiled along with the small loop around it, as one function.
    SmallCall(usize),
    /// One with a way of its own (`kind=kCustom`): the compiler leaves it to a library.
    Custom {
        /// The fusion's.
        number: usize,
        /// Whether the library rounds where conversions say so: in a file that was compiled without excess precision.
        rounds: bool,
    },
    /// No fusion of a file: the instruction has a mark ([`super::Mark::parts`]), and shares registers with no value but those of
    /// the same number.
    Apart(usize),
}

impl Fusion {
    /// Whether the compiler makes code for it.
    pub fn is_compiled(self) -> bool {
        matches!(self, Fusion::Compiled(_) | Fusion::SmallCall(_))
    }

    /// Whether it is left to a library.
    pub fn is_library(self) -> bool {
        matches!(self, Fusion::Custom { .. })
    }
}
