//! The smallest faults that a criterion tells from honest results.

use std::fmt;

use crate::num::Format;

use super::decide::{Criterion, CriterionError};
use super::dot_arithmetic::DotArithmetic;
use super::dot_outputs::Dots;
use super::honest::Honest;

/// The 0.99 quantile of the normal distribution: a fault is told apart with this power.
const POWER_QUANTILE: f64 = 2.326_347_874;

/// The smallest faults that are told apart with probability 0.99 for a given input, arithmetic and number of outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Detectable {
    /// Outputs that are judged.
    pub outputs: usize,
    /// The least |factor - 1| of a factor on all outputs; `None` where not even doubling is.
    pub scale: Option<f64>,
    /// The fewest products of typical size that are missing from every output; `None` where half of K may be, or outputs are no dots.
    pub dropped: Option<usize>,
    /// Other arithmetics, in words, each with whether it is told apart.
    pub others: Vec<(String, bool)>,
}

impl fmt::Display for Detectable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scale {
            Some(scale) => write!(f, "over {} outputs a factor shows from 1 + {scale:.1e} on", self.outputs)?,
            None => write!(f, "over {} outputs a factor is not distinguishable", self.outputs)?,
        }
        match self.dropped {
            Some(1) => write!(f, "; so does one missing product of K")?,
            Some(count) => write!(f, "; {count} missing products of K show")?,
            None => write!(f, "; missing products of K are not distinguishable")?,
        }
        for (name, is_told_apart) in &self.others {
            let shows = if *is_told_apart { " shows" } else { ": not distinguishable" };
            write!(f, "; {name}{shows}")?;
        }
        Ok(())
    }
}

impl Criterion {
    /// The smallest faults that are told apart in outputs with these truths. `others` are arithmetics that results might have
    /// instead, such as fewer passes.
    ///
    /// # Errors
    /// If the lists are not as long as each other, or the false-alarm rate is not between 0 and 1.
    pub fn minimum_detectable(
        &self,
        honest: &Honest,
        truth: &[f64],
        format: &Format,
        dots: Option<&Dots>,
        others: &[DotArithmetic],
    ) -> Result<Detectable, CriterionError> {
        let of_dots = dots.map_or(truth.len(), |dots| dots.outputs().len());
        if truth.len() != honest.known.len() || truth.len() != of_dots {
            return Err(CriterionError::Lengths { computed: of_dots, truth: truth.len(), honest: honest.known.len() });
        }
        let places: Vec<usize> =
            (0..truth.len()).filter(|at| honest.deviation[*at] > 0.0 && truth[*at].is_finite()).collect();
        let products = dots.map_or(1, Dots::products);
        let limits = self.limits(&honest.latitude, places.len(), products)?;
        let count = places.len() as f64;
        let over = |values: &[f64]| places.iter().map(|at| (values[*at] / honest.deviation[*at]).powi(2)).sum::<f64>();
        let (truths, terms) = (over(truth), over(&honest.magnitude));
        let [low, high] = limits.square;
        let scale = match places.is_empty() {
            // Every change of a bit shows.
            true if truth.iter().any(|t| *t != 0.0) => Some(2.0 * format.unit_roundoff()),
            true => None,
            false => Some((limits.common + POWER_QUANTILE) / truths.sqrt()).filter(|scale| *scale < 1.0),
        };
        let dropped = dots.and_then(|_| {
            let one = terms / products as f64;
            if places.is_empty() || one.sqrt() >= limits.product + POWER_QUANTILE {
                return Some(1);
            }
            // The mean square of the errors grows by that of the products; or all results shrink by a factor.
            let is_seen = |products: usize| {
                let more = products as f64 * one;
                more >= count * (high - 1.0) + POWER_QUANTILE * (2.0 * count + 4.0 * more).sqrt()
            };
            let by_square = (1..=products / 2).find(|m| m.is_power_of_two() && is_seen(*m)).map(|end| {
                let first = (end / 2 + 1..=end).collect::<Vec<usize>>();
                first.get(first.partition_point(|m| !is_seen(*m))).copied().unwrap_or(end)
            });
            let by_scale = scale.map(|scale| (scale * products as f64).ceil() as usize);
            let fewest = by_square.into_iter().chain(by_scale).min();
            fewest.filter(|fewest| *fewest <= products / 2)
        });
        let of_other = |other: &DotArithmetic| {
            let told = dots.map(|dots| {
                let other = Honest::of_dots(other, dots);
                // The mean and the variance of the square of a normal error about a known one.
                let (mut expected, mut variance) = (0.0, 0.0);
                for at in &places {
                    let own = honest.deviation[*at];
                    let known = ((other.known[*at] - honest.known[*at]) / own).powi(2);
                    let random = (other.deviation[*at] / own).powi(2);
                    expected += (known + random) / count;
                    variance += (2.0 * random * random + 4.0 * known * random) / (count * count);
                }
                let spread = POWER_QUANTILE * variance.sqrt();
                !places.is_empty() && (expected - spread > high || expected + spread < low)
            });
            (other.text(), told.unwrap_or(false))
        };
        let others = others.iter().map(of_other).collect();
        Ok(Detectable { outputs: truth.len(), scale, dropped, others })
    }
}
