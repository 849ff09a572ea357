//! Questions with verdicts, one file each; [`CHECKS`] lists them.
//!
//! A suite names a [`Check`] and gives it [`Settings`]. For a case, [`CaseCheck::plan`] makes a [`Judge`] of them,
//! which sees the results [`Batch`] by batch, keeps counts and evidence in a [`Tally`] and ends with a [`Judgement`].
//! `forward` derives the error bounds for the check `bound`; [`Scale`] holds the magnitudes that errors of dots are
//! measured against.

mod agreement;
mod bound;
mod criterion;
mod divergence;
mod drift;
mod dropped_token;
mod element_witness;
mod error;
mod forward;
pub mod growth;
mod left_open;
mod margin;
mod nucleus;
mod overflow;
mod permitted;
mod ratio;
mod recall;
mod same;
mod scale;
mod self_consistency;
mod tally;
mod ties;

use crate::ir::Program;
use crate::machine::Mode;
use crate::metric::{Better, Unit};
use crate::oracle::{Demand, FloatTruth, Truth};
use crate::program::ProgramSpec;
use crate::subject::Subject;
use crate::tensor::Tensor;

pub use element_witness::{ScoredToken, Witness, bits_hex, float_hex};
pub use error::{ObserveError, PlanError, PlanFault};
pub use scale::Scale;
pub use tally::{Judgement, Outcome, Tally};

/// A kind of question. Registered in [`CHECKS`].
pub trait Check: Sync {
    /// The name that suites use; the file's stem.
    fn name(&self) -> &'static str;

    /// "Asks: ... Why it matters: ... Fails when: ...", in this order.
    fn doc(&self) -> &'static str;

    /// The settings it takes in a suite file, beside `kind`, `expect` and `because`.
    fn settings(&self) -> &'static [&'static str];

    /// The figures that it may add to a record; a case may lack some of them.
    fn figures(&self) -> &'static [FigureDoc];

    /// The figure that counts rows with something found, which summaries add up over cases.
    fn row_count(&self) -> Option<&'static str> {
        None
    }

    /// Whether its findings are shown by inputs of its own, and not by the case's.
    fn brings_inputs(&self) -> bool {
        false
    }

    /// Whether it is put to a case or to a series.
    fn scope(&self) -> Scope<'_>;
}

/// The cases that a check judges together: one, or all of a series.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// Each case by itself.
    Case(&'a dyn CaseCheck),
    /// The figures of all cases of a series, which differ in size alone.
    Series,
}

/// A check of one case.
pub trait CaseCheck {
    /// The question put to one case.
    ///
    /// # Errors
    /// Says why the question makes no sense there: a setting is missing or wrong, or the program lacks a result.
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError>;
}

/// Meaning of one figure of a check.
pub struct FigureDoc {
    /// The figure's column in reports, such as `beyond_bound`.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The direction in which it improves; `None` for a figure that only describes.
    pub better: Option<Better>,
    /// Its meaning, in a few words for listings.
    pub doc: &'static str,
}

/// The settings of a check, as suites write them.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Metric whose growth is fitted, over sizes or along a sequence.
    pub metric: Option<String>,
    /// Expected slope of that metric on log-log axes.
    pub slope: Option<f64>,
    /// Name of the result that is judged, where a program has several of a kind.
    pub output: Option<String>,
    /// The other side of a comparison: a mode, a program, or `alone` (each row by itself).
    pub against: Option<String>,
    /// The program of the file that `against` names, if it names one: it is read together with the settings.
    pub program: Option<ProgramSpec>,
    /// The largest share (0 to 1) of deviating elements that is no finding.
    pub allowance: Option<f64>,
    /// Expected integers of one row, for fixtures.
    pub equals: Option<Vec<i64>>,
    /// The matmul precision whose bound judges, where it is not the mode's own.
    pub declared: Option<String>,
}

impl Settings {
    /// The settings that are there, by name, as text.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        let spaced = |integers: &Vec<i64>| integers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        let all = [
            ("metric", self.metric.clone()),
            ("slope", self.slope.map(|slope| slope.to_string())),
            ("output", self.output.clone()),
            ("against", self.against.clone()),
            ("allowance", self.allowance.map(|share| share.to_string())),
            ("equals", self.equals.as_ref().map(spaced)),
            ("declared", self.declared.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// One case before it is evaluated, from which a check is planned.
pub struct Context<'a> {
    /// The case's program with its parameters.
    pub spec: &'a ProgramSpec,
    /// The case's size, from which the program's shapes follow.
    pub n: usize,
    /// The mode that is judged.
    pub mode: &'a Mode,
    /// The declared program, before the mode's policy rewrites it, over one batch of rows.
    pub program: &'a Program,
}

impl Context<'_> {
    /// The position of a result by name.
    ///
    /// # Errors
    /// If the program has no result of this name; the error lists those that it has.
    pub fn output(&self, name: &str) -> Result<usize, PlanFault> {
        self.program.output(name).ok_or_else(|| {
            let (program, has) = (self.spec.to_string(), self.program.output_names.clone());
            PlanFault::NoResult { program, name: name.to_string(), has }
        })
    }

    /// The position of the result that the setting `output` names, where there is one.
    pub fn choose_output(&self, settings: &Settings) -> Result<Option<usize>, PlanError> {
        let named = settings.output.as_ref().map(|name| self.output(name));
        named.transpose().map_err(|fault| fault.of("output"))
    }

    /// The program of the scores that rank the tokens.
    ///
    /// # Errors
    /// If the program ranks no tokens; for a file's program the error names the values that `scores` may name.
    fn scores(&self) -> Result<Program, PlanFault> {
        let scores = self.spec.scores(self.n, self.spec.batch(self.n))?;
        scores.ok_or_else(|| match self.spec.file() {
            None => self.lacks("ranks no tokens"),
            Some(file) => match &file.may_rank()[..] {
                [] => self.lacks(format!("ranks no tokens: nothing in it is floats [{}, n]", file.rows())),
                names => {
                    self.lacks(format!("ranks no tokens: say which does, `scores = \"...\"` of {}", names.join(", ")))
                }
            },
        })
    }

    /// The program is not of the kind that a check asks about.
    fn lacks(&self, lack: impl Into<String>) -> PlanFault {
        PlanFault::Lacks { program: self.spec.to_string(), lack: lack.into() }
    }
}

/// A question put to one case. It looks at one batch of rows at a time and keeps what it saw in a [`Tally`].
pub trait Judge: Send + Sync {
    /// Its demands on the truth of the program's results, by their position.
    fn demands(&self) -> Vec<(usize, Demand)> {
        Vec::new()
    }

    /// Whether it needs the truth of the scores that the tokens are ranked by.
    fn needs_scores(&self) -> bool {
        false
    }

    /// Another program over the same arguments, whose results it compares with ([`Batch::beside`]).
    fn beside(&self) -> Option<&ProgramSpec> {
        None
    }

    /// Looks at one batch.
    ///
    /// # Errors
    /// Says why the batch could not be judged, which ends the run. A missing answer is no error but a
    /// [`Tally::refuse`].
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError>;

    /// The verdict over all batches.
    fn conclude(&self, tally: &Tally) -> Judgement;
}

/// One batch of rows of one case.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The case's program with its parameters.
    pub spec: &'a ProgramSpec,
    /// The case's size, from which the program's shapes follow.
    pub n: usize,
    /// The judged subject.
    pub subject: &'a dyn Subject,
    /// The declared program, before the mode's policy rewrites it, over the rows of this batch.
    pub program: &'a Program,
    /// The program's arguments, in order of the parameters' numbers.
    pub arguments: &'a [Tensor],
    /// The subject's results, in the order of the program's outputs.
    pub got: &'a [Tensor],
    /// The truth of the results that [`Judge::demands`] asked for, in the same order.
    pub truth: &'a Truth,
    /// `sum |a| |b|` of the program's first result, where that is one plain matmul.
    pub scale: &'a Scale<'a>,
    /// The truth of the scores that the tokens are ranked by, where a judge asked for it: one
    /// [`Top`](crate::oracle::Top) a row.
    pub scores: Option<&'a FloatTruth>,
    /// The subject's results of [`Judge::beside`], computed once for all judges. `None` unless the subject is an
    /// emulated mode and that program takes the same arguments.
    pub beside: Option<&'a [Tensor]>,
    /// The first row's number in the whole case.
    pub first_row: usize,
}

/// All checks, by name.
pub static CHECKS: &[&dyn Check] = &[
    &agreement::Agreement,
    &bound::Bound,
    &criterion::DotCriterion,
    &divergence::Divergence,
    &drift::Drift,
    &dropped_token::DroppedToken,
    &growth::Growth,
    &margin::Margin,
    &nucleus::Nucleus,
    &overflow::Overflow,
    &permitted::Permitted,
    &ratio::Ratio,
    &recall::Recall,
    &same::Same,
    &self_consistency::SelfConsistency,
    &ties::Ties,
];

/// The question that the check with this name puts to a case.
///
/// # Errors
/// If no check has this name, if it is put to series, or as [`CaseCheck::plan`] says.
pub fn judge_of(name: &str, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
    match find_check(name).map(|check| check.scope()) {
        Some(Scope::Case(check)) => check.plan(settings, case),
        Some(Scope::Series) => Err(PlanFault::Series.into()),
        None => Err(PlanFault::Unknown.into()),
    }
}

/// A report's column for a check or its figure: `name`, or `name[setting]` where a case has several checks of a kind.
pub fn column(name: &str, setting: Option<&str>) -> String {
    setting.map_or(name.to_string(), |setting| format!("{name}[{setting}]"))
}

/// The check with this name.
pub fn find_check(name: &str) -> Option<&'static dyn Check> {
    CHECKS.iter().copied().find(|check| check.name() == name)
}
