//! The search for a proof: enclosures of all choices, and of parts of them where one is too wide.

mod row_blocks;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::ir::ValueId;
use crate::machine::Replay;
use crate::oracle::{Enclosures, Latitude};
use crate::rewrite::{Choices, Place};
use crate::tensor::Tensor;

use super::decision::{self, Decision, Step};
use super::row_outcome::Outcome;
use super::{ExploreError, Settings, allowance};
use row_blocks::RowBlocks;

pub(super) use row_blocks::RowAxis;

/// Points that the outcome depends on, those of few elements first: what they leave open, whole rows share.
fn splitting_order(choices: &Choices, outcome: &Outcome) -> Vec<usize> {
    let mut order = choices.points_of(&outcome.values);
    order.retain(|at| choices.points[*at].freedom.has_values());
    let elements = |place: &Place| choices.program.entry().instructions[place.value].shape.elements();
    order.sort_by_key(|at| choices.points[*at].places.iter().map(elements).max());
    order
}

/// The answer of one enclosure of all choices, of each row.
pub(super) struct FirstEnclosure {
    /// The number of elements that it leaves open; `None` for none.
    pub undecided: Vec<Option<usize>>,
    /// The step that decides the row, of those that are told.
    pub decisions: Vec<Option<Decision>>,
}

/// A use of the enclosures of a block of rows.
type EachBlock<'a> = dyn FnMut(&Enclosures, Range<usize>) -> Result<(), ExploreError> + 'a;

/// The search for a proof.
pub(super) struct Proof<'a> {
    choices: &'a Choices,
    arguments: &'a [Tensor],
    outcome: &'a Outcome,
    declared: &'a [Tensor],
    blocks: RowBlocks,
    latitudes: Vec<Latitude>,
    /// The points in the order in which they are split.
    order: Vec<usize>,
    /// The number of enclosures that were taken.
    pub taken: usize,
    most: usize,
}

impl<'a> Proof<'a> {
    pub fn new(
        choices: &'a Choices,
        arguments: &'a [Tensor],
        (outcome, declared): (&'a Outcome, &'a [Tensor]),
        settings: &Settings,
    ) -> Proof<'a> {
        Proof {
            choices,
            arguments,
            outcome,
            declared,
            blocks: RowBlocks::new(&choices.program, outcome),
            latitudes: allowance::latitudes(choices, settings),
            order: splitting_order(choices, outcome),
            taken: 0,
            most: settings.enclosures,
        }
    }

    /// Encloses the `wanted` values with some points fixed to one option, in blocks of rows with one of `asked` at least, and hands
    /// each on with the rows that it is of.
    fn enclose(
        &mut self,
        fixed: &[Option<usize>],
        (wanted, asked): (&[ValueId], &[usize]),
        each: &mut EachBlock,
    ) -> Result<(), ExploreError> {
        self.taken += 1;
        let mut latitudes = self.latitudes.clone();
        for (point, option) in self.choices.points.iter().zip(fixed) {
            option.iter().for_each(|option| allowance::fix(&mut latitudes, point, *option));
        }
        for (rows, enclosure, arguments) in self.blocks.with(asked, self.arguments) {
            each(&enclosure.of(&arguments, &latitudes, wanted)?, rows)?;
        }
        Ok(())
    }

    /// Encloses all choices at once. Decisions are those of rows that stay open, or of every row.
    pub fn first(
        &mut self,
        fixed: &[Option<usize>],
        (steps, replay): (&[Step], &Replay),
        tells_all: bool,
    ) -> Result<FirstEnclosure, ExploreError> {
        let (outcome, declared) = (self.outcome, self.declared);
        let wanted: Vec<ValueId> = outcome.values.iter().copied().chain(decision::values_of(steps)).collect();
        let all: Vec<usize> = (0..outcome.rows).collect();
        let mut found = FirstEnclosure { undecided: Vec::new(), decisions: Vec::new() };
        let mut operands = None;
        self.enclose(fixed, (&wanted, &all), &mut |kept, rows| {
            let undecided = outcome.count_undecided((kept, &rows), declared);
            let is_told = |row: &usize| tells_all || undecided[row - rows.start].is_some();
            let told: Vec<usize> = rows.clone().filter(is_told).collect();
            found.decisions.extend(match told.is_empty() {
                true => vec![None; rows.len()],
                false => {
                    let operands = match &mut operands {
                        Some(known) => known,
                        unknown => unknown.insert(decision::operands(steps, replay)?),
                    };
                    decision::decisions(steps, operands, (kept, &rows), (&told, outcome.rows))
                }
            });
            found.undecided.extend(undecided);
            Ok(())
        })?;
        Ok(found)
    }

    /// Those of the rows `open` that stay so if the points from `next` on are split; counts each row's parts.
    pub fn split(
        &mut self,
        fixed: &mut Vec<Option<usize>>,
        next: usize,
        open: &[usize],
        parts: &mut [usize],
    ) -> Result<Vec<usize>, ExploreError> {
        let Some(point) = self.order.get(next).copied().filter(|_| !open.is_empty()) else { return Ok(open.to_vec()) };
        let mut left: Vec<usize> = Vec::new();
        for option in 0..self.choices.points[point].options() {
            let asked: Vec<usize> = open.iter().copied().filter(|row| !left.contains(row)).collect();
            if asked.is_empty() {
                break;
            }
            if self.taken >= self.most {
                return Ok(open.to_vec());
            }
            fixed[point] = Some(option);
            let (outcome, declared) = (self.outcome, self.declared);
            let mut is_wide = vec![false; outcome.rows];
            self.enclose(fixed, (&outcome.values, &asked), &mut |kept, rows| {
                let undecided = outcome.count_undecided((kept, &rows), declared);
                is_wide[rows].iter_mut().zip(undecided).for_each(|(is_wide, count)| *is_wide = count.is_some());
                Ok(())
            })?;
            let (wide, done): (Vec<usize>, Vec<usize>) = asked.into_iter().partition(|row| is_wide[*row]);
            done.into_iter().for_each(|row| parts[row] += 1);
            left.extend(self.split(fixed, next + 1, &wide, parts)?);
        }
        fixed[point] = None;
        Ok(left)
    }
}
