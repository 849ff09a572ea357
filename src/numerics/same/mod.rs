//! Whether two programs give the same bits for all inputs, on the machines that they run on: proven, refuted by an input, or
//! open.
//!
//! Both programs are followed with a symbol for each element ([`crate::machine::Symbol`]): results of one symbol are the same
//! bits for all arguments. Where symbols differ, inputs are tried until bits do. docs/proofs/same.md says why what is proven is proven.

mod alignment;
mod boundary;
mod cuts;
mod every_number;
mod identical;
mod live_program;
mod near_largest;
mod parting;
mod standing_out;
mod unfollowed;
mod witness;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ulpgate_hlo::{Import, Origin};

use crate::deadline::{self, OutOfTime};
use crate::ir::Program;
use crate::machine::{EvalError, Grounds, Mode, Permits, Prepared, Traced};

use alignment::Alignment;
pub use alignment::AlignmentError;
pub use cuts::compare;
use identical::{are_identical, opaque};
use live_program::LiveProgram;
pub use parting::{Meeting, Place};
pub use witness::{Difference, Shown};

/// One of two programs that are compared.
#[derive(Clone, Debug)]
pub struct Comparand<'a> {
    /// The program.
    pub program: &'a Program,
    /// The names of its arguments, if they have names.
    pub argument_names: &'a [String],
    /// The names of values of its entry in the file that they come from, if there is one.
    pub sources: Vec<Source>,
}

/// The name of a value in its file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in the file.
    pub name: String,
    /// `op_name` of its metadata: where it stands in the user's program.
    pub op_name: Option<String>,
}

impl<'a> From<&'a Program> for Comparand<'a> {
    fn from(program: &'a Program) -> Comparand<'a> {
        Comparand { program, argument_names: &[], sources: Vec::new() }
    }
}

/// A file's program, with the names that its values have there.
impl<'a> From<&'a Import> for Comparand<'a> {
    fn from(import: &'a Import) -> Comparand<'a> {
        let source = |origin: &Origin| Source { name: origin.name.clone(), op_name: origin.op_name.clone() };
        Comparand {
            program: &import.program,
            argument_names: &import.argument_names,
            sources: import.origins.iter().map(source).collect(),
        }
    }
}

/// Something that is taken for granted of both programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The beginnings alone of arguments that differ in extents are compared: a prefix of a longer context.
    Prefix,
    /// -0 and +0 count as one number, and nothing tells them apart.
    OneZero,
}

impl Assumption {
    /// All of them.
    pub const ALL: &'static [Assumption] = &[Assumption::Prefix, Assumption::OneZero];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Assumption::Prefix => "prefix",
            Assumption::OneZero => "one-zero",
        }
    }

    /// The assumption, in words.
    pub const fn doc(self) -> &'static str {
        match self {
            Assumption::Prefix => "where extents differ, only the beginnings count",
            Assumption::OneZero => "-0 and +0 are one number, and no step tells them apart",
        }
    }
}

/// Settings of the comparison of two programs.
#[derive(Clone)]
pub struct Settings {
    /// The machine that each runs on.
    pub modes: [Mode; 2],
    /// Assumptions about both programs.
    pub assumptions: Vec<Assumption>,
    /// Inputs that are tried, at most.
    pub trials: u64,
    /// Beyond these more are tried as long as the elements of all inputs are fewer.
    pub elements: u64,
    /// The longest time that inputs are tried, beyond the first few.
    pub patience: Duration,
    /// The longest time that all of it takes, following the programs included; none where there is no such limit.
    pub limit: Option<Duration>,
    /// Elements that following one program may compute, so that it ends.
    pub budget: u64,
}

impl Settings {
    /// Both on one machine, nothing assumed.
    pub fn new(mode: &Mode) -> Settings {
        Settings {
            modes: [mode.clone(), mode.clone()],
            assumptions: Vec::new(),
            trials: 256,
            elements: 1 << 23,
            patience: Duration::from_secs(5),
            limit: None,
            budget: 1 << 32,
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The pairs that were compared, in words.
    pub compared: Vec<String>,
    /// The premises of the verdict beside the emulated machine, in words.
    pub rests_on: Vec<String>,
    /// Inputs on which both programs were run.
    pub tried: u64,
}

/// Whether two programs are the same.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Proven for all inputs.
    Same,
    /// Their bits differ for an input.
    Part(Box<Parting>),
    /// Neither, and what is missing.
    Open(Vec<String>),
}

/// The place at which two programs part, with an input that shows it.
#[derive(Clone, Debug)]
pub struct Parting {
    /// The first values that have no counterpart, if one could be named.
    pub meeting: Option<Meeting>,
    /// Bits that differ in a value on the way.
    pub value: Option<Shown>,
    /// Bits that differ in a result.
    pub result: Shown,
    /// That result's number in the first and in the second program.
    pub results: [usize; 2],
    /// The input: arguments of the first and of the second program.
    pub inputs: [Vec<crate::tensor::Tensor>; 2],
}

/// Why two programs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SameError {
    /// Their arguments or results are not of one kind.
    #[error("{0}")]
    Alignment(#[from] AlignmentError),
    /// One of them cannot be run or followed.
    #[error("{which}: {error}")]
    Evaluation {
        /// The first or the second.
        which: &'static str,
        /// Why.
        error: EvalError,
    },
    /// Proven the same, and yet an input gives other bits.
    #[error("proven the same, but bits differ at {0}: an error of ulpgate, please report it with both files")]
    Contradiction(String),
}

/// Whether the machine computes the same bits for all inputs, as far as symbols show; what files ask that it does not follow has no
/// part in this, and no input is tried.
///
/// # Errors
/// As those of [`compare`].
pub fn computes_the_same<'a>(
    one: impl Into<Comparand<'a>>,
    other: impl Into<Comparand<'a>>,
    settings: &Settings,
) -> Result<bool, SameError> {
    let live = [one.into(), other.into()].map(LiveProgram::of);
    let both = live.each_ref().map(LiveProgram::as_comparand);
    let alignment = Alignment::new(&both, settings.assumptions.contains(&Assumption::Prefix))?;
    let permits = Permits {
        one_zero: settings.assumptions.contains(&Assumption::OneZero),
        without_settings: true,
        by_values: false,
    };
    let prepared = [0, 1].map(|side: usize| Prepared::new(both[side].program));
    let trace = |side: usize, block: usize| {
        let namings = alignment.namings(side, block);
        let traced = prepared[side].trace(&settings.modes[side], &namings, permits, settings.budget);
        traced.map_err(|error| SameError::Evaluation { which: SIDES[side], error })
    };
    let large = trace(alignment.large(), 0)?;
    for block in 0..alignment.blocks() {
        let small = trace(1 - alignment.large(), block)?;
        if !alignment.same_results(&small.results, &large.results, block) {
            return Ok(false);
        }
    }
    Ok(true)
}

const SIDES: [&str; 2] = ["the first program", "the second program"];

/// [`compare`] on exactly the modes of the settings.
#[expect(clippy::too_many_lines, reason = "one search with one state")]
fn compare_as_set(both: [Comparand<'_>; 2], settings: &Settings) -> Result<Answer, SameError> {
    let alignment = Alignment::new(&both, settings.assumptions.contains(&Assumption::Prefix))?;
    let one_zero = settings.assumptions.contains(&Assumption::OneZero);
    // What the machine computes comes first: no input shows a setting that it does not follow.
    let permits = Permits { one_zero, without_settings: true, by_values: false };
    let prepared = [0, 1].map(|side: usize| Prepared::new(both[side].program));
    let trace = |side: usize, block: usize, permits: Permits| {
        let namings = alignment.namings(side, block);
        let traced = prepared[side].trace(&settings.modes[side], &namings, permits, settings.budget);
        traced.map_err(|error| SameError::Evaluation { which: SIDES[side], error })
    };
    let [one, other] = [0, 1].map(|side: usize| both[side].program);
    let one_machine = settings.modes[0].to_string() == settings.modes[1].to_string();
    let is_large = alignment.elements().max(largest(one)) > FOLLOWED;
    if is_large && alignment.is_identity() && one_machine && are_identical(one, other) {
        prepared[0].check_mode(&settings.modes[0]).map_err(|error| SameError::Evaluation { which: SIDES[0], error })?;
        let grounds = Grounds { opaque: opaque(one), ..Grounds::default() };
        let one_program = "both are one program; no input was run as well".to_string();
        let rests_on =
            in_words(&[grounds]).into_iter().chain(of_files(&both, &settings.modes)).chain([one_program]).collect();
        return Ok(Answer { verdict: Verdict::Same, compared: alignment.in_words(), rests_on, tried: 0 });
    }
    // The larger program is followed once, the smaller one at each of its places in it.
    let follow = |permits: Permits| -> Result<Followed, SameError> {
        let large = trace(alignment.large(), 0, permits)?;
        let mut grounds = vec![large.grounds.clone()];
        for block in 0..alignment.blocks() {
            let small = trace(1 - alignment.large(), block, permits)?;
            grounds.push(small.grounds.clone());
            if !alignment.same_results(&small.results, &large.results, block) {
                return Ok(Followed { grounds, parted: Some((block, small, large)) });
            }
        }
        Ok(Followed { grounds, parted: None })
    };
    let Followed { mut grounds, parted } = follow(permits)?;
    let understood = grounds.iter().all(|grounds| grounds.opaque.is_empty());
    let mut search = witness::Search::new(&prepared, settings, &alignment, permits);
    let mut rests_on: Vec<String> =
        settings.assumptions.iter().map(|assumption| format!("assumed: {}", assumption.doc())).collect();
    // What the proof may use, or the answer without one.
    let proof = match parted {
        None => Ok(permits),
        Some((block, small, large)) => {
            let traced = if alignment.large() == 1 { [&small, &large] } else { [&large, &small] };
            let meeting = parting::find(&both, traced, &settings.modes, &alignment.result_numbers());
            drop((small, large));
            let mut hunt = Hunt { block, begun: Instant::now(), turns: 0, gave_up: false };
            let soon = if understood { hunt.go_on(&mut search, FIRST_TURNS)? } else { None };
            // What few inputs show need not be followed once more.
            let permits = Permits { by_values: true, ..permits };
            let followed = if soon.is_none() { in_time(search.until, || follow(permits))? } else { None };
            if let Some(followed) = followed.filter(|followed| followed.parted.is_none()) {
                grounds = followed.grounds;
                Ok(permits)
            } else {
                let found = match soon {
                    None if understood => hunt.go_on(&mut search, u64::MAX)?,
                    soon => soon,
                };
                Err(match found {
                    Some(difference) => Verdict::Part(Box::new(search.show(meeting, difference)?)),
                    None => {
                        let mut missing = missing(meeting, &grounds, search.tried);
                        if hunt.gave_up {
                            missing.push("time or memory for another input, which was given up".to_string());
                        }
                        Verdict::Open(missing)
                    }
                })
            }
        }
    };
    rests_on.extend(in_words(&grounds));
    rests_on.extend(of_files(&both, &settings.modes));
    let verdict = match proof {
        Err(verdict) => verdict,
        Ok(permits) => {
            if permits.by_values {
                rests_on.push(BY_VALUES.to_string());
            }
            if understood && alignment.elements() > FOLLOWED {
                rests_on.push(format!("no input was run as well: it has more than {FOLLOWED} elements"));
            } else if understood {
                check_proof(&mut search, &alignment, &mut rests_on)?;
            }
            let traced = |side: usize, block: usize| trace(side, block, Permits { without_settings: false, ..permits });
            match unfollowed::obstacles(&both, &alignment, &settings.modes, traced)? {
                Some(missing) => Verdict::Open(missing),
                None => Verdict::Same,
            }
        }
    };
    Ok(Answer { verdict, compared: alignment.in_words(), rests_on, tried: search.tried })
}

/// Both programs, followed.
struct Followed {
    grounds: Vec<Grounds>,
    /// The block in which results differ, with the smaller program and the larger one.
    parted: Option<(usize, Traced, Traced)>,
}

/// The premise of a proof by values.
const BY_VALUES: &str = "functions of one number of 16 bits or fewer were compared by all of its values";

/// Turns of the search before both programs are followed by values.
const FIRST_TURNS: u64 = 16;

/// Turns behind those of which each tries the next numbers of a narrow float, as long as there are any.
const IN_ORDER: u64 = 64;

/// A search in turns of several kinds.
struct Hunt {
    block: usize,
    begun: Instant,
    turns: u64,
    gave_up: bool,
}

impl Hunt {
    /// Searches on, for so many turns in all, as long as the settings allow.
    fn go_on(&mut self, search: &mut witness::Search, turns: u64) -> Result<Option<Difference>, SameError> {
        while !self.gave_up && self.turns < turns && search.goes_on() {
            if search.tried >= MINIMUM && self.begun.elapsed() > search.patience() {
                break;
            }
            self.turns += 1;
            let (kind, block) = (self.turns % TURNS, self.block);
            let in_order = (FIRST_TURNS..FIRST_TURNS + IN_ORDER).contains(&self.turns) && search.has_numbers();
            let tried = in_time(search.until, || match kind {
                _ if in_order => search.try_numbers(block),
                0 => search.approach(block),
                STANDING_OUT => search.stand_out(block),
                LAST if self.turns % (2 * TURNS) == LAST && search.has_numbers() => search.try_numbers(block),
                LAST => search.near_largest(block),
                _ => search.next(block),
            })?;
            self.gave_up = tried.is_none();
            if let Some(found) = tried.flatten() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Inputs on which a proof is checked: one, and so many of programs whose inputs have few elements together.
const CHECKS: u64 = 4;
/// Elements of those inputs, about.
const CHECKED: u64 = 1 << 16;
/// Elements of arguments, and of each value, up to which one program is followed element by element as two are, and an input is
/// run for a proof.
const FOLLOWED: u64 = 1 << 24;

/// Elements of the largest value of a program's entry.
fn largest(program: &Program) -> u64 {
    program.entry().instructions.iter().map(|instruction| instruction.shape.elements() as u64).max().unwrap_or(0)
}

/// Runs inputs on which both programs must agree, as far as time and memory allow.
///
/// # Errors
/// If a result differs, which contradicts the proof.
fn check_proof(
    search: &mut witness::Search,
    alignment: &Alignment,
    rests_on: &mut Vec<String>,
) -> Result<(), SameError> {
    while search.tried < CHECKS && (search.tried == 0 || search.tried.saturating_mul(alignment.elements()) < CHECKED) {
        let block = search.tried as usize % alignment.blocks();
        match in_time(search.until, || search.next(block))? {
            Some(None) => {}
            Some(Some(difference)) => return Err(SameError::Contradiction(difference.to_string())),
            None => {
                rests_on.push("no input was run as well: it takes more time or memory than there is".to_string());
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The outcome of trying an input until a time; `None` where the time was over or the memory too small for it.
fn in_time<T>(until: Option<Instant>, tried: impl FnOnce() -> Result<T, SameError>) -> Result<Option<T>, SameError> {
    match deadline::until(until, tried) {
        Ok(Ok(found)) => Ok(Some(found)),
        Err(OutOfTime { .. }) => Ok(None),
        Ok(Err(SameError::Evaluation { error: EvalError::OutOfTime(_) | EvalError::Memory(_), .. })) => Ok(None),
        Ok(Err(error)) => Err(error),
    }
}

/// Inputs that are tried, if each of them is done in the time that there is.
const MINIMUM: u64 = 4;
/// One turn of so many looks for a place where results change, one takes inputs in which an element of each row stands out, one takes
/// numbers near the largest or the next numbers of a narrow float, the others take an input each.
const TURNS: u64 = 8;
const STANDING_OUT: u64 = 5;
const LAST: u64 = 7;

fn in_words(grounds: &[Grounds]) -> Vec<String> {
    let all = |of: fn(&Grounds) -> &BTreeSet<String>| -> Vec<String> {
        let names: BTreeSet<&String> = grounds.iter().flat_map(of).collect();
        names.into_iter().cloned().collect()
    };
    let [nan, opaque, loops, unstable] =
        [all(|g| &g.shows_nan), all(|g| &g.opaque), all(|g| &g.loops), all(|g| &g.unstable)];
    let mut words = vec!["every NaN counts as one: IEEE 754 leaves its bits open".to_string()];
    if !nan.is_empty() {
        words.push(format!("no NaN reaches {}, which shows its sign or bits", some(&nan)));
    }
    if !opaque.is_empty() {
        words.push(format!("{} gives the same for the same operands; it is not understood", some(&opaque)));
    }
    if !loops.is_empty() {
        words.push(format!("{} compared as a whole, with all that it carries", some(&loops)));
    }
    if !unstable.is_empty() {
        words.push(format!("{} keeps equal elements in order, although the file does not ask for it", some(&unstable)));
    }
    words
}

/// The assumptions about plans, settings and promises of the two files, whatever is followed.
fn of_files(both: &[Comparand; 2], modes: &[Mode; 2]) -> impl Iterator<Item = String> {
    [plans(both), unfollowed::in_words(both, modes), unfollowed::promises(both)].into_iter().flatten()
}

/// Matmuls of two compiled files that are planned otherwise, where the emulated machine sums alike.
fn plans(both: &[Comparand; 2]) -> Option<String> {
    let [one, other] = [0, 1].map(|side: usize| -> Vec<&str> {
        let tilings = both[side].program.entry().instructions.iter().filter_map(|i| i.tiling());
        let mut emitters: Vec<&str> = tilings.map(|tiling| tiling.emitter.as_str()).collect();
        emitters.sort_unstable();
        emitters
    });
    (one != other).then(|| "matmuls with other emitters add alike: what their names mean is not public".to_string())
}

/// A few names of many.
fn some(names: &[String]) -> String {
    match names {
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
        few => few.join(", "),
    }
}

fn missing(meeting: Option<Meeting>, grounds: &[Grounds], tried: u64) -> Vec<String> {
    let mut missing = Vec::new();
    match meeting {
        Some(meeting) => {
            missing.push(format!("an identity that makes one of these, or an input that parts them: {meeting}"))
        }
        None => missing.push("an input that parts results which are computed otherwise".to_string()),
    }
    if tried > 0 {
        missing.push(format!("{tried} inputs were tried, and no bit differed"));
    }
    missing.extend(in_words(grounds).into_iter().skip(1));
    missing
}
