//! Root of the mean squared error.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct Rms;

impl Metric for Rms {
    fn name(&self) -> &'static str {
        "rms"
    }

    fn unit(&self) -> Unit {
        Unit::Output
    }

    fn doc(&self) -> &'static str {
        "sqrt(mean of (y - t)^2)."
    }

    fn reduction(&self) -> Reduction {
        Reduction::RootMean
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| {
            let error = absolute_error(sample.format, got, truth);
            error * error
        });
    }
}
