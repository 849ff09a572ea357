//! Activations in whose place another one stands.

use core_math::erf;

use crate::ir::{Instruction, Op, ValueId};
use crate::tensor::{DType, Tensor};

use super::super::evidence::{Pattern, Runner};
use super::{result_with, values};

/// An activation of one number.
type Activation = (&'static str, fn(f64) -> f64);

/// The activations that are taken for each other.
const ACTIVATIONS: [Activation; 7] = [
    ("GELU by erf", |x| x * 0.5 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))),
    ("GELU by tanh", |x| {
        x * 0.5 * (1.0 + core_math::tanh((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)))
    }),
    ("x times the logistic function of 1.702 x", |x| x / (1.0 + core_math::exp(-1.702 * x))),
    ("SiLU", |x| x / (1.0 + core_math::exp(-x))),
    ("ReLU", |x| x.max(0.0)),
    ("the logistic function", |x| 1.0 / (1.0 + core_math::exp(-x))),
    ("tanh", core_math::tanh),
];

/// Root mean square of the error of a value, beside its own, within which it is an activation.
const IS_ALIKE: f64 = 6e-3;

/// Values before an activation among which its operand is looked for: erfc alone is 126 instructions of XLA.
const FORMULA: usize = 200;

/// An activation of the program, and another one that stands in its place.
pub(super) fn functions(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let mut best: Option<Pattern> = None;
    for (id, tensor, operand, own) in activations(runner) {
        for (name, other) in ACTIVATIONS.iter().filter(|(name, _)| *name != own) {
            let numbers: Vec<f64> = operand.iter().map(|x| other(*x)).collect();
            let Some(values) = result_with(runner, id, &tensor, &numbers) else { return best };
            let explained = evidence.least_share(&values);
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                let of = &evidence.ground.program.entry().instructions[id].name;
                let says = format!("{of} is {name} in the place of {own}");
                best = Some(Pattern::new("function", says, explained));
            }
        }
    }
    best
}

/// Values that are activations of another value, whatever their formula: the value, its operand's numbers, and the activation.
fn activations(runner: &mut Runner) -> Vec<(ValueId, Tensor, Vec<f64>, &'static str)> {
    let evidence = runner.evidence;
    let program = evidence.ground.program;
    let entry = program.entry();
    let is_product = |id: usize| matches!(entry.instructions[id].op, Op::Binary(_));
    let is_float = |id: &usize| entry.instructions[*id].shape.dtype().is_some_and(DType::is_float);
    let of_formula = |op: &Op| matches!(op, Op::Broadcast { .. } | Op::Constant(_) | Op::Convert);
    let ids: Vec<usize> = (0..entry.instructions.len()).filter(is_float).collect();
    let is_asked = |instruction: &Instruction| {
        let is_float = instruction.shape.dtype().is_some_and(DType::is_float);
        is_float && !of_formula(&instruction.op) && instruction.shape.elements() >= 16
    };
    let known = values(runner, &is_asked);
    let mut found = Vec::new();
    for id in ids.iter().copied().filter(|id| is_product(*id)) {
        let Some(tensor) = &known[id] else { continue };
        let numbers = tensor.data().to_f64s();
        for before in (id.saturating_sub(FORMULA)..id).rev() {
            let Some(operand) = known[before].as_ref().filter(|operand| operand.dims() == tensor.dims()) else {
                continue;
            };
            let operand = operand.data().to_f64s();
            if let Some(own) = activation_of(&operand, &numbers) {
                found.push((id, tensor.clone(), operand, own));
                break;
            }
        }
    }
    found
}

/// The activation that these numbers are of these operands.
fn activation_of(operand: &[f64], numbers: &[f64]) -> Option<&'static str> {
    let size: f64 = numbers.iter().map(|x| x * x).sum();
    // An activation is told by negative operands.
    let below = operand.iter().filter(|x| **x < -0.1).count();
    if !size.is_finite() || size == 0.0 || below * 10 < operand.len() {
        return None;
    }
    let error = |activation: &Activation| -> f64 {
        operand.iter().zip(numbers).map(|(x, y)| (activation.1(*x) - y).powi(2)).sum::<f64>() / size
    };
    let each = ACTIVATIONS.iter().map(|activation| (error(activation), activation.0));
    let (error, name) = each.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (error.sqrt() < IS_ALIKE).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_told_apart_by_their_numbers() {
        assert!((erf(1.0) - 0.842_700_792_949_714_9).abs() < 1e-12 && (erf(-3.9) + 0.999_999_965_2).abs() < 1e-8);
        let operand: Vec<f64> = (-40..40).map(|i| f64::from(i) / 10.0).collect();
        for (name, function) in ACTIVATIONS {
            let numbers: Vec<f64> = operand.iter().map(|x| f64::from(function(*x) as f32)).collect();
            assert_eq!(activation_of(&operand, &numbers), Some(name));
        }
        assert_eq!(activation_of(&operand, &operand), None);
    }
}
