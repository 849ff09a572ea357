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
/// is found is explored again: no set is given that was not. `None` where nothing is to be guarded.
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
    let few = Settings { choices: 1, ..settings.clone() };
    let mut best: Option<Repair> = None;
    let singles = candidates.iter().map(|at| vec![*at]);
    let pairs = candidates.iter().enumerate().flat_map(|(i, a)| candidates[..i].iter().map(|b| vec![*b, *a]));
    let sets = singles.chain(pairs).chain(std::iter::once(candidates.clone())).filter(|set| !set.is_empty());
    for set in sets.take(TRIED) {
        // A guard is a rounding to bf16 where one stands already: what is declared stays as it is.
        let guarded = with_guards(program, &set);
        let again = explore(&guarded, arguments, results, &few)?;
        let proven = again.answers.iter().filter(|answer| matches!(answer, Answer::Proven { .. })).count();
        if best.as_ref().is_none_or(|best| proven > best.proven[0]) {
            let guards = set.iter().map(|id| program.entry().instructions[*id].name.clone()).collect();
            best = Some(Repair { guards, program: guarded, proven: [proven, again.answers.len()] });
        }
        if proven == again.answers.len() {
            break;
        }
    }
    Ok(best)
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
