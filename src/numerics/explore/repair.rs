//! Guards: the fewest after which an outcome is proven.

use crate::ir::{Instruction, Op, Program, ValueId};
use crate::tensor::Tensor;

use super::{Answer, Exploration, ExploreError, Settings, explore};

/// Values to guard, and what that leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// Names of the declared program's values that are to stand behind `reduce_precision(8, 7)`.
    pub guards: Vec<String>,
    /// The program with them.
    pub program: Program,
    /// Rows that are proven then, and all.
    pub proven: [usize; 2],
}

/// The most sets of guards that are tried.
const TRIED: usize = 200;

/// The fewest guards after which every row of an outcome is proven; where none were found, those with which most are. What
/// is found is explored again: no set is given that was not. `None` where all guards together prove no more rows than none, as
/// where there is nothing to be guarded: they leave fewer choices than any of them.
///
/// # Errors
/// As [`explore`].
pub fn repair(
    program: &Program,
    arguments: &[Tensor],
    results: &[String],
    settings: &Settings,
    found: &Exploration,
) -> Result<Option<Repair>, ExploreError> {
    let mut candidates: Vec<ValueId> = found.choices.points.iter().filter_map(|point| point.guard).collect();
    candidates.sort_unstable();
    candidates.dedup();
    if candidates.is_empty() {
        return Ok(None);
    }
    let few = Settings { choices: 1, ..settings.clone() };
    let with = |set: &[ValueId]| -> Result<Repair, ExploreError> {
        // A guard is a rounding to bf16 where one stands already: what is declared stays as it is.
        let guarded = with_guards(program, set);
        let again = explore(&guarded, arguments, results, &few)?;
        let guards = set.iter().map(|id| program.entry().instructions[*id].name.clone()).collect();
        Ok(Repair { guards, program: guarded, proven: [count_proven(&again), again.answers.len()] })
    };
    let mut best = with(&candidates)?;
    let most = best.proven[0];
    if most <= count_proven(found) {
        return Ok(None);
    }
    let singles = candidates.iter().map(|at| vec![*at]);
    let pairs = candidates.iter().enumerate().flat_map(|(i, a)| candidates[..i].iter().map(|b| vec![*b, *a]));
    for set in singles.chain(pairs).take(TRIED) {
        let one = with(&set)?;
        if one.proven[0] > best.proven[0] || one.proven[0] == best.proven[0] && one.guards.len() < best.guards.len() {
            best = one;
        }
        if best.proven[0] >= most && best.guards.len() <= set.len() {
            break;
        }
    }
    Ok(Some(best))
}

fn count_proven(found: &Exploration) -> usize {
    found.answers.iter().filter(|answer| matches!(answer, Answer::Proven { .. })).count()
}

/// `program` with what reads these values reading them rounded to bf16.
fn with_guards(program: &Program, values: &[ValueId]) -> Program {
    let mut guarded = program.clone();
    let entry = program.entry();
    let mut seen: Vec<ValueId> = Vec::with_capacity(entry.instructions.len());
    let mut instructions: Vec<Instruction> = Vec::with_capacity(entry.instructions.len() + values.len());
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let operands = instruction.operands.iter().map(|operand| seen[*operand]).collect();
        instructions.push(Instruction { operands, ..instruction.clone() });
        if values.contains(&id) {
            let (name, op) =
                (format!("{}.guarded", instruction.name), Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 });
            instructions.push(Instruction::new(name, op, vec![instructions.len() - 1], instruction.shape.clone()));
        }
        seen.push(instructions.len() - 1);
    }
    let computation = &mut guarded.computations[program.entry];
    computation.root = seen[entry.root];
    computation.instructions = instructions;
    guarded
}
