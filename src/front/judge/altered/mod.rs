//! Faults within the program: a value of it that is another one than the program says, and all that follows from it.
//!
//! Each fault is computed as the nearest mode computes the program, with the altered value as a further argument.

mod activations;
pub mod decimals;
mod formulas;
mod gpu_units;
mod integer_ranges;
mod left_out_steps;
mod narrow_sums;
mod narrow_types;
mod numbers;
mod operands;
mod result_functions;
mod running_variance;
mod softmax_axis;
mod weight_decay;

use crate::ir::{Computation, Instruction, Op, Program, Shape, ValueId};
use crate::subject::evaluate;
use crate::tensor::{Data, Tensor};

use super::evidence::{Evidence, Pattern, Runner, budget};
use super::marked::with_value;

pub(super) use numbers::fit_number;
pub(super) use operands::operands;
pub(super) use result_functions::result_functions;
pub(super) use running_variance::running_variance;

/// The best of the faults of one value. Of `hidden` ones only those that no honest arithmetic has: other functions and narrow sums.
pub(super) fn alteration(evidence: &Evidence, hidden: bool) -> Option<Pattern> {
    let mut best: Option<Pattern> = None;
    let mut searches: Vec<fn(&mut Runner) -> Option<Pattern>> =
        vec![narrow_sums::narrow_sums, narrow_types::f16_types, activations::functions];
    if !hidden {
        searches.insert(1, gpu_units::gpu_units);
        // A number that is fitted explains something of anything: faults without one are looked for first.
        searches.extend([
            softmax_axis::softmax_axes,
            integer_ranges::integer_ranges,
            integer_ranges::integer_arguments,
            left_out_steps::steps,
            formulas::formulas,
            weight_decay::weight_decay,
            narrow_types::bf16_types,
            numbers::constants,
            numbers::tables,
            numbers::arguments,
            numbers::roundings,
        ] as [fn(&mut Runner) -> _; 11]);
    }
    for search in searches {
        // Each has its own budget: a formula of many constants leaves none for another search.
        let found = search(&mut Runner { evidence, left: budget(evidence) });
        if let Some(found) =
            found.filter(|found| best.as_ref().is_none_or(|best| found.explained > best.explained + ALIKE))
        {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.explained > SETTLED) {
            break;
        }
    }
    best
}

/// Keeps a fault that explains more than the best one so far; of those that explain as much the one that was looked for first.
pub(super) fn keep(
    best: &mut Option<Pattern>,
    evidence: &Evidence,
    values: &[f64],
    kind: &'static str,
    says: String,
    factor: Option<f64>,
) {
    let explained = evidence.least_share(values);
    if best.as_ref().is_none_or(|best| explained > best.explained + 1e-3) {
        *best = Some(Pattern { factor, ..Pattern::new(kind, says, explained) });
    }
}

/// The number that a value has everywhere, where it is a constant behind broadcasts and conversions; none of NaN.
pub(super) fn constant_number(entry: &Computation, mut id: ValueId) -> Option<f64> {
    while matches!(entry.instructions[id].op, Op::Broadcast { .. } | Op::Reshape | Op::Convert) {
        id = *entry.instructions[id].operands.first()?;
    }
    let Op::Constant(tensor) = &entry.instructions[id].op else { return None };
    let first = (!tensor.is_empty()).then(|| tensor.data().get_f64(0))?;
    (0..tensor.len()).all(|at| tensor.data().get_f64(at) == first).then_some(first)
}

/// Share of the difference that a later, less plain fault must explain beyond an earlier one.
const ALIKE: f64 = 0.01;

/// Share of the difference beyond which no other fault is looked for.
const SETTLED: f64 = 0.99;

/// Numbers of one value that are altered at most.
const LARGEST: usize = 1 << 22;

/// Instructions of a program whose values are asked for.
const MOST_VALUES: usize = 400;

/// The values of the entry of which `is_asked`, as the nearest mode computes them in one run. None of a large program, and none of a
/// value that has more numbers than are altered.
pub(super) fn values(runner: &mut Runner, is_asked: &dyn Fn(&Instruction) -> bool) -> Vec<Option<Tensor>> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let mut known: Vec<Option<Tensor>> = Vec::new();
    known.resize_with(entry.instructions.len(), || None);
    let is_small = |instruction: &Instruction| (1..=LARGEST).contains(&instruction.shape.elements());
    let is_array = |instruction: &Instruction| instruction.shape.dtype().is_some();
    let asked: Vec<ValueId> = (0..entry.instructions.len())
        .filter(|id| {
            let instruction = &entry.instructions[*id];
            is_array(instruction) && is_small(instruction) && is_asked(instruction)
        })
        .collect();
    let elements: usize = asked.iter().map(|id| entry.instructions[*id].shape.elements()).sum();
    if asked.is_empty() || entry.instructions.len() > MOST_VALUES || elements > 8 * LARGEST {
        return known;
    }
    let Some(left) = runner.left.checked_sub(1) else { return known };
    runner.left = left;
    let mut program = evidence.ground.program.clone();
    let place = program.entry;
    let computation = &mut program.computations[place];
    let shapes: Vec<Shape> = asked.iter().map(|id| computation.instructions[*id].shape.clone()).collect();
    computation.instructions.push(Instruction::new("values", Op::Tuple, asked.clone(), Shape::Tuple(shapes)));
    computation.root = computation.instructions.len() - 1;
    program.output_names = asked.iter().map(|id| format!("value{id}")).collect();
    if let Ok(results) = evaluate(&program, &evidence.member.mode, evidence.ground.arguments) {
        asked.into_iter().zip(results).for_each(|(id, tensor)| known[id] = Some(tensor));
    }
    known
}

/// A value of the entry, as the nearest mode computes it.
fn value_of(evidence: &Evidence, program: &Program, arguments: &[Tensor], id: ValueId) -> Option<Tensor> {
    let mut asked = program.clone();
    let entry = asked.entry;
    asked.computations[entry].root = id;
    asked.output_names = vec!["value".to_string()];
    evaluate(&asked, &evidence.member.mode, arguments).ok()?.into_iter().next()
}

/// The result with other numbers in the place of a value.
fn result_with(runner: &mut Runner, id: ValueId, tensor: &Tensor, numbers: &[f64]) -> Option<Vec<f64>> {
    result_with_all(runner, &[(id, Tensor::new(tensor.dims(), Data::from_f64s(tensor.dtype(), numbers)?))])
}

/// The result with other tensors in the place of some values.
pub(super) fn result_with_all(runner: &mut Runner, others: &[(ValueId, Tensor)]) -> Option<Vec<f64>> {
    let mut program = runner.evidence.ground.program.clone();
    let mut arguments = runner.evidence.ground.arguments.to_vec();
    for (id, other) in others {
        if let Op::Parameter(number) = program.entry().instructions[*id].op {
            *arguments.get_mut(number)? = other.clone();
        } else {
            arguments.push(other.clone());
            program = with_value(&program, *id);
        }
    }
    runner.run(&program, &arguments)
}

/// The result with other numbers in the place of an argument.
fn result_of(runner: &mut Runner, number: usize, numbers: &[f64]) -> Option<Vec<f64>> {
    let mut arguments = runner.evidence.ground.arguments.to_vec();
    let own = arguments.get_mut(number)?;
    *own = Tensor::new(own.dims(), Data::from_f64s(own.dtype(), numbers)?);
    runner.run(runner.evidence.ground.program, &arguments)
}
