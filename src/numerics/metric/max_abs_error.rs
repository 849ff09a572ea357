//! The largest error in the output's own unit.

use super::element::{absolute_error, each};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct MaxAbsError;

impl Metric for MaxAbsError {
    fn name(&self) -> &'static str {
        "max_abs_error"
    }

    fn unit(&self) -> Unit {
        Unit::Output
    }

    fn doc(&self) -> &'static str {
        "max |y - t|, the largest error in the output's own unit."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| absolute_error(sample.format, got, truth));
    }
}
