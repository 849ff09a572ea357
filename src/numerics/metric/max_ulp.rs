//! The worst element in ulps.

use super::element::{each, ulp_error};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct MaxUlp;

impl Metric for MaxUlp {
    fn name(&self) -> &'static str {
        "max_ulp"
    }

    fn unit(&self) -> Unit {
        Unit::Ulp
    }

    fn doc(&self) -> &'static str {
        "max |y - t| / ulp(t), ulp(t) = 2^(max(floor(log2 |t|), emin) - fraction bits) of the output's dtype \
         at the unrounded truth. A finite value against one that is not: infinite; equal specials, and NaN \
         against NaN: 0."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each(sample, put, |got, truth, _| ulp_error(sample.format, got, truth));
    }
}
