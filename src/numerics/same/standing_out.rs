//! Inputs of plain numbers but for one element of each row: what is computed otherwise for a masked token, a zero's sign or a tie
//! is shown by such an element, and hidden where every row has infinities of both signs.

use crate::input::Sampler;
use crate::tensor::Tensor;

use super::SameError;
use super::witness::{Difference, Search, floats, nearest, streams};

/// The kind of the element.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// This number.
    Number(f64),
    /// The largest of its row, once more.
    Tie,
    /// The number next to the largest of its row, below it.
    NearTie,
}

const KINDS: [Kind; 5] =
    [Kind::Number(f64::NEG_INFINITY), Kind::Tie, Kind::NearTie, Kind::Number(-0.0), Kind::Number(f64::INFINITY)];
/// Arguments that are changed at most, one after the other.
const ARGUMENTS: usize = 4;

impl Search<'_> {
    /// Runs both programs on inputs in which one argument has such an element in each row, for each kind; gives what differs.
    pub fn stand_out(&mut self, block: usize) -> Result<Option<Difference>, SameError> {
        let large = self.alignment.large();
        let shapes = self.alignment.shapes(large);
        let changed: Vec<usize> = (0..shapes.len())
            .filter(|at| shapes[*at].element_type().is_float() && shapes[*at].elements() > 0)
            .take(ARGUMENTS)
            .collect();
        if changed.is_empty() {
            return self.next(block);
        }
        let mut sampler = streams(self.tried).sampler(u64::MAX, 2);
        for argument in changed {
            // Every fourth trial has plain numbers.
            let trial = 4 * (sampler.bits() >> 40);
            let plain = self.arguments(trial);
            for kind in KINDS {
                let mut inputs = plain.clone();
                inputs[argument] = kind.in_each_row(&plain[argument], &mut sampler);
                let (_, found) = self.try_on(&inputs, trial, block)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }
}

impl Kind {
    /// The array with one such element in each row, a row being along the last dim.
    fn in_each_row(self, tensor: &Tensor, sampler: &mut Sampler) -> Tensor {
        let dtype = tensor.dtype();
        let mut values: Vec<f64> = (0..tensor.len()).map(|at| tensor.data().get_f64(at)).collect();
        let length = tensor.dims().last().copied().unwrap_or(1).max(1);
        for row in values.chunks_mut(length) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let place = sampler.below(row.len() as u64) as usize;
            row[place] = match self {
                Kind::Number(number) => number,
                Kind::Tie => largest,
                Kind::NearTie => below(largest, |value| nearest(dtype, value)),
            };
        }
        floats(dtype, &values).map_or_else(|| tensor.clone(), |data| Tensor::new(tensor.dims(), data))
    }
}

/// The greatest number of a type below one of it, about: one or two steps away.
pub fn below(number: f64, rounded: impl Fn(f64) -> f64) -> f64 {
    let mut step = number.abs() * f64::EPSILON;
    while step > 0.0 && step < number.abs() {
        let next = rounded(number - step);
        if next < number {
            return next;
        }
        step *= 2.0;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::{KINDS, below};
    use crate::same::witness::{nearest, streams};
    use crate::tensor::{DType, Data, Tensor};

    #[test]
    fn one_element_of_each_row_stands_out() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        let plain = Tensor::new(&[3, 4], Data::from_f64s(DType::BF16, &values).unwrap());
        for kind in KINDS {
            let changed = kind.in_each_row(&plain, &mut streams(0).sampler(0, 0));
            for row in 0..3 {
                let differs = |at: &usize| plain.data().bits(*at) != changed.data().bits(*at);
                // The largest may have been drawn for a tie with itself.
                assert!((4 * row..4 * row + 4).filter(differs).count() <= 1, "{kind:?} {row}");
            }
            assert!((0..12).any(|at| plain.data().bits(at) != changed.data().bits(at)), "{kind:?}");
        }
    }

    #[test]
    fn a_near_tie_is_one_step_away() {
        for (dtype, number, next) in
            [(DType::BF16, 3.0, 2.984375), (DType::F32, 1.0, 1.0 - 2f64.powi(-24)), (DType::BF16, -1.0, -1.0078125)]
        {
            assert_eq!(below(number, |value| nearest(dtype, value)), next, "{dtype}");
        }
        assert_eq!(below(0.0, |value| value), 0.0);
    }
}
