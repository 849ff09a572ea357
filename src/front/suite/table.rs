//! The shape of a suite file, before its names are looked up.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::check::Settings;

/// A suite file as written. Unknown keys are refused by the parser, with line and column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteTable {
    /// The claim that the suite tests, in one sentence.
    pub claim: String,
    /// Why the claim matters.
    pub why: String,
    /// From where it is known.
    pub source: String,
    /// The products of settings whose cases the suite has.
    pub matrix: Vec<Spanned<MatrixTable>>,
}

/// One product of settings: its cases are all combinations of its lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatrixTable {
    /// Names of built-in programs with their parameters, or paths of HLO files relative to the suite's folder.
    pub program: Vec<Spanned<String>>,
    /// Names of a file's results for checks, in the entry's order; `out0`, `out1`, ... if absent.
    pub results: Option<Spanned<Vec<String>>>,
    /// The result or argument (`arg0`, ...) of a file that ranks its tokens.
    pub scores: Option<Spanned<String>>,
    /// Names of chips. Modes are all combinations of this list and the next three.
    pub chip: Vec<Spanned<String>>,
    /// Names of the precisions of f32 matmuls; `default` if absent.
    #[serde(default = "default_precision")]
    pub precision: Vec<Spanned<String>>,
    /// Names of excess policies; `off` if absent.
    #[serde(default = "default_excess")]
    pub excess: Vec<Spanned<String>>,
    /// Each entry is a `+`-joined list of `key=value`; the empty one, as if absent, is the chip's own behaviour.
    #[serde(default = "default_refinement")]
    pub refinement: Vec<Spanned<String>>,
    /// Paths of `.safetensors` files with results to judge, relative to the suite's folder, instead of the machine's:
    /// the modes then say what they promise.
    pub recorded: Option<Vec<Spanned<String>>>,
    /// Names of distributions with their parameters.
    pub input: Vec<Spanned<String>>,
    /// Arguments with a binding of their own, by parameter or as `arg0`, `arg1`, ...: `FILE.safetensors:NAME` or
    /// `FILE.npy` relative to the suite's folder, `PROGRAM:RESULT`, or a distribution.
    #[serde(default)]
    pub arguments: BTreeMap<String, Spanned<String>>,
    /// A `.safetensors` file relative to the suite's folder: all other arguments but the first are bound to its
    /// tensors, by name.
    pub weights: Option<Spanned<String>>,
    /// The HLO file whose results over the real numbers are the truth; each program's own if absent.
    pub truth: Option<Spanned<String>>,
    /// The type to which the truth is rounded before metrics measure against it; f64 if absent.
    #[serde(default)]
    pub rounded: TruthType,
    /// Sizes; a file has its own.
    pub n: Option<Vec<Spanned<u64>>>,
    /// Rows of a case; those of the program itself if absent.
    #[serde(default = "default_rows")]
    pub rows: Vec<Spanned<u64>>,
    /// Seeds of the inputs; 0 if absent.
    #[serde(default = "default_seed")]
    pub seed: Vec<u64>,
    /// Whether the cases run only when asked for with `--slow`.
    #[serde(default)]
    pub slow: bool,
    /// The result that metrics measure; the first float result if absent.
    pub output: Option<Spanned<String>>,
    /// Columns of metrics: `NAME`, or `NAME vs MODE`.
    #[serde(default)]
    pub metric: Vec<Spanned<String>>,
    /// The checks of each case, or of its series.
    #[serde(default)]
    pub check: Vec<Spanned<CheckTable>>,
}

impl MatrixTable {
    /// The key of a list that must not be empty but is.
    pub fn empty_list(&self) -> Option<&'static str> {
        let lists = [
            ("program", self.program.len()),
            ("chip", self.chip.len()),
            ("precision", self.precision.len()),
            ("excess", self.excess.len()),
            ("refinement", self.refinement.len()),
            ("recorded", self.recorded.as_ref().map_or(1, Vec::len)),
            ("input", self.input.len()),
            ("n", self.n.as_ref().map_or(1, Vec::len)),
            ("rows", self.rows.len()),
            ("seed", self.seed.len()),
        ];
        lists.into_iter().find(|(_, len)| *len == 0).map(|(key, _)| key)
    }
}

/// One check with its settings ([`Settings`]); which of them it takes is the check's to say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckTable {
    /// The check's name.
    pub kind: Spanned<String>,
    /// The outcome that is expected of the check.
    #[serde(default)]
    pub expect: Expect,
    /// Why something is found.
    pub because: Option<String>,
    pub metric: Option<Spanned<String>>,
    pub slope: Option<Spanned<f64>>,
    pub output: Option<Spanned<String>>,
    pub against: Option<Spanned<String>>,
    pub allowance: Option<Spanned<f64>>,
    pub equals: Option<Spanned<Vec<i64>>>,
    pub declared: Option<Spanned<String>>,
}

impl CheckTable {
    /// The settings of the check.
    pub fn settings(&self) -> Settings {
        fn given<T: Clone>(setting: &Option<Spanned<T>>) -> Option<T> {
            setting.as_ref().map(|value| value.get_ref().clone())
        }
        Settings {
            metric: given(&self.metric),
            slope: given(&self.slope),
            output: given(&self.output),
            against: given(&self.against),
            program: None,
            allowance: given(&self.allowance),
            equals: given(&self.equals),
            declared: given(&self.declared),
        }
    }

    /// The place of a setting's value, if it is given.
    pub fn place(&self, setting: &str) -> Option<Range<usize>> {
        let spans = [
            ("metric", self.metric.as_ref().map(Spanned::span)),
            ("slope", self.slope.as_ref().map(Spanned::span)),
            ("output", self.output.as_ref().map(Spanned::span)),
            ("against", self.against.as_ref().map(Spanned::span)),
            ("allowance", self.allowance.as_ref().map(Spanned::span)),
            ("equals", self.equals.as_ref().map(Spanned::span)),
            ("declared", self.declared.as_ref().map(Spanned::span)),
        ];
        spans.into_iter().find(|(name, _)| *name == setting).and_then(|(_, span)| span)
    }
}

/// The type to which the truth is rounded before a metric measures against it: `rounded` in a suite's file.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TruthType {
    /// f64, and no further.
    #[default]
    F64,
    /// The result's own type, which of deep networks is known where f64 is not.
    Stored,
}

/// The outcome that a suite expects of a check: `expect` in its file, `pass` if absent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Nothing may be found.
    #[default]
    Pass,
    /// Something must be found; `because` says why.
    Finding,
    /// Whatever is found is only reported; `because` says why.
    Report,
}

impl Expect {
    /// The word in suite files, such as `finding`.
    pub const fn name(self) -> &'static str {
        match self {
            Expect::Pass => "pass",
            Expect::Finding => "finding",
            Expect::Report => "report",
        }
    }
}

fn defaults(value: &str) -> Vec<Spanned<String>> {
    vec![Spanned::new(0..0, value.to_string())]
}

fn default_precision() -> Vec<Spanned<String>> {
    defaults("default")
}

fn default_excess() -> Vec<Spanned<String>> {
    defaults("off")
}

fn default_refinement() -> Vec<Spanned<String>> {
    defaults("")
}

fn default_rows() -> Vec<Spanned<u64>> {
    vec![Spanned::new(0..0, 1)]
}

fn default_seed() -> Vec<u64> {
    vec![0]
}
