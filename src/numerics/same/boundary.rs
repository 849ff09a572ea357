//! Inputs beside places where a result changes: what is computed otherwise changes elsewhere, however rarely random inputs
//! show it in results of few bits.

use crate::input::Sampler;
use crate::tensor::{DType, Tensor};

use super::SameError;
use super::witness::{Difference, Search, floats, nearest, streams};

/// Elements of each row that are moved one after the other, each from where the one before it came to.
const ELEMENTS: usize = 4;

/// One element of each row on its way between two numbers.
struct Way {
    argument: usize,
    rows: usize,
    places: Vec<usize>,
    /// The numbers of each row at both ends: the results at the first are those of the beginning, at the second others.
    ends: [Vec<f64>; 2],
}

impl Way {
    /// From the numbers that an argument has to others, in a place of each row: those of another trial, or such as stand out in
    /// their row.
    fn new(argument: usize, rows: usize, from: &Tensor, to: &Tensor, sampler: &mut Sampler) -> Way {
        let length = from.len() / rows.max(1);
        let places: Vec<usize> = (0..rows).map(|row| row * length + sampler.below(length as u64) as usize).collect();
        let factor = [None, Some(2.0), Some(1.5), Some(-2.0)][sampler.below(4) as usize];
        let largest = |at: usize| {
            let row = at / length * length..(at / length + 1) * length;
            row.map(|at| number(from, at).abs()).filter(|value| value.is_finite()).fold(0.0, f64::max)
        };
        let end = |at: &usize| factor.map_or(number(to, *at), |factor| nearest(from.dtype(), factor * largest(*at)));
        let ends = [places.iter().map(|at| number(from, *at)).collect(), places.iter().map(end).collect()];
        Way { argument, rows, places, ends }
    }

    /// The inputs with these numbers in those places.
    fn inputs(&self, inputs: &[Tensor], numbers: &[f64]) -> Vec<Tensor> {
        let mut inputs = inputs.to_vec();
        let tensor = &inputs[self.argument];
        let mut values: Vec<f64> = (0..tensor.len()).map(|at| number(tensor, at)).collect();
        self.places.iter().zip(numbers).for_each(|(at, value)| values[*at] = *value);
        if let Some(data) = floats(tensor.dtype(), &values) {
            inputs[self.argument] = Tensor::new(tensor.dims(), data);
        }
        inputs
    }

    /// The numbers half-way; those of the beginning where no number lies between.
    fn half_way(&self, dtype: DType) -> Vec<f64> {
        let [from, to] = &self.ends;
        from.iter().zip(to).map(|(from, to)| between(dtype, *from, *to)).collect()
    }

    /// Rows in which results have the same bits; of results that have no such rows one row is all of them.
    fn unchanged(&self, before: &[Tensor], after: &[Tensor]) -> Vec<bool> {
        let of_row = |row: usize| {
            before.iter().zip(after).all(|(a, b)| {
                let length = a.len() / self.rows;
                (row * length..(row + 1) * length).all(|at| a.data().bits(at) == b.data().bits(at))
            })
        };
        (0..self.rows).map(of_row).collect()
    }
}

impl Search<'_> {
    /// Moves elements of an input until a result of the larger program changes, row by row, to the last bit before it; gives
    /// what differs from the other program on the way.
    pub fn approach(&mut self, block: usize) -> Result<Option<Difference>, SameError> {
        let (trial, large) = (self.tried, self.alignment.large());
        let shapes = self.alignment.shapes(large);
        let movable: Vec<usize> = (0..shapes.len())
            .filter(|at| shapes[*at].element_type().is_float() && shapes[*at].elements() > 0)
            .collect();
        let mut sampler = streams(trial).sampler(u64::MAX, 1);
        // Every fourth trial has plain numbers.
        let trial = 4 * (sampler.bits() >> 40);
        let mut inputs = self.arguments(trial);
        for _ in 0..ELEMENTS {
            if movable.is_empty() {
                return self.next(block);
            }
            let argument = movable[sampler.below(movable.len() as u64) as usize];
            let (mut results, found) = self.try_on(&inputs, trial, block)?;
            if found.is_some() {
                return Ok(found);
            }
            let begun = results.swap_remove(large);
            let dims = shapes[argument].dims();
            let rows = dims.first().copied().filter(|_| dims.len() > 1).unwrap_or(1);
            let in_rows = begun.iter().all(|result| result.dims().first() == Some(&rows));
            let other = self.fill(sampler.bits() >> 32, 2 * argument + large, &shapes[argument]);
            let mut way = Way::new(argument, if in_rows { rows } else { 1 }, &inputs[argument], &other, &mut sampler);
            // Rows that do not change on the whole way stay where they are.
            let mut numbers = way.ends[1].clone();
            loop {
                let moved = way.inputs(&inputs, &numbers);
                let (mut results, found) = self.try_on(&moved, trial, block)?;
                if found.is_some() {
                    return Ok(found);
                }
                let unchanged = way.unchanged(&begun, &results.swap_remove(large));
                for (row, unchanged) in unchanged.into_iter().enumerate() {
                    way.ends[usize::from(!unchanged)][row] = numbers[row];
                }
                numbers = way.half_way(shapes[argument].element_type());
                if numbers == way.ends[0] {
                    break;
                }
            }
            inputs = way.inputs(&inputs, &way.ends[0]);
        }
        Ok(None)
    }
}

fn number(tensor: &Tensor, at: usize) -> f64 {
    tensor.data().get_f64(at)
}

/// A number between two of a type, about as many numbers away from the one as from the other; the first one where there is none, or
/// one of them is no number.
fn between(dtype: DType, from: f64, to: f64) -> f64 {
    if !from.is_finite() || !to.is_finite() {
        return from;
    }
    // In the order of f32, which has what is narrower, or of f64.
    let bits = |value: f64| match dtype {
        DType::F64 => value.to_bits() as i64,
        _ => i64::from((value as f32).to_bits()),
    };
    let place = |value: f64| if value < 0.0 { -bits(value.abs()) } else { bits(value.abs()) };
    let middle = place(from).midpoint(place(to));
    let magnitude = match dtype {
        DType::F64 => f64::from_bits(middle.unsigned_abs()),
        _ => f64::from(f32::from_bits(middle.unsigned_abs() as u32)),
    };
    // A narrow type may have none so near to zero.
    let middles = [magnitude.copysign(if middle < 0 { -1.0 } else { 1.0 }), from.midpoint(to)];
    middles.into_iter().map(|value| nearest(dtype, value)).find(|value| *value != from && *value != to).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::between;
    use crate::tensor::DType;

    #[test]
    fn halving_the_way_ends_beside_its_end() {
        for (dtype, from, to, last) in [
            (DType::F32, 1.0, 2.0, 2.0 - f64::from(f32::EPSILON)),
            (DType::BF16, -1.0, 2.0, 2.0 - 2f64.powi(-7)),
            (DType::F32, 3.0, -1.0, f64::from((-1f32).next_up())),
            (DType::F64, 0.0, 1.0, 1.0f64.next_down()),
            (DType::F16, -2.0, 1.0, 1.0 - 2f64.powi(-11)),
            (DType::F8E4M3FN, 0.0, -1.0, -0.9375),
        ] {
            let (mut at, mut steps) = (from, 0);
            loop {
                let next = between(dtype, at, to);
                if next == at {
                    break;
                }
                (at, steps) = (next, steps + 1);
            }
            assert_eq!(at, last, "{dtype}");
            assert!(steps < 128, "{steps}");
        }
        assert_eq!(between(DType::F32, f64::NAN, 1.0).to_bits(), f64::NAN.to_bits());
    }
}
