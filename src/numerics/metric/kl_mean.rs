//! Mean distance of the distributions of rows from their truth.

use super::row::each_row;
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct KlMean;

impl Metric for KlMean {
    fn name(&self) -> &'static str {
        "kl_mean"
    }

    fn unit(&self) -> Unit {
        Unit::Nat
    }

    fn doc(&self) -> &'static str {
        "mean over rows of KL(p || q) = sum p ln(p / q), p the truth and q the output, each divided by its \
         sum. Infinite where q is 0 and p is not in any row."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Mean
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each_row(sample, put, |row| row.kl());
    }
}
