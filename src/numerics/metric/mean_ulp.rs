//! The average element in ulps.

use super::element::{each, ulp_error};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct MeanUlp;

impl Metric for MeanUlp {
    fn name(&self) -> &'static str {
        "mean_ulp"
    }

    fn unit(&self) -> Unit {
        Unit::Ulp
    }

    fn doc(&self) -> &'static str {
        "mean of |y - t| / ulp(t); ulp as in max_ulp."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Mean
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| ulp_error(sample.format, got, truth));
    }
}
