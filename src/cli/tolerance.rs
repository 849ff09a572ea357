//! `ulpgate tolerance`: whether a test's tolerance can be kept by honest results, and what it lets pass.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::criterion::{DrawnTrials, Reference, Tolerance, ToleranceReport, ToleranceVerdict};
use crate::input::InputSpec;
use crate::machine::Mode;
use crate::program::ProgramSpec;
use crate::tensor::DType;

use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "unsatisfiable: honest runs fail as a rule, or one rounding of the result may. flaky: some honest runs fail, with a \
    95 % interval of their share. blind: honest runs pass, and so do zeros, rows of another index, a factor of 1.1, an eighth \
    of K missing, or a lower precision. fine: none of these.\n\n\
    With --magnitude alone the type of the result decides; with --failed and --of the counts that you have seen; else runs \
    are drawn: --program (or --k: a matmul of 16 rows and columns) on --input in --mode.\n\n\
    Exit codes: 0 fine; 1 unsatisfiable, flaky or blind; 2 could not judge."
)]
pub struct ToleranceArguments {
    /// Absolute part of |computed - expected| <= atol + rtol |expected|
    #[arg(long, value_name = "ATOL", conflicts_with_all = ["ulp", "nmse"])]
    atol: Option<f64>,
    /// Relative part of it
    #[arg(long, value_name = "RTOL", conflicts_with_all = ["ulp", "nmse"])]
    rtol: Option<f64>,
    /// Units in the last place of the result's type
    #[arg(long, value_name = "ULPS", conflicts_with = "nmse")]
    ulp: Option<f64>,
    /// Normalized mean square error
    #[arg(long, value_name = "NMSE")]
    nmse: Option<f64>,
    /// Type of the result, and of a matmul's operands
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    dtype: String,
    /// Largest magnitude of the results: a rounding there is held against the tolerance
    #[arg(long, value_name = "VALUE")]
    magnitude: Option<f64>,
    /// Honest runs, or elements, that were seen to fail
    #[arg(long, value_name = "COUNT", requires = "of")]
    failed: Option<u64>,
    /// Honest runs, or elements, that were seen
    #[arg(long, value_name = "COUNT", requires = "failed")]
    of: Option<u64>,
    /// Products of a dot
    #[arg(long, value_name = "K", conflicts_with = "program")]
    k: Option<usize>,
    /// A built-in program with its parameters, such as softmax[rows=4]; see `ulpgate list programs`
    #[arg(long, value_name = "PROGRAM")]
    program: Option<ProgramSpec>,
    /// Size of the program
    #[arg(long, value_name = "N", default_value_t = 128)]
    n: usize,
    /// Distribution of the arguments; see `ulpgate list inputs`
    #[arg(long, value_name = "INPUT", default_value = "normal")]
    input: InputSpec,
    /// Machine whose results are honest, as chip/precision/excess[+key=value...]
    #[arg(long, value_name = "MODE", default_value = "v5e/highest/off")]
    mode: Mode,
    /// Values that the test expects: truth, rounded (the truth in the result's type), or another machine's mode
    #[arg(long, value_name = "WHAT", default_value = "truth", value_parser = reference)]
    reference: Reference,
    /// Runs that are drawn
    #[arg(long, value_name = "RUNS", default_value_t = 40)]
    runs: u64,
    /// Print the verdict as JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn reference(text: &str) -> Result<Reference, String> {
    match text {
        "truth" => Ok(Reference::Truth),
        "rounded" => Ok(Reference::Rounded),
        mode => mode.parse().map(Reference::Mode).map_err(|error| format!("neither truth nor rounded, and {error}")),
    }
}

impl ToleranceArguments {
    fn tolerance(&self) -> Result<Tolerance, Failure> {
        let given = [self.atol, self.rtol, self.ulp, self.nmse];
        if let Some(value) = given.into_iter().flatten().find(|value| !(value.is_finite() && *value >= 0.0)) {
            return Err(Failure::Message(format!(
                "a tolerance of {value} is none: it is a finite number, not below 0"
            )));
        }
        match given {
            [None, None, None, None] => {
                Err(Failure::Message("no tolerance is given: --atol and --rtol, --ulp or --nmse".to_string()))
            }
            [_, _, Some(ulps), _] => Ok(Tolerance::Ulp(ulps)),
            [_, _, _, Some(nmse)] => Ok(Tolerance::Nmse(nmse)),
            [atol, rtol, None, None] => Ok(Tolerance::Close { atol: atol.unwrap_or(0.0), rtol: rtol.unwrap_or(0.0) }),
        }
    }

    /// The verdict, and what drawn runs say beside it.
    fn judge(&self, tolerance: &Tolerance) -> Result<(ToleranceVerdict, Option<ToleranceReport>), Failure> {
        let floats = || crate::tensor::DTYPES.into_iter().filter(|dtype| dtype.is_float()).map(DType::name);
        let dtype = DType::from_name(&self.dtype).filter(|dtype| dtype.is_float());
        let format = dtype.and_then(DType::format).ok_or_else(|| {
            Failure::Message(format!(
                "unknown float type `{}`; {}",
                self.dtype,
                crate::name::hint(&self.dtype, floats())
            ))
        })?;
        if let Some(magnitude) = self.magnitude {
            if !(magnitude.is_finite() && magnitude > 0.0) {
                return Err(Failure::Message(format!(
                    "--magnitude {magnitude} is none: it is a finite number above 0"
                )));
            }
            let is_rounded = self.reference != Reference::Truth;
            if let Some(why) = tolerance.misfit(format, magnitude, is_rounded) {
                return Ok((ToleranceVerdict::Unsatisfiable(why), None));
            }
        }
        if let (Some(failed), Some(runs)) = (self.failed, self.of) {
            if runs == 0 || failed > runs {
                return Err(Failure::Message(format!(
                    "--failed {failed} --of {runs} are no counts: 0 to all of at least one"
                )));
            }
            if let Some(verdict) = ToleranceVerdict::of_counts(failed, runs) {
                return Ok((verdict, None));
            }
        }
        let program = match (&self.program, self.k) {
            (Some(program), _) => program.clone(),
            (None, None) if self.magnitude.is_some() || self.of.is_some() => return Ok((ToleranceVerdict::Fine, None)),
            (None, None) => {
                let why = "nothing to judge by: --k, --program, --magnitude, or --failed and --of";
                return Err(Failure::Message(why.to_string()));
            }
            (None, Some(_)) => {
                let text = format!("matmul[dtype={0},lhs=16xn,out={0},rhs=nx16]", self.dtype);
                text.parse::<ProgramSpec>()
                    .map_err(|error| Failure::Message(format!("--dtype {}: {error}", self.dtype)))?
            }
        };
        let drawn = DrawnTrials {
            program,
            n: self.k.unwrap_or(self.n),
            input: self.input.clone(),
            mode: self.mode.clone(),
            reference: self.reference.clone(),
        };
        let trials = drawn.trials(self.runs).map_err(|error| Failure::Message(error.to_string()))?;
        let report = ToleranceReport::new(tolerance, &trials);
        let report = report.ok_or_else(|| Failure::Message("--runs 0: at least one run is needed".to_string()))?;
        Ok((report.verdict.clone(), Some(report)))
    }
}

/// Prints the verdict on a tolerance.
pub fn run(arguments: &ToleranceArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let tolerance = arguments.tolerance()?;
    let (verdict, report) = arguments.judge(&tolerance)?;
    if arguments.json {
        let drawn = report.as_ref().map(|report| {
            json!({
                "failed": report.failed,
                "runs": report.runs,
                "largest": report.largest.is_finite().then_some(report.largest),
                "unseen": report.unseen,
                "proposal": report.proposal.to_string(),
                "derivation": report.derivation,
            })
        });
        let said = json!({
            "tolerance": tolerance.to_string(),
            "verdict": verdict.name(),
            "why": verdict.to_string(),
            "drawn": drawn,
        });
        writeln!(out, "{said}")?;
    } else {
        writeln!(out, "{tolerance}: {verdict}")?;
        if let Some(report) = &report {
            let ToleranceReport { failed, runs, largest, unseen, proposal, derivation, .. } = report;
            writeln!(
                out,
                "  {failed} of {runs} honest runs fail; the largest error is {largest:.3} of what is allowed"
            )?;
            if !unseen.is_empty() {
                writeln!(out, "  smaller faults that pass: {}", unseen.join(", "))?;
            }
            writeln!(out, "  proposal: {proposal}")?;
            writeln!(out, "  because: {derivation}")?;
        }
    }
    Ok(if verdict == ToleranceVerdict::Fine { Exit::AsExpected } else { Exit::Found })
}
