//! Distances between what a program computed and the truth. One file each; [`METRICS`] lists them.
//!
//! A metric turns elements or rows into [`Term`]s and names the [`Reduction`] that makes one number of them. Terms are
//! gathered tile by tile in an [`Accumulator`]. Sums are exact until they are rounded once at the end, and ties for the
//! worst term go to the lowest index, so the result depends neither on the tiling nor on the order of merging.

mod accumulator;
mod componentwise;
mod difference;
mod element;
mod exact_sum;
mod frobenius;
mod kl_max;
mod kl_mean;
mod max_abs_error;
mod max_ulp;
mod mean_square;
mod mean_ulp;
mod p99_ulp;
mod prob_sum_error;
mod relative_frobenius;
mod rms;
mod rms_componentwise;
mod row;
mod total_abs_error;
mod total_variation;

pub use accumulator::{Accumulator, Reduction, Term, Worst};
pub use difference::{Largest, relative_rms};
pub use element::{absolute_error, ulp_error};
pub use exact_sum::ExactSum;

use serde::{Deserialize, Serialize};

use crate::num::Format;

/// Consecutive elements of one output, beside their truth. The slices are as long as each other.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The computed values; every one belongs to `format`.
    pub got: &'a [f64],
    /// The real values, rounded to nearest f64 and no further.
    pub truth: &'a [f64],
    /// The format of the output's dtype.
    pub format: &'static Format,
    /// Elements of a row, the last dim. Metrics of rows need whole rows: a multiple of this.
    pub row_len: usize,
    /// Flat index in the whole output of the first element here.
    pub first_index: usize,
    /// `sum |a| |b|` of each element, where it is a dot product.
    pub scale: Option<&'a [f64]>,
}

/// The direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum Unit {
    /// A pure number: a ratio, a share, a count of standard errors.
    #[serde(rename = "1")]
    One,
    /// Units in the last place of the result's type, at the truth.
    #[serde(rename = "ulp")]
    Ulp,
    /// Natural units of information: KL divergences by natural logarithms.
    #[serde(rename = "nat")]
    Nat,
    /// The result's own unit.
    #[serde(rename = "output")]
    Output,
    /// The square of the result's own unit.
    #[serde(rename = "output^2")]
    OutputSquared,
    /// Elements of a result.
    #[serde(rename = "elements")]
    Elements,
    /// Rows of a result: one for each index of its leading dim.
    #[serde(rename = "rows")]
    Rows,
    /// Token ids, over all rows.
    #[serde(rename = "tokens")]
    Tokens,
    /// Bins of an approximate top-k, in one row.
    #[serde(rename = "bins")]
    Bins,
}

impl Unit {
    /// The name in listings and records.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::One => "1",
            Unit::Ulp => "ulp",
            Unit::Nat => "nat",
            Unit::Output => "output",
            Unit::OutputSquared => "output^2",
            Unit::Elements => "elements",
            Unit::Rows => "rows",
            Unit::Tokens => "tokens",
            Unit::Bins => "bins",
        }
    }
}

/// A distance of results from their truth. Registered in [`METRICS`].
pub trait Metric: Sync {
    /// The name in suites and reports.
    fn name(&self) -> &'static str;
    /// The unit of its value.
    fn unit(&self) -> Unit;
    /// The direction in which it improves: for a distance, downward.
    fn better(&self) -> Better {
        Better::Lower
    }
    /// Its definition, as a formula in t (truth), y (output) and, for rows, p and q (both divided by their sums).
    fn doc(&self) -> &'static str;
    /// The reduction of its terms to one number.
    fn reduction(&self) -> Reduction;
    /// Whether it needs [`Sample::scale`].
    fn needs_scale(&self) -> bool {
        false
    }
    /// Hands one term for each element or row to `put`; none where the sample lacks what the metric needs.
    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term));
}

/// All metrics, sorted by name.
pub static METRICS: &[&dyn Metric] = &[
    &componentwise::Componentwise,
    &frobenius::Frobenius,
    &kl_max::KlMax,
    &kl_mean::KlMean,
    &max_abs_error::MaxAbsError,
    &max_ulp::MaxUlp,
    &mean_square::MeanSquare,
    &mean_ulp::MeanUlp,
    &p99_ulp::P99Ulp,
    &prob_sum_error::ProbSumError,
    &relative_frobenius::RelativeFrobenius,
    &rms::Rms,
    &rms_componentwise::RmsComponentwise,
    &total_abs_error::TotalAbsError,
    &total_variation::TotalVariation,
];

/// The metric with this name.
pub fn find_metric(name: &str) -> Option<&'static dyn Metric> {
    METRICS.iter().copied().find(|metric| metric.name() == name)
}

#[cfg(test)]
mod tests;
