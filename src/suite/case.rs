//! One case: a program in a mode on an input of one size.

use crate::check::{Check, Judge};
use crate::input::InputSpec;
use crate::machine::Mode;
use crate::program::ProgramSpec;

use super::table::Expect;

/// What is evaluated, apart from the mode: all cases of one subject see the same bits and share one truth.
#[derive(Clone, Debug)]
pub struct Subject {
    pub suite: String,
    pub program: ProgramSpec,
    pub input: InputSpec,
    pub n: usize,
    pub seed: u64,
}

/// A check as one case uses it.
pub struct PlannedCheck {
    pub check: &'static dyn Check,
    /// What tells it from the others of its kind in the case: `key=value` settings, joined by commas.
    pub setting: Option<String>,
    pub judge: Box<dyn Judge>,
    pub expect: Expect,
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
    pub metric: String,
    pub slope: f64,
    pub expect: Expect,
    pub because: Option<String>,
}

/// A metric as one case uses it: measured against the truth, or against what another mode gives.
#[derive(Clone)]
pub struct PlannedMetric {
    /// The report's column: `NAME` or `NAME vs MODE`.
    pub column: String,
    pub metric: &'static dyn crate::metric::Metric,
    pub against: Option<Mode>,
}

/// One case of a suite.
pub struct Case {
    /// `suite/program[key=value,...]/chip/precision/excess[+refinement...]/input/n/seed`.
    pub id: String,
    pub subject: Subject,
    pub mode: Mode,
    /// The result that metrics measure.
    pub output: Option<usize>,
    pub metrics: Vec<PlannedMetric>,
    pub checks: Vec<PlannedCheck>,
    pub fits: Vec<PlannedFit>,
    pub slow: bool,
}

impl Case {
    /// The id for these settings.
    pub fn id_of(subject: &Subject, mode: &Mode) -> String {
        let Subject { suite, program, input, n, seed } = subject;
        format!("{suite}/{program}/{mode}/{input}/{n}/{seed}")
    }
}
