//! Distances of a result from the truth.

use serde::Serialize;

use crate::tensor::Tensor;

/// The distance of a float result from the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorFigures {
    /// Root mean square of the error over that of the truth.
    pub relative_rms: f64,
    /// Quantiles of the absolute error: half, nine tenths, 99 hundredths.
    pub quantiles: [f64; 3],
    /// The largest absolute error.
    pub largest: f64,
    /// Its flat position.
    pub largest_at: usize,
    /// Elements that are judged: both numbers are finite.
    pub elements: usize,
}

/// The figures of a result beside the truth; `None` where no element is known.
pub(super) fn figures(result: &Tensor, truth: &[f64]) -> Option<ErrorFigures> {
    let (mut errors, mut squares, mut size) = (Vec::with_capacity(truth.len()), 0.0, 0.0);
    let mut largest = (0.0, 0);
    for (at, right) in truth.iter().enumerate() {
        let error = (result.data().get_f64(at) - right).abs();
        if !error.is_finite() {
            continue;
        }
        squares += error * error;
        size += right * right;
        if error > largest.0 {
            largest = (error, at);
        }
        errors.push(error);
    }
    let count = errors.len();
    let relative_rms = if squares == 0.0 { 0.0 } else { (squares / size).sqrt() };
    let mut quantile = |share: f64| {
        let place = ((count as f64 - 1.0) * share).round() as usize;
        *errors.select_nth_unstable_by(place.min(count - 1), f64::total_cmp).1
    };
    (count > 0).then(|| ErrorFigures {
        relative_rms,
        quantiles: [quantile(0.5), quantile(0.9), quantile(0.99)],
        largest: largest.0,
        largest_at: largest.1,
        elements: count,
    })
}
