//! Programs: built-in ones, a few lines each that build a list of HLO operations for one size, and those of files.
//!
//! Each built-in program is a file of its own and a row in [`PROGRAMS`]; [`Imported`] is one that a file holds, and
//! [`ProgramSpec`] is either, as a suite names it.

mod affine_greedy;
mod approx_max_k;
mod argmax;
mod attention;
mod cross_entropy;
mod greedy_head;
mod imported;
mod keep_max;
mod matmul;
mod microbatches;
mod mlp;
mod norm;
mod one_nan;
mod parameter;
mod piece;
mod prob_max;
mod psum;
mod router;
mod sampler;
mod scaled_dot;
mod softmax;
mod sort;
mod spec;
mod token_two_ways;
mod top_k;
mod top_p;
mod train;

use crate::ir::{Program, ShapeError};

pub use imported::{Imported, ImportedError, scores_of};
pub use parameter::{ParameterDoc, ParameterError, Parameters};
pub use spec::ProgramSpec;

/// A family of programs, one for each setting of its parameters and each size.
pub trait BuiltIn: Sync {
    /// The name that suites use; the file's stem.
    fn name(&self) -> &'static str;

    /// The function that it computes, in terms of JAX, its arguments and its results.
    fn doc(&self) -> &'static str;

    /// Its parameters with their defaults, beside `rows`, which every program takes.
    fn parameters(&self) -> &'static [ParameterDoc];

    /// The program for size `n` (mapped to shapes as [`BuiltIn::doc`] says) over `rows` rows.
    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError>;

    /// The program whose one float result `[rows, n]` ranks the tokens, over the same arguments; `None` where there are
    /// no tokens. It is evaluated beside the program itself, so that asking for it changes nothing.
    fn scores(&self, _parameters: &Parameters, _n: usize, _rows: usize) -> Result<Option<Program>, BuildError> {
        Ok(None)
    }

    /// The number of rows that are evaluated at a time. It is all of them if a row's results may depend on the batch,
    /// and a few if each row of the results depends on the same row of the first argument alone, in every mode.
    fn batch(&self, n: usize, _rows: usize) -> usize {
        (BATCH_ELEMENTS / n.max(1)).max(1)
    }
}

/// Why a program cannot be built for a size. Completes "failed to build PROGRAM: ".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A parameter has no such value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An operation does not fit its operands.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A size is zero.
    #[error("{what} is 0: every size must be at least 1")]
    ZeroSize {
        /// The size's name: `n`, `rows`, `k`, ...
        what: &'static str,
    },
    /// Elements times scales that bf16 does not hold.
    #[error(
        "order=in_unit takes elements and scales whose products bf16 holds: f8e8m0fnu, or f8e4m3fn without s8, not {elements} and {scales}"
    )]
    ScalesInUnit {
        /// The type of the elements.
        elements: crate::tensor::DType,
        /// The type of the scales.
        scales: crate::tensor::DType,
    },
    /// A top-k of fewer than k values.
    #[error("k = {k} is above the {n} values to take from")]
    TooFewValues {
        /// The number of values to take.
        k: usize,
        /// The number of values to take from.
        n: usize,
    },
    /// A file's program exists for one size only, and another one was asked for.
    #[error("{file} computes over {rows} rows of {n} values at a time, and over nothing else")]
    Fixed {
        /// The file's path.
        file: String,
        /// Its size.
        n: usize,
        /// Rows that it takes at a time.
        rows: usize,
    },
}

/// All built-in programs, by name.
pub static PROGRAMS: &[&dyn BuiltIn] = &[
    &affine_greedy::AffineGreedy,
    &approx_max_k::ApproxMaxK,
    &argmax::Argmax,
    &attention::Attention,
    &cross_entropy::CrossEntropy,
    &greedy_head::GreedyHead,
    &keep_max::KeepMax,
    &matmul::Matmul,
    &microbatches::Microbatches,
    &mlp::Mlp,
    &norm::Norm,
    &one_nan::OneNan,
    &prob_max::ProbMax,
    &psum::Psum,
    &router::Router,
    &sampler::Sampler,
    &scaled_dot::ScaledDot,
    &softmax::Softmax,
    &sort::Sort,
    &token_two_ways::TokenTwoWays,
    &top_k::TopK,
    &top_p::TopP,
    &train::Train,
];

/// The program with this name.
pub fn find_program(name: &str) -> Option<&'static dyn BuiltIn> {
    PROGRAMS.iter().copied().find(|program| program.name() == name)
}

/// Elements of one batch of rows: few enough that a program's values stay close to the processor.
const BATCH_ELEMENTS: usize = 1 << 18;

/// Checks that no size is zero.
fn sized(sizes: &[(&'static str, usize)]) -> Result<(), BuildError> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((what, _)) => Err(BuildError::ZeroSize { what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
