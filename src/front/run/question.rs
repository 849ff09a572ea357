//! One question from code: a program, its subject, and the checks and metrics of the results.

use std::fmt;
use std::sync::Arc;

use crate::check::{self, Context, PlanError, PlanFault, Scope, Settings};
use crate::input::{Binding, InputSpec, Inputs};
use crate::ir::Program;
use crate::machine::Mode;
use crate::metric;
use crate::name::hint;
use crate::oracle::Oracle;
use crate::program::{Imported, ProgramSpec};
use crate::record::Record;
use crate::subject::{Emulated, Subject};
use crate::suite::{Case, Expect, PlannedCheck, PlannedMetric, Problem, TruthType};

use super::judge::evaluate;
use super::shared::Group;
use super::{Outcome, RunError};

/// Name of the suite, in errors and records, of a question that belongs to none.
const SUITE: &str = "question";

/// A question about one program on one input, built up step by step and then asked.
///
/// ```
/// # extern crate ulpgate_front as ulpgate;
/// use ulpgate::check::{Outcome, Settings};
/// use ulpgate::run::Question;
///
/// // Does greedy decoding in bf16 on v5e keep the most probable token?
/// let record = Question::of("prob_max[rows=8]", 64)?
///     .input("logits")?
///     .mode("v5e/default/tpu")?
///     .check("dropped_token", Settings::default())?
///     .ask()?;
/// assert_eq!(record.checks[0].outcome, Outcome::Pass);
/// # Ok::<(), ulpgate::run::QuestionError>(())
/// ```
pub struct Question {
    problem: Problem,
    subject: Arc<dyn Subject>,
    asked: Vec<(&'static dyn check::Check, Settings)>,
    metrics: Vec<PlannedMetric>,
    oracle: Oracle,
}

/// Why a question cannot be asked, or has no answer. `Debug` prints the sentence: it is what a test prints that returns the error.
#[derive(thiserror::Error)]
pub enum QuestionError {
    /// The program, the input or the mode is not known, or does not fit.
    #[error(transparent)]
    Part(Box<dyn std::error::Error + Send + Sync>),
    /// There is no such check or metric.
    #[error("there is no {kind} `{name}`; {hint}")]
    Unknown {
        /// `check` or `metric`.
        kind: &'static str,
        /// The name as written.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// A check cannot be put to this program.
    #[error("check {check}: {source}")]
    Check {
        /// The check's name.
        check: &'static str,
        /// The reason why it does not fit.
        source: Box<PlanError>,
    },
    /// The case could not be evaluated.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl fmt::Debug for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl QuestionError {
    fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> QuestionError {
        QuestionError::Unknown { kind, name: name.to_string(), hint: hint(name, known) }
    }
}

fn part(error: impl std::error::Error + Send + Sync + 'static) -> QuestionError {
    QuestionError::Part(Box::new(error))
}

impl Question {
    /// A question about a built-in program, such as `softmax[dtype=f32,rows=2]`, of size `n`. By default, plain IEEE
    /// arithmetic evaluates it as declared on standard normal numbers.
    ///
    /// # Errors
    /// If there is no such program or parameter.
    pub fn of(program: &str, n: usize) -> Result<Question, QuestionError> {
        Question::new(program.parse().map_err(part)?, n)
    }

    /// A question about a program of one's own, from a [`crate::ir::Builder`] or read by [`crate::hlo`]. Its results
    /// have the names that it gives them.
    ///
    /// # Errors
    /// If it has no results.
    pub fn about(program: Program) -> Result<Question, QuestionError> {
        let (name, results) = (program.name.clone(), program.output_names.clone());
        let imported = Imported::new(name.into(), program, Some(&results), None).map_err(part)?;
        let n = imported.n();
        Question::new(ProgramSpec::from_file(Arc::new(imported)), n)
    }

    fn new(program: ProgramSpec, n: usize) -> Result<Question, QuestionError> {
        let input: InputSpec = "normal".parse().map_err(part)?;
        let mode: Mode = "cpu/highest/off".parse().map_err(part)?;
        let (suite, input) = (SUITE.to_string(), Inputs::from(input));
        let problem = Problem { suite, program, truth: None, input, n, seed: 0 };
        let oracle = Oracle::default();
        Ok(Question { problem, subject: Arc::new(Emulated(mode)), asked: Vec::new(), metrics: Vec::new(), oracle })
    }

    /// The distribution of the arguments.
    ///
    /// # Errors
    /// If there is no such distribution or parameter.
    pub fn input(mut self, spec: &str) -> Result<Question, QuestionError> {
        self.problem.input.drawn = spec.parse().map_err(part)?;
        Ok(self)
    }

    /// Binds one argument, by the parameter's name or as `arg0`, `arg1`, ...
    pub fn bind(mut self, argument: &str, binding: Binding) -> Question {
        self.problem.input = self.problem.input.with(argument, binding);
        self
    }

    /// The seed, which selects input bits among those of the distribution.
    pub fn seed(mut self, seed: u64) -> Question {
        self.problem.seed = seed;
        self
    }

    /// Judges the emulated machine in a mode, `chip/precision/excess[+refinement...]`.
    ///
    /// # Errors
    /// If there is no such mode.
    pub fn mode(self, mode: &str) -> Result<Question, QuestionError> {
        let mode: Mode = mode.parse().map_err(part)?;
        Ok(self.subject(Emulated(mode)))
    }

    /// Judges this subject.
    pub fn subject(mut self, subject: impl Subject + 'static) -> Question {
        self.subject = Arc::new(subject);
        self
    }

    /// Asks a check of [`check::CHECKS`]. It is planned when the question is [asked](Question::ask).
    ///
    /// # Errors
    /// If there is no such check, or it is put to series.
    pub fn check(mut self, name: &str, settings: Settings) -> Result<Question, QuestionError> {
        let names = || check::CHECKS.iter().map(|check| check.name());
        let check = check::find_check(name).ok_or_else(|| QuestionError::unknown("check", name, names()))?;
        if matches!(check.scope(), Scope::Series) {
            return Err(QuestionError::Check { check: check.name(), source: Box::new(PlanFault::Series.into()) });
        }
        self.asked.push((check, settings));
        Ok(self)
    }

    /// Measures a metric of [`metric::METRICS`] against the truth.
    ///
    /// # Errors
    /// If there is no such metric.
    pub fn metric(mut self, name: &str) -> Result<Question, QuestionError> {
        let names = || metric::METRICS.iter().map(|metric| metric.name());
        let metric = metric::find_metric(name).ok_or_else(|| QuestionError::unknown("metric", name, names()))?;
        self.metrics.push(PlannedMetric { column: name.to_string(), metric, against: None });
        Ok(self)
    }

    /// The oracle, with the precisions that it may take.
    pub fn oracle(mut self, oracle: Oracle) -> Question {
        self.oracle = oracle;
        self
    }

    /// Evaluates everything, and returns the record: checks in the order in which they were asked, figures of the
    /// metrics first.
    ///
    /// # Errors
    /// If the program cannot be built for this size, a check does not fit it, or it cannot be evaluated.
    pub fn ask(self) -> Result<Record, QuestionError> {
        let Question { problem, subject, asked, metrics, oracle } = self;
        let program = problem.program.build(problem.n, problem.program.batch(problem.n)).map_err(part)?;
        let float = |id: &usize| program.entry().instructions[*id].shape.dtype().is_some_and(|d| d.is_float());
        let output = program.outputs().iter().position(float);
        let context = Context { spec: &problem.program, n: problem.n, mode: subject.promise(), program: &program };
        let mut checks = Vec::new();
        for (check, settings) in asked {
            let refuse = |source| QuestionError::Check { check: check.name(), source: Box::new(source) };
            let judge = check::judge_of(check.name(), &settings, &context).map_err(refuse)?;
            let given: Vec<String> = settings.list().iter().map(|(key, value)| format!("{key}={value}")).collect();
            let setting = (!given.is_empty()).then(|| given.join(","));
            checks.push(PlannedCheck { check, setting, judge, expect: Expect::Pass, because: None });
        }
        let id = Case::id_of(&problem, subject.as_ref());
        let rounded = TruthType::F64;
        let (fits, line) = (Vec::new(), None);
        let case = Case { id, problem, subject, output, metrics, rounded, checks, fits, line, slow: false };
        let group = Group { cases: vec![&case] };
        group.check_memory()?;
        let Outcome { mut records, .. } = evaluate(&group, &oracle)?;
        Ok(records.swap_remove(0))
    }
}
