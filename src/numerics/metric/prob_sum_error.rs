//! Distance of the sum of probabilities from one.

use super::exact_sum::ExactSum;
use super::row::each_row;
use super::{Metric, Reduction, Sample, Term, Unit};

pub(super) struct ProbSumError;

impl Metric for ProbSumError {
    fn name(&self) -> &'static str {
        "prob_sum_error"
    }

    fn unit(&self) -> Unit {
        Unit::One
    }

    fn doc(&self) -> &'static str {
        "max over rows of |sum y - 1|, the sum exact."
    }

    fn reduction(&self) -> Reduction {
        Reduction::Max
    }

    fn terms(&self, sample: &Sample, put: &mut dyn FnMut(Term)) {
        each_row(sample, put, |row| {
            let excess: ExactSum = row.got.iter().copied().chain([-1.0]).collect();
            excess.value().abs()
        });
    }
}
