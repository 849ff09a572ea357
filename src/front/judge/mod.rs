//! Results from elsewhere, judged: a chip's, another framework's, a kernel's of one's own.
//!
//! Each result of a [`Recording`] gets one [`Verdict`]. It is *bits* where a mode of the machine gives the same bits, *conforming*
//! where what a compiler may do explains it, *outside* where nothing does, and *unknown* where neither is proven. Three things
//! decide:
//!
//! - the modes (`members`): every chip and precision, in several orders of sums. An honest result is as near to one of them as
//!   they are to each other;
//! - the truth and the enclosure of all that is permitted ([`crate::explore::enclose`]);
//! - the faults that people make (`faults`): a stretch of K that is missing or doubled, a factor, a row of another place. One that
//!   explains the difference is named.
//!
//! It is a module of this crate and no crate of its own because it stands on both worlds at once: modes come from the machine,
//! errors and permitted results from the oracle. Neither helps the other here; both are compared with the recording.

mod altered;
mod answer_text;
mod argument_readings;
mod arguments;
mod evidence;
mod faults;
mod figures;
mod floats;
mod integer_results;
mod marked;
mod masks;
mod matmul_criterion;
mod members;
mod moved_lines;
mod recording;
mod sampled_block;
mod stretches;

use serde::Serialize;

use crate::budget::TooLarge;
use crate::explore::{ExploreError, Settings as Exploring, enclose, families_of_results};
use crate::ir::Program;
use crate::machine::{Chip, EvalError, Mode};
use crate::oracle::{Demand, Enclosed, Oracle, Prepared, TruthTensor};
use crate::tensor::{DType, Tensor};

pub use arguments::{bind, parameter_names};
pub use evidence::{FAULT_KINDS, Pattern};
pub use figures::{DifferenceAt, Differences, ErrorFigures};
pub use integer_results::Token;
pub use recording::{Recording, RecordingError};
pub use sampled_block::LARGE;

pub(crate) use members::work;
use members::{Member, Members};
use recording::Found;
pub(crate) use recording::pairing_note;

/// The answer for one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A permitted mode gives these bits.
    Bits,
    /// No mode gives them, but what is permitted explains them.
    Conforming,
    /// Nothing that is permitted explains them.
    Outside,
    /// Neither is proven.
    Unknown,
}

impl Verdict {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Bits => "bits",
            Verdict::Conforming => "conforming",
            Verdict::Outside => "outside",
            Verdict::Unknown => "unknown",
        }
    }

    /// The worst of several: outside before unknown, unknown before conforming, conforming before bits; unknown if there are none.
    pub fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
        let rank = |verdict: &Verdict| {
            // A result that is known to be outside says more than one that is not known.
            [Verdict::Bits, Verdict::Conforming, Verdict::Unknown, Verdict::Outside]
                .iter()
                .position(|one| one == verdict)
        };
        verdicts.max_by_key(rank).unwrap_or(Verdict::Unknown)
    }
}

/// The mode whose result is nearest to a recorded one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearest {
    /// The mode, `chip/precision/excess[+key=value...]`.
    pub mode: String,
    /// Root mean square of the difference, over that of the mode's result.
    pub relative_rms: f64,
    /// The difference beside what orders of sums change in that precision: up to about 4 is an order of sums.
    pub orders: f64,
    /// The elements that differ, and the largest differences.
    pub differences: Differences,
}

/// Elements that lie outside of the enclosure of all permitted results, or that stand out among the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutsideElements {
    /// Elements outside of what is permitted.
    pub elements: usize,
    /// Elements of which nothing is known, so that none of them can lie outside.
    pub unknown: usize,
    /// Flat positions of the first of those that are outside or stand out, up to 8.
    pub first: Vec<usize>,
}

/// The judgement of one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedResult {
    /// The result's name in the program.
    pub name: String,
    /// Its name in the recording.
    pub recorded_as: String,
    /// Its type and dims.
    pub shape: String,
    /// Its dims alone.
    #[serde(skip)]
    pub dims: Vec<usize>,
    /// The answer.
    pub verdict: Verdict,
    /// Reasons, a sentence each.
    pub because: Vec<String>,
    /// Modes that give the same bits: several where they are one arithmetic for this program.
    pub modes: Vec<String>,
    /// The nearest mode, of floats.
    pub nearest: Option<Nearest>,
    /// Distance from the truth; none of integers, or where the truth is not known.
    pub error: Option<ErrorFigures>,
    /// Root mean square of the error over that of the named mode's: about 1 is that mode, 0.005 a more accurate one, 9 a fault.
    pub ratio: Option<f64>,
    /// The smallest faults that such a result would show, where it is a matmul of arguments.
    pub detectable: Option<String>,
    /// Elements outside of what is permitted.
    pub outside: OutsideElements,
    /// Tokens that differ from the declared ones; none of floats.
    pub tokens: Option<Vec<Token>>,
    /// Faults that explain what is outside.
    pub pattern: Vec<Pattern>,
}

/// The judgement of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// One a recorded result, in the program's order.
    pub results: Vec<JudgedResult>,
    /// Parts of the work that were left out, and why; and the reach of the nearest mode where none is named.
    pub notes: Vec<String>,
}

impl Judged {
    /// The worst verdict: outside before unknown, unknown before conforming, conforming before bits.
    pub fn verdict(&self) -> Verdict {
        Verdict::worst(self.results.iter().map(|result| result.verdict))
    }
}

/// The claims that a recording is held to.
#[derive(Clone, Default)]
pub struct Settings {
    /// The mode that the results are said to be of; without one every mode of the chips is permitted.
    pub mode: Option<Mode>,
    /// Chips whose modes are tried; all if there are none.
    pub chips: Vec<&'static Chip>,
    /// The compiled program, if it is known: run as it stands.
    pub compiled: Option<Program>,
    /// The result that holds tokens; every result of integers if there is none.
    pub tokens: Option<String>,
    /// The recorded array of scores that the tokens must be the largest of.
    pub scores: Option<String>,
    /// Products of a matmul from which on a block of its rows and columns is judged in every mode, and all of it compared with
    /// the one mode that explains the block; [`LARGE`] where nothing is said.
    pub block_from: Option<u128>,
}

/// Why nothing could be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The recording does not fit the program.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The machine does not support the program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// It does not fit in memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// A setting names a result that does not fit.
    #[error("{0}")]
    Setting(String),
    /// The compiled program is another one's.
    #[error("the compiled program takes and gives {compiled}, and the program {program}")]
    Compiled {
        /// Types and dims of the arguments and results of the compiled program.
        compiled: String,
        /// The same of the program.
        program: String,
    },
}

/// The parts of a judgement that all results share.
struct Ground<'a> {
    program: &'a Program,
    /// The program with the scores of each ranking as further results.
    extended: Program,
    arguments: &'a [Tensor],
    settings: &'a Settings,
    part: Part,
    members: Members,
    /// By results of `extended`: the enclosure of what is permitted.
    enclosed: Option<Vec<Enclosed>>,
    /// By results of `extended`: the truth.
    truth: Option<Vec<TruthTensor>>,
    scores: Vec<Option<marked::RankingScores>>,
    /// Parts of the work that were left out, and why.
    notes: Vec<String>,
}

impl<'a> Ground<'a> {
    fn new(
        program: &'a Program,
        arguments: &'a [Tensor],
        settings: &'a Settings,
        part: Part,
    ) -> Result<Ground<'a>, JudgeError> {
        let mut notes = Vec::new();
        let members = Members::new(program, arguments, settings, &mut notes)?;
        let (extended, scores) = marked::with_scores(program);
        let enclosed = permitted(&extended, arguments, settings, &mut notes);
        let truth = truth(&extended, arguments, &mut notes);
        Ok(Ground { program, extended, arguments, settings, part, members, enclosed, truth, scores, notes })
    }

    /// The judgement of these results of a recording.
    fn judge(&self, recording: &Recording, outputs: &[Found]) -> Result<Judged, JudgeError> {
        let (settings, mut notes) = (self.settings, self.notes.clone());
        notes.extend(recording.pairing_note(self.program, outputs));
        let mut results = Vec::new();
        for one in outputs {
            let tensor = recording.read(self.program, one)?;
            let is_float = tensor.dtype().is_float();
            let mut judged = if is_float {
                floats::judge(self, one.output, &tensor)
            } else {
                integer_results::judge(self, one, &tensor, recording)?
            };
            judged.recorded_as = one.recorded_as.clone();
            if let (Some(name), true) = (&settings.tokens, is_float)
                && (judged.name == *name || judged.recorded_as == *name)
            {
                let what = format!("--tokens: {name} is {}, and tokens are integers", judged.shape);
                return Err(JudgeError::Setting(what));
            }
            results.push(judged);
        }
        if settings.mode.is_none()
            && settings.chips.is_empty()
            && results.iter().any(|one| one.nearest.is_some() && one.modes.is_empty())
        {
            notes.push(OF_EVERY_CHIP.to_string());
        }
        Ok(Judged { results, notes })
    }

    /// The format of scores.
    fn scores_dtype(&self, ranked: &marked::RankingScores) -> Option<&'static crate::num::Format> {
        let id = *self.extended.outputs().get(ranked.output)?;
        self.extended.entry().instructions[id].shape.dtype()?.format()
    }

    /// The judgement of a result before it is weighed, unknown so far, and the members that give its bits.
    fn open(&self, output: usize, tensor: &Tensor) -> (JudgedResult, Vec<&Member>) {
        let equal = |member: &&Member| member.results[output].data() == tensor.data();
        // Equal bits of one mode explain a result by themselves, whatever else is permitted.
        let same: Vec<&Member> = self.members.each.iter().filter(equal).collect();
        let judged = JudgedResult {
            name: self.program.output_names[output].clone(),
            recorded_as: String::new(),
            shape: self.program.entry().instructions[self.program.outputs()[output]].shape.to_string(),
            dims: tensor.dims().to_vec(),
            verdict: Verdict::Unknown,
            because: Vec::new(),
            modes: same.iter().flat_map(|member| member.modes.iter().cloned()).collect(),
            nearest: None,
            error: None,
            ratio: None,
            detectable: None,
            outside: OutsideElements::default(),
            tokens: None,
            pattern: Vec::new(),
        };
        (judged, same)
    }
}

/// A reader with a GPU would take the nearest chip's name for an answer.
const OF_EVERY_CHIP: &str = "no mode is named: the nearest is one of every chip known here, and none of these is a GPU; results of a \
     GPU are held to `--mode cpu/highest/off`";

/// Judges the results of `recording` that `program` gives for `arguments`.
///
/// # Errors
/// If the recording has no result of the program, a result of another shape, or the program cannot be evaluated.
pub fn judge(
    program: &Program,
    arguments: &[Tensor],
    recording: &Recording,
    settings: &Settings,
) -> Result<Judged, JudgeError> {
    judge_part(&mut None, program, arguments, recording, settings, Part::Whole)
}

/// Judges several recordings of one program and its arguments: the modes, the truth and what is permitted are computed once.
///
/// # Errors
/// As of [`judge`], for the first recording that has one.
pub fn judge_each(
    program: &Program,
    arguments: &[Tensor],
    recordings: &[Recording],
    settings: &Settings,
) -> Result<Vec<Judged>, JudgeError> {
    let mut ground = None;
    let one = |recording| judge_part(&mut ground, program, arguments, recording, settings, Part::Whole);
    recordings.iter().map(one).collect()
}

/// The part of a program's results that a recording holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// A block of a large matmul: the mode that is named computes the rest afterwards.
    Block,
}

/// [`judge`] for a part of the results, on the ground of a recording before it.
fn judge_part<'a>(
    ground: &mut Option<Ground<'a>>,
    program: &'a Program,
    arguments: &'a [Tensor],
    recording: &Recording,
    settings: &'a Settings,
    part: Part,
) -> Result<Judged, JudgeError> {
    let outputs = asked(program, recording, settings)?;
    if let Some(judged) = sampled_block::accept(program, arguments, recording, settings, &outputs)? {
        return Ok(judged);
    }
    let ground = match ground {
        Some(ground) => ground,
        none => none.insert(Ground::new(program, arguments, settings, part)?),
    };
    ground.judge(recording, &outputs)
}

/// The results of a recording, which the settings must fit.
fn asked(program: &Program, recording: &Recording, settings: &Settings) -> Result<Vec<Found>, JudgeError> {
    let outputs = recording.resolve(program)?;
    if let Some(name) = &settings.tokens {
        let known = outputs.iter().any(|one| program.output_names[one.output] == *name || one.recorded_as == *name);
        if !known {
            let names: Vec<&str> = outputs.iter().map(|one| one.recorded_as.as_str()).collect();
            return Err(JudgeError::Setting(format!(
                "--tokens: no recorded result is called `{name}`; there are {}",
                names.join(", ")
            )));
        }
    }
    let shape = |one: &Found| &program.entry().instructions[program.outputs()[one.output]].shape;
    if settings.scores.is_some() && outputs.iter().all(|one| shape(one).dtype().is_some_and(DType::is_float)) {
        return Err(JudgeError::Setting(
            "--scores: no recorded result is of tokens, which they would rank".to_string(),
        ));
    }
    if outputs.iter().all(|one| shape(one).elements() == 0) {
        return Err(JudgeError::Setting("no recorded result has an element: there is nothing to judge".to_string()));
    }
    if let Some(compiled) = &settings.compiled {
        check_compiled(program, compiled)?;
    }
    Ok(outputs)
}

/// Holds the compiled program to the arguments and results of the program.
fn check_compiled(program: &Program, compiled: &Program) -> Result<(), JudgeError> {
    let shapes = |program: &Program| -> Vec<String> {
        let outputs = program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.to_string());
        program.entry().parameter_shapes().iter().map(|shape| shape.to_string()).chain(outputs).collect()
    };
    let (of_program, of_compiled) = (shapes(program), shapes(compiled));
    match of_program == of_compiled {
        true => Ok(()),
        false => Err(JudgeError::Compiled { compiled: of_compiled.join(", "), program: of_program.join(", ") }),
    }
}

/// Operations of a truth or an enclosure that are taken on at most: some minutes.
const MOST_WORK: u128 = 20_000_000_000;

/// The enclosure of each result of what is permitted: by the mode's precision, or by every precision.
fn permitted(
    program: &Program,
    arguments: &[Tensor],
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Option<Vec<Enclosed>> {
    let work = members::work(program);
    if work > MOST_WORK {
        notes.push(format!(
            "what is permitted was not enclosed: the program takes {work} operations, {MOST_WORK} at most are enclosed"
        ));
        return None;
    }
    let mode = members::base_mode(settings)?;
    let exploring = Exploring { families: families_of_results().collect(), ..Exploring::new(mode) };
    match enclose(program, arguments, &exploring) {
        Ok((_, enclosed)) => Some(enclosed),
        Err(
            error @ (ExploreError::Outcome(_)
            | ExploreError::Machine(_)
            | ExploreError::Oracle(_)
            | ExploreError::OutOfTime(_)),
        ) => {
            notes.push(format!("what is permitted was not enclosed: {error}"));
            None
        }
    }
}

/// The truth of each result.
fn truth(program: &Program, arguments: &[Tensor], notes: &mut Vec<String>) -> Option<Vec<TruthTensor>> {
    let work = members::work(program);
    if work > MOST_WORK {
        notes.push(format!(
            "the truth was not computed: the program takes {work} operations, {MOST_WORK} at most are taken"
        ));
        return None;
    }
    let demands = vec![Demand::Near; program.outputs().len()];
    match Oracle::default().announced_truth(&Prepared::new(program), arguments, &demands, &mut |_| ()) {
        Ok(truth) => Some(truth.outputs),
        Err(error) => {
            // Modes still judge without the truth: a note, and no refusal.
            notes.push(format!("the truth was not computed: {error}"));
            None
        }
    }
}
