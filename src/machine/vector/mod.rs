//! The vector unit: elementwise operations, sums and running sums, in f32 (or f64 for f64 values).
//!
//! [`VectorUnit`] holds what modes differ in. Functions are correctly rounded (`elementwise`, `rounded_function`), as
//! XLA:CPU has them (`xla`, `half`, `glibc`, `library`; `release` says which release of it), or off within their bounds
//! (`error_model`): those that the TPU compiler states (`stated`), used up or not (`seeded`). Sums have an order (`sum_order`),
//! whose additions are rounded (`step`); `rounding` narrows results, and `promise` says what they may err by.

mod arrays;
mod elementwise;
mod error_model;
mod eup;
mod f64_function;
mod fdlibm;
mod glibc;
mod glibc_power;
mod half;
mod library;
mod promise;
mod rounded_function;
mod rounding;
mod rsqrt_estimate;
mod seeded;
mod simd;
mod stated;
mod step;
mod sum_order;
mod xla;

pub(super) use arrays::{Side, in_chunks, in_rows, over_rows};
pub(super) use elementwise::{binary, binary_f64, binary_scalar, compare, compare_f64, extreme, unary, unary_f64};
pub use error_model::ErrorModel;
pub use eup::Eup;
pub(super) use library::library_exponential;
pub use promise::{FunctionPromise, Reciprocal, arithmetic_type};
pub use rounding::reduced_format;
pub(super) use rounding::{reduce_precision, reduce_precision_code, round_to};
pub use rsqrt_estimate::Estimate;
pub(super) use simd::prefetch;
pub use stated::Implementation;
pub(super) use stated::{choose, has_two};
pub use step::StepRounding;
pub use sum_order::{ScanOrder, SumOrder};
pub(super) use sum_order::{TREE, Weighted, column_sums, running_sums, sum, sums};
pub(super) use xla::folded_exponential;

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
    /// The errors of functions and quotients.
    pub error: ErrorModel,
    /// The processor's estimate that XLA:CPU's rsqrt refines.
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
    /// IEEE 754-2019: +0 is the larger, -0 the smaller. XLA:CPU does so, whichever operand comes first (FACTS 3.3).
    Ieee,
}
