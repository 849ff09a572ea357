//! Reduction of terms to one number.

use super::exact_sum::ExactSum;
use super::{Metric, Sample};

/// Contribution of one element or row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Flat index of the element, or of the row's first element, in the whole output.
    pub index: usize,
    /// At least 0; infinity if no finite number is right.
    pub value: f64,
    /// The weight in means, 1 unless the metric says otherwise: means divide by the sum of weights.
    pub weight: f64,
}

/// Reduction of terms to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The largest value.
    Max,
    /// sum value
    Sum,
    /// sum value / sum weight
    Mean,
    /// sqrt(sum value)
    RootSum,
    /// sqrt(sum value / sum weight)
    RootMean,
    /// The smallest value that at least this percentage of the terms do not exceed: the term of rank
    /// ceil(percent / 100 * terms) in ascending order (Hyndman and Fan 1996, definition 1). Keeps all values.
    Percentile(u8),
}

/// The largest term, with its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The term's value.
    pub value: f64,
    /// Flat index of its element, or of its row's first one.
    pub index: usize,
}

/// State of one metric over the part of an output seen so far.
#[derive(Clone)]
pub struct Accumulator {
    metric: &'static dyn Metric,
    worst: Option<Worst>,
    sum: ExactSum,
    weight: ExactSum,
    values: Vec<f64>,
}

impl Accumulator {
    /// Nothing seen yet.
    pub fn new(metric: &'static dyn Metric) -> Accumulator {
        let (sum, weight) = (ExactSum::default(), ExactSum::default());
        Accumulator { metric, worst: None, sum, weight, values: Vec::new() }
    }

    /// The metric it is for.
    pub fn metric(&self) -> &'static dyn Metric {
        self.metric
    }

    /// Takes in one tile.
    pub fn add(&mut self, sample: &Sample) {
        let metric = self.metric;
        let reduction = metric.reduction();
        metric.terms(sample, &mut |term| {
            // A NaN can only come of an undefined comparison; it must not hide behind a smaller term.
            let value = if term.value.is_nan() { f64::INFINITY } else { term.value };
            self.note(Worst { value, index: term.index });
            match reduction {
                Reduction::Max => {}
                Reduction::Sum | Reduction::RootSum => self.sum.add(value),
                Reduction::Mean | Reduction::RootMean => {
                    self.sum.add(value);
                    self.weight.add(term.weight);
                }
                Reduction::Percentile(_) => self.values.push(value),
            }
        });
    }

    /// Adds the state of another accumulator of the same metric over the same output.
    pub fn merge(&mut self, other: Accumulator) {
        debug_assert_eq!(self.metric.name(), other.metric.name());
        other.worst.into_iter().for_each(|worst| self.note(worst));
        self.sum.merge(&other.sum);
        self.weight.merge(&other.weight);
        self.values.extend(other.values);
    }

    /// The metric of all that was seen; `None` if there was no term.
    pub fn value(&self) -> Option<f64> {
        let worst = self.worst?;
        let sum = self.sum.value();
        let mean = || if sum == 0.0 { 0.0 } else { sum / self.weight.value() };
        Some(match self.metric.reduction() {
            Reduction::Max => worst.value,
            Reduction::Sum => sum,
            Reduction::Mean => mean(),
            Reduction::RootSum => sum.sqrt(),
            Reduction::RootMean => mean().sqrt(),
            Reduction::Percentile(percent) => {
                let mut values = self.values.clone();
                let rank = (values.len() as u128 * u128::from(percent)).div_ceil(100).max(1) as usize;
                *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
            }
        })
    }

    /// The largest term, as the metric hands it in (a squared error squared); the one of the lowest index if several are.
    pub fn worst(&self) -> Option<Worst> {
        self.worst
    }

    fn note(&mut self, term: Worst) {
        let replaces =
            |worst: &Worst| term.value > worst.value || term.value == worst.value && term.index < worst.index;
        if self.worst.as_ref().is_none_or(replaces) {
            self.worst = Some(term);
        }
    }
}
