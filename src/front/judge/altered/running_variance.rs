//! A variance by the running mean: the recurrence of B. P. Welford, "Note on a method for calculating corrected sums of squares and
//! products", Technometrics 4 (1962).
//!
//! It is an honest formula of its own: it rounds numbers of the size of the mean at each step, as no order of a program's own sums does.

use crate::analysis::{Reducer, Regions};
use crate::ir::movement::row_major;
use crate::ir::{Binary, Instruction, Op, ValueId};
use crate::num::{Direction, Format, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::super::evidence::{Evidence, Runner, budget};
use super::{result_with_all, values};

/// Mean of centred numbers, beside their root mean square, at most: that of other differences is larger.
const IS_CENTRED: f64 = 1e-3;

/// The result with every sum of squares around a mean by the recurrence, its terms one after the other; `None` if there is none.
pub(in super::super) fn running_variance(evidence: &Evidence) -> Option<Vec<f64>> {
    let program = evidence.ground.program;
    let entry = program.entry();
    let regions = Regions::new(program);
    let centred = |id: ValueId| -> Option<(ValueId, &[usize])> {
        let Op::Reduce { dims, to_apply } = &entry.instructions[id].op else { return None };
        let is_sum = regions.reducer_but_for_rounding(*to_apply) == Some(Reducer::Binary(Binary::Add));
        let square = &entry.instructions[*entry.instructions[id].operands.first()?];
        let ([a, b], Op::Binary(Binary::Multiply)) = (square.operands.as_slice(), &square.op) else { return None };
        let difference = &entry.instructions[*a];
        let is_difference = difference.op == Op::Binary(Binary::Subtract);
        (is_sum && a == b && is_difference).then_some((*a, dims.as_slice()))
    };
    let asked: Vec<(ValueId, ValueId, &[usize])> = (0..entry.instructions.len())
        .filter_map(|id| centred(id).map(|(difference, dims)| (id, difference, dims)))
        .collect();
    if asked.is_empty() {
        return None;
    }
    let mut runner = Runner { evidence, left: budget(evidence) };
    let is_float = |instruction: &Instruction| instruction.shape.dtype().is_some_and(DType::is_float);
    let known = values(&mut runner, &is_float);
    let mut others = Vec::new();
    for (id, difference, dims) in asked {
        let source = *entry.instructions[difference].operands.first()?;
        let (Some(sum), Some(centred), Some(numbers)) = (&known[id], &known[difference], &known[source]) else {
            continue;
        };
        let format = sum.dtype().format()?;
        let lines = |tensor: &Tensor| lines(&tensor.data().to_f64s(), tensor.dims(), dims);
        if !lines(centred).iter().all(|line| is_centred(line)) {
            continue;
        }
        let sums: Vec<f64> = lines(numbers).iter().map(|line| sum_of_squares(line, format)).collect();
        others.push((id, Tensor::new(sum.dims(), Data::from_f64s(sum.dtype(), &sums)?)));
    }
    if others.is_empty() { None } else { result_with_all(&mut runner, &others) }
}

/// The numbers along the reduced dims, a line for each element of the result.
fn lines(numbers: &[f64], dims: &[usize], reduced: &[usize]) -> Vec<Vec<f64>> {
    let kept: Vec<usize> = (0..dims.len()).filter(|dim| !reduced.contains(dim)).collect();
    let extents: Vec<usize> = kept.iter().map(|dim| dims[*dim]).collect();
    let (strides, places) = (row_major(dims), row_major(&extents));
    let mut lines = vec![Vec::new(); extents.iter().product()];
    for (at, number) in numbers.iter().enumerate() {
        let place =
            |(dim, stride): (&usize, &isize)| at / strides[*dim].unsigned_abs() % dims[*dim] * stride.unsigned_abs();
        let line: usize = kept.iter().zip(&places).map(place).sum();
        lines[line].push(*number);
    }
    lines
}

fn is_centred(line: &[f64]) -> bool {
    let count = line.len().max(1) as f64;
    let squares = line.iter().map(|x| x * x).sum::<f64>() / count;
    (line.iter().sum::<f64>() / count).abs() <= IS_CENTRED * squares.sqrt()
}

/// The sum of the squared distances from the mean, each operation rounded to `format`.
fn sum_of_squares(line: &[f64], format: &'static Format) -> f64 {
    let round = |value: f64| round_f64(format, value, Direction::NearestEven);
    let (mut mean, mut sum) = (0.0, 0.0);
    for (at, number) in line.iter().enumerate() {
        let before = round(number - mean);
        mean = round(mean + round(before / (at + 1) as f64));
        sum = round(sum + round(before * round(number - mean)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;

    /// The distances of 1, 2, 3, 6 from their mean 3 are 2, 1, 0, 3; the lines of dim 0 are the columns.
    #[test]
    fn sums_are_those_around_the_mean() {
        assert_eq!(sum_of_squares(&[1.0, 2.0, 3.0, 6.0], &F32), 14.0);
        assert_eq!(lines(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], &[0]), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        assert_eq!(lines(&[1.0, 2.0, 3.0, 4.0], &[2, 2], &[0, 1]), [[1.0, 2.0, 3.0, 4.0]]);
        assert!(is_centred(&[-1.0, 1.0, 2.0, -2.0]) && !is_centred(&[-1.0, 1.0, 2.0]));
    }

    /// Numbers are centred or not in any unit.
    #[test]
    fn a_line_is_centred_whatever_its_scale() {
        for scale in [1e-6, 1.0, 1e6] {
            let line = |mean: f64| [1.0, -1.0, 0.5, -0.5].map(|x| (x + mean) * scale);
            assert!(is_centred(&line(1e-4)) && !is_centred(&line(1e-2)), "{scale}");
        }
    }
}
