//! One case: a program on an input of one size, evaluated by a subject, with its metrics and checks.

use std::sync::Arc;

use crate::check::{Check, Judge};
use crate::input::Inputs;
use crate::machine::Mode;
use crate::program::ProgramSpec;
use crate::subject::Subject;

use super::table::{Expect, TruthType};

/// The program and input of a case, whatever its subject. All cases of one problem see the same bits and share one
/// truth.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The suite's name.
    pub suite: String,
    /// The program with its parameters, and over how many rows.
    pub program: ProgramSpec,
    /// The program whose results over the real numbers are the truth, if it is not `program` itself, such as the input
    /// of a compiler whose output is `program`. It takes and gives the same shapes.
    pub truth: Option<ProgramSpec>,
    /// The inputs that fill the arguments.
    pub input: Inputs,
    /// The size, which the program maps to shapes.
    pub n: usize,
    /// Tells repetitions of the case with other input bits apart.
    pub seed: u64,
}

/// A check as one case uses it.
pub struct PlannedCheck {
    /// The kind of question.
    pub check: &'static dyn Check,
    /// The settings that distinguish it from other checks of its kind in the case: `key=value`, joined by commas.
    pub setting: Option<String>,
    /// The question as it is put to this case.
    pub judge: Box<dyn Judge>,
    /// The outcome that the suite expects.
    pub expect: Expect,
    /// Why the suite expects a finding, or only reports one.
    pub because: Option<String>,
}

impl PlannedCheck {
    /// The report's column: the check's name, with its setting where there are several of its kind.
    pub fn column(&self) -> String {
        crate::check::column(self.check.name(), self.setting.as_deref())
    }
}

/// A growth fit that the case contributes a point to.
#[derive(Clone, Debug)]
pub struct PlannedFit {
    /// Column of the metric that is fitted ([`PlannedMetric::column`]).
    pub metric: String,
    /// The slope on log-log axes that theory predicts.
    pub slope: f64,
    /// The outcome of the check `growth` that the suite expects.
    pub expect: Expect,
    /// Why the suite expects a finding, or only reports one.
    pub because: Option<String>,
}

/// A metric as one case uses it: measured against the truth, or against the results of another mode.
#[derive(Clone)]
pub struct PlannedMetric {
    /// The report's column: `NAME` or `NAME vs MODE`.
    pub column: String,
    /// The distance.
    pub metric: &'static dyn crate::metric::Metric,
    /// The mode whose result stands for the truth; `None` for the truth itself.
    pub against: Option<Mode>,
}

/// One case of a suite: its problem, its subject, and the metrics and checks of the results.
pub struct Case {
    /// `suite/program[key=value,...]/subject/input/n/seed`; an emulated subject is its mode,
    /// `chip/precision/excess[+refinement...]`.
    pub id: String,
    /// The program and its input.
    pub problem: Problem,
    /// The subject that evaluates it, and is judged.
    pub subject: Arc<dyn Subject>,
    /// Position of the result that metrics measure: a float. `None` if the program has none.
    pub output: Option<usize>,
    /// In the order of the suite file, as are checks and fits.
    pub metrics: Vec<PlannedMetric>,
    /// The type to which the truth is rounded before metrics measure against it.
    pub rounded: TruthType,
    /// Checks of this case by itself.
    pub checks: Vec<PlannedCheck>,
    /// Checks of the series that this case belongs to.
    pub fits: Vec<PlannedFit>,
    /// Line of its matrix in the suite's file, from 1; `None` for a question that no file asks.
    pub line: Option<usize>,
    /// Whether the case runs only where `--slow` asks for it.
    pub slow: bool,
}

impl Case {
    /// The id of the case of this problem and subject: [`Case::id`].
    pub fn id_of(problem: &Problem, subject: &dyn Subject) -> String {
        let Problem { suite, program, input, n, seed, .. } = problem;
        format!("{suite}/{program}/{}/{input}/{n}/{seed}", subject.id())
    }

    /// Position of the result that metrics measure against the truth; `None` where none does.
    pub fn measured_output(&self) -> Option<usize> {
        self.output.filter(|_| self.metrics.iter().any(|metric| metric.against.is_none()))
    }
}

/// A choice of cases, by what a case itself is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Only cases whose id contains this.
    pub filter: Option<String>,
    /// Whether slow cases are asked for, too.
    pub slow: bool,
}

impl Asked {
    /// Whether a case is asked for.
    pub fn takes(&self, case: &Case) -> bool {
        (self.slow || !case.slow) && self.has_in_filter(&case.id)
    }

    /// Whether the filter lets a case of this id pass.
    pub fn has_in_filter(&self, id: &str) -> bool {
        self.filter.as_ref().is_none_or(|text| id.contains(text.as_str()))
    }
}
