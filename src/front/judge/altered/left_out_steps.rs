//! Steps of a program that are left out, or taken twice: a soft cap, a normalisation, a bias, a softmax.

use std::collections::BTreeSet;

use crate::ir::{Instruction, Op, Program, ValueId};
use crate::tensor::{DType, Tensor};

use super::super::evidence::{Pattern, Runner};
use super::super::marked::with_value;
use super::{keep, result_with_all, values};

/// Instructions between a value and the one that it is made of.
const FARTHEST: usize = 12;

/// Steps that are left out, or taken twice: a value in whose place there is one that it is made of, or its own function of it.
pub(super) fn steps(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let known = values(runner, &is_asked);
    let mut best: Option<Pattern> = None;
    // Of several that explain as much the fewest steps are named: those are tried first.
    let mut offer = |values: &[f64], kind, says| keep(&mut best, evidence, values, kind, says, None);
    for (id, tensor) in known.iter().enumerate() {
        let op = &entry.instructions[id].op;
        let Some(tensor) = tensor.as_ref().filter(|_| !matches!(op, Op::Parameter(_) | Op::Convert)) else { continue };
        for before in made_of(&entry.instructions, id) {
            let Some(earlier) = &known[before] else { continue };
            let is_direct = entry.instructions[id].operands.contains(&before);
            // A mask that hides nothing is named as such.
            if is_direct && *op == Op::Select {
                continue;
            }
            if (earlier.dims(), earlier.dtype()) != (tensor.dims(), tensor.dtype()) || earlier == tensor {
                continue;
            }
            let steps = match is_direct {
                true => format!("{} is", entry.definition(id)),
                false => {
                    format!("the steps from {} to {} are", entry.instructions[before].name, entry.instructions[id].name)
                }
            };
            let Some(values) = result_with_all(runner, &[(id, earlier.clone())]) else { return best };
            offer(&values, "left-out", format!("{steps} left out"));
            let Some(again) = again(runner, before, id, tensor) else { continue };
            let Some(values) = result_with_all(runner, &[(id, again)]) else { return best };
            offer(&values, "twice", format!("{steps} taken twice"));
        }
    }
    best
}

/// Whether steps may begin or end at a value: floats of some size that are not mere copies.
fn is_asked(instruction: &Instruction) -> bool {
    let is_copy = matches!(
        instruction.op,
        Op::Constant(_) | Op::Broadcast { .. } | Op::Reshape | Op::Copy | Op::Reduce { .. } | Op::Transpose { .. }
    );
    instruction.shape.dtype().is_some_and(DType::is_float) && !is_copy && instruction.shape.elements() > 1
}

/// Values that one is made of, nearest first.
fn made_of(instructions: &[Instruction], id: ValueId) -> Vec<ValueId> {
    let mut found: Vec<ValueId> = Vec::new();
    let mut level: BTreeSet<ValueId> = instructions[id].operands.iter().copied().collect();
    for _ in 0..FARTHEST {
        // What a mask shows is another value than what it is made of.
        let is_passed = |id: &&ValueId| instructions[**id].op != Op::Select;
        let next = level.iter().filter(is_passed).flat_map(|id| instructions[*id].operands.iter().copied()).collect();
        let new: Vec<ValueId> = level.into_iter().filter(|id| !found.contains(id)).collect();
        found.extend(new);
        level = next;
    }
    found
}

/// The value with itself in the place of the one that it is made of.
fn again(runner: &mut Runner, before: ValueId, id: ValueId, tensor: &Tensor) -> Option<Tensor> {
    let evidence = runner.evidence;
    let mut arguments = evidence.ground.arguments.to_vec();
    let mut program: Program = evidence.ground.program.clone();
    if let Op::Parameter(number) = program.entry().instructions[before].op {
        *arguments.get_mut(number)? = tensor.clone();
    } else {
        arguments.push(tensor.clone());
        program = with_value(&program, before);
    }
    runner.left = runner.left.checked_sub(1)?;
    super::value_of(evidence, &program, &arguments, id)
}
