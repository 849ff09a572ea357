//! Results computed elsewhere, compared with the enclosure of the permitted ones.

use crate::ir::Program;
use crate::oracle::interval::Interval;
use crate::oracle::{Enclosed, Enclosure};
use crate::rewrite::Choices;
use crate::tensor::Tensor;

use super::{ExploreError, Settings, allowance, permitted, row_outcome};

/// The program with its choices, and what each of its results may be for `arguments`, all choices at once.
///
/// # Errors
/// If the program cannot be enclosed.
pub fn enclose(
    program: &Program,
    arguments: &[Tensor],
    settings: &Settings,
) -> Result<(Choices, Vec<Enclosed>), ExploreError> {
    let choices = permitted(program, settings);
    let latitudes = allowance::latitudes(&choices, settings);
    let (enclosure, outputs) = (Enclosure::new(&choices.program), choices.program.outputs());
    let kept = enclosure.of(arguments, &latitudes, &outputs)?;
    let enclosed = outputs.iter().map(|output| kept.of(*output)).collect();
    Ok((choices, enclosed))
}

/// Elements of a result that lie outside of what is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The result's position.
    pub output: usize,
    /// Their flat positions.
    pub elements: Vec<usize>,
    /// The number of elements whose enclosure is unbounded, so that none of them can lie outside.
    pub unknown: usize,
}

/// The elements of results that something else computed and that lie outside of an enclosure; one entry a result.
pub fn outside(enclosed: &[Enclosed], results: &[Tensor]) -> Vec<Outside> {
    let of = |(output, (enclosed, result)): (usize, (&Enclosed, &Tensor))| {
        let found = match enclosed {
            Enclosed::Floats(floats) => floats_outside(floats, |at| [result.data().get_f64(at); 2]),
            Enclosed::Integers(integers) => integers_outside(integers, |at| Some(row_outcome::integer(result, at))),
        };
        Outside { output, ..found }
    };
    enclosed.iter().zip(results).enumerate().map(of).collect()
}

/// As [`outside`], of results that are known as they were printed: each element is a number between two ends, and outside if none of
/// these is permitted. Integers are one number.
pub fn outside_of_printed(enclosed: &[Enclosed], printed: &[Vec<[f64; 2]>]) -> Vec<Outside> {
    let of = |(output, (enclosed, printed)): (usize, (&Enclosed, &Vec<[f64; 2]>))| {
        // A printed integer has no digits that are unknown; a range around none of them is no integer.
        let integer = |at: usize| {
            let middle = (printed[at][0] + printed[at][1]) / 2.0;
            (middle == middle.round()).then_some(middle as i64)
        };
        let found = match enclosed {
            Enclosed::Floats(floats) => floats_outside(floats, |at| printed[at]),
            Enclosed::Integers(integers) => integers_outside(integers, integer),
        };
        Outside { output, ..found }
    };
    enclosed.iter().zip(printed).enumerate().map(of).collect()
}

/// Floats outside, each given by two ends.
fn floats_outside(floats: &[Interval], given: impl Fn(usize) -> [f64; 2]) -> Outside {
    // Between two infinite ends lies every number.
    let is_open =
        |at: usize| floats[at].is_unknown() || floats[at].lo == f64::NEG_INFINITY && floats[at].hi == f64::INFINITY;
    let holds = |at: usize| {
        let ([lo, hi], x) = (given(at), floats[at]);
        // A printed number stands for a range: it is outside only if no number of its range is inside.
        is_open(at) || if x.is_nan() { lo.is_nan() } else { x.lo <= hi && lo <= x.hi }
    };
    let unknown = (0..floats.len()).filter(|at| is_open(*at)).count();
    Outside { output: 0, elements: (0..floats.len()).filter(|at| !holds(*at)).collect(), unknown }
}

/// Integers outside; `None` is none.
fn integers_outside(integers: &[Option<i64>], given: impl Fn(usize) -> Option<i64>) -> Outside {
    let holds = |at: usize| integers[at].is_none_or(|known| Some(known) == given(at));
    let unknown = integers.iter().filter(|known| known.is_none()).count();
    Outside { output: 0, elements: (0..integers.len()).filter(|at| !holds(*at)).collect(), unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beside_its_enclosure_is_outside_on_either_side() {
        for sign in [1.0, -1.0] {
            let ends = |a: f64, b: f64| [(sign * a).min(sign * b), (sign * a).max(sign * b)];
            let [lo, hi] = ends(1.0, 2.0);
            let enclosed = [Enclosed::Floats(vec![Interval { lo, hi }; 6])];
            let printed = [[0.0, 0.5], [0.5, 1.0], [1.2, 1.3], [2.0, 3.0], [2.5, 3.0], [0.0, 9.0]];
            let found = outside_of_printed(&enclosed, &[printed.map(|[a, b]| ends(a, b)).to_vec()]).remove(0);
            assert_eq!((found.elements, found.unknown), (vec![0, 4], 0));
        }
    }

    /// A NaN for certain is no number, and what may be anything is outside of nothing.
    #[test]
    fn what_is_certainly_nan_is_no_number() {
        let enclosed = [Enclosed::Floats(vec![Interval::NAN, Interval::NAN, Interval::exact(1.0), Interval::UNKNOWN])];
        let found =
            outside_of_printed(&enclosed, &[vec![[1.0; 2], [f64::NAN; 2], [f64::NAN; 2], [f64::NAN; 2]]]).remove(0);
        assert_eq!((found.elements, found.unknown), (vec![0, 2], 1));
    }

    /// A printed fraction is none of the integers, though it is cut to one; what choices leave open is outside of nothing.
    #[test]
    fn integers_are_compared_exactly() {
        let known = vec![Some(1), Some(1), Some(-1), Some(2), None];
        let printed = vec![[1.0; 2], [1.5; 2], [-1.5; 2], [1.0; 2], [7.0; 2]];
        let found = outside_of_printed(&[Enclosed::Integers(known)], &[printed]).remove(0);
        assert_eq!((found.elements, found.unknown), (vec![1, 2, 3], 1));
    }
}
