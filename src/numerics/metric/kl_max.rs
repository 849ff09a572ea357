//! The row whose distribution moved most.

use super::row::each_row;
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct KlMax;

impl Metric for KlMax {
    fn name(&self) -> &'static str {
        "kl_max"
    }

    fn unit(&self) -> Unit {
        Unit::Nat
    }

    fn doc(&self) -> &'static str {
        "max over rows of KL(p || q) = sum p ln(p / q), p the truth and q the output, each divided by its \
         sum. Infinite where q is 0 and p is not."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each_row(sample, put, |row| row.kl());
    }
}
