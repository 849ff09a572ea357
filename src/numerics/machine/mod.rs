//! Evaluates a program the way a TPU would, in one precision mode.
//!
//! A [`Mode`] is a [`Chip`], a matmul precision, an excess policy, and [`Choices`] where a chip's arithmetic is not
//! public or may be varied. [`evaluate()`] runs a program in it: dots on the matrix unit ([`mxu`]), functions of floats
//! and sums on the vector unit ([`vector`]), what ranks by [`select`], integers by `integer`, and what calls regions by
//! `region`. What results may err by is said beside the code that computes them (`promise`, `sum`), for those who
//! bound it.

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
mod number;
mod operand;
mod prepared;
#[cfg(test)]
pub(crate) mod probe;
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

pub use accuracy::implementations;
pub(crate) use addend::{Addend, NOTHING, row_sums};
pub use alike::compute_alike;
pub(crate) use backend::{Backend, Code, DotKernel, Kernel, Ties, Unstable, UnstableSort, operand_bit};
pub(crate) use chip::CPU;
pub use chip::{CHIPS, Chip, find_chip};
pub use code_note::{CodeNote, CodedOrder};
pub(crate) use coded::Coded;
pub(crate) use divisor::divides_by_one_number;
pub use dot_unit::{DotClass, DotSite, DotUnit, is_on_vector_unit};
pub use eval_error::EvalError;
pub use evaluate::evaluate;
pub(crate) use function_code::{CodedColumns, FoldedColumns, FunctionCode};
pub(crate) use integer::conversion_steps;
pub use local_error::{LocalError, LocalErrors};
pub use mode::{Mode, ModeError, ModeFault, ModePart, PRECISIONS, PrecisionRow};
pub use prepared::{Bound, Held, Prepared};
pub use refinement::{Choices, REFINEMENTS, RefinementRow};
pub use replay::Replay;
pub(crate) use sum::SumPromise;
pub(crate) use sum_code::{SumCode, SumCodes, SumTerms, SummedRows, Terms};
#[cfg(test)]
pub(crate) use summation::Summation;
pub use symbolic::{Grounds, Naming, Permits, Sketch, Symbol, Traced};
pub(crate) use value::Value;
pub use vector_dots::VectorDots;
pub use walk::Place;
