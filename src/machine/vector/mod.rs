//! The vector unit: elementwise operations, sums and running sums, in f32 (or f64 for f64 values).
//!
//! [`VectorUnit`] holds what modes differ in. Functions are correctly rounded (`elementwise`, `rounded_function`), as
//! a library has them (`function_library`), or off within their bounds
//! (`error_model`): those that the TPU compiler states (`stated`) or that were measured (`measured`), used up or not (`seeded`). Sums have an order (`sum_order`),
//! whose additions are rounded (`step`); `rounding` narrows results, and `promise` says what they may err by.

mod arrays;
mod elementwise;
mod error_model;
mod estimate;
mod eup;
mod f64_function;
mod function_library;
mod promise;
mod rounded_function;
mod rounding;
mod seeded;
mod simd;
mod stated;
mod step;
mod sum_order;

pub use arrays::over_rows;
pub(super) use arrays::{Side, in_chunks, in_rows};
pub use elementwise::packed_bf16::packed_errors;
pub(super) use elementwise::{binary, binary_f64, binary_scalar, compare, compare_f64, extreme, unary, unary_f64};
pub use error_model::ErrorModel;
pub use estimate::Estimate;
pub use eup::Eup;
pub use function_library::{FunctionLibrary, FunctionPromise, FunctionSteps};
pub use promise::{Reciprocal, arithmetic_type};
pub use rounding::{narrow_f32, reduced_format, round_to};
pub(super) use rounding::{reduce_precision, reduce_precision_code};
pub(super) use simd::prefetch;
pub use simd::{Loop, run as run_loop};
pub use stated::Implementation;
pub(super) use stated::{choose, has_two};
pub use step::StepRounding;
pub use sum_order::{ScanOrder, SumOrder};
pub(super) use sum_order::{TREE, Weighted, column_sums, running_sums, sum, sums};

/// A vector unit as one mode has it.
#[derive(Clone, Copy, Debug)]
pub struct VectorUnit {
    /// Whether subnormals count as zero on the way into arithmetic and comparisons, and come out as zero (FACTS 3.4).
    pub flush: bool,
    /// The way f32 quotients are computed.
    pub divide: Divide,
    /// The zero that maximum and minimum return for -0 and +0.
    pub zero_tie: ZeroTie,
    /// The generation whose error bounds hold.
    pub eup: Eup,
    /// The implementation of functions that have two ([`VectorUnit::for_accuracy`]).
    pub implementation: Implementation,
    /// Whether an operation in bf16 is one of two in a lane (`packed_bf16`).
    pub packed: bool,
    /// The errors of functions and quotients.
    pub error: ErrorModel,
    /// The processor whose estimate a library's rsqrt refines.
    pub estimate: Estimate,
}

/// The way f32 quotients are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divide {
    /// Correctly rounded.
    Exact,
    /// `x * (1 / y)`, both rounded, both flushed (FACTS 3.3).
    ByReciprocal,
    /// As `ByReciprocal` where the divisor is a broadcast or a constant, because XLA's simplifier divides once before it
    /// broadcasts (FACTS 3.5); correctly rounded elsewhere. Measured on jaxlib 0.10.2: every quotient of either kind.
    /// In bf16 both ways give the same bits: no quotient lies within `2^-17` of a rounding boundary.
    BroadcastByReciprocal,
}

impl Divide {
    /// Whether XLA's simplifier has a product with the reciprocal in the place of a quotient; `by_one_number` says whether its
    /// divisor is a broadcast or a constant.
    pub fn multiplies(self, by_one_number: bool) -> bool {
        match self {
            Divide::Exact | Divide::ByReciprocal => false,
            Divide::BroadcastByReciprocal => by_one_number,
        }
    }
}

/// The zero that maximum and minimum return for -0 and +0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZeroTie {
    /// The second operand (TPU, FACTS 3.3).
    Second,
    /// IEEE 754-2019: +0 is the larger, -0 the smaller, whichever operand comes first (FACTS 3.3).
    Ieee,
}
