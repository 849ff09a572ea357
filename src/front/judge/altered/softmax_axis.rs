//! A softmax over another dim than the program's.

use crate::ir::Instruction;
use crate::ir::movement::row_major;
use crate::tensor::{DType, Data, Tensor};

use super::super::evidence::{Pattern, Runner};
use super::{result_with_all, values};

/// Distance of a sum from 1 within which the terms are a softmax, in a narrow type.
const IS_ONE: f64 = 0.03;

/// Root mean square of the error of a value, beside its own, within which it is the softmax of another one.
const IS_ALIKE: f64 = 0.02;

/// A softmax of the program over another dim.
pub(super) fn softmax_axes(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let is_asked = |instruction: &Instruction| {
        let dims = instruction.shape.dims();
        instruction.shape.dtype().is_some_and(DType::is_float) && dims.iter().filter(|extent| **extent > 1).count() > 1
    };
    let known = values(runner, &is_asked);
    let mut best: Option<Pattern> = None;
    for (id, tensor) in known.iter().enumerate() {
        let Some((tensor, dim)) = tensor.as_ref().and_then(|tensor| Some((tensor, dim_of(tensor)?))) else { continue };
        let numbers = tensor.data().to_f64s();
        let is_operand = |operand: &&Tensor| {
            operand.dims() == tensor.dims()
                && is_alike(&softmax(&operand.data().to_f64s(), tensor.dims(), dim), &numbers)
        };
        let Some(operand) = known[..id].iter().flatten().find(is_operand) else { continue };
        let operand = operand.data().to_f64s();
        for other in (0..tensor.dims().len()).filter(|other| *other != dim && tensor.dims()[*other] > 1) {
            let values = softmax(&operand, tensor.dims(), other);
            let data = Data::from_f64s(tensor.dtype(), &values)?;
            let Some(result) = result_with_all(runner, &[(id, Tensor::new(tensor.dims(), data))]) else { return best };
            let explained = evidence.least_share(&result);
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                let says = format!("the softmax {} is over dim {other} and not dim {dim}", entry.instructions[id].name);
                best = Some(Pattern { kind: "softmax-axis", says, explained, places: vec![other], factor: None });
            }
        }
        break;
    }
    best
}

/// The dim along which numbers that are none of them negative add up to 1.
fn dim_of(tensor: &Tensor) -> Option<usize> {
    let numbers = tensor.data().to_f64s();
    if numbers.iter().any(|x| x.is_nan() || *x < 0.0) {
        return None;
    }
    (0..tensor.dims().len()).rev().find(|dim| {
        let ends = lines(tensor.dims(), *dim);
        let is_one = |line: &Vec<usize>| (line.iter().map(|at| numbers[*at]).sum::<f64>() - 1.0).abs() < IS_ONE;
        tensor.dims()[*dim] > 1 && ends.iter().all(is_one)
    })
}

fn is_alike(values: &[f64], numbers: &[f64]) -> bool {
    let size: f64 = numbers.iter().map(|x| x * x).sum();
    let apart: f64 = values.iter().zip(numbers).map(|(x, y)| (x - y).powi(2)).sum();
    apart <= size * IS_ALIKE * IS_ALIKE
}

/// The flat positions of each line along a dim.
fn lines(dims: &[usize], dim: usize) -> Vec<Vec<usize>> {
    let stride = row_major(dims)[dim].unsigned_abs();
    let count: usize = dims.iter().product();
    let is_first = |at: &usize| (at / stride).is_multiple_of(dims[dim]);
    (0..count).filter(is_first).map(|first| (0..dims[dim]).map(|i| first + i * stride).collect()).collect()
}

/// The softmax along a dim, in f64.
pub(super) fn softmax(numbers: &[f64], dims: &[usize], dim: usize) -> Vec<f64> {
    let mut values = vec![0.0; numbers.len()];
    for line in lines(dims, dim) {
        let largest = line.iter().map(|at| numbers[*at]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = line.iter().map(|at| core_math::exp(numbers[*at] - largest)).sum();
        line.iter().for_each(|at| values[*at] = core_math::exp(numbers[*at] - largest) / sum);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_softmax_is_told_by_its_sums() {
        let numbers: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 5)).collect();
        for dim in 0..3 {
            let values = softmax(&numbers, &[2, 3, 4], dim);
            let tensor = Tensor::new(&[2, 3, 4], Data::from_f64s(DType::F32, &values).unwrap());
            assert_eq!(dim_of(&tensor), Some(dim));
            assert!(is_alike(&values, &tensor.data().to_f64s()) && !is_alike(&values, &numbers));
        }
    }

    /// One line that adds up to one is no softmax yet.
    #[test]
    fn all_lines_of_a_softmax_add_up_to_one() {
        for dim in [0, 1] {
            let mut values = softmax(&[0.5, 1.0, -2.0, 0.25, 3.0, 0.0], &[2, 3], dim);
            values[5] += 0.5;
            let tensor = Tensor::new(&[2, 3], Data::F64(values));
            assert_eq!(dim_of(&tensor), None, "the last line along {dim}");
        }
    }
}
