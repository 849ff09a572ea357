//! Statistics of observed errors in standard deviations of honest ones.

use crate::num::{F64, Format};

use super::dot_outputs::Dots;
use super::honest::Honest;

/// Computed results beside their truth.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The computed values.
    pub computed: &'a [f64],
    /// The real values, rounded to nearest f64.
    pub truth: &'a [f64],
    /// The format of the results.
    pub format: &'static Format,
}

/// Aggregates of the errors of all outputs, each in standard deviations of the honest error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Outputs with an honest error of known variance.
    pub outputs: usize,
    /// The mean of z^2: about 1 for honest results.
    pub mean_square: f64,
    /// The mean of z: about 0 for honest results.
    pub mean: f64,
    /// The factor, less one, by which the results exceed their truths: the slope of a weighted regression of errors on truths.
    pub scale: f64,
    /// The standard deviations that this slope is from zero.
    pub scale_z: f64,
    /// The relative standard deviation of a factor: that of the slope of honest results.
    pub scale_deviation: f64,
    /// The largest |z|, with its place among the outputs.
    pub largest: Option<(usize, f64)>,
    /// Outputs that no honest result has: of another kind (NaN, an infinity), or other than the only honest value.
    pub impossible: Vec<usize>,
}

/// The standard deviations of each output's error from the error that is known beforehand. 0 where honest results are exact and so is
/// the output; infinite where no honest result has that value.
pub fn z_scores(honest: &Honest, observed: &Observation) -> Vec<f64> {
    let outputs = observed.computed.iter().zip(observed.truth);
    let z = |((computed, truth), (known, deviation)): ((&f64, &f64), (&f64, &f64))| {
        if !computed.is_finite() || !truth.is_finite() {
            return if is_of_one_kind(*computed, *truth, observed.format) { 0.0 } else { f64::INFINITY };
        }
        let residual = (computed - truth) - known;
        // The truth is rounded to f64, and known errors are sums of numbers that f64 rounds.
        let room = F64.ulp(*truth) + known.abs() * 1e-9;
        match (*deviation > 0.0, residual.abs() <= room) {
            (true, _) => residual / root_of_squares(*deviation, room),
            (false, true) => 0.0,
            (false, false) => f64::INFINITY.copysign(residual),
        }
    };
    outputs.zip(honest.known.iter().zip(&honest.deviation)).map(z).collect()
}

/// The root of the sum of two squares that are not both 0; no square is taken of a number above 1, so that none overflows.
fn root_of_squares(a: f64, b: f64) -> f64 {
    let (larger, smaller) = (a.max(b), a.min(b));
    larger * (1.0 + (smaller / larger).powi(2)).sqrt()
}

/// Whether both are NaN, or infinite alike; a truth beyond the format's range is the infinity that it is rounded to.
fn is_of_one_kind(computed: f64, truth: f64, format: &Format) -> bool {
    let is_beyond = truth.abs() > format.max_finite() && truth.signum() == computed.signum();
    computed.is_nan() && truth.is_nan() || computed.is_infinite() && (computed == truth || is_beyond)
}

impl Statistics {
    /// Those of the outputs.
    pub fn new(honest: &Honest, observed: &Observation) -> Statistics {
        let mut found = Statistics::default();
        let (mut on_truth, mut truths) = (0.0, 0.0);
        for (at, z) in z_scores(honest, observed).into_iter().enumerate() {
            let deviation = honest.deviation[at];
            if z.is_infinite() {
                found.impossible.push(at);
            } else if deviation > 0.0 && observed.truth[at].is_finite() && observed.computed[at].is_finite() {
                let truth = observed.truth[at] / deviation;
                found.outputs += 1;
                found.mean += z;
                found.mean_square += z * z;
                on_truth += truth * z;
                truths += truth * truth;
                if found.largest.is_none_or(|(_, largest)| z.abs() > largest.abs()) {
                    found.largest = Some((at, z));
                }
            }
        }
        let count = found.outputs.max(1) as f64;
        found.mean /= count;
        found.mean_square /= count;
        if truths > 0.0 {
            found.scale = on_truth / truths;
            found.scale_z = on_truth / truths.sqrt();
            found.scale_deviation = 1.0 / truths.sqrt();
        }
        found
    }
}

/// The likeness of errors to one product that is missing from every output, or there too often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductError {
    /// The product's place in K.
    pub place: usize,
    /// The factor of the product in the errors: about -1 where it is missing, 1 where it is doubled.
    pub times: f64,
    /// The standard deviations that this factor is from zero.
    pub z: f64,
}

/// The products of K that errors are like, one for each of K.
pub(super) fn product_errors(honest: &Honest, observed: &Observation, dots: &Dots) -> Vec<ProductError> {
    let by: Vec<f64> = honest.deviation.iter().map(|d| if *d > 0.0 { 1.0 / (d * d) } else { 0.0 }).collect();
    let z = z_scores(honest, observed);
    let parts = z.iter().zip(&honest.deviation);
    let weight: Vec<f64> = parts.map(|(z, d)| if *d > 0.0 && z.is_finite() { z / d } else { 0.0 }).collect();
    let sums = dots.correlate(&weight, &by).into_iter().enumerate();
    let error = |(place, [product, square]): (usize, [f64; 2])| match square > 0.0 {
        true => ProductError { place, times: product / square, z: product / square.sqrt() },
        false => ProductError { place, times: 0.0, z: 0.0 },
    };
    sums.map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::super::honest::{Honest, Latitude};
    use super::*;
    use crate::num::F32;

    /// Errors and their negatives have the same places and the same sizes, with the other signs.
    #[test]
    fn errors_of_the_other_sign_have_the_same_statistics() {
        let truth = [1.0, -2.0, 0.5, 4.0, -8.0, 3.0, f64::NAN, f64::INFINITY];
        let errors = [1e-6, -9e-6, 2e-6, -3e-6, 5e-6, -1e-6, 0.0, 0.0];
        let deviation = vec![1e-6; 8];
        let statistics = |sign: f64, truth: &[f64]| {
            let honest = Honest {
                name: "drawn".to_string(),
                known: vec![0.0; 8],
                deviation: deviation.clone(),
                magnitude: vec![1.0; 8],
                latitude: Latitude::OF_DOTS,
            };
            let computed: Vec<f64> = truth.iter().zip(errors).map(|(t, e)| t + sign * e).collect();
            Statistics::new(&honest, &Observation { computed: &computed, truth, format: &F32 })
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{a} {b}");
        let one = statistics(1.0, &truth);
        let (place, largest) = one.largest.unwrap();
        assert_eq!((place, one.outputs), (1, 6));
        near(largest, -9.0);
        for (other, scale) in [(statistics(-1.0, &truth), -1.0), (statistics(-1.0, &truth.map(|t| -t)), 1.0)] {
            let (place, largest) = other.largest.unwrap();
            assert_eq!((place, other.outputs, &other.impossible), (1, one.outputs, &one.impossible));
            near(largest, 9.0);
            near(other.mean, -one.mean);
            near(other.mean_square, one.mean_square);
            near(other.scale_z, scale * one.scale_z);
        }
    }
}
