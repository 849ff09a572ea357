//! The questions that each kernel is asked, and the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ulpgate::input::{Argument, InputKey, InputSpec, generate};
use ulpgate::judge::{Recording, Settings as Judging, judge};
use ulpgate::machine::{CHIPS, Mode};
use ulpgate::program::ProgramSpec;
use ulpgate::subject::{Call, Failure, Function, results};
use ulpgate::{Question, check};

use crate::libraries::{Kernel, Library};

/// One program on one input, for each library that has the operation.
pub struct Case {
    /// A built-in program of ulpgate.
    pub program: &'static str,
    /// Its size.
    pub n: usize,
    /// The distribution of its arguments.
    pub input: &'static str,
    /// The operation among those of a library.
    pub kernel: fn(&Library) -> Option<Kernel>,
    /// Checks, each with the criterion that it takes where it takes one.
    pub checks: &'static [(&'static str, Option<&'static str>)],
}

/// Findings of one kernel in one case.
pub struct Found {
    /// The largest error in ulps of the result's type, where it is floats.
    pub max_ulp: Option<f64>,
    /// The checks' outcomes, by name.
    pub checks: Vec<(String, String)>,
    /// The verdict of `judge`, with the mode or the fault that explains the results.
    pub judged: String,
}

/// The arithmetic that every kernel here promises: IEEE operations in the declared types, dots with f32 sums.
const PROMISE: &str = "cpu/highest/off";

/// Asks one library, if it has the operation.
///
/// # Errors
/// If ulpgate refuses the question. A kernel that fails or panics is a finding.
pub fn ask(case: &Case, library: &Library) -> Result<Option<Found>, Failure> {
    let Some(kernel) = (case.kernel)(library) else { return Ok(None) };
    let promise: Mode = PROMISE.parse()?;
    let spec: ProgramSpec = case.program.parse()?;
    let program = spec.build(case.n, spec.rows)?;
    let arguments = Argument::of_program(&program);
    let input: InputSpec = case.input.parse()?;
    let rows = 0..arguments.first().map_or(0, |first| first.rows() as u64);
    let key = InputKey { suite: "question".to_string(), input: input.to_string(), n: case.n as u64, seed: 0 };
    let tensors = generate(&input, &key, &arguments, rows)?;

    let subject = Function::new(library.name, promise.clone(), kernel);
    let call = Call { program: &program, arguments: &tensors, first_row: 0 };
    let recorded = match catch_unwind(AssertUnwindSafe(|| results(&subject, &call))) {
        Ok(Ok(recorded)) => recorded,
        Ok(Err(why)) => return Ok(Some(Found::nothing(&why.to_string()))),
        Err(_) => return Ok(Some(Found::nothing("it panics"))),
    };
    let names = program.output_names.iter().cloned();
    let recording = Recording::of_arrays(names.zip(recorded).collect());
    let chips = CHIPS.iter().filter(|chip| chip.name == "cpu").copied().collect();
    let judging = Judging { mode: Some(promise), chips, ..Judging::default() };
    let judged = judge(&program, &tensors, &recording, &judging)?;

    let has_floats = program
        .outputs()
        .iter()
        .any(|id| program.entry().instructions[*id].shape.dtype().is_some_and(|dtype| dtype.is_float()));
    let mut question = Question::of(case.program, case.n)?.input(case.input)?.subject(subject);
    for (name, against) in case.checks {
        let settings = check::Settings { against: against.map(str::to_string), ..check::Settings::default() };
        question = question.check(name, settings)?;
    }
    if has_floats {
        question = question.metric("max_ulp")?;
    }
    let record = question.ask()?;
    let checks = record.checks.iter().map(|check| (check.column(), check.outcome.name().to_string())).collect();
    let words = judged.results.iter().map(|result| {
        let explained = result.pattern.first().map(|fault| fault.says.clone());
        let why = explained.or_else(|| result.modes.first().cloned()).or_else(|| result.because.first().cloned());
        format!("{}: {}", result.verdict.name(), why.unwrap_or_default())
    });
    let judged = words.collect::<Vec<_>>().join("; ");
    Ok(Some(Found { max_ulp: record.figure("max_ulp"), checks, judged }))
}

impl Found {
    /// A kernel that gives no result.
    fn nothing(why: &str) -> Found {
        Found { max_ulp: None, checks: Vec::new(), judged: format!("no result: {why}") }
    }
}
