//! The largest change of the probability of any event.

use super::row::each_row;
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct TotalVariation;

impl Metric for TotalVariation {
    fn name(&self) -> &'static str {
        "total_variation"
    }

    fn unit(&self) -> Unit {
        Unit::One
    }

    fn doc(&self) -> &'static str {
        "max over rows of (1/2) sum |q - p|, p the truth and q the output, each divided by its sum."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each_row(sample, put, |row| row.total_variation());
    }
}
