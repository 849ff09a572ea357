//! How much of the a-priori bound is used up.

use super::error::{absolute_error, each, relative};
use super::{Metric, Reduction, Sample, Term};

pub(super) struct MaxOverBound;

impl Metric for MaxOverBound {
    fn name(&self) -> &'static str {
        "max_over_bound"
    }

    fn unit(&self) -> &'static str {
        "1"
    }

    fn doc(&self) -> &'static str {
        "max |y - t| / bound; above 1 the bound is broken. Without value where no bound is derived."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        let Some(bound) = sample.bound else { return };
        each(sample, put, |got, truth, i| relative(absolute_error(sample.format, got, truth), bound[i]));
    }
}
