//! Error in ulps that 99 elements in a hundred do not exceed.

use super::element::{each, ulp_error};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct P99Ulp;

impl Metric for P99Ulp {
    fn name(&self) -> &'static str {
        "p99_ulp"
    }

    fn unit(&self) -> Unit {
        Unit::Ulp
    }

    fn doc(&self) -> &'static str {
        "the smallest e such that at least 99 % of the elements have |y - t| / ulp(t) <= e: the element of \
         rank ceil(0.99 n); ulp as in max_ulp. Keeps eight bytes an element."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Percentile(99)
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| ulp_error(sample.format, got, truth));
    }
}
