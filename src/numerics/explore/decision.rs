//! Decisions of an outcome: the steps at which floats become tokens or kept sets, and the distance of the floats
//! compared there.

use std::ops::Range;

use crate::analysis::{Analysis, Precision, Reducer};
use crate::ir::{Op, Program, Shape, ValueId};
use crate::machine::{EvalError, Replay};
use crate::num::{BF16, Format};
use crate::oracle::{Enclosed, Enclosures};
use crate::rewrite::Choices;
use crate::tensor::{DType, Tensor};

use super::row_outcome::{Outcome, span};

/// The largest number of candidates that a decision lists.
const TOLD: usize = 8;

/// Step that decides one row of an outcome, and its margin. Ulps are those of the format that holds the values
/// compared, at the larger of both.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Decision {
    /// The step at which floats become integers or predicates, by its name in the program of choices.
    pub step: String,
    /// Positions in the row of the two values that come closest, the one that wins as declared first. For a step that
    /// ranks, up to eight follow that may take the winner's place under some choice. For a comparison there is one
    /// position.
    pub candidates: Vec<usize>,
    /// Lead of the first as declared, in ulps.
    pub declared_ulp: f64,
    /// Least lead of the first under every choice, in ulps: negative if it may fall behind, minus infinity if nothing
    /// is known.
    pub enclosed_ulp: f64,
}

/// Ranking of a step's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranking {
    /// Its two operands, element by element.
    Pairs,
    /// So many of the largest along the last dim, each against the elements behind it.
    Largest(usize),
    /// So many of the smallest.
    Smallest(usize),
}

/// A step at which floats become integers or predicates.
#[derive(Debug)]
pub(super) struct Step {
    name: String,
    /// Its integers or predicates.
    result: ValueId,
    operands: Vec<ValueId>,
    ranking: Ranking,
    /// The extent of what is ranked along.
    width: usize,
    /// The format whose ulps count.
    format: &'static Format,
}

/// The steps that an outcome depends on, in the order of the program.
pub(super) fn steps(choices: &Choices, outcome: &Outcome) -> Vec<Step> {
    let program = &choices.program;
    let analysis = Analysis::new(program);
    let live = choices.live(&outcome.values);
    let of = |id: ValueId| {
        let has_rows = |step: &Step| outcome.has_rows_of(program, step.result) && outcome.has_lines_of(program, step);
        step(program, &analysis, id).filter(has_rows)
    };
    (0..live.len()).filter(|id| live[*id]).filter_map(of).collect()
}

fn step(program: &Program, analysis: &Analysis, id: ValueId) -> Option<Step> {
    let entry = program.entry();
    let instruction = &entry.instructions[id];
    let shape = |id: ValueId| &entry.instructions[id].shape;
    let is_integer = instruction.shape.dtype().is_some_and(|dtype| !dtype.is_float());
    let (operands, ranking, name) = match &instruction.op {
        Op::Compare { .. } => (instruction.operands.clone(), Ranking::Pairs, &instruction.name),
        Op::GetTupleElement(_) if is_integer => {
            let ranks = &entry.instructions[instruction.operands[0]];
            let dims = shape(*ranks.operands.first()?).dims();
            let width = *dims.last()?;
            let (key, ranking) = match &ranks.op {
                Op::Reduce { dims: along, to_apply } if *along == [dims.len() - 1] => {
                    match analysis.regions.reducer_but_for_rounding(*to_apply)? {
                        Reducer::ArgMax | Reducer::GreaterKeep => (0, Ranking::Largest(1)),
                        Reducer::ArgMin => (0, Ranking::Smallest(1)),
                        Reducer::Binary(_) => return None,
                    }
                }
                Op::Sort { dim, to_apply, .. } if *dim + 1 == dims.len() => {
                    let comparator = analysis.regions.comparator_but_for_rounding(*to_apply)?;
                    let largest = comparator.descending;
                    (comparator.key, if largest { Ranking::Largest(width) } else { Ranking::Smallest(width) })
                }
                Op::TopK { k, largest: true } => (0, Ranking::Largest(*k)),
                Op::TopK { k, largest: false } => (0, Ranking::Smallest(*k)),
                _ => return None,
            };
            (vec![*ranks.operands.get(key)?], ranking, &ranks.name)
        }
        _ => return None,
    };
    let dtype = shape(*operands.first()?).dtype().filter(|dtype| dtype.is_float())?;
    // Numbers of bf16 in an f32 array lie bf16's steps apart: margins in f32's would say nothing.
    let holds = |id: &ValueId| analysis.precisions()[*id].first().is_some_and(|held| held.within(Precision::of(&BF16)));
    let format = if operands.iter().all(holds) { DType::BF16.format()? } else { dtype.format()? };
    let width = shape(operands[0]).dims().last().copied().unwrap_or(1);
    Some(Step { name: name.clone(), result: id, operands, ranking, width, format })
}

/// The values that [`decisions`] asks for.
pub(super) fn values_of(steps: &[Step]) -> Vec<ValueId> {
    steps.iter().flat_map(|step| std::iter::once(step.result).chain(step.operands.iter().copied())).collect()
}

/// The operands of each step as declared.
///
/// # Errors
/// If one is no array.
pub(super) fn operands(steps: &[Step], replay: &Replay) -> Result<Vec<Vec<Tensor>>, EvalError> {
    steps.iter().map(|step| step.operands.iter().map(|id| replay.tensor(*id)).collect()).collect()
}

/// The decision of each of some rows, of those asked for: the first step that is left open there, or the closest of all if none is.
/// `None` for other rows, and if no step is understood. `declared` are the steps' operands for all rows, as many as the last number
/// says; the enclosures hold `rows` alone.
pub(super) fn decisions(
    steps: &[Step],
    declared: &[Vec<Tensor>],
    (kept, rows): (&Enclosures, &Range<usize>),
    (asked, all): (&[usize], usize),
) -> Vec<Option<Decision>> {
    let mut found: Vec<Option<(bool, Decision)>> = vec![None; rows.len()];
    for (step, declared) in steps.iter().zip(declared).filter(|_| !asked.is_empty()) {
        let enclosed: Vec<Enclosed> = step.operands.iter().map(|id| kept.of(*id)).collect();
        let result = kept.of(step.result);
        let open = |position: usize| matches!(&result, Enclosed::Integers(known) if known[position].is_none());
        for row in asked {
            let at = row - rows.start;
            if found[at].as_ref().is_some_and(|(is_open, _)| *is_open) {
                continue;
            }
            let is_open = span(at, rows.len(), result.elements()).any(open);
            let closest = step.closest(
                (at, rows.len()),
                (declared, span(*row, all, declared[0].len()).start),
                &enclosed,
                is_open.then_some(&open),
            );
            let Some(decision) = closest else { continue };
            let closer = |(_, known): &(bool, Decision)| is_open || decision.enclosed_ulp < known.enclosed_ulp;
            if found[at].as_ref().is_none_or(closer) {
                found[at] = Some((is_open, decision));
            }
        }
    }
    found.into_iter().map(|found| found.map(|(_, decision)| decision)).collect()
}

/// An element in two ways.
#[derive(Clone, Copy)]
struct Seen {
    declared: f64,
    /// The ends of its enclosure.
    lo: f64,
    hi: f64,
}

impl Seen {
    fn negative(self) -> Seen {
        Seen { declared: -self.declared, lo: -self.hi, hi: -self.lo }
    }
}

impl Step {
    /// The closest of what it compares in a row of the enclosed ones; where `open` says which of its results are open, of these. The
    /// declared operands have that row from a place on.
    fn closest(
        &self,
        (row, rows): (usize, usize),
        (declared, first): (&[Tensor], usize),
        enclosed: &[Enclosed],
        open: Option<&dyn Fn(usize) -> bool>,
    ) -> Option<Decision> {
        let elements = span(row, rows, enclosed[0].elements());
        let start = elements.start;
        let seen = |operand: usize, at: usize| -> Option<Seen> {
            let Enclosed::Floats(floats) = &enclosed[operand] else { return None };
            let declared = declared[operand].data().get_f64(first + at - start);
            Some(Seen { declared, lo: floats[at].lo, hi: floats[at].hi })
        };
        let mut best: Option<Decision> = None;
        let mut offer = |found: Decision| {
            if best.as_ref().is_none_or(|best| found.enclosed_ulp < best.enclosed_ulp) {
                best = Some(found);
            }
        };
        match self.ranking {
            Ranking::Pairs => {
                for at in elements.clone() {
                    let (x, y) = (seen(0, at)?, seen(1, at)?);
                    let (first, last) = if x.declared >= y.declared { (x, y) } else { (y, x) };
                    let found = self.decision(vec![at - elements.start], first, last.declared, last.hi);
                    // What is decided although it touches is decided by what it is, not by how large.
                    if open.map_or(found.enclosed_ulp > 0.0, |open| open(at)) {
                        offer(found);
                    }
                }
            }
            Ranking::Largest(count) | Ranking::Smallest(count) => {
                let negates = matches!(self.ranking, Ranking::Smallest(_));
                for start in elements.clone().step_by(self.width.max(1)) {
                    let line: Option<Vec<Seen>> = (start..start + self.width).map(|at| seen(0, at)).collect();
                    let line: Vec<Seen> =
                        line?.into_iter().map(|seen| if negates { seen.negative() } else { seen }).collect();
                    self.ranked(&line, count, start - elements.start).into_iter().for_each(&mut offer);
                }
            }
        }
        best
    }

    /// Of the first `count` of a line, largest first, the one that the elements behind are closest to.
    fn ranked(&self, line: &[Seen], count: usize, start: usize) -> Option<Decision> {
        let mut order: Vec<usize> = (0..line.len()).collect();
        let larger = |a: &usize, b: &usize| line[*b].declared.total_cmp(&line[*a].declared).then(a.cmp(b));
        let count = count.min(line.len().saturating_sub(1));
        // One element alone has nothing behind it, and wins.
        if count == 0 {
            return None;
        }
        // Only the first ones need an order; of the others the highest end is enough.
        order.select_nth_unstable_by(count, larger);
        order[..count].sort_unstable_by(larger);
        let highest = |rest: &[usize]| rest.iter().map(|at| line[*at].hi).fold(f64::NEG_INFINITY, f64::max);
        let mut behind = highest(&order[count..]);
        let mut next = line[order[count]].declared;
        let mut best: Option<(usize, Decision)> = None;
        // From the back, so that what lies behind each place is known when it is looked at.
        for place in (0..count).rev() {
            let first = line[order[place]];
            let found = self.decision(vec![start + order[place]], first, next, behind);
            if best.as_ref().is_none_or(|(_, best)| found.enclosed_ulp < best.enclosed_ulp) {
                best = Some((place, found));
            }
            (behind, next) = (behind.max(first.hi), first.declared);
        }
        let (place, mut best) = best?;
        let lowest = line[order[place]].lo;
        let mut rivals: Vec<usize> = order[place + 1..].iter().copied().filter(|at| line[*at].hi >= lowest).collect();
        rivals.sort_unstable_by(larger);
        best.candidates.extend(rivals.into_iter().take(TOLD - 1).map(|at| start + at));
        Some(best)
    }

    fn decision(&self, candidates: Vec<usize>, first: Seen, next: f64, behind: f64) -> Decision {
        let magnitude = first.declared.abs().max(next.abs());
        let ulp = if magnitude.is_finite() { self.format.ulp(magnitude) } else { 1.0 };
        // Equal infinities are no distance apart.
        let apart = |x: f64, y: f64| if x == y { 0.0 } else { (x - y) / ulp };
        let enclosed = apart(first.lo, behind);
        Decision {
            step: self.name.clone(),
            candidates,
            declared_ulp: apart(first.declared, next),
            enclosed_ulp: if enclosed.is_nan() { f64::NEG_INFINITY } else { enclosed },
        }
    }
}

impl Outcome {
    /// Whether the rows of a value are those of the outcome, as its dims say, but for leading ones.
    fn has_rows_of(&self, program: &Program, id: ValueId) -> bool {
        let dims = Shape::dims(&program.entry().instructions[id].shape);
        self.rows == 1 || dims.iter().find(|extent| **extent != 1) == Some(&self.rows)
    }

    /// Whether a row holds all that a step ranks: each element of a sorted vector is a row of its own, and all are ranked.
    fn has_lines_of(&self, program: &Program, step: &Step) -> bool {
        let dims = |id: &ValueId| program.entry().instructions[*id].shape.dims();
        let elements = step.operands.first().map_or(0, |id| dims(id).iter().product());
        step.ranking == Ranking::Pairs || span(0, self.rows, elements).len() >= step.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;

    fn step(ranking: Ranking) -> Step {
        Step { name: "rank".into(), result: 0, operands: vec![0], ranking, width: 3, format: &F32 }
    }

    fn seen(declared: f64, lo: f64, hi: f64) -> Seen {
        Seen { declared, lo, hi }
    }

    /// A rival whose upper end is the winner's lower one may tie, and a tie may go to either.
    #[test]
    fn a_rival_that_touches_the_winner_is_a_candidate() {
        let line = [seen(1.0, 0.5, 1.0), seen(3.0, 2.0, 4.0), seen(1.5, 1.0, 2.0)];
        let found = step(Ranking::Largest(1)).ranked(&line, 1, 10).unwrap();
        assert_eq!((found.candidates, found.enclosed_ulp), (vec![11, 12], 0.0));
    }

    #[test]
    fn the_ends_of_an_opposite_change_places() {
        let turned = seen(1.5, 1.0, 2.5).negative();
        assert_eq!((turned.declared, turned.lo, turned.hi), (-1.5, -2.5, -1.0));
        // The least of 1 to 2 and 3 to 4 leads by at least 1, 2^22 ulps of 3.
        let line = [seen(1.0, 1.0, 2.0), seen(3.0, 3.0, 4.0)].map(Seen::negative);
        let found = step(Ranking::Smallest(1)).ranked(&line, 1, 0).unwrap();
        assert_eq!((found.candidates, found.enclosed_ulp), (vec![0], f64::from(1 << 22)));
    }
}
