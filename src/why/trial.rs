//! Operations kept wide, and the program run again.

use std::collections::BTreeSet;

use crate::ir::{ComputationId, Program, ValueId};
use crate::rewrite::keep_wide;
use crate::tensor::Tensor;

use super::flips::{best, scores_on_machine};
use super::{Explanation, Setting, WhyError};

/// An instruction of a computation of the program, in all trips of the loops around it.
pub type Operation = (ComputationId, ValueId);

/// One run with operations kept wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The operations, by what they change, the most first.
    pub kept: Vec<Operation>,
    /// The token that the row names then.
    pub emitted: usize,
    /// The margin of the two candidates then.
    pub margin: f64,
}

/// What came of keeping a row's operations wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// All runs, in order.
    pub trials: Vec<Trial>,
    /// The fewest of the operations tried, in their order, without which the row names the truth's token; none of them can
    /// be left out. `None` if no run turned it back.
    pub fewest: Option<Vec<Operation>>,
}

/// `program` with these operations kept wide.
///
/// # Errors
/// If what comes of it is no program.
pub fn evaluate_wide(setting: &Setting, arguments: &[Tensor], kept: &[Operation]) -> Result<Tensor, WhyError> {
    let wide = rewritten(setting.program, kept)?;
    scores_on_machine(&wide, setting.mode, arguments, setting.scores)
}

fn rewritten(program: &Program, kept: &[Operation]) -> Result<Program, WhyError> {
    let name = |(computation, id): &Operation| program.computations[*computation].instructions[*id].name.clone();
    let set: BTreeSet<Operation> = kept.iter().copied().collect();
    let names = || kept.iter().map(name).collect::<Vec<_>>().join(", ");
    keep_wide(program, &set).map_err(|why| WhyError::Wide { kept: names(), why })
}

/// Keeps the operations wide that moved the row most towards the machine's token: the first, the first two, and so on, up to
/// `most` runs and then all of them, until the row names the truth's token; then leaves out those that it does not take.
///
/// # Errors
/// If an operation cannot be kept wide, or is not supported then.
pub fn undo(
    setting: &Setting,
    arguments: &[Tensor],
    explanation: &Explanation,
    most: usize,
) -> Result<Undone, WhyError> {
    let flip = explanation.flip;
    let culprits: Vec<Operation> = explanation
        .operations()
        .into_iter()
        .filter(|(_, change)| *change < 0.0)
        .map(|(operation, _)| operation)
        .collect();
    let mut trials: Vec<Trial> = Vec::new();
    let mut run = |kept: &[Operation]| -> Result<bool, WhyError> {
        let scores = evaluate_wide(setting, arguments, kept)?;
        let width = scores.dims().last().copied().unwrap_or(1);
        let row = &scores.data().to_f64s()[flip.row * width..(flip.row + 1) * width];
        let (emitted, margin) = (best(row), row[flip.exact] - row[flip.emitted]);
        trials.push(Trial { kept: kept.to_vec(), emitted, margin });
        Ok(emitted == flip.exact)
    };
    let sizes = (1..=most.min(culprits.len())).chain((culprits.len() > most).then_some(culprits.len()));
    let mut fewest = None;
    for size in sizes {
        if run(&culprits[..size])? {
            fewest = Some(culprits[..size].to_vec());
            break;
        }
    }
    if let Some(kept) = &mut fewest {
        // The weakest first: the rest is what a person would write.
        for at in (0..kept.len()).rev().filter(|_| kept.len() <= most).collect::<Vec<_>>() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            if !fewer.is_empty() && run(&fewer)? {
                *kept = fewer;
            }
        }
    }
    Ok(Undone { trials, fewest })
}
