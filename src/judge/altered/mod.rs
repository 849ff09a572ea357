//! Faults within the program: a value of it that is another one than the program says, and all that follows from it.
//!
//! Each fault is computed as the nearest mode computes the program, with the altered value as a further argument.

mod activations;
mod gpu_units;
mod narrow_sums;
mod numbers;

use crate::ir::{Op, Program, ValueId};
use crate::subject::evaluate;
use crate::tensor::{Data, Tensor};

use super::evidence::{Evidence, Pattern, Runner, budget};
use super::marked::with_value;

/// The best of the faults of one value. Of `hidden` ones only those that no honest arithmetic has: other functions and narrow sums.
pub(super) fn alteration(evidence: &Evidence, hidden: bool) -> Option<Pattern> {
    let mut best: Option<Pattern> = None;
    let mut searches: Vec<fn(&mut Runner) -> Option<Pattern>> = vec![narrow_sums::narrow_sums, activations::functions];
    if !hidden {
        searches.insert(1, gpu_units::gpu_units);
        searches.extend([numbers::constants, numbers::arguments, numbers::roundings] as [fn(&mut Runner) -> _; 3]);
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

/// Share of the difference that a later, less plain fault must explain beyond an earlier one.
const ALIKE: f64 = 0.01;

/// Share of the difference beyond which no other fault is looked for.
const SETTLED: f64 = 0.99;

/// Numbers of one value that are altered at most.
const LARGEST: usize = 1 << 22;

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
    let program = runner.evidence.ground.program;
    if let Op::Parameter(number) = program.entry().instructions[id].op {
        return result_of(runner, number, numbers);
    }
    let other = Tensor::new(tensor.dims(), Data::from_f64s(tensor.dtype(), numbers)?);
    let arguments = [runner.evidence.ground.arguments, &[other]].concat();
    runner.run(&with_value(program, id), &arguments)
}

/// The result with other numbers in the place of an argument.
fn result_of(runner: &mut Runner, number: usize, numbers: &[f64]) -> Option<Vec<f64>> {
    let mut arguments = runner.evidence.ground.arguments.to_vec();
    let own = arguments.get_mut(number)?;
    *own = Tensor::new(own.dims(), Data::from_f64s(own.dtype(), numbers)?);
    runner.run(runner.evidence.ground.program, &arguments)
}
