//! The worst error of a dot product relative to what its terms allow.

use super::element::{absolute_error, each, relative};
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct Componentwise;

impl Metric for Componentwise {
    fn name(&self) -> &'static str {
        "componentwise"
    }

    fn unit(&self) -> Unit {
        Unit::One
    }

    fn doc(&self) -> &'static str {
        "max |y - t| / sum |a| |b| over dot products (N. J. Higham, Accuracy and Stability of Numerical \
         Algorithms, 2nd ed., section 3.5). Without value where the output is no dot product."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn needs_scale(&self) -> bool {
        true
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        let Some(scale) = sample.scale else { return };
        each(sample, put, |got, truth, i| relative(absolute_error(sample.format, got, truth), scale[i]));
    }
}
