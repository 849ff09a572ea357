//! The decision whether results are honest, at a stated false-alarm rate.

use std::fmt;

use crate::stat::{deviation_limit, mean_square_limits};

use super::dot_outputs::Dots;
use super::honest::{Honest, Latitude};
use super::statistics::{Observation, ProductError, Statistics, product_errors};

/// A two-sided test of results against honest errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// The probability with which honest results are told outside, at most, for all outputs together.
    pub false_alarm: f64,
}

/// Tests that share the false-alarm rate: the largest error, the mean, the factor, the square above and below, and products of K.
const TESTS: f64 = 6.0;

/// The share of the known errors that results must have for their operands to count as rounded like the declared mode's.
const ALIGNED: f64 = 0.75;

/// The verdict of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The errors are such as the declared arithmetic makes.
    Conforms,
    /// The errors are smaller than the declared arithmetic makes them, and show no fault: a silent upgrade.
    MoreAccurate,
    /// No honest result of the declared arithmetic has such errors.
    Outside,
    /// There is nothing to judge by, or the model of the errors does not hold for this input.
    Unknown,
}

impl Standing {
    /// The name in reports, such as `more accurate`.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Conforms => "conforms",
            Standing::MoreAccurate => "more accurate",
            Standing::Outside => "outside",
            Standing::Unknown => "unknown",
        }
    }

    /// Whether the results may be taken for the declared arithmetic's, or better.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Standing::Conforms | Standing::MoreAccurate)
    }
}

/// One reason for a verdict other than that results conform.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Outputs that no honest result has; the first one, and their number.
    Impossible {
        /// The place of the first among the outputs.
        first: usize,
        /// Their number.
        count: usize,
    },
    /// The largest error is too large.
    Element {
        /// The place among the outputs.
        at: usize,
        /// Its error in standard deviations.
        z: f64,
        /// The largest that is honest.
        limit: f64,
    },
    /// The mean square of all errors is too large.
    TooLarge {
        /// The root of the mean square, in standard deviations.
        ratio: f64,
        /// The largest that is honest.
        limit: f64,
    },
    /// The mean square of all errors is too small.
    TooSmall {
        /// The root of the mean square, in standard deviations.
        ratio: f64,
        /// The least that is honest.
        limit: f64,
    },
    /// Errors have one sign too often.
    Bias {
        /// The mean error in standard deviations of one output.
        mean: f64,
        /// The largest that is honest.
        limit: f64,
    },
    /// Results are their truths times a factor.
    Scale {
        /// The factor.
        factor: f64,
        /// The distance of an honest factor from 1, at most.
        limit: f64,
    },
    /// Products of K are missing from the outputs, or there too often.
    Products {
        /// The one that shows most.
        worst: ProductError,
        /// Their number.
        count: usize,
    },
    /// The declared mode's own results are outside, so that its errors on this input are not random.
    NotRandom(String),
    /// There is no output to judge.
    NoOutputs,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Impossible { first, count } => {
                write!(f, "{count} outputs have a value that no honest result has, the first at {first}")
            }
            Reason::Element { at, z, limit } => {
                write!(f, "output {at} errs by {:.1} standard deviations, at most {limit:.1} are honest", z.abs())
            }
            Reason::TooLarge { ratio, limit } => {
                write!(f, "errors are {ratio:.3} times the honest ones (rms), at most {limit:.3} are honest")
            }
            Reason::TooSmall { ratio, limit } => {
                write!(f, "errors are {ratio:.3} times the honest ones (rms), at least {limit:.3} are honest")
            }
            Reason::Bias { mean, limit } => {
                write!(f, "the mean error is {mean:.3} standard deviations, at most {limit:.3} are honest")
            }
            Reason::Scale { factor, limit } => {
                write!(f, "results are {factor:.9} times their truths, honest ones are within {limit:.1e} of 1")
            }
            Reason::Products { worst, count } => {
                let ProductError { place, times, z } = worst;
                write!(
                    f,
                    "{count} of the products of K are wrong, most of all number {place} ({times:+.2} times too often, {z:.1} standard deviations)"
                )
            }
            Reason::NotRandom(why) => write!(f, "the mode's own errors on this input are not random: {why}"),
            Reason::NoOutputs => write!(f, "there is no output to judge"),
        }
    }
}

/// A verdict with its grounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The verdict.
    pub standing: Standing,
    /// The honest arithmetic that decided, in words.
    pub arithmetic: String,
    /// Whether results round operands otherwise than this arithmetic, so that they were judged by the size of its errors alone.
    pub rounds_otherwise: bool,
    /// The statistics of the errors.
    pub statistics: Statistics,
    /// The rms error over that of honest results: about 1 where results are honest.
    pub error_ratio: f64,
    /// The largest statistic over its limit: above 1 where results are outside.
    pub excess: f64,
    /// Reasons for a verdict other than that results conform.
    pub reasons: Vec<Reason>,
}

/// Why results cannot be put to a criterion.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CriterionError {
    /// The rate is no probability.
    #[error("a false-alarm rate of {0} is none: it lies above 0 and below 1")]
    Rate(f64),
    /// Lists of different lengths.
    #[error(
        "there are {computed} results, {truth} truths and {honest} honest errors: one each for every output is needed"
    )]
    Lengths {
        /// The number of results.
        computed: usize,
        /// The number of truths.
        truth: usize,
        /// The number of honest errors.
        honest: usize,
    },
    /// No arithmetic is given.
    #[error("no honest arithmetic is given")]
    NoArithmetic,
}

/// The limits of a number of outputs.
pub(super) struct Limits {
    pub element: f64,
    pub common: f64,
    pub square: [f64; 2],
    pub product: f64,
}

impl Criterion {
    /// The rate that is used where none is asked for: one honest tensor in a million.
    pub const DEFAULT: Criterion = Criterion { false_alarm: 1e-6 };

    /// A criterion with this false-alarm rate.
    ///
    /// # Errors
    /// If the rate is not above 0 and below 1.
    pub fn new(false_alarm: f64) -> Result<Criterion, CriterionError> {
        match false_alarm > 0.0 && false_alarm < 1.0 {
            true => Ok(Criterion { false_alarm }),
            false => Err(CriterionError::Rate(false_alarm)),
        }
    }

    /// The limits for so many outputs of sums of so many products.
    pub(super) fn limits(
        &self,
        latitude: &Latitude,
        outputs: usize,
        products: usize,
    ) -> Result<Limits, CriterionError> {
        let (rate, count) = (self.false_alarm / TESTS, outputs.max(1) as f64);
        let none = || CriterionError::Rate(self.false_alarm);
        let deviation = |tests: f64| deviation_limit(rate / tests).ok_or_else(none);
        let independent = (count * latitude.independent).max(1.0);
        let [low, high] = mean_square_limits(independent, rate).ok_or_else(none)?;
        let common = latitude.mean * count.sqrt();
        // Errors that depend on each other average out more slowly: their mean is that of fewer of them.
        let widened = 1.0 / latitude.independent.clamp(1.0 / count, 1.0).sqrt();
        Ok(Limits {
            element: deviation(count)? * latitude.tail * (1.0 + latitude.square).sqrt(),
            common: deviation(1.0)? * widened + common,
            square: [low / (1.0 + latitude.square), high * (1.0 + latitude.square)],
            product: deviation(products.max(1) as f64)? * widened + common,
        })
    }

    /// Whether results are such as an honest arithmetic gives. `dots` are the outputs' products, where each is a dot: then
    /// each product is looked for in the errors.
    ///
    /// The errors of operands that are rounded on the way in are known. Results that have three quarters of them are held to
    /// the rest, which is much smaller; others are rounded otherwise, and held to the size of the errors.
    ///
    /// # Errors
    /// If the lists are not as long as each other.
    pub fn decide(
        &self,
        honest: &Honest,
        observed: &Observation,
        dots: Option<&Dots>,
    ) -> Result<Decision, CriterionError> {
        let aligned = self.test(honest, observed, dots)?;
        if aligned.standing != Standing::Outside {
            return Ok(aligned);
        }
        let total = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        let known = total(&honest.known);
        // Where operands are hardly rounded, rounding them otherwise explains nothing.
        if known <= 1e-3 * total(&honest.deviation) {
            return Ok(aligned);
        }
        let errors = observed.computed.iter().zip(observed.truth).zip(&honest.known);
        let finite = errors.filter(|((computed, truth), _)| computed.is_finite() && truth.is_finite());
        // The regression of the errors on the known ones: 1 where operands are rounded like this, 0 where they are not.
        let share = finite.map(|((computed, truth), known)| (computed - truth) * known).sum::<f64>() / known;
        let spread = self.test(&honest.spread(), observed, dots)?;
        match spread.standing {
            Standing::Outside => Ok(aligned),
            // Results that round operands like the mode may not fall back on the wider limits of those that do not.
            Standing::Conforms if share > ALIGNED => Ok(aligned),
            _ => Ok(Decision { rounds_otherwise: true, ..spread }),
        }
    }

    /// The decision by the arithmetics that are permitted, the declared one first: results conform if they do by one of them, or if
    /// they are too accurate for some and not accurate enough for others. `own` are the declared mode's own results: where
    /// these are outside, nothing is known.
    ///
    /// # Errors
    /// If no arithmetic is given, or the lists are not as long as each other.
    pub fn decide_any(
        &self,
        permitted: &[Honest],
        observed: &Observation,
        dots: Option<&Dots>,
        own: Option<&[f64]>,
    ) -> Result<Decision, CriterionError> {
        let mut decisions = Vec::new();
        for honest in permitted {
            let decision = self.decide(honest, observed, dots)?;
            if decision.standing == Standing::Conforms {
                return Ok(decision);
            }
            decisions.push(decision);
        }
        let declared = decisions.first().ok_or(CriterionError::NoArithmetic)?;
        let accurate = decisions.iter().find(|decision| decision.standing == Standing::MoreAccurate);
        if let (Some(accurate), Standing::Outside) = (accurate, declared.standing) {
            return Ok(Decision { standing: Standing::Conforms, ..accurate.clone() });
        }
        if let (Standing::Outside, Some(own), [first, ..]) = (declared.standing, own, permitted) {
            // The mode's own results are honest by definition: if they fail, the model of errors does, and not what is judged.
            let of_mode = self.decide(first, &Observation { computed: own, ..*observed }, dots)?;
            if of_mode.standing == Standing::Outside {
                let why = of_mode.reasons.iter().map(Reason::to_string).collect::<Vec<_>>().join("; ");
                let reasons = vec![Reason::NotRandom(why)];
                return Ok(Decision { standing: Standing::Unknown, reasons, ..declared.clone() });
            }
        }
        Ok(declared.clone())
    }

    /// The tests of one arithmetic.
    #[expect(clippy::too_many_lines, reason = "the tests of one arithmetic, in order")]
    fn test(&self, honest: &Honest, observed: &Observation, dots: Option<&Dots>) -> Result<Decision, CriterionError> {
        let [computed, truth] = [observed.computed.len(), observed.truth.len()];
        let lengths = [honest.known.len(), honest.deviation.len()];
        let of_dots = dots.map_or(computed, |dots| dots.outputs().len());
        if [truth, of_dots, lengths[0], lengths[1]].iter().any(|length| *length != computed) {
            return Err(CriterionError::Lengths { computed, truth, honest: lengths[0] });
        }
        let statistics = Statistics::new(honest, observed);
        let limits = self.limits(&honest.latitude, statistics.outputs, dots.map_or(1, Dots::products))?;
        let mut reasons = Vec::new();
        if let Some(first) = statistics.impossible.first() {
            reasons.push(Reason::Impossible { first: *first, count: statistics.impossible.len() });
        }
        let root = (statistics.outputs as f64).sqrt();
        // A value that is impossible is no matter of degree.
        let mut excess = if reasons.is_empty() { 0.0 } else { f64::INFINITY };
        if statistics.outputs > 0 {
            let [low, high] = limits.square;
            let ratio = statistics.mean_square.sqrt();
            let largest = statistics.largest.map_or(0.0, |(_, z)| z.abs());
            let common = (statistics.mean.abs() * root).max(statistics.scale_z.abs());
            excess = excess.max(largest / limits.element).max((statistics.mean_square / high).sqrt());
            excess = excess.max(common / limits.common);
            match statistics.largest {
                Some((at, z)) if z.abs() > limits.element => {
                    reasons.push(Reason::Element { at, z, limit: limits.element });
                }
                _ => {}
            }
            if statistics.mean_square > high {
                reasons.push(Reason::TooLarge { ratio, limit: high.sqrt() });
            }
            if statistics.mean.abs() * root > limits.common {
                reasons.push(Reason::Bias { mean: statistics.mean, limit: limits.common / root });
            }
            if statistics.scale_z.abs() > limits.common {
                let limit = limits.common * statistics.scale_deviation;
                reasons.push(Reason::Scale { factor: 1.0 + statistics.scale, limit });
            }
            if let Some(dots) = dots {
                let errors = product_errors(honest, observed, dots);
                excess = errors.iter().fold(excess, |excess, error| excess.max(error.z.abs() / limits.product));
                let wrong: Vec<&ProductError> = errors.iter().filter(|e| e.z.abs() > limits.product).collect();
                let worst = wrong.iter().max_by(|a, b| a.z.abs().total_cmp(&b.z.abs()));
                reasons.extend(worst.map(|worst| Reason::Products { worst: **worst, count: wrong.len() }));
            }
            // Small errors excuse no other fault: only without one are they a silent upgrade.
            if reasons.is_empty() && statistics.mean_square < low {
                reasons.push(Reason::TooSmall { ratio, limit: low.sqrt() });
            }
        }
        let standing = match reasons.first() {
            None if computed == 0 => Standing::Unknown,
            None => Standing::Conforms,
            Some(Reason::TooSmall { .. }) => Standing::MoreAccurate,
            Some(_) => Standing::Outside,
        };
        if computed == 0 {
            reasons.push(Reason::NoOutputs);
        }
        let rms = honest.rms();
        let squares = observed.computed.iter().zip(observed.truth).map(|(y, t)| (y - t) * (y - t));
        let error = (squares.filter(|s| s.is_finite()).sum::<f64>() / computed.max(1) as f64).sqrt();
        let error_ratio = if error == 0.0 { 0.0 } else { error / rms };
        let (arithmetic, rounds_otherwise) = (honest.name.clone(), false);
        Ok(Decision { standing, arithmetic, rounds_otherwise, statistics, error_ratio, excess, reasons })
    }
}
