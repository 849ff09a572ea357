//! Criteria by which results are accepted, with their power: a two-sided test of errors in standard deviations of honest ones.
//!
//! A proven bound holds for the worst roundings, and is some hundred times what honest results err by: faults hide beneath it. Here
//! the *honest error* of a declared arithmetic ([`DotArithmetic`]) is foreseen from the exact partial sums of each output
//! ([`Honest::of_dots`]), or taken from honest runs ([`Honest::of_errors`]). A [`Criterion`] compares observed errors with it, output by
//! output and over all, at a stated rate of false alarms, and says how small a fault it tells apart ([`Detectable`]).
//!
//! The idea of a bound from the actual partial sums: I. C. F. Ipsen, H. Zhou, Probabilistic error analysis for inner products, SIAM
//! J. Matrix Anal. Appl. 41(4), 2020. Nothing here is proven: roundings are taken for independent and uniform, which
//! the ignored test `ten_thousand_honest_runs_a_mode` compares with the emulated machine's.

mod decide;
mod detectable;
mod dot_arithmetic;
mod dot_outputs;
mod drawn_trial;
mod honest;
mod named_rule;
mod order_of_additions;
mod partial_sum;
mod statistics;
mod tolerance;
mod tolerance_question;

pub use decide::{Criterion, CriterionError, Decision, Reason, Standing};
pub use detectable::Detectable;
pub use dot_arithmetic::{DotArithmetic, DotError};
pub use dot_outputs::{Dots, DotsError};
pub use drawn_trial::{HonestProgram, Reference, TrialError};
pub use honest::{Honest, Latitude};
pub use named_rule::{DotResults, NamedRule};
pub use order_of_additions::AdditionOrder;
pub use statistics::{Observation, ProductError, Statistics, z_scores};
pub use tolerance::{FaultyRun, Tolerance, ToleranceReport, ToleranceTrial, ToleranceVerdict};
pub use tolerance_question::{AnswerOfRuns, HonestRuns, QuestionError, ToleranceAnswer, ToleranceQuestion};

#[cfg(test)]
mod tests;
