//! Effect of each operation's error on the margin between the two candidates of a flipped row.

use std::collections::BTreeMap;

use crate::machine::{LocalError, LocalErrors, Place};
use crate::tensor::Tensor;

use super::flips::check_scores;
use super::{Flip, Operation, ProgramOnMachine, WhyError};

/// One operation in one trip of the loops around it, if there are any.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The operation, and in which trip.
    pub place: Place,
    /// The largest magnitude of its local error over its elements, in its own unit.
    pub largest: f64,
    /// Change of the margin by this error alone, in the scores' unit. A negative change favours the token that the
    /// machine names.
    pub change: f64,
}

/// Why one row is flipped. A margin is the score of the truth's token less that of the machine's.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The row and its two candidates.
    pub flip: Flip,
    /// The margin without any error: above 0.
    pub exact_margin: f64,
    /// The margin on the machine: 0 or below.
    pub machine_margin: f64,
    /// Effect of each error, the largest change towards the machine's token first.
    pub lines: Vec<Line>,
}

impl Explanation {
    /// Change of the margin by all errors together: the one to explain.
    pub fn whole(&self) -> f64 {
        self.machine_margin - self.exact_margin
    }

    /// The changes added up: as much as [`Explanation::whole`] where nothing but linear operations follows the errors.
    pub fn sum(&self) -> f64 {
        self.lines.iter().map(|line| line.change).sum()
    }

    /// The changes of each operation over all trips, the largest towards the machine's token first.
    pub fn operations(&self) -> Vec<(Operation, f64)> {
        let mut sums: BTreeMap<Operation, f64> = BTreeMap::new();
        for Line { place, change, .. } in &self.lines {
            *sums.entry((place.computation, place.instruction)).or_default() += change;
        }
        let mut sums: Vec<(Operation, f64)> = sums.into_iter().collect();
        sums.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        sums
    }
}

/// Explains these flipped rows together: the operations of the program are run one by one, each once for all rows.
///
/// # Errors
/// If an operation is not supported by the machine or in f64.
pub fn explain(setting: &ProgramOnMachine, arguments: &[Tensor], flips: &[Flip]) -> Result<Vec<Explanation>, WhyError> {
    let ProgramOnMachine { program, mode, scores } = *setting;
    let id = check_scores(program, scores)?;
    let width = program.entry().instructions[id].shape.dims().last().copied().unwrap_or(1);
    let errors = LocalErrors::new(program, mode, arguments, scores)?;
    let margins = |scores: &[f64]| -> Vec<f64> {
        let margin = |flip: &Flip| scores[flip.row * width + flip.exact] - scores[flip.row * width + flip.emitted];
        flips.iter().map(margin).collect()
    };
    let (exact, effects) = errors.effects(margins)?;
    let on_machine = margins(&errors.on_machine);
    let of_row = |at: usize| {
        let line = |(error, margins): (&LocalError, &Vec<f64>)| Line {
            place: error.place.clone(),
            largest: error.largest,
            change: margins[at] - exact[at],
        };
        let mut lines: Vec<Line> = errors.errors.iter().zip(&effects).map(line).collect();
        lines.sort_by(|a, b| a.change.total_cmp(&b.change));
        Explanation { flip: flips[at], exact_margin: exact[at], machine_margin: on_machine[at], lines }
    };
    Ok((0..flips.len()).map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operation's changes in all trips are one sum, and those that moved the row most towards its token come first.
    #[test]
    fn changes_of_all_trips_are_one_operations() {
        let line = |trip: Option<usize>, instruction: usize, change: f64| {
            let place = Place { path: vec![(9, trip)], computation: 2, instruction };
            Line { place, largest: 1.0, change }
        };
        let lines = vec![
            line(Some(0), 4, -1.0),
            line(Some(1), 4, -2.0),
            line(None, 5, 0.5),
            line(Some(0), 3, -4.0),
            line(Some(1), 3, 2.0),
        ];
        let flip = Flip { row: 0, exact: 1, emitted: 2 };
        let explanation = Explanation { flip, exact_margin: 3.0, machine_margin: -1.5, lines };
        assert_eq!(explanation.operations(), [((2, 4), -3.0), ((2, 3), -2.0), ((2, 5), 0.5)]);
        assert_eq!((explanation.whole(), explanation.sum()), (-4.5, -4.5));
    }
}
