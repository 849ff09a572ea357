//! The honest error of results: the errors that a declared arithmetic itself makes, as far as they can be foreseen.

use crate::num::floor_log2;

use super::dot_arithmetic::DotArithmetic;
use super::dot_outputs::Dots;

/// The errors that honest results of some arithmetic have, an entry for each output that is judged. All are in the results' own
/// unit, computed less exact.
#[derive(Clone, Debug)]
pub struct Honest {
    /// The arithmetic in words, for messages.
    pub name: String,
    /// The part of each error that is known beforehand, such as that of rounded operands.
    pub known: Vec<f64>,
    /// The standard deviation of the rest; 0 where honest results are exact.
    pub deviation: Vec<f64>,
    /// A magnitude of each output, by which known errors of another rounding of operands would be spread.
    pub magnitude: Vec<f64>,
    /// The latitude of the model itself.
    pub latitude: Latitude,
}

/// The distance that honest results may have from the model of independent errors of known variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latitude {
    /// The share by which the mean square of honest errors may differ from the foreseen one, beside chance.
    pub square: f64,
    /// The share of a standard deviation that all errors may have in common, beside chance.
    pub mean: f64,
    /// The share of the outputs' number that counts as independent errors, at most 1.
    pub independent: f64,
    /// The factor by which the largest error may exceed that of normal ones.
    pub tail: f64,
}

impl Latitude {
    /// That of errors foreseen from exact partial sums. The ignored test `ten_thousand_honest_runs_a_mode` measures it.
    pub const OF_DOTS: Latitude = Latitude { square: 0.2, mean: 0.1, independent: 1.0, tail: 1.0 };
}

/// Outputs of one binade that an empirical deviation is taken over, at least.
const LEAST_IN_A_CLASS: usize = 64;

impl Honest {
    /// The errors of dots in a declared arithmetic, from their exact partial sums.
    pub fn of_dots(arithmetic: &DotArithmetic, dots: &Dots) -> Honest {
        let (mut known, mut deviation, mut magnitude) = (Vec::new(), Vec::new(), Vec::new());
        dots.each(
            |lhs, rhs| arithmetic.error(lhs, rhs),
            |error| {
                known.push(error.known);
                deviation.push(error.deviation);
                magnitude.push(error.magnitude);
            },
        );
        Honest { name: arithmetic.text(), known, deviation, magnitude, latitude: Latitude::OF_DOTS }
    }

    /// The errors that honest runs of a program had: each run the errors of all outputs, `scale` the truth. Outputs whose truths have
    /// one exponent share a deviation, at least 64 of them. Errors may depend on each other, as those of one row of a softmax do: so
    /// stretches of outputs say how many are independent, and the latitude is that which the runs themselves take, and more.
    /// `None` without a run, where runs and `scale` are not as long as each other, or an error is not finite.
    pub fn of_errors(name: impl Into<String>, runs: &[&[f64]], scale: &[f64]) -> Option<Honest> {
        let is_whole = |run: &&[f64]| run.len() == scale.len() && run.iter().all(|error| error.is_finite());
        if runs.is_empty() || scale.is_empty() || !runs.iter().all(is_whole) {
            return None;
        }
        let exponent = |at: &usize| match scale[*at] {
            t if t == 0.0 || !t.is_finite() => i32::MIN,
            t => floor_log2(t),
        };
        let mut order: Vec<usize> = (0..scale.len()).collect();
        order.sort_by_key(exponent);
        let mut deviation = vec![0.0; scale.len()];
        let mut start = 0;
        while start < order.len() {
            let mut end = (start + LEAST_IN_A_CLASS).min(order.len());
            // A class ends between two exponents, and no rest is too small to have a deviation of its own.
            while end < order.len()
                && (exponent(&order[end]) == exponent(&order[end - 1]) || order.len() - end < LEAST_IN_A_CLASS)
            {
                end += 1;
            }
            let class = &order[start..end];
            let squares = runs.iter().flat_map(|run| class.iter().map(|at| run[*at] * run[*at]));
            let rms = (squares.sum::<f64>() / (class.len() * runs.len()) as f64).sqrt();
            class.iter().for_each(|at| deviation[*at] = rms);
            start = end;
        }
        let latitude = Latitude::of_runs(runs, &deviation);
        let known = vec![0.0; scale.len()];
        let magnitude = scale.iter().map(|t| t.abs()).collect();
        Some(Honest { name: name.into(), known, deviation, magnitude, latitude })
    }

    /// The same arithmetic with operands rounded otherwise: the known errors are spread over all outputs by their magnitude, as
    /// errors that are not known.
    pub(super) fn spread(&self) -> Honest {
        let total = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        let (known, magnitude) = (total(&self.known), total(&self.magnitude));
        let share = if magnitude > 0.0 { known / magnitude } else { 0.0 };
        let deviations = self.deviation.iter().zip(&self.magnitude);
        let deviation: Vec<f64> = deviations.map(|(d, m)| (d * d + share * m * m).sqrt()).collect();
        let of_runs = Latitude::of_runs(&[&self.known], &deviation);
        let latitude = Latitude { square: self.latitude.square.max(of_runs.square), ..of_runs };
        Honest { known: vec![0.0; self.known.len()], deviation, latitude, ..self.clone() }
    }

    /// The root of the mean square of the errors that honest results have; 0 without outputs.
    pub fn rms(&self) -> f64 {
        let squares = self.known.iter().zip(&self.deviation).map(|(known, d)| known * known + d * d);
        (squares.sum::<f64>() / self.known.len().max(1) as f64).sqrt()
    }
}

impl Latitude {
    /// The latitude that runs take of foreseen deviations.
    fn of_runs(runs: &[&[f64]], deviation: &[f64]) -> Latitude {
        // A few runs are no distribution: the least latitude is wider than that of foreseen errors.
        let mut latitude = Latitude { square: 0.5, mean: 0.1, independent: 1.0, tail: 1.5 };
        for run in runs {
            let of = |(error, d): (&f64, &f64)| (*d > 0.0).then_some(error / d);
            let z: Vec<f64> = run.iter().zip(deviation).filter_map(of).collect();
            let count = z.len() as f64;
            if z.is_empty() {
                continue;
            }
            let mean = z.iter().sum::<f64>() / count;
            let square = z.iter().map(|z| z * z).sum::<f64>() / count;
            let squares: Vec<f64> = z.iter().map(|z| z * z).collect();
            let largest = z.iter().fold(0.0f64, |largest, z| largest.max(z.abs()));
            // About the largest of so many normal errors.
            let expected = (2.0 * core_math::log(2.0 * count.max(2.0))).sqrt();
            latitude.square = latitude.square.max(0.5 + 2.0 * (square.max(1.0 / square.max(0.1)) - 1.0).abs());
            latitude.mean = latitude.mean.max(0.1 + 2.0 * mean.abs());
            latitude.tail = latitude.tail.max(1.5 * largest / expected);
            let common = variance_ratio(&z, 1.0).max(variance_ratio(&squares, 2.0));
            latitude.independent = latitude.independent.min(1.0 / common);
        }
        latitude
    }
}

/// The variance of the sums of stretches of numbers over that of as many independent ones of variance `each`, at least 1.
fn variance_ratio(values: &[f64], each: f64) -> f64 {
    let length = ((values.len() as f64).sqrt() as usize).max(1);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let sums: Vec<f64> =
        values.chunks_exact(length).map(|stretch| stretch.iter().map(|value| value - mean).sum()).collect();
    if sums.len() < 2 {
        return 1.0;
    }
    let variance = sums.iter().map(|sum| sum * sum).sum::<f64>() / (sums.len() - 1) as f64;
    (variance / (each * length as f64)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of one exponent are one class, however many they are: what runs show of some of them is expected of all.
    #[test]
    fn elements_of_one_size_have_one_deviation() {
        let scale: Vec<f64> = (0..400).map(|at| if at < 300 { 1.0 + at as f64 / 512.0 } else { 8.0 }).collect();
        let run: Vec<f64> = (0..400)
            .map(|at| match at {
                0..150 => 1.0,
                150..300 => -7.0,
                _ => 30.0,
            })
            .collect();
        let found = Honest::of_errors("runs", &[&run], &scale).unwrap();
        assert_eq!(found.deviation[..300], [5.0; 300]);
        assert_eq!(found.deviation[300..], [30.0; 100]);
        // Too few for a class of their own are with the next smaller ones.
        let few = Honest::of_errors("runs", &[&run[..310]], &scale[..310]).unwrap();
        assert!(few.deviation.iter().all(|deviation| *deviation == few.deviation[0] && *deviation > 5.0));
    }
}
