//! Arguments that were left out, constants of another size, and values that were rounded to a narrow type on their way.

use crate::ir::{Op, ValueId};
use crate::num::{BF16, Direction, F16, Format, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::super::arguments::parameter_names;
use super::super::evidence::{Evidence, Pattern, Runner, dot};
use super::super::marked::with_operand;
use super::{LARGEST, result_of, result_with, value_of};

/// Steps of the search for a constant.
const STEPS: usize = 8;

/// Keeps the better of two.
fn keep(
    best: &mut Option<Pattern>,
    evidence: &Evidence,
    values: &[f64],
    kind: &'static str,
    says: String,
    factor: Option<f64>,
) {
    let explained = evidence.least_share(values);
    if best.as_ref().is_none_or(|best| explained > best.explained + 1e-3) {
        *best = Some(Pattern { kind, says, explained, places: Vec::new(), factor });
    }
}

/// An argument in whose place there are zeros or ones, as a bias that is not added, or that is one more or less, as a weight of which
/// one side holds the difference from 1; or an argument with a factor, as a temperature.
pub(super) fn arguments(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let names = parameter_names(evidence.ground.program);
    let mut best = None;
    for (number, argument) in evidence.ground.arguments.iter().enumerate() {
        if !argument.dtype().is_float() || argument.len() > LARGEST {
            continue;
        }
        let name = names.get(number).cloned().unwrap_or_default();
        let numbers = argument.data().to_f64s();
        let mut with = |factor: f64, term: f64| -> Option<Vec<f64>> {
            let changed: Vec<f64> = numbers.iter().map(|x| x * factor + term).collect();
            result_of(runner, number, &changed)
        };
        for (factor, term, says) in [
            (0.0, 0.0, "is left out: zeros stand in its place"),
            (0.0, 1.0, "is left out: ones stand in its place"),
            (1.0, 1.0, "has one more everywhere"),
            (1.0, -1.0, "has one less everywhere"),
        ] {
            let Some(values) = with(factor, term) else { return best };
            let kind = if factor == 0.0 { "left-out" } else { "one-more" };
            keep(&mut best, evidence, &values, kind, format!("{name} {says}"), None);
        }
        if let Some((found, values)) = fitted(evidence, 1.0, &mut |factor| with(factor, 0.0)) {
            let says = format!("{name} is about {found:.6} times what it should be");
            keep(&mut best, evidence, &values, "argument-factor", says, Some(found));
        }
    }
    best
}

/// A constant of another size, where one instruction uses it: an epsilon, a scale, a divisor.
pub(super) fn constants(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let mut best = None;
    for (user, instruction) in entry.instructions.iter().enumerate() {
        if !matches!(instruction.op, Op::Binary(_)) {
            continue;
        }
        for (place, operand) in instruction.operands.iter().enumerate() {
            let Some((constant, dtype)) = constant_of(evidence, *operand) else { continue };
            let Some((found, values)) = other_constant(runner, (user, place), constant, dtype) else { continue };
            let says = format!("the constant {constant:.5e} of {} is about {found:.5e}", instruction.name);
            keep(&mut best, evidence, &values, "constant", says, Some(found / constant));
        }
    }
    best
}

/// The one number that an operand has everywhere, where it is a finite constant other than zero.
fn constant_of(evidence: &Evidence, operand: ValueId) -> Option<(f64, DType)> {
    let entry = evidence.ground.program.entry();
    let mut at = operand;
    while matches!(entry.instructions[at].op, Op::Broadcast { .. } | Op::Reshape | Op::Convert) {
        at = *entry.instructions[at].operands.first()?;
    }
    let dtype = entry.instructions[operand].shape.dtype().filter(|dtype| dtype.is_float())?;
    let Op::Constant(tensor) = &entry.instructions[at].op else { return None };
    let first = (!tensor.is_empty()).then(|| tensor.data().get_f64(0))?;
    let is_alike = (0..tensor.len()).all(|at| tensor.data().get_f64(at) == first);
    (is_alike && first.is_finite() && first != 0.0).then_some((first, dtype))
}

/// The constant that explains most of the difference in the place of an operand, and the result with it.
fn other_constant(
    runner: &mut Runner,
    (user, place): (ValueId, usize),
    constant: f64,
    dtype: DType,
) -> Option<(f64, Vec<f64>)> {
    let evidence = runner.evidence;
    let program = with_operand(evidence.ground.program, user, place);
    let dims = program.entry().parameter_shapes().last()?.dims().to_vec();
    let count: usize = dims.iter().product();
    if count > LARGEST {
        return None;
    }
    fitted(evidence, constant, &mut |value| {
        let mut arguments = evidence.ground.arguments.to_vec();
        arguments.push(Tensor::new(&dims, Data::from_f64s(dtype, &vec![value; count])?));
        runner.run(&program, &arguments)
    })
}

/// The number that explains most of the difference, from `start` on by secants of the least squares, and the result with it.
fn fitted(evidence: &Evidence, start: f64, with: &mut dyn FnMut(f64) -> Option<Vec<f64>>) -> Option<(f64, Vec<f64>)> {
    let scaled = |a: &[f64], b: &[f64]| -> Vec<f64> {
        let each = a.iter().zip(b).zip(evidence.compared.scale).map(|((x, y), scale)| (x - y) / scale);
        each.map(|z| if z.is_finite() { z } else { 0.0 }).collect()
    };
    // An epsilon shows only when it is moved far, a scale is far from linear: the first step is small, then large, the next ones are
    // as long as the last move.
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    for first in [0.01, 1.0] {
        let (mut now, mut step) = (start, start * first);
        let mut values = with(now)?;
        for _ in 0..STEPS {
            let template = scaled(&with(now + step)?, &values);
            let size = dot(&template, &template);
            let slope = dot(&scaled(evidence.compared.observed, &values), &template) / size;
            if size == 0.0 || !slope.is_finite() {
                break;
            }
            let most = 10.0 * (now.abs() + start.abs());
            let moved = (slope * step).clamp(-most, most);
            now += moved;
            values = with(now)?;
            let explained = evidence.least_share(&values);
            if best.as_ref().is_none_or(|best| explained > best.0) {
                best = Some((explained, now, values.clone()));
            }
            if moved.abs() < 1e-3 * now.abs() || moved == 0.0 {
                break;
            }
            step = moved;
        }
        if best.as_ref().is_some_and(|best| best.0 > 0.99) {
            break;
        }
    }
    best.filter(|best| best.0 > 0.0).map(|(_, number, values)| (number, values))
}

/// A value that was rounded to a narrow type.
pub(super) fn roundings(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let program = evidence.ground.program;
    let mut best = None;
    for (id, instruction) in program.entry().instructions.iter().enumerate() {
        let format = instruction.shape.dtype().and_then(DType::format);
        let is_wide = format.is_some_and(|format| format.fraction_bits > F16.fraction_bits);
        let is_copy =
            matches!(instruction.op, Op::Constant(_) | Op::Broadcast { .. } | Op::Reshape | Op::Transpose { .. });
        if !is_wide || is_copy || instruction.shape.elements() > LARGEST {
            continue;
        }
        let Some(tensor) = value_of(evidence, program, evidence.ground.arguments, id) else { continue };
        let numbers = tensor.data().to_f64s();
        for format in [&BF16, &F16] as [&Format; 2] {
            let rounded: Vec<f64> = numbers.iter().map(|x| round_f64(format, *x, Direction::NearestEven)).collect();
            if rounded == numbers {
                continue;
            }
            let Some(values) = result_with(runner, id, &tensor, &rounded) else { return best };
            let says = format!("{} is rounded to {}", instruction.name, format.name);
            keep(&mut best, evidence, &values, "rounded", says, None);
        }
    }
    best
}
