//! The smallest program and input that could be found which a choice still gives another outcome.

use std::collections::BTreeSet;

use crate::ir::Program;
use crate::machine::{self, Mode, Prepared, Replay};
use crate::mode::{EmulatedCompiler, emulated_compilers};
use crate::rewrite::{self, Axes, Choices, Kept, Point};
use crate::tensor::Tensor;

use super::minimize::{fewest, significant_bits, simpler};
use super::row_outcome::Outcome;
use super::search::mix;
use super::{Answer, Difference, Exploration, ExploreError, Settings, Witness, permitted};

/// Emulated machines on which a counterexample has been seen, in order: each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// In the mode of the witness.
    Witnessed,
    /// On the emulated compiler as well if the choice is written out: both outcomes are the same there.
    WrittenOut,
    /// And the compiler's own rules change the outcome, whether by this choice or by another.
    Compiled,
}

/// A result in two ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Flipped {
    /// Its position among the program's.
    pub output: usize,
    /// As declared.
    pub declared: Tensor,
    /// As the choice has it.
    pub chosen: Tensor,
}

/// A program with an input that flips.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The row of the exploration that it was made of.
    pub row: usize,
    /// The program, for the extents that are left.
    pub program: Program,
    /// Arguments of the program.
    pub arguments: Vec<Tensor>,
    /// It with its choices.
    pub choices: Choices,
    /// The option that each point takes.
    pub taken: Vec<usize>,
    /// The mode that it was evaluated in.
    pub mode: Mode,
    /// The results that make the outcome.
    pub outcome: Vec<Flipped>,
    /// The first element that differs: where it was seen that the compiler's own rules change the outcome, what they change.
    pub differs: Difference,
    /// Machines on which it was seen.
    pub seen: Seen,
    /// The emulated compiler on which it was looked for; `None` in a build without one.
    pub compiler: Option<&'static str>,
    /// Elements of all arguments, as given and now.
    pub elements: [usize; 2],
    /// The most significant bits that an element has, as given and now.
    pub bits: [u32; 2],
    /// Extents that could not be made smaller because of an operation, each with it.
    pub held: Vec<String>,
    /// Number of smaller programs that were tried.
    pub tried: usize,
}

impl Counterexample {
    /// The program with the choice written out: what it declares is the other outcome.
    pub fn written_out(&self) -> Program {
        self.choices.take(&self.taken)
    }
}

/// Small enough: no other row is looked at.
const ELEMENTS: usize = 16;

/// The most rows that are looked at, and the most programs that are tried for one of them.
const ROWS: usize = 4;
const TRIED: usize = 4000;

/// The most programs that are tried before the first one that flips.
const UNSEEN: usize = 400;

/// Number of elements of a long axis that are drawn at first, and number of draws of each. A flip may depend on where a
/// sum happens to lie; some small draw then shows it sooner than ever smaller parts do.
const DRAWN: [usize; 5] = [1, 2, 4, 8, 16];
const DRAWS: u64 = 16;

/// The most elements whose bits are looked at.
const SIMPLIFIED: usize = 256;

/// A small program and input which the choice of some row's witness gives another outcome; `None` if no row has one.
///
/// Rows, then all other axes of the program lose elements (small draws, then delta debugging), as long as a result of the outcome
/// differs in which the witness made a difference; then the numbers that are left lose bits; and so on until nothing changes, or
/// so many programs were tried. Of
/// the reachable rows a few are tried: first those that the compiler's own rules flip. Each program is evaluated anew on the machine, so
/// what is given has been seen to flip; that it is the smallest is not proven.
///
/// # Errors
/// If the program of the exploration cannot be evaluated.
pub fn counterexample(
    program: &Program,
    arguments: &[Tensor],
    results: &[String],
    settings: &Settings,
    found: &Exploration,
) -> Result<Option<Counterexample>, ExploreError> {
    let witnesses = found.answers.iter().enumerate().filter_map(|(row, answer)| match answer {
        Answer::Reachable(witness) if witness.is_written(&found.choices) => Some((row, witness)),
        _ => None,
    });
    let mut rows: Vec<(bool, usize, &Witness)> = Vec::new();
    let outcome = Outcome::new(program, results)?;
    let compiler = emulated_compilers().into_iter().next();
    let compiled = compiler.as_ref().and_then(|compiler| compiler.off_and_on(program, arguments));
    let compiled = compiled.map(|results| results.map(|results| outcome.among(&results)));
    let places: &[Seen] = match compiler {
        Some(_) => &[Seen::Compiled, Seen::WrittenOut, Seen::Witnessed],
        None => &[Seen::Witnessed],
    };
    for (row, witness) in witnesses {
        // Rows that an emulated compiler flips come first: their counterexamples can be run.
        let flips = compiled.as_ref().is_some_and(|[off, on]| outcome.difference(row, off, on).is_some());
        rows.push((!flips, row, witness));
    }
    rows.sort_by_key(|(is_last, row, _)| (*is_last, *row));
    let mut best: Option<Counterexample> = None;
    for (_, row, witness) in rows.into_iter().take(ROWS) {
        let mut tried = 0;
        for &seen in places {
            // What a compiler shows beats a smaller one that only the search shows.
            if best.as_ref().is_some_and(|best| best.seen > seen) {
                break;
            }
            let points = &found.choices.points;
            let mut shrinker = Shrinker {
                results,
                settings,
                points,
                witness,
                compiler: compiler.as_ref(),
                seen,
                round: 0,
                tried,
                before: tried,
            };
            let smaller = shrinker.shrink(program, arguments, row)?;
            tried = shrinker.tried;
            let Some(smaller) = smaller else { continue };
            let order = |one: &Counterexample| (std::cmp::Reverse(one.seen), one.elements[1]);
            if best.as_ref().is_none_or(|best| order(&smaller) < order(best)) {
                best = Some(smaller);
            }
            break;
        }
        if best.as_ref().is_some_and(|best| best.seen == Seen::Compiled && best.elements[1] <= ELEMENTS) {
            break;
        }
    }
    Ok(best)
}

impl EmulatedCompiler {
    /// Results of a program in both settings; `None` if it cannot be evaluated.
    fn off_and_on(&self, program: &Program, arguments: &[Tensor]) -> Option<[Vec<Tensor>; 2]> {
        let compiled = rewrite::apply(program, self.on.excess, &|op| self.on.chip.native_bf16(op)).program;
        let on = machine::evaluate(&compiled, &self.on, arguments).ok()?;
        Some([self.written_out(program, arguments)?, on])
    }

    /// Results of a program as written, with the flag off.
    fn written_out(&self, program: &Program, arguments: &[Tensor]) -> Option<Vec<Tensor>> {
        machine::evaluate(program, &self.off, arguments).ok()
    }
}

/// A program with an input, and how it flips.
struct FlippingProgram {
    choices: Choices,
    outcome: Vec<Flipped>,
    differs: Difference,
}

struct Shrinker<'a> {
    results: &'a [String],
    settings: &'a Settings,
    /// The points of the whole program.
    points: &'a [Point],
    witness: &'a Witness,
    /// Machines on which every program must be seen to flip.
    seen: Seen,
    /// The compiler on which it is looked for; without one it is looked for on the witness's machine alone.
    compiler: Option<&'a EmulatedCompiler>,
    /// Number of rounds over all axes and numbers.
    round: u64,
    /// Programs tried for this row, and how many of them before it was asked for what is asked for now.
    tried: usize,
    before: usize,
}

impl Shrinker<'_> {
    fn shrink(
        &mut self,
        program: &Program,
        arguments: &[Tensor],
        row: usize,
    ) -> Result<Option<Counterexample>, ExploreError> {
        let outcome = Outcome::new(program, self.results)?;
        let (mut smaller, mut given) = (program.clone(), arguments.to_vec());
        let axes = Axes::new(program);
        // One row first, if the outcome's rows are an axis.
        if outcome.rows > 1 {
            let first = axes.of_array(outcome.values[0]).first().copied();
            let kept: Kept = first.into_iter().map(|axis| (axis, vec![row])).collect();
            if kept.keys().all(|axis| axes.axes[*axis].held.is_none())
                && let Ok(one) = axes.resize(program, arguments, &kept)
            {
                (smaller, given) = one;
            }
        }
        let mut has_flip = self.flip(&smaller, &given, &self.witness.taken)?.is_some();
        if !has_flip && smaller != *program && self.flip(program, arguments, &self.witness.taken)?.is_some() {
            // What other rows hold matters to this one.
            (smaller, given, has_flip) = (program.clone(), arguments.to_vec(), true);
        }
        let mut held;
        loop {
            let before = (smaller.clone(), given.clone());
            held = self.fewer_elements(&mut smaller, &mut given, &mut has_flip)?;
            if !has_flip {
                return Ok(None);
            }
            self.fewer_bits(&smaller, &mut given)?;
            self.round += 1;
            if (&smaller, &given) == (&before.0, &before.1) {
                break;
            }
        }
        let taken = self.fewer_choices(&smaller, &given)?;
        let Some(FlippingProgram { choices, outcome, differs }) = self.flip(&smaller, &given, &taken)? else {
            return Ok(None);
        };
        let count = |arguments: &[Tensor]| arguments.iter().map(Tensor::len).sum();
        let most = |arguments: &[Tensor]| {
            let of = |tensor: &Tensor| (0..tensor.len()).map(|at| significant_bits(tensor, at)).max();
            arguments.iter().filter_map(of).max().unwrap_or(0)
        };
        Ok(Some(Counterexample {
            row,
            elements: [count(arguments), count(&given)],
            bits: [most(arguments), most(&given)],
            program: smaller,
            arguments: given,
            choices,
            taken,
            mode: self.witness.mode.clone(),
            outcome,
            differs,
            seen: self.seen,
            compiler: self.compiler.map(|compiler| compiler.name),
            held,
            tried: self.tried,
        }))
    }

    /// Cuts each axis in turn, the longest first; says which could not be cut because of an operation.
    fn fewer_elements(
        &mut self,
        program: &mut Program,
        arguments: &mut Vec<Tensor>,
        has_flip: &mut bool,
    ) -> Result<Vec<String>, ExploreError> {
        let taken = self.witness.taken.clone();
        let mut held = Vec::new();
        let mut done = BTreeSet::new();
        loop {
            let axes = Axes::new(program);
            let left =
                (0..axes.axes.len()).filter(|at| axes.axes[*at].extent > 1 && !done.contains(&axes.axes[*at].first));
            let Some(axis) = left.max_by_key(|at| (axes.axes[*at].extent, std::cmp::Reverse(*at))) else { break };
            let now = &axes.axes[axis];
            done.insert(now.first);
            if let Some(why) = &now.held {
                held.push(format!("{} elements: {why}", now.extent));
                continue;
            }
            let all: Vec<usize> = (0..now.extent).collect();
            // Each round draws others.
            let round = self.round << 40;
            let (whole, given) = (program.clone(), arguments.clone());
            let mut holds = |left: &[usize]| -> Result<bool, ExploreError> {
                let Ok((smaller, cut)) = axes.resize(&whole, &given, &Kept::from([(axis, left.to_vec())])) else {
                    return Ok(false);
                };
                // Until a flip is found in this place, few tries are spent on it: another row may have one at once.
                let most = if *has_flip { TRIED } else { TRIED.min(self.before + UNSEEN) };
                let flips = self.tried < most && self.flip(&smaller, &cut, &taken)?.is_some();
                if flips {
                    (*program, *arguments, *has_flip) = (smaller, cut, true);
                }
                Ok(flips)
            };
            // Elements that an index names have to stay, or the index would be out of bounds.
            let named = axes.index_elements(&given, axis);
            let draws = DRAWN.iter().filter(|size| 2 * **size <= now.extent);
            let mut start = all;
            for (size, seed) in draws.flat_map(|size| (0..DRAWS).map(move |seed| (*size, seed))) {
                let drawn = (0..size as u64).map(|at| (mix(round ^ seed << 32 ^ at) % now.extent as u64) as usize);
                let drawn: BTreeSet<usize> = drawn.chain(named.iter().copied()).collect();
                let drawn: Vec<usize> = drawn.into_iter().collect();
                if holds(&drawn)? {
                    start = drawn;
                    break;
                }
            }
            fewest(&start, &mut holds)?;
        }
        Ok(held)
    }

    fn fewer_bits(&mut self, program: &Program, arguments: &mut [Tensor]) -> Result<(), ExploreError> {
        if arguments.iter().map(Tensor::len).sum::<usize>() > SIMPLIFIED {
            return Ok(());
        }
        for number in 0..arguments.len() {
            for at in 0..arguments[number].len() {
                let dims = arguments[number].dims().to_vec();
                for data in simpler(arguments[number].data(), at) {
                    let mut simple = arguments.to_vec();
                    simple[number] = Tensor::new(&dims, data);
                    if self.tried < TRIED && self.flip(program, &simple, &self.witness.taken.clone())?.is_some() {
                        arguments[number] = simple.swap_remove(number);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The witness's choice without what is not needed.
    fn fewer_choices(&mut self, program: &Program, arguments: &[Tensor]) -> Result<Vec<usize>, ExploreError> {
        let mut taken = self.witness.taken.clone();
        for at in 0..taken.len() {
            let option = std::mem::take(&mut taken[at]);
            if option > 0 && self.flip(program, arguments, &taken)?.is_none() {
                taken[at] = option;
            }
        }
        Ok(taken)
    }

    /// Flip of this program's outcome by a choice; `None` if it does not flip, or not as it must.
    fn flip(
        &mut self,
        program: &Program,
        arguments: &[Tensor],
        taken: &[usize],
    ) -> Result<Option<FlippingProgram>, ExploreError> {
        self.tried += 1;
        let choices = permitted(program, self.settings);
        let key = |point: &Point| (point.name.clone(), point.readers.clone(), point.freedom, point.options());
        // A smaller program may have other choices: then options of the witness mean nothing in it.
        if !choices.points.iter().map(key).eq(self.points.iter().map(key)) {
            return Ok(None);
        }
        let own = Outcome::new(&choices.program, self.results)?;
        let (declared, chosen) = {
            let prepared = Prepared::of_choices(&choices.program);
            let bound = prepared.bind(arguments)?;
            let mut replay = Replay::new(&prepared, &self.witness.mode, &bound)?;
            let declared = own.tensors(&replay)?;
            for (point, option) in choices.points.iter().zip(taken).filter(|(_, option)| **option > 0) {
                point.places.iter().for_each(|place| replay.read(place.value, place.options[*option]));
            }
            replay.update()?;
            (declared, own.tensors(&replay)?)
        };
        let wanted = self.witness.differs.output;
        let differs = (0..own.rows)
            .find_map(|row| own.differences(row, &declared, &chosen).find(|differs| differs.output == wanted));
        let Some(mut differs) = differs else { return Ok(None) };
        if let (Some(compiler), Seen::WrittenOut | Seen::Compiled) = (self.compiler, self.seen) {
            let plain = Outcome::new(program, self.results)?;
            let there = compiler.written_out(&choices.take(taken), arguments);
            let (Some(there), Some([as_declared, as_compiled])) = (there, compiler.off_and_on(program, arguments))
            else {
                return Ok(None);
            };
            // The program that is written out must show what the search saw, or the counterexample is of something else.
            if plain.among(&as_declared) != declared || plain.among(&there) != chosen {
                return Ok(None);
            }
            if self.seen == Seen::Compiled {
                // Where the compiler changes it, which need not be where the choice does.
                let compiled = plain.among(&as_compiled);
                let Some(shown) = (0..plain.rows).find_map(|row| plain.difference(row, &declared, &compiled)) else {
                    return Ok(None);
                };
                differs = shown;
            }
        }
        let outcome = own.outputs.iter().zip(declared.into_iter().zip(chosen));
        let outcome = outcome.map(|(output, (declared, chosen))| Flipped { output: *output, declared, chosen });
        Ok(Some(FlippingProgram { outcome: outcome.collect(), choices, differs }))
    }
}
