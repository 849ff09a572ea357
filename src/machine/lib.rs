//! Evaluates a program the way a TPU would, in one precision mode.
//!
//! An [`Arithmetic`] is a [`Chip`], a matmul precision, an excess policy, and [`Choices`] where a chip's arithmetic is not
//! public or may be varied. [`evaluate()`] runs a program in it: dots on the matrix unit ([`mxu`]), functions of floats
//! and sums on the vector unit ([`vector`]), ranks by [`select`], integers by `integer`, and operations with regions by
//! `region`. What results may err by is said beside the code that computes them (`promise`, `sum`), for those who
//! bound it.

#![deny(missing_docs)]

mod accuracy;
mod addend;
mod alike;
mod arrange;
mod backend;
mod blocks;
mod chip;
mod code_note;
mod coded;
mod contract;
mod divisor;
mod dot_unit;
mod element_operations;
mod elements;
mod eval_error;
mod evaluate;
mod function_code;
mod in_f64;
mod integer;
mod local_error;
mod mode;
mod multiply_reduce;
pub mod mxu;
mod named;
mod number;
mod operand;
#[cfg(test)]
mod planning_chip;
mod prepared;
pub mod probe;
mod products;
mod promise;
mod rank;
mod reduce;
mod refinement;
mod replay;
mod room;
mod scalar;
pub mod scaled_dot;
pub mod select;
mod sum;
mod sum_code;
mod summation;
mod symbolic;
mod tiles;
mod value;
pub mod vector;
mod vector_dots;
mod walk;
mod weighted;

use ulpgate_ir::{analysis, budget, deadline, ir, name, num, rewrite, scaled, tensor};

pub use accuracy::{PACKED, accuracy_in_words, function_code};
pub use addend::{Addend, NOTHING, row_sums};
pub use alike::compute_alike;
pub use backend::{Backend, Code, DotKernel, Kernel, Ties, UnstableSort, operand_bit};
pub use chip::{CHIPS, CPU, Chip, TPU7X, V2, V3, V4, V5E, V5P, V6E};
pub use code_note::{CodeNote, CodedOrder};
pub use coded::{CodeKey, Coded};
pub use divisor::divides_by_one_number;
pub use dot_unit::{DotClass, DotSite, DotUnit, is_on_vector_unit, releases_of_dot_units};
pub use elements::Elements;
pub use eval_error::EvalError;
pub use evaluate::evaluate;
pub use function_code::{CodedColumns, FoldedColumns, FunctionCode};
pub use integer::conversion_steps;
pub use local_error::{LocalError, LocalErrors};
pub use mode::{Arithmetic, ChipRows, LeftOut, ModeError, ModeFault, ModePart, PRECISIONS, PrecisionRow};
pub use named::{Name, Named};
pub use number::Scalar;
pub use prepared::{Bound, Held, Prepared};
pub use products::Products;
pub use refinement::{Choices, REFINEMENTS, RefinementRow};
pub use replay::Replay;
pub use sum::{RowSum, SumPromise};
pub use sum_code::{SumCode, SumCodes, SumTerms, SummedRows, Terms};
pub use summation::{SumPlan, Summation, Way};
pub use symbolic::{Grounds, Naming, Permits, Sketch, Symbol, Traced};
pub use value::Value;
pub use vector_dots::VectorDots;
pub use walk::Place;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
