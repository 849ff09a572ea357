//! Questions with verdicts, one file each.

mod agreement;
mod bound;
mod dropped_token;
mod forward;
pub mod growth;
mod nucleus;
mod recall;
mod scale;
mod self_consistency;
mod tally;
mod ties;

use crate::ir::Program;
use crate::machine::Mode;
use crate::metric::{Better, Unit};
use crate::oracle::{Demand, FloatTruth, Truth};
use crate::program::ProgramSpec;
use crate::tensor::Tensor;

pub use scale::Scale;
pub use tally::{Judgement, Outcome, Tally};

/// A kind of question. Registered in [`CHECKS`].
pub trait Check: Sync {
    /// The name that suites use; the file's stem.
    fn name(&self) -> &'static str;

    /// Asks / Why it matters / Fails when.
    fn doc(&self) -> &'static str;

    /// The settings it takes in a suite file, beside `kind`, `expect` and `because`.
    fn settings(&self) -> &'static [&'static str];

    /// The figures it adds to a record.
    fn figures(&self) -> &'static [FigureDoc];

    /// The figure that counts rows with something found, which summaries add up over cases.
    fn row_count(&self) -> Option<&'static str> {
        None
    }

    /// What it is put to.
    fn scope(&self) -> Scope<'_>;
}

/// What a check is put to.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// Each case by itself.
    Case(&'a dyn CaseCheck),
    /// The figures of all cases of a series, which differ in size alone.
    Series,
}

/// A check of one case.
pub trait CaseCheck {
    /// The question put to one case, or why it cannot be.
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, String>;
}

/// One figure of a check.
pub struct FigureDoc {
    pub name: &'static str,
    pub unit: Unit,
    /// Which way it improves; `None` for a figure that only describes.
    pub better: Option<Better>,
    pub doc: &'static str,
}

/// The settings of a check, as suites write them.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Metric whose growth is fitted.
    pub metric: Option<String>,
    /// Expected slope of that metric on log-log axes.
    pub slope: Option<f64>,
    /// Name of the result that is judged, where a program has several of a kind.
    pub output: Option<String>,
    /// What a case is compared with: a mode, a program, or `alone` (each row by itself).
    pub against: Option<String>,
    /// The largest share (0 to 1) of deviating elements that is no finding.
    pub allowance: Option<f64>,
    /// Expected integers of one row, for fixtures.
    pub equals: Option<Vec<i64>>,
    /// The matmul precision whose bound judges, where it is not the mode's own.
    pub declared: Option<String>,
}

impl Settings {
    /// The settings that are there, by name, as text.
    pub fn given(&self) -> Vec<(&'static str, String)> {
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

/// What a check is put to.
pub struct Context<'a> {
    pub spec: &'a ProgramSpec,
    pub n: usize,
    pub mode: &'a Mode,
    /// The declared program over one batch of rows.
    pub program: &'a Program,
}

impl Context<'_> {
    /// The position of a result by name, or why there is none.
    pub fn output(&self, name: &str) -> Result<usize, String> {
        self.program.output(name).ok_or_else(|| {
            format!("{} has no result `{name}`; it has {}", self.spec, self.program.output_names.join(", "))
        })
    }
}

/// A question put to one case. It looks at one batch of rows at a time and keeps what it saw in a [`Tally`].
pub trait Judge: Send + Sync {
    /// What it needs to know of the truth of the program's results, by their position.
    fn demands(&self) -> Vec<(usize, Demand)> {
        Vec::new()
    }

    /// Whether it needs the truth of the scores that the tokens are ranked by.
    fn needs_scores(&self) -> bool {
        false
    }

    /// Looks at one batch. An error means that it could not be judged.
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), String>;

    /// The verdict over all batches.
    fn conclude(&self, tally: &Tally) -> Judgement;
}

/// One batch of rows of one case.
pub struct Batch<'a> {
    pub spec: &'a ProgramSpec,
    pub n: usize,
    pub mode: &'a Mode,
    /// The declared program.
    pub program: &'a Program,
    pub arguments: &'a [Tensor],
    /// Its results in the mode.
    pub got: &'a [Tensor],
    pub truth: &'a Truth,
    /// Magnitudes of the program's dot, where it is one.
    pub scale: &'a Scale<'a>,
    /// The truth of the scores, where a judge asked for it: one `Top` a row.
    pub scores: Option<&'a FloatTruth>,
    /// The first row's number in the whole case.
    pub first_row: usize,
}

/// All checks, by name.
pub static CHECKS: &[&dyn Check] = &[
    &agreement::Agreement,
    &bound::Bound,
    &dropped_token::DroppedToken,
    &growth::Growth,
    &nucleus::Nucleus,
    &recall::Recall,
    &self_consistency::SelfConsistency,
    &ties::Ties,
];

/// The question that a check of one case puts to a case, or why it cannot.
pub fn judge_of(name: &str, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, String> {
    match check_named(name).map(|check| check.scope()) {
        Some(Scope::Case(check)) => check.plan(settings, case),
        Some(Scope::Series) => Err(format!("check {name} is put to the cases of a series, not to one")),
        None => Err(format!("unknown check `{name}`")),
    }
}

/// A report's column for a check or its figure: `name`, or `name[setting]` where a case has several checks of a kind.
pub fn column(name: &str, setting: Option<&str>) -> String {
    setting.map_or(name.to_string(), |setting| format!("{name}[{setting}]"))
}

/// The check with this name.
pub fn check_named(name: &str) -> Option<&'static dyn Check> {
    CHECKS.iter().copied().find(|check| check.name() == name)
}
