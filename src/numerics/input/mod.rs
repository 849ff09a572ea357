//! Input distributions. One file each; [`INPUTS`] lists them.
//!
//! A distribution fills rows with real numbers from a stream of random bits; [`generate`] gives each row its own stream
//! and rounds each number once, to the dtype of the argument. The bits depend on suite, input, n, seed, argument and row
//! alone: never on the mode or the program, on which rows are asked for, or on the machine.

mod argument;
mod binding;
mod clustered;
mod error;
mod fixture;
mod generate;
mod heavy_tail;
mod ill_conditioned;
mod logits;
mod near_tie;
mod normal;
mod parameter;
mod planted;
mod positive;
mod ramp;
mod random;
mod spec;
mod stream;
mod ties;
mod uniform;
mod wide_exponent;

pub use argument::{Argument, Row};
pub use binding::{Binding, EARLIER, Inputs, Weights};
pub use error::{InputError, Unfit};
pub use generate::generate;
pub use parameter::{COMMON, ParameterDoc};
pub use random::Sampler;
pub use spec::InputSpec;
pub use stream::{InputKey, Streams};

/// A distribution of the arguments of a program.
pub trait Input: Sync {
    /// The name in suites and case ids.
    fn name(&self) -> &'static str;
    /// The values, as a formula over one row x_i, and its source. Values are pure numbers.
    fn doc(&self) -> &'static str;
    /// The parameters that a spec may set, sorted by name; [`COMMON`] parameters come on top.
    fn parameters(&self) -> &'static [ParameterDoc];
    /// Whether these arguments can be filled with these parameters; the error says what does not fit.
    fn check(&self, _spec: &InputSpec, _arguments: &[Argument]) -> Result<(), Unfit> {
        Ok(())
    }
    /// Fills elements of one row of a floating-point argument: as many as its last dim, or one of a scalar. An argument
    /// of rank 3 or more is filled so several times a row, in order, from one sampler. The values need not belong to
    /// the argument's dtype.
    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]);
}

/// All distributions, sorted by name.
pub static INPUTS: &[&dyn Input] = &[
    &clustered::Clustered,
    &fixture::SUBNORMAL,
    &fixture::TIED_SECOND,
    &fixture::TWO_MAXIMA,
    &fixture::ZEROS,
    &heavy_tail::HeavyTail,
    &ill_conditioned::IllConditioned,
    &logits::Logits,
    &near_tie::NearTie,
    &normal::Normal,
    &planted::INF,
    &planted::NAN,
    &planted::NEG_INF,
    &planted::NEG_NAN,
    &planted::NEG_ZERO,
    &planted::SUBNORMAL,
    &positive::Positive,
    &ramp::Ramp,
    &ties::Ties,
    &uniform::Uniform,
    &wide_exponent::WideExponent,
];

/// The distribution with this name; the error suggests the nearest one.
pub fn find_input(name: &str) -> Result<&'static dyn Input, InputError> {
    INPUTS.iter().copied().find(|input| input.name() == name).ok_or_else(|| {
        let hint = crate::name::hint(name, INPUTS.iter().map(|input| input.name()));
        InputError::UnknownInput { name: name.to_string(), hint }
    })
}

#[cfg(test)]
mod tests;
