//! Libraries of functions that compute in their own way, bit for bit, in the place of a unit whose results are correctly rounded or
//! err within a bound.

use crate::ir::{Binary, Unary};
use crate::tensor::DType;

use super::Estimate;
use crate::named::Name;

/// Functions of f32, with a name in modes, as in `exp=NAME`. Other floats but f64 are computed in f32 and rounded.
pub trait FunctionLibrary: Name + Sync {
    /// A description, for listings.
    fn doc(&self) -> &'static str;

    /// Computes a function of each value in place; false, and nothing done, for one that is correctly rounded.
    fn unary(&self, unary: Unary, values: &mut [f32], estimate: Estimate) -> bool;

    /// The same for a function of a narrow type whose steps are rounded to it; false, and nothing done, for any other.
    fn unary_in_steps(&self, unary: Unary, dtype: DType, values: &mut [f32], estimate: Estimate) -> bool;

    /// A function of two operands, flushed as it flushes; `None` for one that is correctly rounded.
    fn binary(&self, binary: Binary) -> Option<fn(f32, f32) -> f32>;

    /// Whether it takes and gives subnormals on a unit that flushes them.
    fn keeps_subnormals(&self, unary: Unary) -> bool;

    /// The choices beside the function that decide its bits.
    fn steps(&self, unary: Unary, dtype: DType) -> FunctionSteps;

    /// The bound of a function's error; `None` where nothing is promised.
    fn promise(&self, unary: Unary) -> Option<FunctionPromise>;
}

/// The bound of the error of a function's result before it is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionPromise {
    /// In units of the exact value.
    pub relative: f64,
    /// Results below this magnitude may become zero.
    pub floor: f64,
}

/// The choices beside a library's function that decide its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionSteps {
    /// None.
    Plain,
    /// The processor's estimate, which it refines.
    OfEstimate,
    /// The type, to which each step is rounded.
    Rounded,
}
