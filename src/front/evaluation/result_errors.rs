//! Distances of results from the truth, whatever they say of tokens.

use serde::Serialize;

use crate::metric::{Largest, relative_rms, ulp_error};
use crate::tensor::Tensor;

use super::{NamedResult, shape_text};

/// The element of a result that is farthest from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstElement {
    /// Its flat position.
    pub element: usize,
    /// The result as computed.
    pub computed: f64,
    /// The truth.
    pub exact: f64,
    /// The distance of the two: ulps of the result's type at the truth, infinite (in JSON null) where only one is
    /// finite. Of integers and predicates, their difference.
    pub error: f64,
}

/// An element and a distance there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Its flat position.
    pub element: usize,
    /// The distance.
    pub value: f64,
}

impl Distance {
    fn of(largest: Largest) -> Option<Distance> {
        largest.get().map(|(value, element)| Distance { element, value })
    }
}

/// The distance of one result from the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultError {
    /// The result's name.
    pub result: String,
    /// Its type and dims, such as `bf16[8,1024]`.
    pub shape: String,
    /// The number of its elements.
    pub elements: usize,
    /// Elements of which the truth is open: they are not judged.
    pub undecided: usize,
    /// Elements that are farther from the truth than is allowed, or of integers and predicates other ones.
    pub differing: usize,
    /// The worst of those that are judged, the first of equal ones; none where none is judged.
    pub worst: Option<WorstElement>,
    /// Root mean square of the error of a float result over that of the truth, where both are finite; none where no element is
    /// judged, and where the truth is zero and the result is not.
    pub relative_rms: Option<f64>,
    /// The largest absolute difference that is finite.
    pub absolute: Option<Distance>,
    /// The largest difference over the truth's magnitude, where that is not zero.
    pub relative: Option<Distance>,
}

/// For each result of `truth` ([`super::exact`]), the distance of the one of the same name from it. `allowed` is the error, in ulps of
/// the result's type, from which on elements count: half an ulp is that of the nearest number.
///
/// # Errors
/// If a result is missing or has other dims.
pub fn result_errors(
    results: &[(String, Tensor)],
    truth: &[NamedResult],
    allowed: f64,
) -> Result<Vec<ResultError>, String> {
    truth.iter().map(|exact| of_result(results, exact, allowed)).collect()
}

fn of_result(results: &[(String, Tensor)], exact: &NamedResult, allowed: f64) -> Result<ResultError, String> {
    let name = &exact.name;
    let found = results.iter().find(|(other, _)| other == name);
    let (_, tensor) = found.ok_or_else(|| format!("the truth has a result {name}, which is not given"))?;
    if tensor.dims() != exact.tensor.dims() {
        return Err(format!("{name} is {}, and its truth {}", shape_text(tensor), shape_text(&exact.tensor)));
    }
    let mut is_open = vec![false; tensor.len()];
    for at in &exact.undecided {
        let open = is_open.get_mut(*at).ok_or_else(|| format!("{name} has no element {at} that could be undecided"))?;
        *open = true;
    }
    let undecided = is_open.iter().filter(|open| **open).count();
    let (mut differing, mut worst) = (0, None::<WorstElement>);
    let (mut absolute, mut relative) = (Largest::default(), Largest::default());
    let known = || (0..tensor.len()).filter(|at| !is_open[*at]);
    let pair = |element: usize| (tensor.data().get_f64(element), exact.tensor.data().get_f64(element));
    for element in known() {
        let (computed, right) = pair(element);
        let (error, allowed) = match tensor.dtype().format() {
            Some(format) => (ulp_error(format, computed, right), allowed),
            None => ((computed - right).abs(), 0.0),
        };
        differing += usize::from(error > allowed);
        if worst.is_none_or(|worst| error > worst.error) {
            worst = Some(WorstElement { element, computed, exact: right, error });
        }
        let difference = (computed - right).abs();
        absolute.offer(difference, element);
        relative.offer(difference / right.abs(), element);
    }
    let relative_rms = relative_rms(known().map(pair));
    // A pair of finite numbers has a finite difference.
    let is_rms_known = tensor.dtype().is_float() && absolute.get().is_some() && relative_rms.is_finite();
    let [absolute, relative] = [absolute, relative].map(Distance::of);
    let (result, shape, elements) = (name.clone(), shape_text(tensor), tensor.len());
    let relative_rms = is_rms_known.then_some(relative_rms);
    Ok(ResultError { result, shape, elements, undecided, differing, worst, relative_rms, absolute, relative })
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::tensor::Data;

    fn truth(values: &[f64], undecided: &[usize]) -> NamedResult {
        let tensor = Tensor::new(&[values.len()], Data::F64(values.to_vec()));
        NamedResult { name: "out0".to_string(), tensor, order_sensitive: 0, undecided: undecided.to_vec() }
    }

    fn computed(values: &[f32]) -> (String, Tensor) {
        let values: Vec<bf16> = values.iter().map(|value| bf16::from_f32(*value)).collect();
        ("out0".to_string(), Tensor::new(&[values.len()], Data::BF16(values)))
    }

    /// Ulps of bf16 are 2^-7 from 1 to 2.
    #[test]
    fn errors_are_in_ulps_of_the_result() {
        let of = |got: &[f32], exact: &[f64], open: &[usize]| {
            result_errors(&[computed(got)], &[truth(exact, open)], 0.5).unwrap().remove(0)
        };
        let error = of(&[1.0, 1.5, 1.0, 7.0], &[1.0, 1.0, 1.001953125, f64::NAN], &[3]);
        assert_eq!((error.elements, error.undecided, error.differing), (4, 1, 1));
        assert_eq!(error.worst, Some(WorstElement { element: 1, computed: 1.5, exact: 1.0, error: 64.0 }));
        assert_eq!(error.absolute, Some(Distance { element: 1, value: 0.5 }));
        assert_eq!(error.relative, Some(Distance { element: 1, value: 0.5 }));
        let far = of(&[1.0, 3.0, 4.0], &[1.0, 2.0, 0.0], &[]);
        assert_eq!(
            (far.relative_rms, far.relative),
            (Some((17.0f64 / 5.0).sqrt()), Some(Distance { element: 1, value: 0.5 }))
        );
        assert_eq!((of(&[1.0], &[0.0], &[]).relative_rms, of(&[0.0], &[0.0], &[]).relative_rms), (None, Some(0.0)));
        assert_eq!(result_errors(&[computed(&[1.0, 1.5])], &[truth(&[1.0, 1.0], &[])], 64.0).unwrap()[0].differing, 0);
        assert_eq!(of(&[1.0], &[1.0], &[0]).worst, None);
        assert_eq!(of(&[f32::INFINITY], &[1.0], &[]).worst.unwrap().error, f64::INFINITY);
        assert_eq!(of(&[f32::NAN], &[f64::NAN], &[]).differing, 0);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let why = |results: &[(String, Tensor)], exact| result_errors(results, &[exact], 0.5).unwrap_err();
        assert!(why(&[], truth(&[1.0], &[])).contains("a result out0, which is not given"));
        assert!(why(&[computed(&[1.0, 2.0])], truth(&[1.0], &[])).contains("bf16[2], and its truth f64[1]"));
        assert!(why(&[computed(&[1.0])], truth(&[1.0], &[1])).contains("no element 1"));
    }
}
