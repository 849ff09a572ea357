//! The search for witnesses, on the machine.

mod open_rows;

use std::collections::BTreeMap;

use crate::deadline::{self, OutOfTime};
use crate::ir::{Op, Shape};
use crate::machine::mxu::Accumulation;
use crate::machine::vector::{ScanOrder, SumOrder};
use crate::machine::{Bound, Mode, PRECISIONS, Prepared, Replay};
use crate::rewrite::{Choices, Freedom};
use crate::tensor::{DType, Tensor};

use super::row_outcome::Outcome;
use super::{ExploreError, Settings, Witness};
use open_rows::OpenRows;

/// The extent of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Choices that were evaluated, the declared one included.
    pub choices: usize,
    /// Points that can reach the outcome.
    pub points: usize,
    /// Whether these are all choices that can reach it, in the mode's own order of sums.
    pub is_exhaustive: bool,
}

/// Choices that are tried where there are too many for all of them.
const MOST_TRIED: usize = 4096;

/// The same in a long program.
const LEAST_TRIED: usize = 256;

/// Instructions that these may evaluate together.
const MOST_STEPS: usize = 1 << 22;

/// The result of a search.
pub(super) struct SearchResult {
    /// A witness of each row that has one.
    pub witnesses: BTreeMap<usize, Witness>,
    pub searched: Searched,
    /// Why the search ended before it was done, if it did.
    pub out_of_time: Option<OutOfTime>,
}

/// A program of choices that is searched: with its outcome as declared, and its arguments.
#[derive(Clone, Copy)]
pub(super) struct Searching<'a> {
    pub choices: &'a Choices,
    pub outcome: &'a Outcome,
    pub declared: &'a [Tensor],
    pub arguments: &'a [Tensor],
}

impl Searching<'_> {
    /// Looks for witnesses for some rows, in a program of these alone where it gives the same results.
    pub fn look(self, settings: &Settings, prepared: &Prepared, rows: &[usize]) -> Result<SearchResult, ExploreError> {
        let Some(open) = OpenRows::new(self, settings, rows) else { return self.of_rows(settings, prepared, rows) };
        let of_open = open.search_space();
        let all: Vec<usize> = (0..rows.len()).collect();
        let found = of_open.of_rows(settings, &Prepared::of_choices(&of_open.choices.program), &all)?;
        let witnesses = found.witnesses.into_iter().map(|one| open.among_all(one)).collect();
        Ok(SearchResult { witnesses, ..found })
    }

    /// Looks for witnesses for some rows by evaluating all of them.
    fn of_rows(self, settings: &Settings, prepared: &Prepared, rows: &[usize]) -> Result<SearchResult, ExploreError> {
        let bound = prepared.bind(self.arguments)?;
        let mut search = Search::new(self.choices, self.outcome, settings, (prepared, &bound));
        let out_of_time = match deadline::until(settings.until, || search.look(self.declared, rows)) {
            Ok(looked) => looked.map(|()| None)?,
            Err(over) => Some(over),
        };
        let (witnesses, mut searched) = search.witnesses();
        searched.is_exhaustive &= out_of_time.is_none();
        Ok(SearchResult { witnesses, searched, out_of_time })
    }
}

/// A search over the choices of one program.
struct Search<'a> {
    choices: &'a Choices,
    outcome: &'a Outcome,
    settings: &'a Settings,
    /// The mode that choices are computed in.
    mode: Mode,
    /// Those that the outcome depends on, but for where K is cut.
    points: Vec<usize>,
    /// Dots that it depends on, whose K may be cut.
    cuts: Vec<usize>,
    /// The program of choices with its arguments.
    prepared: &'a Prepared<'a>,
    bound: &'a Bound,
    searched: Searched,
    found: Found,
}

/// Witnesses so far, by row, each with the number of points that take another option than the declared one.
type Found = BTreeMap<usize, (usize, Witness)>;

impl<'a> Search<'a> {
    fn new(
        choices: &'a Choices,
        outcome: &'a Outcome,
        settings: &'a Settings,
        (prepared, bound): (&'a Prepared<'a>, &'a Bound),
    ) -> Search<'a> {
        let all = choices.points_of(&outcome.values);
        let (cuts, points): (Vec<usize>, Vec<usize>) =
            // Where K is cut is an attribute of a dot, not another operand: it needs a mode of its own to be evaluated.
            all.into_iter().partition(|at| choices.points[*at].freedom == Freedom::Order);
        let searched = Searched { points: points.len(), ..Searched::default() };
        Search {
            choices,
            outcome,
            settings,
            mode: settings.computed(),
            points,
            cuts,
            prepared,
            bound,
            searched,
            found: Found::new(),
        }
    }

    /// The witnesses so far, and the number of evaluations for them.
    fn witnesses(self) -> (BTreeMap<usize, Witness>, Searched) {
        (self.found.into_iter().map(|(row, (_, witness))| (row, witness)).collect(), self.searched)
    }

    /// Looks for witnesses for rows, each of as few choices as were tried.
    fn look(&mut self, declared: &[Tensor], rows: &[usize]) -> Result<(), ExploreError> {
        let all = self.points.iter().map(|at| self.choices.points[*at].options());
        let count = all.fold(1usize, usize::saturating_mul);
        self.searched.is_exhaustive = count <= self.settings.choices;
        (self.settings.announce)(count.min(self.settings.choices));
        let mode = self.mode.clone();
        let plan = if self.searched.is_exhaustive { self.every() } else { self.some() };
        self.evaluate(&mode, declared, rows, plan)?;
        if self.settings.permits(Freedom::Order) {
            for other in self.other_orders() {
                let few = if count <= 256 { self.every() } else { self.some() };
                // A row that has a witness needs no other: later modes look at those that are left.
                self.evaluate(&other, declared, &self.left(rows), few)?;
            }
            if !self.cuts.is_empty() {
                let mut tiled = mode.clone();
                tiled.choices.acc = Accumulation::Tiled;
                self.evaluate(&tiled, declared, &self.left(rows), Box::new(self.cut().into_iter()))?;
            }
        }
        if self.settings.any_mode {
            for other in mode.others(PRECISIONS, &[]) {
                // What is declared, and all roundings left out.
                let few = self.some().take(1).chain(self.widest());
                self.evaluate(&other, declared, &self.left(rows), Box::new(few))?;
            }
        }
        Ok(())
    }

    /// Those of some rows that have no witness yet.
    fn left(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| !self.found.contains_key(row)).collect()
    }

    /// Evaluates choices one after the other, each as a list of points and options that differ from the one before, if any row is
    /// left to be looked at.
    fn evaluate(
        &mut self,
        mode: &Mode,
        declared: &[Tensor],
        rows: &[usize],
        plan: Box<dyn Iterator<Item = Vec<usize>> + 'a>,
    ) -> Result<(), ExploreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut replay = Replay::new(self.prepared, mode, self.bound)?;
        let mut taken = vec![0; self.choices.points.len()];
        let mut differing = None;
        for next in plan {
            for (at, option) in next.iter().enumerate().filter(|(at, option)| taken[*at] != **option) {
                let point = &self.choices.points[at];
                // The same in each trip of a loop.
                point.places.iter().for_each(|place| replay.read(place.value, place.options[*option]));
            }
            taken = next;
            let has_changed = replay.update()?;
            self.searched.choices += 1;
            // A choice that changes no value of the outcome has the verdict of the one before.
            if differing.is_none() || self.outcome.values.iter().any(|id| has_changed[*id]) {
                let chosen = self.outcome.tensors(&replay)?;
                let difference = |row: &usize| Some((*row, self.outcome.difference(*row, declared, &chosen)?));
                differing = Some(rows.iter().filter_map(difference).collect::<Vec<_>>());
            }
            let size = taken.iter().filter(|option| **option > 0).count();
            for (row, differs) in differing.iter().flatten() {
                if self.found.get(row).is_none_or(|(known, _)| size < *known) {
                    // A witness is told in the plainest mode that computes it.
                    let mode = self.plainly(mode, &taken);
                    let witness = Witness { taken: taken.clone(), mode, differs: *differs };
                    self.found.insert(*row, (size, witness));
                }
            }
        }
        Ok(())
    }

    /// The mode, with bf16 sums as the one explored has them where none of them is left.
    fn plainly(&self, mode: &Mode, taken: &[usize]) -> Mode {
        let mut plain = mode.clone();
        plain.choices.narrow = self.settings.mode.choices.narrow;
        let is_narrow = |shape: &Shape| matches!(shape.dtype(), Some(DType::BF16 | DType::F16));
        let program = self.choices.take(taken);
        let sums =
            program.instructions().any(|i| matches!(i.op, Op::Reduce { .. } | Op::While { .. }) && is_narrow(&i.shape));
        if sums && plain != *mode { mode.clone() } else { plain }
    }

    /// Every choice, so that each differs from the one before in one point: the last points, which little depends on, most
    /// often (a reflected Gray code of mixed radix; Knuth, TAOCP 7.2.1.1, algorithm H).
    fn every(&self) -> Box<dyn Iterator<Item = Vec<usize>> + 'a> {
        // Replaying begins at the first value that changes: late points are cheap, and change most often.
        let points: Vec<usize> = self.points.iter().rev().copied().collect();
        let radix: Vec<usize> = points.iter().map(|at| self.choices.points[*at].options()).collect();
        let mut digits = vec![0; points.len()];
        let mut rises = vec![true; points.len()];
        let mut taken = Some(vec![0; self.choices.points.len()]);
        Box::new(std::iter::from_fn(move || {
            let now = taken.clone()?;
            let next = (0..points.len()).find(|at| {
                let ends = if rises[*at] { digits[*at] + 1 == radix[*at] } else { digits[*at] == 0 };
                rises[*at] ^= ends;
                !ends
            });
            taken = next.map(|at| {
                digits[at] = if rises[at] { digits[at] + 1 } else { digits[at] - 1 };
                let mut next = now.clone();
                next[points[at]] = digits[at];
                next
            });
            Some(now)
        }))
    }

    /// The declared choice, each point alone, all together, all but one, pairs, and then choices by a counter's hash: as many as
    /// [`Search::room`] says. Where these are fewer than points, neighbours stand together for one.
    fn some(&self) -> Box<dyn Iterator<Item = Vec<usize>> + 'a> {
        let (points, choices, room) = (self.points.clone(), self.choices, self.room());
        let last = move |at: usize| choices.points[at].options() - 1;
        let none = vec![0; choices.points.len()];
        let with = move |set: &[(usize, usize)]| {
            let mut taken = none.clone();
            set.iter().for_each(|(at, option)| taken[*at] = *option);
            taken
        };
        let others: usize = points.iter().map(|at| last(*at)).sum();
        let alone: Vec<Vec<(usize, usize)>> = match others + points.len() <= room {
            true => points.iter().flat_map(|at| (1..=last(*at)).map(move |option| vec![(*at, option)])).collect(),
            false => {
                neighbours(&points, room / 2).map(|some| some.iter().map(|at| (*at, last(*at))).collect()).collect()
            }
        };
        let without: Vec<Vec<usize>> = match others + points.len() <= room {
            true => points.iter().map(|at| vec![*at]).collect(),
            false => neighbours(&points, room / 4).map(<[usize]>::to_vec).collect(),
        };
        let all: Vec<(usize, usize)> = points.iter().map(|at| (*at, last(*at))).collect();
        let tried = 2 + alone.len() + without.len();
        let number = (points.len() * points.len().saturating_sub(1) / 2).min((room / 2).saturating_sub(tried));
        let drawn = room.saturating_sub(tried + number) as u64;
        // Pairs get what is left of half the room, and chance the rest.
        let pairs = {
            let points = points.clone();
            let each = move |i: usize| (0..i).map(move |j| (i, j));
            (0..points.len())
                .flat_map(each)
                .take(number)
                .map(move |(i, j)| [points[i], points[j]].map(|at| (at, last(at))))
        };
        let one = std::iter::once(Vec::new()).chain(alone).chain(std::iter::once(all.clone()));
        let but = move |left: Vec<usize>| all.iter().copied().filter(|(at, _)| !left.contains(at)).collect::<Vec<_>>();
        let random = (0..drawn).map(move |seed| {
            let option = |at: &usize| (*at, (mix(seed << 20 | *at as u64) % (last(*at) as u64 + 1)) as usize);
            points.iter().map(option).collect::<Vec<_>>()
        });
        let plan = one.chain(without.into_iter().map(but)).chain(pairs.map(Vec::from)).chain(random);
        Box::new(plan.take(room.max(1)).map(move |set| with(&set)))
    }

    /// The number of choices that are tried where there are too many for all: fewer in a long program, of which each takes longer.
    fn room(&self) -> usize {
        let instructions = self.choices.program.entry().instructions.len().max(1);
        self.settings.choices.min(MOST_TRIED).min((MOST_STEPS / instructions).max(LEAST_TRIED))
    }

    /// The last option of each point.
    fn widest(&self) -> Option<Vec<usize>> {
        let mut taken = vec![0; self.choices.points.len()];
        self.points.iter().for_each(|at| taken[*at] = self.choices.points[*at].options() - 1);
        (!self.points.is_empty()).then_some(taken)
    }

    /// K in blocks: each dot alone, and all dots together, with all roundings as declared and with all left out.
    fn cut(&self) -> Vec<Vec<usize>> {
        let options = |at: &usize| self.choices.points[*at].options();
        let most = self.cuts.iter().map(options).max().unwrap_or(1);
        let declared = vec![0; self.choices.points.len()];
        let mut plan = Vec::new();
        for under in std::iter::once(declared).chain(self.widest()) {
            let with = |set: &[usize], option: usize| {
                let mut taken = under.clone();
                set.iter().for_each(|at| taken[*at] = option.min(options(at) - 1));
                taken
            };
            for option in 1..most {
                plan.extend(self.cuts.iter().map(|at| with(&[*at], option)));
                plan.push(with(&self.cuts, option));
            }
        }
        plan
    }

    /// The mode with each other order that the machine models for the sums and dots that the program has.
    fn other_orders(&self) -> Vec<Mode> {
        let mode = &self.mode;
        let has = |wanted: fn(&Op) -> bool| self.choices.program.entry().instructions.iter().any(|i| wanted(&i.op));
        let mut others = Vec::new();
        if has(|op| matches!(op, Op::Dot { .. })) {
            // Truncated additions, and one rounding a block, are no orders.
            for acc in [Accumulation::Block, Accumulation::Chain, Accumulation::Pairwise] {
                let mut other = mode.clone();
                other.choices.acc = acc;
                others.extend((acc != mode.choices.acc).then_some(other));
            }
        }
        if has(|op| matches!(op, Op::Reduce { .. } | Op::Dot { .. })) {
            for order in SumOrder::ALL.iter().filter(|order| **order != mode.choices.reduce) {
                let mut other = mode.clone();
                other.choices.reduce = *order;
                others.push(other);
            }
        }
        if has(|op| matches!(op, Op::ReduceWindow { .. })) {
            for order in ScanOrder::ALL.iter().filter(|order| **order != mode.choices.scan) {
                let mut other = mode.clone();
                other.choices.scan = *order;
                others.push(other);
            }
        }
        others
    }
}

/// Points in stretches of neighbours, at most so many.
fn neighbours(points: &[usize], most: usize) -> impl Iterator<Item = &[usize]> {
    points.chunks(points.len().div_ceil(most.max(1)).max(1))
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(super) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
