//! Distances of a result from the truth.

use serde::Serialize;

use crate::metric::{self, Largest};

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

/// A difference and its flat position.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DifferenceAt {
    /// The difference; of a relative one the share.
    pub value: f64,
    /// The flat position of the element.
    pub at: usize,
}

/// Differences of a result from the nearest mode's, element by element.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// Elements that are other numbers.
    pub elements: usize,
    /// All elements.
    pub of: usize,
    /// The largest absolute difference of finite elements; `None` where no two differ.
    pub absolute: Option<DifferenceAt>,
    /// The largest difference over the mode's own element, where that is not zero.
    pub relative: Option<DifferenceAt>,
}

/// The differences of a result from a mode's.
pub(super) fn differences(result: &[f64], values: &[f64]) -> Differences {
    let (mut elements, mut absolute, mut relative) = (0, Largest::default(), Largest::default());
    for (at, (x, y)) in result.iter().zip(values).enumerate() {
        if x == y || x.is_nan() && y.is_nan() {
            continue;
        }
        elements += 1;
        let difference = (x - y).abs();
        absolute.offer(difference, at);
        relative.offer(difference / y.abs(), at);
    }
    let [absolute, relative] =
        [absolute, relative].map(|largest| largest.get().map(|(value, at)| DifferenceAt { value, at }));
    Differences { elements, of: values.len(), absolute, relative }
}

/// [`metric::relative_rms`] of a result and the values that it is held to.
pub(super) fn relative_rms(result: &[f64], values: &[f64]) -> f64 {
    metric::relative_rms(result.iter().copied().zip(values.iter().copied()))
}

/// The figures of a result beside the truth; `None` where no element is known.
pub(super) fn figures(result: &[f64], truth: &[f64]) -> Option<ErrorFigures> {
    let mut errors = Vec::with_capacity(truth.len());
    let mut largest = (0.0, 0);
    for (at, (value, right)) in result.iter().zip(truth).enumerate() {
        let error = (value - right).abs();
        if !error.is_finite() {
            continue;
        }
        if error > largest.0 {
            largest = (error, at);
        }
        errors.push(error);
    }
    let count = errors.len();
    let mut quantile = |share: f64| {
        let place = ((count as f64 - 1.0) * share).round() as usize;
        *errors.select_nth_unstable_by(place.min(count - 1), f64::total_cmp).1
    };
    (count > 0).then(|| ErrorFigures {
        relative_rms: relative_rms(result, truth),
        quantiles: [quantile(0.5), quantile(0.9), quantile(0.99)],
        largest: largest.0,
        largest_at: largest.1,
        elements: count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relative difference is a share of the mode's element, whichever is larger; two NaN are no difference, one is.
    #[test]
    fn differences_are_held_against_the_modes_elements() {
        let found = differences(&[1.0, 6.0, f64::NAN, 0.0, f64::NAN], &[1.0, 4.0, f64::NAN, 0.5, 2.0]);
        assert_eq!((found.elements, found.of), (3, 5));
        assert_eq!(found.absolute, Some(DifferenceAt { value: 2.0, at: 1 }));
        assert_eq!(found.relative, Some(DifferenceAt { value: 1.0, at: 3 }));
    }

    /// Of ten errors 0 to 9 the places are half, 8.1 and 8.91, to the nearest.
    #[test]
    fn quantiles_are_those_of_the_nearest_place() {
        let errors: Vec<f64> = [3, 0, 9, 5, 1, 8, 2, 7, 4, 6].map(f64::from).to_vec();
        let found = figures(&errors, &[0.0; 10]).unwrap();
        assert_eq!(found.quantiles, [5.0, 8.0, 9.0]);
        assert_eq!(figures(&[2.0, 1.0], &[0.0; 2]).unwrap().quantiles, [2.0; 3]);
    }

    /// An error that is not finite is no figure; of several largest ones the first is told.
    #[test]
    fn figures_leave_out_what_is_not_finite() {
        let found = figures(&[2.0, f64::INFINITY, 4.0, 5.0], &[1.0, 2.0, 5.0, 5.0]).unwrap();
        assert_eq!((found.largest, found.largest_at, found.elements), (1.0, 0, 3));
        assert_eq!(found.quantiles, [1.0; 3]);
        assert_eq!(figures(&[f64::NAN], &[1.0]), None);
    }
}
