//! Arguments that were left out, constants of another size, and values that were rounded to a narrow type on their way.

use crate::ir::{Op, ValueId};
use crate::num::{BF16, Direction, F16, Format, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::super::arguments::parameter_names;
use super::super::evidence::{Evidence, Pattern, Runner, dot};
use super::super::marked::with_operand;
use super::{LARGEST, SETTLED, constant_number, keep, result_of, result_with, value_of};

/// Steps of the search for a constant.
const STEPS: usize = 8;

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
        if let Some((found, values)) = fit_number(evidence, 1.0, &mut |factor| with(factor, 0.0)) {
            let says = format!("{name} is about {found:.6} times what it should be");
            keep(&mut best, evidence, &values, "argument-factor", says, Some(found));
        }
    }
    best
}

/// A user of a value, and the place of the value among its operands.
type OperandUse = (ValueId, usize);

/// A constant of another size, where one instruction uses it or wherever its number stands: an epsilon, a scale, a divisor, a cap. Or
/// one that a `select` puts in place of what it hides, and zeros stand there.
pub(super) fn constants(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let mut best = None;
    // By number and type: where it is used.
    let mut places: Vec<(f64, DType, Vec<OperandUse>)> = Vec::new();
    for (user, instruction) in entry.instructions.iter().enumerate() {
        for (place, operand) in instruction.operands.iter().enumerate() {
            let Some((constant, dtype)) = constant_of(evidence, *operand) else { continue };
            if instruction.op == Op::Select {
                // What hides scores may be an infinity; a number that is fitted may not.
                let Some(values) = with_constant(runner, &[(user, place)], dtype, 0.0) else { return best };
                let says = format!("{} puts 0 and not {constant:.5e} where it hides", instruction.name);
                keep(&mut best, evidence, &values, "fill", says, None);
            }
            if !matches!(instruction.op, Op::Binary(_)) || !constant.is_finite() {
                continue;
            }
            match places.iter_mut().find(|(other, type_, _)| (*other, *type_) == (constant, dtype)) {
                Some((.., all)) => all.push((user, place)),
                None => places.push((constant, dtype, vec![(user, place)])),
            }
        }
    }
    for (constant, dtype, all) in places {
        let mut asked: Vec<&[OperandUse]> = all.chunks(1).collect();
        if all.len() > 1 {
            asked.push(&all);
        }
        for uses in asked {
            let with = &mut |number| with_constant(runner, uses, dtype, number);
            let Some((found, values)) = fit_number(evidence, constant, with) else { continue };
            let names: Vec<&str> = uses.iter().map(|(user, _)| entry.instructions[*user].name.as_str()).collect();
            let says = format!("the constant {constant:.5e} of {} is about {found:.5e}", names.join(" and "));
            keep(&mut best, evidence, &values, "constant", says, Some(found / constant));
        }
    }
    best
}

/// An array of constants that is left out or has a factor: as a whole, or each place of its first dim one of its own.
pub(super) fn tables(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let mut best = None;
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let Op::Constant(tensor) = &instruction.op else { continue };
        let (name, numbers) = (&instruction.name, tensor.data());
        if !tensor.dtype().is_float() || !(2..=LARGEST).contains(&tensor.len()) || constant_of(evidence, id).is_some() {
            continue;
        }
        let numbers = numbers.to_f64s();
        let mut with = |factors: &[f64]| -> Option<Vec<f64>> {
            let slice = numbers.len() / factors.len();
            let changed: Vec<f64> = numbers.iter().enumerate().map(|(at, x)| x * factors[at / slice]).collect();
            result_with(runner, id, tensor, &changed)
        };
        let Some(values) = with(&[0.0]) else { return best };
        keep(&mut best, evidence, &values, "left-out", format!("the constants {name} are left out"), None);
        if let Some((found, values)) = fit_number(evidence, 1.0, &mut |factor| with(&[factor])) {
            let says = format!("the constants {name} are about {found:.6} times what they should be");
            keep(&mut best, evidence, &values, "constant", says, Some(found));
        }
        let is_done = best.as_ref().is_some_and(|best: &Pattern| best.explained > SETTLED);
        let slices = tensor.dims().first().copied().filter(|extent| (2..=MOST_SLICES).contains(extent) && !is_done);
        if let Some((found, values)) = slices.and_then(|slices| by_slices(evidence, slices, &mut with)) {
            let told: Vec<String> = found.iter().map(|factor| format!("{factor:.4}")).collect();
            let says = format!("the constants {name} have a factor at each place of dim 0: {}", told.join(", "));
            keep(&mut best, evidence, &values, "constant", says, None);
        }
    }
    best
}

/// Places of a table's first dim that have factors of their own, at most.
const MOST_SLICES: usize = 16;

/// The factors of the slices of a table that explain most of the difference together, and the result with them. Many numbers explain
/// something of anything: nearly all of the difference must go.
fn by_slices(
    evidence: &Evidence,
    slices: usize,
    with: &mut dyn FnMut(&[f64]) -> Option<Vec<f64>>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut factors = vec![1.0; slices];
    let mut values = with(&factors)?;
    for _ in 0..2 * STEPS {
        let residual = scaled(evidence, evidence.compared.observed, &values);
        let mut next = factors.clone();
        for slice in 0..slices {
            let step = 0.05 * factors[slice];
            let mut moved = factors.clone();
            moved[slice] += step;
            let template = scaled(evidence, &with(&moved)?, &values);
            let slope = dot(&residual, &template) / dot(&template, &template);
            if slope.is_finite() {
                next[slice] += (slope * step).clamp(-0.6 * factors[slice].abs(), 1.5 * factors[slice].abs());
            }
        }
        factors = next;
        values = with(&factors)?;
        if evidence.least_share(&values) > SETTLED {
            break;
        }
    }
    (evidence.least_share(&values) > SETTLED).then_some((factors, values))
}

/// The one number that an operand has everywhere, where it is a constant other than zero.
fn constant_of(evidence: &Evidence, operand: ValueId) -> Option<(f64, DType)> {
    let entry = evidence.ground.program.entry();
    let dtype = entry.instructions[operand].shape.dtype().filter(|dtype| dtype.is_float())?;
    constant_number(entry, operand).filter(|number| *number != 0.0).map(|number| (number, dtype))
}

/// The result with another number in the place of a constant where these instructions use it.
fn with_constant(runner: &mut Runner, uses: &[(ValueId, usize)], dtype: DType, number: f64) -> Option<Vec<f64>> {
    let mut program = runner.evidence.ground.program.clone();
    let mut arguments = runner.evidence.ground.arguments.to_vec();
    // Each use adds an instruction: the last one first, so that the places of the others stay.
    let mut uses = uses.to_vec();
    uses.sort_unstable();
    for (user, place) in uses.into_iter().rev() {
        program = with_operand(&program, user, place);
        let dims = program.entry().parameter_shapes().last()?.dims().to_vec();
        let count: usize = dims.iter().product();
        if count > LARGEST {
            return None;
        }
        arguments.push(Tensor::new(&dims, Data::from_f64s(dtype, &vec![number; count])?));
    }
    runner.run(&program, &arguments)
}

/// Scaled differences; elements that are not finite are 0.
fn scaled(evidence: &Evidence, a: &[f64], b: &[f64]) -> Vec<f64> {
    let each = a.iter().zip(b).zip(evidence.compared.scale).map(|((x, y), scale)| (x - y) / scale);
    each.map(|z| if z.is_finite() { z } else { 0.0 }).collect()
}

/// The number that explains most of the difference, from `start` on by secants of the least squares, and the result with it.
pub(in super::super) fn fit_number(
    evidence: &Evidence,
    start: f64,
    with: &mut dyn FnMut(f64) -> Option<Vec<f64>>,
) -> Option<(f64, Vec<f64>)> {
    // An epsilon shows only when it is moved far, a scale is far from linear: the first step is small, then large, the next ones are
    // as long as the last move.
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    for first in [0.01, 1.0, 100.0] {
        let (mut now, mut step) = (start, start * first);
        let mut values = with(now)?;
        for _ in 0..STEPS {
            let template = scaled(evidence, &with(now + step)?, &values);
            let size = dot(&template, &template);
            let slope = dot(&scaled(evidence, evidence.compared.observed, &values), &template) / size;
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
        if best.as_ref().is_some_and(|best| best.0 > SETTLED) {
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
