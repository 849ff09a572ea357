//! Frobenius norm of the error.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct Frobenius;

impl Metric for Frobenius {
    fn name(&self) -> &'static str {
        "frobenius"
    }

    fn unit(&self) -> Unit {
        Unit::Output
    }

    fn doc(&self) -> &'static str {
        "sqrt(sum (y - t)^2)."
    }

    fn reduction(&self) -> Reduction {
        Reduction::RootSum
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| {
            let error = absolute_error(sample.format, got, truth);
            error * error
        });
    }
}
