//! Sum of the errors.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct TotalAbsError;

impl Metric for TotalAbsError {
    fn name(&self) -> &'static str {
        "total_abs_error"
    }

    fn unit(&self) -> Unit {
        Unit::Output
    }

    fn doc(&self) -> &'static str {
        "sum of |y - t| over all elements."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Sum
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| absolute_error(sample.format, got, truth));
    }
}
