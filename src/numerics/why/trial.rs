//! Operations kept wide, and the program run again.

use std::collections::BTreeSet;

use crate::ir::Program;
use crate::rewrite::keep_wide;
use crate::tensor::Tensor;

use super::flips::{best, scores_on_machine};
use super::{Explanation, Line, Operation, ProgramOnMachine, WhyError};

/// One run with operations kept wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The operations, by what they change, the most first.
    pub kept: Vec<Operation>,
    /// The token that the row names then.
    pub emitted: usize,
    /// The margin of the two candidates then.
    pub margin: f64,
    /// The margin to expect if only the operations' own errors were gone. The roundings after them then round other
    /// numbers, so the measured margin differs from it by the effect of those roundings.
    pub expected: f64,
}

impl Trial {
    /// Whether the run turned the row back and the table says why: what the operations themselves changed was enough.
    pub fn is_explained(&self, exact: usize) -> bool {
        self.emitted == exact && self.expected > 0.0
    }
}

/// Outcome of keeping a row's operations wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// All runs, in order.
    pub trials: Vec<Trial>,
    /// The run with the fewest operations after which the row names the truth's token; one that the table explains, if there
    /// is any. `None` if no run turned it back.
    pub fewest: Option<Trial>,
}

/// `program` with these operations kept wide.
///
/// # Errors
/// If the result is no program.
pub fn evaluate_wide(setting: &ProgramOnMachine, arguments: &[Tensor], kept: &[Operation]) -> Result<Tensor, WhyError> {
    let wide = rewritten(setting.program, kept)?;
    scores_on_machine(&wide, setting.mode, arguments, setting.scores)
}

fn rewritten(program: &Program, kept: &[Operation]) -> Result<Program, WhyError> {
    let name = |(computation, id): &Operation| program.computations[*computation].instructions[*id].name.clone();
    let set: BTreeSet<Operation> = kept.iter().copied().collect();
    let names = || kept.iter().map(name).collect::<Vec<_>>().join(", ");
    keep_wide(program, &set).map_err(|why| WhyError::Wide { kept: names(), why })
}

/// Keeps the operations wide that moved the row most towards the machine's token, in all trips of loops: each of the first
/// `most` alone; then the first two, three, up to `most`, and all, until the row names the truth's token and the table says
/// why; then leaves out those that it does not take.
///
/// # Errors
/// If an operation cannot be kept wide, or is not supported then.
pub fn undo(
    setting: &ProgramOnMachine,
    arguments: &[Tensor],
    explanation: &Explanation,
    most: usize,
) -> Result<Undone, WhyError> {
    let operations = explanation.operations().into_iter().filter(|(_, change)| *change < 0.0);
    let culprits: Vec<Operation> = operations.map(|(operation, _)| operation).collect();
    let mut runs = TrialRuns { setting, arguments, explanation, trials: Vec::new() };
    let first = &culprits[..most.min(culprits.len())];
    let alone = first.iter().map(std::slice::from_ref);
    let together = (2..=first.len()).map(|size| &first[..size]);
    let all = (culprits.len() > most).then_some(&culprits[..]);
    for kept in alone.chain(together).chain(all) {
        if runs.turns_back(kept)? {
            break;
        }
    }
    let exact = explanation.flip.exact;
    let last = runs.trials.last().filter(|trial| trial.is_explained(exact)).cloned();
    let Some(mut fewest) = last else {
        let by_chance = runs.trials.iter().find(|trial| trial.emitted == exact).cloned();
        return Ok(Undone { trials: runs.trials, fewest: by_chance });
    };
    if (3..=most).contains(&fewest.kept.len()) {
        // The weakest first, so that the strongest stay; each alone was tried.
        for at in (0..fewest.kept.len()).rev() {
            let mut fewer = fewest.kept.clone();
            fewer.remove(at);
            if fewer.len() > 1 && runs.turns_back(&fewer)? {
                fewest.clone_from(&runs.trials[runs.trials.len() - 1]);
            }
        }
    }
    Ok(Undone { trials: runs.trials, fewest: Some(fewest) })
}

struct TrialRuns<'r> {
    setting: &'r ProgramOnMachine<'r>,
    arguments: &'r [Tensor],
    explanation: &'r Explanation,
    trials: Vec<Trial>,
}

impl TrialRuns<'_> {
    /// Runs the program with these operations kept wide; whether the row then names the truth's token as the table explains.
    fn turns_back(&mut self, kept: &[Operation]) -> Result<bool, WhyError> {
        let Explanation { flip, machine_margin, lines, .. } = self.explanation;
        let scores = evaluate_wide(self.setting, self.arguments, kept)?;
        let width = scores.dims().last().copied().unwrap_or(1);
        let row = &scores.data().to_f64s()[flip.row * width..(flip.row + 1) * width];
        let (emitted, margin) = (best(row), row[flip.exact] - row[flip.emitted]);
        let is_kept = |line: &&Line| kept.contains(&(line.place.computation, line.place.instruction));
        let expected = machine_margin - lines.iter().filter(is_kept).map(|line| line.change).sum::<f64>();
        let trial = Trial { kept: kept.to_vec(), emitted, margin, expected };
        let is_explained = trial.is_explained(flip.exact);
        self.trials.push(trial);
        Ok(is_explained)
    }
}
