//! The difference of a result between two programs, and the side that agrees with the truth.

use serde::Serialize;

use crate::metric::ulp_error;
use crate::num::Format;
use crate::oracle::TruthTensor;
use crate::tensor::Tensor;

/// The difference of a result, by the kind of the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Verdict {
    /// The largest distances, in ulps of BEFORE's dtype, of elements that are finite and not zero on both sides.
    Float {
        /// That dtype's name.
        format: &'static str,
        /// Error of the dtypes: BEFORE against the truth, where that is known.
        before: Option<f64>,
        /// Error of the compiler's changes: AFTER against BEFORE.
        change: f64,
        /// AFTER against the truth, where that is known.
        after: Option<f64>,
        /// Elements that are zero in one program only.
        zero_in_one: usize,
        /// Elements that are not finite in one program, and another value in the other.
        not_finite_in_one: usize,
        /// Rows whose largest element is another one.
        largest: Right,
        /// Whether these are scores: the largest of a row is a token. The program picks by them, or gives what was picked
        /// beside them.
        scores: bool,
    },
    /// Rows whose tokens or counts changed.
    Tokens {
        /// By which program gives the true ones.
        right: Right,
        /// Rows of these in which the values that belong to the indices are equal bit for bit: their order depends on
        /// ties. `None` if the program does not give the values.
        tied: Option<usize>,
        /// Rows of the result without the most probable token, where it is said what ranks tokens.
        lost: Option<Lost>,
    },
    /// Elements of a type below 32 bits that changed: quantized values.
    Integers {
        /// The largest distance.
        change: u64,
        /// By which program gives the true ones.
        right: Right,
    },
    /// A set of kept tokens.
    Kept {
        /// Tokens that BEFORE keeps.
        before: usize,
        /// Tokens that AFTER keeps.
        after: usize,
        /// Tokens that are kept in truth, where that is known of all.
        truth: Option<usize>,
        /// Rows of which BEFORE keeps no token.
        empty_before: usize,
        /// Rows of which AFTER keeps no token.
        empty_after: usize,
        /// Rows that lost the most probable token, where the exact scores are known.
        lost: Option<Lost>,
    },
}

/// Counts of changes, by the program that gives the true value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Right {
    /// BEFORE gives it.
    pub before: usize,
    /// AFTER gives it.
    pub after: usize,
    /// Neither does.
    pub neither: usize,
    /// The truth is not known.
    pub undecided: usize,
}

impl Right {
    /// All that changed.
    pub fn count(&self) -> usize {
        self.before + self.after + self.neither + self.undecided
    }

    /// Counts something that changed from one to another.
    fn add<T: PartialEq>(&mut self, before: T, after: T, truth: Option<T>) {
        let count = match truth {
            None => &mut self.undecided,
            Some(truth) if truth == before => &mut self.before,
            Some(truth) if truth == after => &mut self.after,
            Some(_) => &mut self.neither,
        };
        *count += 1;
    }
}

/// Rows that keep none of the tokens that share the highest exact score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// In BEFORE.
    pub before: usize,
    /// In AFTER.
    pub after: usize,
}

impl Lost {
    /// Of rows of `width` exact scores; `has` says whether BEFORE, or AFTER, has a token of a row. Where a score is NaN, no
    /// token is the most probable one.
    fn of(scores: &[f64], width: usize, has: [&dyn Fn(usize, usize) -> bool; 2]) -> Lost {
        let [before, after] = has.map(|has| {
            let loses = |(row, scores): &(usize, &[f64])| {
                let ranked = !scores.iter().any(|score| score.is_nan());
                let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                ranked && !(0..scores.len()).any(|token| scores[token] == best && has(*row, token))
            };
            scores.chunks(width.max(1)).enumerate().filter(loses).count()
        });
        Lost { before, after }
    }
}

/// Elements of one row.
pub(super) fn width(tensor: &Tensor) -> usize {
    match tensor.dims() {
        [] | [_] => 1,
        [.., last] => *last,
    }
}

/// The elements whose bits differ. Every NaN counts as one: IEEE 754 leaves its bits open, and operands that commute decide them.
pub fn differences(a: &Tensor, b: &Tensor) -> Vec<bool> {
    (0..a.len()).map(|i| has_other_bits(a, b, i) && !is_nan_in_both(a, b, i)).collect()
}

/// The number of elements that are NaN in both, of other bits.
pub(super) fn nans_of_other_bits(a: &Tensor, b: &Tensor) -> usize {
    (0..a.len()).filter(|i| has_other_bits(a, b, *i) && is_nan_in_both(a, b, *i)).count()
}

fn has_other_bits(a: &Tensor, b: &Tensor, i: usize) -> bool {
    match a.dtype() == b.dtype() {
        true => a.data().bits(i) != b.data().bits(i),
        false => a.data().get_f64(i).to_bits() != b.data().get_f64(i).to_bits(),
    }
}

fn is_nan_in_both(a: &Tensor, b: &Tensor, i: usize) -> bool {
    [a, b].into_iter().all(|of| of.dtype().is_float() && of.data().get_f64(i).is_nan())
}

pub(super) fn float(
    format: &'static Format,
    a: &Tensor,
    b: &Tensor,
    truth: Option<&TruthTensor>,
    scores: bool,
) -> Verdict {
    let truth = truth.and_then(|truth| match truth {
        TruthTensor::Float(float) => Some(float),
        _ => None,
    });
    let known = |i: usize| truth.filter(|truth| truth.open.binary_search(&i).is_err()).map(|truth| truth.rounded[i]);
    let [before, after] = [a, b].map(|of| move |i: usize| of.data().get_f64(i));
    let worst = |of: &dyn Fn(usize) -> f64, from: &dyn Fn(usize) -> Option<f64>| {
        let has_ulps = |x: f64| x != 0.0 && x.is_finite();
        let pairs = (0..a.len()).filter_map(|i| Some((of(i), from(i)?))).filter(|(x, y)| has_ulps(*x) && has_ulps(*y));
        pairs.map(|(x, y)| ulp_error(format, x, y)).fold(0.0, f64::max)
    };
    let count = |is_so: &dyn Fn(f64, f64) -> bool| (0..a.len()).filter(|i| is_so(before(*i), after(*i))).count();
    let mut largest = Right::default();
    let width = width(a);
    for row in (0..a.len() / width.max(1)).filter(|_| width > 1).map(|row| row * width..(row + 1) * width) {
        let [one, other] = [index_of_largest(row.clone().map(before)), index_of_largest(row.clone().map(after))];
        if one != other {
            let exact: Option<Vec<f64>> = row.map(known).collect();
            largest.add(one, other, exact.and_then(|exact| certain_index_of_largest(format, &exact)));
        }
    }
    Verdict::Float {
        format: format.name,
        before: truth.map(|_| worst(&before, &known)),
        change: worst(&after, &|i| Some(before(i))),
        after: truth.map(|_| worst(&after, &known)),
        zero_in_one: count(&|x, y| (x == 0.0) != (y == 0.0)),
        not_finite_in_one: count(&|x, y| !(x == y || x.is_finite() && y.is_finite() || x.is_nan() && y.is_nan())),
        largest,
        scores,
    }
}

/// The first of the largest elements, as `argmax` has it: a NaN is larger than any number.
fn index_of_largest(row: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (i, x) in row.enumerate() {
        if best.is_none_or(|(_, most)| !most.is_nan() && (x > most || x.is_nan())) {
            best = Some((i, x));
        }
    }
    best.map(|(i, _)| i)
}

/// The same of numbers that are known to 2^-10 of an ulp, where no other can be larger.
fn certain_index_of_largest(format: &Format, row: &[f64]) -> Option<Option<usize>> {
    let best = index_of_largest(row.iter().copied());
    let largest = row[best?];
    let is_apart = |(i, x): (usize, &f64)| {
        Some(i) == best || largest - x > format.ulp(largest) / 256.0 || largest.is_infinite() || largest.is_nan()
    };
    row.iter().enumerate().all(is_apart).then_some(best)
}

pub(super) fn integers(a: &Tensor, b: &Tensor, differing: &[bool], truth: Option<&TruthTensor>) -> Verdict {
    let (mut change, mut right) = (0, Right::default());
    for i in (0..a.len()).filter(|i| differing[*i]) {
        let (before, after) = (a.data().get_i64(i), b.data().get_i64(i));
        change = change.max(before.abs_diff(after));
        right.add(before, after, exactly(truth, i));
    }
    Verdict::Integers { change, right }
}

/// The integer that an element is in truth, where that is known.
fn exactly(truth: Option<&TruthTensor>, i: usize) -> Option<i64> {
    match truth {
        Some(TruthTensor::Integer { values, .. }) => values[i],
        _ => None,
    }
}

pub(super) fn tokens(
    a: &Tensor,
    b: &Tensor,
    differing: &[bool],
    truth: Option<&TruthTensor>,
    same_values: Option<Vec<bool>>,
    scores: Option<(&[f64], usize)>,
) -> Verdict {
    let width = width(a);
    let (mut right, mut tied) = (Right::default(), same_values.as_ref().map(|_| 0));
    for row in (0..a.len() / width.max(1)).map(|row| row * width..(row + 1) * width) {
        if !differing[row.clone()].contains(&true) {
            continue;
        }
        let [before, after] = [a, b].map(|of| row.clone().map(|i| of.data().get_i64(i)).collect::<Vec<_>>());
        right.add(before, after, row.clone().map(|i| exactly(truth, i)).collect());
        if let (Some(tied), Some(same)) = (&mut tied, &same_values)
            && row.clone().all(|i| same[i])
        {
            *tied += 1;
        }
    }
    let has = |of: &Tensor, row: usize, token: usize| {
        (row * width..(row + 1) * width).any(|i| of.data().get_i64(i) == token as i64)
    };
    let lost = scores
        .map(|(scores, of)| Lost::of(scores, of, [&|row, token| has(a, row, token), &|row, token| has(b, row, token)]));
    Verdict::Tokens { right, tied, lost }
}

/// For each index, whether the values that belong to it are the same bit for bit. The values are another result of the
/// same dims; `None` if there is no such result.
pub(super) fn ties(one: &[Tensor], other: &[Tensor], result: usize) -> Option<Vec<bool>> {
    let goes_with = |values: &Tensor| values.dtype().is_float() && values.dims() == one[result].dims();
    let values = (0..one.len()).find(|i| goes_with(&one[*i]))?;
    Some(differences(&one[values], &other[values]).into_iter().map(|differs| !differs).collect())
}

pub(super) fn sets(a: &Tensor, b: &Tensor, truth: Option<&TruthTensor>, scores: Option<&[f64]>) -> Verdict {
    let width = match a.dims() {
        [] => 1,
        [.., last] => *last,
    };
    let rows = || (0..a.len() / width.max(1)).map(|row| row * width..(row + 1) * width);
    let keeps = |of: &Tensor, i: usize| of.data().get_i64(i) != 0;
    let count = |of: &Tensor| (0..of.len()).filter(|i| keeps(of, *i)).count();
    let empty = |of: &Tensor| rows().filter(|row| !row.clone().any(|i| keeps(of, i))).count();
    let keeps_of = |of: &Tensor, row: usize, token: usize| keeps(of, row * width + token);
    let exact = truth.and_then(|truth| match truth {
        TruthTensor::Predicate { values, .. } => values.iter().copied().collect::<Option<Vec<bool>>>(),
        _ => None,
    });
    Verdict::Kept {
        before: count(a),
        after: count(b),
        truth: exact.map(|exact| exact.into_iter().filter(|kept| *kept).count()),
        empty_before: empty(a),
        empty_after: empty(b),
        lost: scores.map(|scores| {
            Lost::of(scores, width, [&|row, token| keeps_of(a, row, token), &|row, token| keeps_of(b, row, token)])
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;
    use crate::tensor::{DType, Data};

    #[test]
    fn a_row_without_a_most_probable_token_loses_none() {
        let set = |kept: [bool; 4]| Tensor::new(&[2, 2], Data::Pred(kept.to_vec()));
        let (all, none) = (set([true; 4]), set([false; 4]));
        let of = |scores: [f64; 4]| match sets(&all, &none, None, Some(&scores)) {
            Verdict::Kept { lost, .. } => lost,
            other => panic!("{other:?}"),
        };
        assert_eq!(of([0.25, 0.75, 0.5, 0.5]), Some(Lost { before: 0, after: 2 }));
        assert_eq!(of([0.25, 0.75, f64::NAN, f64::NAN]), Some(Lost { before: 0, after: 1 }));
    }

    fn of(values: &[f64]) -> Tensor {
        Tensor::new(&[1, values.len()], Data::from_f64s(DType::F32, values).unwrap())
    }

    /// An index is tied by the value at its own place: values of other dims belong to other indices.
    #[test]
    fn indices_are_tied_by_values_of_their_dims() {
        let floats = |values: &[f64]| Tensor::new(&[values.len()], Data::from_f64s(DType::F32, values).unwrap());
        let indices = |values: [i64; 2]| Tensor::new(&[2], Data::from_i64s(DType::S32, &values).unwrap());
        let one = [floats(&[1.0, 2.0, 3.0]), floats(&[0.5, 0.25]), indices([7, 8])];
        let other = [floats(&[1.0, 2.0, 4.0]), floats(&[0.75, 0.25]), indices([7, 9])];
        assert_eq!(ties(&one, &other, 2), Some(vec![false, true]));
        let alone = |results: &[Tensor; 3]| [results[0].clone(), results[2].clone()];
        assert_eq!(ties(&alone(&one), &alone(&other), 1), None);
    }

    /// Masks are numbers far away, zeros have no ulp: neither hides how far the others are.
    #[test]
    fn masked_logits_and_zeros_are_counted_apart() {
        let (a, b) = (of(&[1.0, f64::NEG_INFINITY, 0.0, 2.0, -1e10]), of(&[3.0, -1e10, 1e-30, 2.0, -1e10]));
        let Verdict::Float { change, zero_in_one, not_finite_in_one, largest, .. } = float(&F32, &a, &b, None, false)
        else {
            panic!()
        };
        assert_eq!((zero_in_one, not_finite_in_one), (1, 1));
        assert_eq!(change, 2.0 / 2f64.powi(-23));
        assert_eq!(largest, Right { undecided: 1, ..Right::default() });
        // The same infinities, and NaN for NaN, are no difference; a NaN is the largest.
        let (a, b) = (of(&[f64::NAN, f64::INFINITY, 1.0]), of(&[f64::NAN, f64::INFINITY, 9.0]));
        let Verdict::Float { not_finite_in_one, largest, .. } = float(&F32, &a, &b, None, false) else { panic!() };
        assert_eq!((not_finite_in_one, largest.count()), (0, 0));
    }

    #[test]
    fn tokens_are_judged_row_by_row_and_integers_one_by_one() {
        let integers_of = |values: &[i64]| Tensor::new(&[2, 2], Data::from_i64s(DType::S32, values).unwrap());
        let (a, b) = (integers_of(&[0, 1, 2, 3]), integers_of(&[1, 0, 2, 7]));
        let truth = TruthTensor::Integer { dims: vec![2, 2], values: vec![Some(0), Some(1), Some(2), None] };
        let differs = differences(&a, &b);
        // Row 0's best tokens are 1 and 2, row 1's is 7, which AFTER alone has.
        let scores = [0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0];
        let same = Some(vec![true, true, true, false]);
        let Verdict::Tokens { right, tied, lost } = tokens(&a, &b, &differs, Some(&truth), same, Some((&scores, 8)))
        else {
            panic!()
        };
        assert_eq!(lost, Some(Lost { before: 1, after: 0 }));
        assert_eq!((right, tied), (Right { before: 1, undecided: 1, ..Right::default() }, Some(1)));
        let right = Right { before: 2, undecided: 1, ..Right::default() };
        assert_eq!(integers(&a, &b, &differs, Some(&truth)), Verdict::Integers { change: 4, right });
    }
}
