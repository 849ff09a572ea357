//! Guards: the fewest after which an outcome is proven.

use std::collections::BTreeSet;
use std::fmt;

use crate::ir::{Instruction, Op, Program, ValueId};
use crate::rewrite::{Spot, body_of, drop_unused_computations, with_body_of};
use crate::tensor::Tensor;

use super::{Answer, Exploration, ExploreError, Settings, explore};

/// A value of the declared program to be guarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its name.
    pub value: String,
    /// The operation that gives it, with its operands: `div.5 = divide(exp.3, sum.4)`.
    pub definition: String,
    /// The loops in whose bodies it stands, by their names, from the entry inwards.
    pub within: Vec<String>,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guard { value, within, .. } = self;
        write!(f, "{value}")?;
        within.iter().rev().try_for_each(|around| write!(f, " in the body of {around}"))
    }
}

/// Values to guard, and what that leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The declared program's values behind which `reduce_precision(8, 7)` is to stand.
    pub guards: Vec<Guard>,
    /// The program with them.
    pub program: Program,
    /// Rows that are proven then, and all.
    pub proven: [usize; 2],
    /// Whether time ended before every set was explored: fewer guards may do, or others prove more rows.
    pub is_cut_short: bool,
}

/// The reason why no guards are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRepair {
    /// No permitted choice leaves a bf16 value unrounded.
    NothingToGuard,
    /// All guards together prove no more rows than none.
    ProvesNoMore,
    /// Time ended before all guards together were explored.
    OutOfTime,
}

impl fmt::Display for NoRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoRepair::NothingToGuard => {
                "no permitted choice leaves a bf16 value unrounded, so that a guard forbids none"
            }
            NoRepair::ProvesNoMore => {
                "with a guard behind every bf16 value that may be left unrounded no more rows are proven"
            }
            NoRepair::OutOfTime => {
                "time ended before a guard behind every bf16 value that may be left unrounded was explored"
            }
        })
    }
}

/// The most sets of guards that are tried.
const TRIED: usize = 200;

/// The fewest guards after which every row of an outcome is proven; where none were found, those with which most are. What
/// is found is explored again: no set is given that was not. None is given where all guards together prove no more rows than none,
/// as where there is nothing to be guarded: they leave fewer choices than any of them. Where time ends, the best set until then is
/// given.
///
/// # Errors
/// As [`explore`].
pub fn repair(
    program: &Program,
    arguments: &[Tensor],
    results: &[String],
    settings: &Settings,
    found: &Exploration,
) -> Result<Result<Repair, NoRepair>, ExploreError> {
    let mut candidates: Vec<Spot> = found.choices.points.iter().filter_map(|point| point.guard.clone()).collect();
    candidates.sort_unstable();
    candidates.dedup();
    if candidates.is_empty() {
        return Ok(Err(NoRepair::NothingToGuard));
    }
    // Whether a guard helps is a matter of proof: no search for a witness is needed.
    let few = Settings { choices: 1, ..settings.clone() };
    // `None` where time ended before anything was known.
    let with = |set: &[Spot]| -> Result<Option<Repair>, ExploreError> {
        // A guard is a rounding to bf16 where one stands already: what is declared stays as it is.
        let guarded = with_guards(program, set);
        let again = match explore(&guarded, arguments, results, &few) {
            Err(ExploreError::OutOfTime(_)) => return Ok(None),
            again => again?,
        };
        let guards = set.iter().map(|spot| guard(program, spot)).collect();
        let (proven, is_cut_short) = ([count_proven(&again), again.answers.len()], again.out_of_time.is_some());
        Ok(Some(Repair { guards, program: guarded, proven, is_cut_short }))
    };
    let Some(mut best) = with(&candidates)? else { return Ok(Err(NoRepair::OutOfTime)) };
    let most = best.proven[0];
    // If not even all guards together prove more, no part of them does.
    if most <= count_proven(found) {
        return Ok(Err(if best.is_cut_short { NoRepair::OutOfTime } else { NoRepair::ProvesNoMore }));
    }
    let singles = candidates.iter().map(|at| vec![at.clone()]);
    let pairs =
        candidates.iter().enumerate().flat_map(|(i, a)| candidates[..i].iter().map(|b| vec![b.clone(), a.clone()]));
    for set in singles.chain(pairs).take(TRIED) {
        if best.is_cut_short {
            break;
        }
        let Some(one) = with(&set)? else {
            best.is_cut_short = true;
            break;
        };
        let is_cut_short = one.is_cut_short;
        if one.proven[0] > best.proven[0] || one.proven[0] == best.proven[0] && one.guards.len() < best.guards.len() {
            best = one;
        }
        best.is_cut_short |= is_cut_short;
        // Candidates come by size: no later set is smaller.
        if best.proven[0] >= most && best.guards.len() <= set.len() {
            break;
        }
    }
    Ok(Ok(best))
}

fn count_proven(found: &Exploration) -> usize {
    found.answers.iter().filter(|answer| matches!(answer, Answer::Proven { .. })).count()
}

/// `program` with the users of these values using them rounded to bf16, in bodies of loops as well.
fn with_guards(program: &Program, spots: &[Spot]) -> Program {
    let mut guarded = program.clone();
    let within: BTreeSet<ValueId> = spots.iter().filter_map(|spot| spot.loops.first().copied()).collect();
    for at in within {
        let of_body = |spot: &Spot| match &spot.loops[..] {
            [first, loops @ ..] if *first == at => Some(Spot { loops: loops.to_vec(), value: spot.value }),
            _ => None,
        };
        let inside: Vec<Spot> = spots.iter().filter_map(of_body).collect();
        if let Some(body) = body_of(program, at) {
            guarded = with_body_of(guarded, at, with_guards(&body, &inside));
        }
    }
    let is_guarded = |id: ValueId| spots.iter().any(|spot| spot.loops.is_empty() && spot.value == id);
    let entry = guarded.entry().clone();
    let mut seen: Vec<ValueId> = Vec::with_capacity(entry.instructions.len());
    let mut instructions: Vec<Instruction> = Vec::with_capacity(entry.instructions.len() + spots.len());
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let operands = instruction.operands.iter().map(|operand| seen[*operand]).collect();
        instructions.push(Instruction { operands, ..instruction.clone() });
        if is_guarded(id) {
            let (name, op) =
                (format!("{}.guarded", instruction.name), Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 });
            instructions.push(Instruction::new(name, op, vec![instructions.len() - 1], instruction.shape.clone()));
        }
        seen.push(instructions.len() - 1);
    }
    let computation = &mut guarded.computations[guarded.entry];
    computation.root = seen[entry.root];
    computation.instructions = instructions;
    drop_unused_computations(guarded)
}

/// The guard behind a value.
fn guard(program: &Program, spot: &Spot) -> Guard {
    let mut within: Vec<String> = Vec::new();
    let mut computation = program.entry();
    for at in &spot.loops {
        let around = &computation.instructions[*at];
        if let Op::While { body, .. } = around.op {
            within.push(around.name.clone());
            computation = &program.computations[body];
        }
    }
    let value = computation.instructions[spot.value].name.clone();
    Guard { value, definition: computation.definition(spot.value), within }
}
