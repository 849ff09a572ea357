//! Frobenius norm of the error relative to that of the truth.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct RelativeFrobenius;

impl Metric for RelativeFrobenius {
    fn name(&self) -> &'static str {
        "relative_frobenius"
    }

    fn unit(&self) -> Unit {
        Unit::One
    }

    fn doc(&self) -> &'static str {
        "sqrt(sum (y - t)^2 / sum t^2)."
    }

    fn reduction(&self) -> Reduction {
        Reduction::RootMean
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(
            sample,
            &mut |term| {
                let truth = sample.truth[term.index - sample.first_index];
                put(Term { weight: if truth.is_finite() { truth * truth } else { 0.0 }, ..term });
            },
            |got, truth, _| {
                let error = absolute_error(sample.format, got, truth);
                error * error
            },
        );
    }
}
