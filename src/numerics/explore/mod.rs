//! Every result that a compiler may give: what the flags permit is a set of programs, and a program means the set of their
//! results (Becker, Darulova, Myreen and Tatlock, Icing, CAV 2019; in tensors here).
//!
//! A row of a program's outcome, its tokens or its kept set, gets one of three answers, none of them guessed:
//!
//! - proven: an enclosure of all results at once ([`crate::oracle::Enclosure`]) holds nothing but the declared outcome. Where
//!   one enclosure is too wide, the choices are split and each part is enclosed.
//! - reachable: a choice, evaluated on the machine, gives another outcome.
//! - open: neither.
//!
//! `families` names the freedoms of compilers. `allowance` makes what an enclosure allows of the mode's promises, `forms` what it
//! allows where a compiler may compute as with real numbers, `search` looks for witnesses, `row_outcome` says what is
//! compared, `decision` where and how closely it is decided, `proof` encloses; the choices themselves are [`crate::rewrite::Choices`]. `repair`
//! ends choices, `counterexample` makes what they flip small, and `jax_function` writes it in Python.

mod allowance;
mod counterexample;
mod decision;
mod families;
mod forms;
mod jax_function;
mod minimize;
mod numpy_text;
mod outside;
mod printed;
mod proof;
mod repair;
mod row_outcome;
mod search;
#[cfg(test)]
mod tests;

use std::time::Instant;

use crate::deadline::{self, OutOfTime};
use crate::ir::Program;
use crate::machine::vector::StepRounding;
use crate::machine::{EvalError, Mode, Prepared, Replay};
use crate::oracle::OracleError;
use crate::rewrite::{Choices, Freedom};
use crate::tensor::Tensor;

use proof::{FirstEnclosure, Proof};
use row_outcome::Outcome;
use search::{SearchResult, Searching};

pub use counterexample::{Counterexample, Flipped, Seen, counterexample};
pub use decision::Decision;
pub use families::{FAMILIES, Family, default_families, families_of_results, find_family};
pub use jax_function::{NoLine, jax_function};
pub use numpy_text::numpy_array;
pub use outside::{Outside, enclose, outside, outside_of_printed};
pub use printed::printed_range;
pub use repair::{Guard, NoRepair, Repair, repair};
pub use row_outcome::OutcomeError;
pub use search::Searched;

/// The choices to explore, and the limits of the search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The mode in whose arithmetic the choices are evaluated. Its excess policy is ignored: the families take its
    /// place.
    pub mode: Mode,
    /// Families of choices that a compiler may make.
    pub families: Vec<&'static Family>,
    /// The most choices to evaluate: where there are no more, all of them are. With 0 no witness is searched.
    pub choices: usize,
    /// The most enclosures to take.
    pub enclosures: usize,
    /// Whether to name the deciding step of proven rows, too.
    pub margins: bool,
    /// Whether any mode's arithmetic may have been at work: every chip at every precision, with every refinement but faults,
    /// for each instruction another one perhaps.
    pub any_mode: bool,
    /// When the search for witnesses and proofs ends: what is open then stays open.
    pub until: Option<Instant>,
    /// Told how many choices will be evaluated at most in the mode's own order, before they are.
    pub announce: fn(usize),
}

impl Settings {
    /// Whether a family is permitted that gives this freedom.
    fn permits(&self, freedom: Freedom) -> bool {
        self.families.iter().any(|family| family.freedom == freedom)
    }

    /// The mode that choices are computed in: where sums may do either, sums in bf16 stand only where they round every addition.
    fn computed(&self) -> Mode {
        let mut mode = self.mode.clone();
        if self.permits(Freedom::Accumulation) {
            mode.choices.narrow = StepRounding::Bf16;
        }
        mode
    }

    /// The families of [`default_families`], as many as 2^16 choices, and 64 enclosures.
    pub fn new(mode: Mode) -> Settings {
        Settings {
            mode,
            families: default_families().collect(),
            choices: 1 << 16,
            enclosures: 64,
            margins: false,
            any_mode: false,
            until: None,
            announce: |_| (),
        }
    }
}

/// Why a program cannot be explored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExploreError {
    /// Nothing to compare.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
    /// The machine does not support it.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// It has no meaning that could be enclosed.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// Not even the declared outcome and the enclosure of all choices were there in time.
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
}

/// A choice that gives another outcome than the declared one, as the machine computed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The option that each point takes, in the order of [`Choices::points`].
    pub taken: Vec<usize>,
    /// The mode that it was evaluated in, which may have another order of sums than the one explored.
    pub mode: Mode,
    /// The first element of the row's outcome that differs: the result's position, the flat position in it, what is
    /// declared and what it becomes.
    pub differs: Difference,
}

impl Witness {
    /// Whether what it takes can be written as operations of HLO. What is added before it is rounded cannot, nor where K is cut.
    fn is_written(&self, choices: &Choices) -> bool {
        let is_other = |freedom: Freedom| matches!(freedom, Freedom::Contraction | Freedom::Order);
        !choices.points.iter().zip(&self.taken).any(|(point, option)| *option > 0 && is_other(point.freedom))
    }
}

/// An element of an outcome in two ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The result's position among the program's.
    pub output: usize,
    /// The flat position in the result.
    pub element: usize,
    /// The value of that element in the declared program.
    pub declared: f64,
    /// Its value under the choice.
    pub chosen: f64,
}

/// The answer for one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// No choice gives another outcome. The number of enclosures says into how many parts the choices were split, 1 for
    /// none.
    Proven {
        /// The number of enclosures.
        enclosures: usize,
    },
    /// This choice does.
    Reachable(Box<Witness>),
    /// Neither is known.
    Open {
        /// Elements of the row's outcome that the enclosure of all choices leaves open.
        undecided: usize,
    },
}

/// The outcomes that a program may have.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The program with its choices.
    pub choices: Choices,
    /// One a row.
    pub answers: Vec<Answer>,
    /// Of each row what decides it, if that was asked for or the enclosure of all choices leaves it open; `None` as well where no
    /// step is understood.
    pub decisions: Vec<Option<Decision>>,
    /// The outcome as declared: the results of `outputs`.
    pub declared: Vec<Tensor>,
    /// The extent of the search for witnesses.
    pub searched: Searched,
    /// The number of enclosures that were taken.
    pub enclosures: usize,
    /// Why the search ended before it was done, if it did.
    pub out_of_time: Option<OutOfTime>,
    /// Positions of the results that make the outcome.
    pub outputs: Vec<usize>,
}

/// The choices that the families leave.
fn permitted(program: &Program, settings: &Settings) -> Choices {
    let freedoms: Vec<Freedom> = settings.families.iter().map(|family| family.freedom).collect();
    Choices::new(program, &freedoms, settings.mode.choices.narrow != StepRounding::F32)
}

/// Explores what `program` may give for `arguments`. The outcome is made of the results of these names; of all that are
/// integers or predicates if there are none. Rows are the slices of the first dim that all of these have, or all of it is
/// one.
///
/// # Errors
/// If there is no such result, or the program cannot be evaluated.
pub fn explore(
    program: &Program,
    arguments: &[Tensor],
    results: &[String],
    settings: &Settings,
) -> Result<Exploration, ExploreError> {
    let choices = permitted(program, settings);
    let outcome = Outcome::new(&choices.program, results)?;
    outcome.reserve()?;
    let steps = decision::steps(&choices, &outcome);
    let prepared = Prepared::of_choices(&choices.program);
    let bound = prepared.bind(arguments)?;
    let replay = deadline::until(settings.until, || Replay::new(&prepared, &settings.mode, &bound))??;
    let declared = outcome.tensors(&replay)?;
    let mut proof = Proof::new(&choices, arguments, (&outcome, &declared), settings);
    let fixed = &mut vec![None; choices.points.len()];
    let first = deadline::until(settings.until, || proof.first(fixed, (&steps, &replay), settings.margins))??;
    let FirstEnclosure { undecided, decisions } = first;
    let mut answers: Vec<Answer> = undecided
        .iter()
        .map(|count| count.map_or(Answer::Proven { enclosures: 1 }, |undecided| Answer::Open { undecided }))
        .collect();
    let open: Vec<usize> = (0..undecided.len()).filter(|row| undecided[*row].is_some()).collect();
    let (mut searched, mut out_of_time) = (Searched::default(), None);
    if !open.is_empty() {
        if settings.choices > 0 {
            let searching = Searching { choices: &choices, outcome: &outcome, declared: &declared, arguments };
            let witnesses;
            SearchResult { witnesses, searched, out_of_time } = searching.look(settings, &prepared, &open)?;
            for (row, witness) in witnesses {
                answers[row] = Answer::Reachable(Box::new(witness));
            }
        }
        let left: Vec<usize> = open.into_iter().filter(|row| matches!(answers[*row], Answer::Open { .. })).collect();
        let mut parts = vec![0; answers.len()];
        let left = match deadline::until(settings.until, || proof.split(fixed, 0, &left, &mut parts)) {
            Ok(split) => split?,
            Err(over) => {
                out_of_time.get_or_insert(over);
                left
            }
        };
        for (row, parts) in parts.into_iter().enumerate().filter(|(_, parts)| *parts > 0) {
            if !left.contains(&row) {
                answers[row] = Answer::Proven { enclosures: parts };
            }
        }
    }
    let enclosures = proof.taken;
    let outputs = outcome.outputs.clone();
    Ok(Exploration { choices, answers, decisions, declared, searched, enclosures, out_of_time, outputs })
}
