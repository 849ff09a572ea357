//! `ulpgate tolerance`: whether a test's tolerance can be kept by honest results, and what it lets pass.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use ulpgate_front::criterion::{HonestProgram, HonestRuns, QuestionError, Reference, Tolerance, ToleranceQuestion};
use ulpgate_front::input::InputSpec;
use ulpgate_front::judge::{Recording, bind};
use ulpgate_front::machine::Mode;
use ulpgate_front::name::hint;
use ulpgate_front::run::{World, check_memory};
use ulpgate_front::tensor::{DTYPES, DType};

use super::program_argument::named_program;
use super::seconds::Limit;
use super::tolerance_flags::{ToleranceFlags, reference};
use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "unsatisfiable: honest runs fail as a rule, or one rounding of the result may. flaky: some honest runs fail, with a \
    95 % interval of their share. blind: honest runs pass, and so do zeros, rows of another index, a factor of 1.1, an eighth \
    of K missing, or a lower precision. fine: none of these.\n\n\
    With --magnitude alone the type of the result decides; with --failed and --of the counts that you have seen; else runs \
    are drawn: --program (or --k: a matmul of 16 rows and columns) on --input in --mode. With --inputs the program runs on these \
    arguments in each order of sums.\n\n\
    Exit codes: 0 fine; 1 unsatisfiable, flaky or blind; 2 could not judge."
)]
pub struct ToleranceArguments {
    #[command(flatten)]
    tolerance: ToleranceFlags,
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
    /// The program: an HLO file, or a built-in one such as softmax[rows=4]; see `ulpgate list programs`
    #[arg(long, value_name = "PROGRAM")]
    program: Option<String>,
    /// Its arguments: arg0, arg1, ..., by their names, or by position; .safetensors, .npz or .npy. Each order of sums is a run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "runs", "k"])]
    inputs: Option<PathBuf>,
    /// Size of a built-in program
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
    /// Print as JSON; docs/schema/tolerance.json has its schema
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

impl ToleranceArguments {
    fn tolerance(&self) -> Result<Tolerance, Failure> {
        let none = || Failure::Message("no tolerance is given: --atol and --rtol, --ulp or --nmse".to_string());
        self.tolerance.tolerance().ok_or_else(none)
    }

    fn question(&self) -> Result<ToleranceQuestion, Failure> {
        let floats = || DTYPES.into_iter().filter(|dtype| dtype.is_float()).map(DType::name);
        let dtype = DType::from_name(&self.dtype).filter(|dtype| dtype.is_float());
        let unknown = || format!("unknown float type `{}`; {}", self.dtype, hint(&self.dtype, floats()));
        let format = dtype.and_then(DType::format).ok_or_else(|| Failure::Message(unknown()))?;
        Ok(ToleranceQuestion {
            tolerance: self.tolerance()?,
            format,
            magnitude: self.magnitude,
            counts: self.failed.zip(self.of).map(|(failed, of)| [failed, of]),
            reference: self.reference.clone(),
            program: self.program()?,
        })
    }

    /// The program and its honest runs, if one is named.
    fn program(&self) -> Result<Option<(HonestProgram, HonestRuns)>, Failure> {
        let fail = |name: &str, why: &dyn std::fmt::Display| Failure::Message(format!("{name}: {why}"));
        let (name, n) = match (&self.program, self.k) {
            (Some(name), _) => (name.clone(), self.n),
            (None, Some(k)) => (format!("matmul[dtype={0},lhs=16xn,out={0},rhs=nx16]", self.dtype), k),
            (None, None) if self.inputs.is_some() => {
                return Err(Failure::Message("--inputs are arguments of a program: --program names it".to_string()));
            }
            (None, None) => return Ok(None),
        };
        let named = named_program(&name, n)?;
        if named.is_compiled && !["off", "as-compiled"].contains(&self.mode.excess.name) {
            let why = format!("it is compiled already, and {} rewrites it again: use as-compiled", self.mode);
            return Err(fail(&name, &why));
        }
        check_memory(&named.program, World::Truth).map_err(|error| fail(&name, &error))?;
        let runs = match &self.inputs {
            Some(path) => {
                let recording = Recording::open(path).map_err(|error| Failure::Message(error.to_string()))?;
                let bound = bind(&named.program, &named.argument_names, std::slice::from_ref(&recording));
                HonestRuns::On(bound.map_err(|error| Failure::Message(error.to_string()))?)
            }
            None => HonestRuns::Drawn { distribution: self.input.clone(), n, runs: self.runs },
        };
        let (mode, reference) = (self.mode.clone(), self.reference.clone());
        Ok(Some((HonestProgram { name, program: named.program, mode, reference }, runs)))
    }
}

/// Prints the verdict on a tolerance.
pub fn run(arguments: &ToleranceArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let answer = arguments.question()?.answer().map_err(|error| match (&error, &arguments.program) {
        (QuestionError::Trial(_), Some(name)) => Failure::Message(format!("{name}: {error}")),
        _ => Failure::Message(error.to_string()),
    })?;
    if arguments.json {
        let page = serde_json::to_string_pretty(&answer).map_err(|error| Failure::Message(error.to_string()))?;
        writeln!(out, "{page}")?;
    } else {
        answer.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(if answer.is_fine() { Exit::AsExpected } else { Exit::Found })
}
