//! Mean squared error.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct MeanSquare;

impl Metric for MeanSquare {
    fn name(&self) -> &'static str {
        "mean_square"
    }

    fn unit(&self) -> Unit {
        Unit::OutputSquared
    }

    fn doc(&self) -> &'static str {
        "mean of (y - t)^2 over all elements."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Mean
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| {
            let error = absolute_error(sample.format, got, truth);
            error * error
        });
    }
}
