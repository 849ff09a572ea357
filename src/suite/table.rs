//! The shape of a suite file, before its names are looked up.

use serde::Deserialize;
use toml::Spanned;

/// A suite file as written. Unknown keys are refused by the parser, with line and column.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteTable {
    pub claim: String,
    pub why: String,
    pub source: String,
    pub matrix: Vec<Spanned<MatrixTable>>,
}

/// One product of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatrixTable {
    pub program: Vec<Spanned<String>>,
    pub chip: Vec<Spanned<String>>,
    #[serde(default = "default_precision")]
    pub precision: Vec<Spanned<String>>,
    #[serde(default = "default_excess")]
    pub excess: Vec<Spanned<String>>,
    /// Each entry is a `+`-joined list; the empty one is the chip's own behaviour.
    #[serde(default = "default_refinement")]
    pub refinement: Vec<Spanned<String>>,
    pub input: Vec<Spanned<String>>,
    pub n: Vec<Spanned<u64>>,
    #[serde(default = "default_rows")]
    pub rows: Vec<Spanned<u64>>,
    #[serde(default = "default_seed")]
    pub seed: Vec<u64>,
    /// Whether the cases run only when asked for with `--slow`.
    #[serde(default)]
    pub slow: bool,
    /// The result that metrics measure; the first float result if absent.
    pub output: Option<Spanned<String>>,
    #[serde(default)]
    pub metric: Vec<Spanned<String>>,
    #[serde(default)]
    pub check: Vec<Spanned<CheckTable>>,
}

/// One check with its settings; which of them it takes is the check's to say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckTable {
    pub kind: String,
    #[serde(default)]
    pub expect: Expect,
    pub because: Option<String>,
    /// Metric whose growth is fitted.
    pub metric: Option<String>,
    /// Expected slope of that metric on log-log axes.
    pub slope: Option<f64>,
    /// Name of the result that is judged, where a program has several of a kind.
    pub output: Option<String>,
    /// What a case is compared with: a mode, a program, `alone` (each row by itself) or a number of rows.
    pub against: Option<String>,
    /// The largest share (0 to 1) of disagreeing elements that is not a finding.
    pub allowance: Option<f64>,
    /// Expected results of one row, for fixtures.
    pub equals: Option<Vec<i64>>,
    /// A bound to be judged by another mode than the one that ran (`f32`, ...).
    pub declared: Option<String>,
}

/// Whether a check is known to find something.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Nothing may be found.
    #[default]
    Pass,
    /// Something must be found; `because` says why.
    Finding,
    /// Whatever is found is only reported.
    Report,
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
