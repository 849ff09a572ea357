//! The typical error of a dot product relative to what its terms allow.

use super::element::{absolute_error, each, relative};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct RmsComponentwise;

impl Metric for RmsComponentwise {
    fn name(&self) -> &'static str {
        "rms_componentwise"
    }

    fn unit(&self) -> Unit {
        Unit::One
    }

    fn doc(&self) -> &'static str {
        "sqrt(mean of (|y - t| / sum |a| |b|)^2) over dot products. Without value where the output is no dot \
         product."
    }

    fn reduction(&self) -> Reduction {
        Reduction::RootMean
    }

    fn needs_scale(&self) -> bool {
        true
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        let Some(scale) = sample.scale else { return };
        each(sample, put, |got, truth, i| {
            let error = relative(absolute_error(sample.format, got, truth), scale[i]);
            error * error
        });
    }
}
