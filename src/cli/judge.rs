//! `ulpgate judge`: results from elsewhere.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ulpgate_front::judge::{JudgeError, Judged, JudgedResult, Recording, Settings, Verdict, bind, judge};
use ulpgate_front::machine::{CHIPS, Chip, Mode, find_chip};
use ulpgate_front::name::hint;

use super::ci::{Formats, Group, Problem, Test};
use super::hlo::read;
use super::probe;
use super::program_argument::{NamedProgram, named_program};
use super::seconds::Limit;
use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "Each result is BITS (a permitted mode gives the same bits), CONFORMING (what a compiler may do explains it), OUTSIDE \
    (nothing permitted does) or UNKNOWN.\n\n\
    Results are found by the name that the program gives them (out0, ...), by --map, or by position (arr_0, output_1, or as many \
    arrays as results). f32 arrays of a bf16 result and int64 tokens are taken where every value fits; NumPy's raw bytes of \
    ml_dtypes (V2, V1) are of the program's type.\n\n\
    Exit codes: 0 all bits or conforming; 1 a result is outside; 2 a result is unknown, or nothing could be judged."
)]
pub struct JudgeArguments {
    /// Results: .safetensors, .npz or .npy; some of the program's results are enough
    results: PathBuf,
    /// The program: HLO text before compilation, or a built-in one such as matmul[lhs=16xn,rhs=nx8]
    #[arg(long, value_name = "PROGRAM", required_unless_present = "probe")]
    program: Option<String>,
    /// The compiled program, if it is at hand: run as it stands
    #[arg(long, value_name = "FILE")]
    compiled: Option<PathBuf>,
    /// Its arguments: arg0, arg1, ..., by their names, or by position; .safetensors, .npz or .npy
    #[arg(long, value_name = "FILE", required_unless_present = "probe")]
    inputs: Option<PathBuf>,
    /// The results are answers to the questions of `ulpgate probe`: name the modes that give them, and the parts that stay open
    #[arg(long, conflicts_with_all = ["program", "inputs", "mode", "chips", "mapping", "tokens", "scores", "whole", "compiled", "junit", "sarif", "github"])]
    probe: bool,
    /// Size of a built-in program
    #[arg(long = "n", value_name = "N", default_value_t = 1024)]
    size: usize,
    /// The mode that the results are said to be of, as chip/precision/excess[+key=value...]: less accurate precisions are then
    /// outside [default: every mode is permitted]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// A chip whose modes are tried; may be given several times [default: every chip]
    #[arg(long = "chip", value_name = "CHIP", value_parser = chip)]
    chips: Vec<NamedChip>,
    /// The result that an array of the recording is; may be given several times
    #[arg(long = "map", value_name = "NAME=RESULT", value_parser = pair)]
    mapping: Vec<(String, String)>,
    /// The result that holds tokens [default: every result of integers]
    #[arg(long, value_name = "NAME")]
    tokens: Option<String>,
    /// The recorded array of scores that each token must be the largest of
    #[arg(long, value_name = "NAME")]
    scores: Option<String>,
    /// Judge all of a large matmul in every mode [default: a block of rows and columns; all elements are then compared with the
    /// mode that explains it]
    #[arg(long)]
    whole: bool,
    /// Print as JSON; docs/schema/judge.json has its schema
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    formats: Formats,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// A chip, as the command line has it.
#[derive(Clone)]
pub(super) struct NamedChip(pub(super) &'static Chip);

pub(super) fn chip(name: &str) -> Result<NamedChip, String> {
    let known = CHIPS.iter().map(|chip| chip.name);
    find_chip(name).map(NamedChip).ok_or_else(|| format!("no chip is called that; {}", hint(name, known)))
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("it has the form NAME=RESULT, such as logits=out0")?;
    Ok((pair.0.to_string(), pair.1.to_string()))
}

pub fn run(arguments: &JudgeArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    arguments.formats.check([&arguments.results].into_iter().chain(&arguments.inputs).cloned())?;
    let (Some(named), Some(inputs)) = (&arguments.program, &arguments.inputs) else {
        return probe::name_modes(&arguments.results, arguments.json, out);
    };
    let judged = judged(arguments, named, inputs);
    let judged = arguments.formats.tell_failure("judge", &arguments.results, judged, out)?;
    if arguments.json {
        let page = judged.to_json(named);
        writeln!(out, "{page:#}")?;
    } else {
        judged.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    arguments.formats.write(&[], || vec![group(arguments, named, &judged)], out)?;
    match judged.verdict() {
        Verdict::Bits | Verdict::Conforming => Ok(Exit::AsExpected),
        Verdict::Outside => Ok(Exit::Found),
        Verdict::Unknown => {
            let open: Vec<&str> = judged
                .results
                .iter()
                .filter(|one| one.verdict == Verdict::Unknown)
                .map(|one| one.name.as_str())
                .collect();
            Err(Failure::Message(format!("{}: not judged: {}", arguments.results.display(), open.join(", "))))
        }
    }
}

/// The verdicts on all results.
fn judged(arguments: &JudgeArguments, named: &str, inputs: &Path) -> Result<Judged, Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(why.to_string());
    let NamedProgram { program, argument_names, is_compiled } = named_program(named, arguments.size)?;
    if is_compiled {
        let told =
            "it is compiled already: --program takes the program before compilation, --compiled this file beside it";
        return Err(Failure::Message(format!("{named}: {told}")));
    }
    let inputs = Recording::open(inputs).map_err(|error| fail(&error))?;
    let tensors = bind(&program, &argument_names, &[inputs]).map_err(|error| fail(&error))?;
    let recording = Recording::open(&arguments.results).map_err(|error| fail(&error))?;
    let recording = recording.map(arguments.mapping.clone());
    let compiled = match &arguments.compiled {
        Some(path) => Some(read(path)?.1.program),
        None => None,
    };
    let settings = Settings {
        mode: arguments.mode.clone(),
        chips: arguments.chips.iter().map(|chip| chip.0).collect(),
        compiled,
        tokens: arguments.tokens.clone(),
        scores: arguments.scores.clone(),
        block_from: arguments.whole.then_some(u128::MAX),
    };
    let of = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.results.display()));
    judge(&program, &tensors, &recording, &settings).map_err(|error| match (&error, &arguments.compiled) {
        (JudgeError::Compiled { .. }, Some(path)) => fail(&format!("{}: {error}", path.display())),
        // It names the file already.
        (JudgeError::Recording(error), _) => fail(error),
        _ => of(&error),
    })
}

/// The verdicts as tests.
fn group(arguments: &JudgeArguments, program: &str, judged: &Judged) -> Group {
    let of = |one: &JudgedResult| {
        let is_wrong = matches!(one.verdict, Verdict::Outside | Verdict::Unknown);
        let verdict = if one.verdict == Verdict::Unknown { "undecided" } else { one.verdict.name() };
        let problem = Problem {
            rule: "judge".to_string(),
            verdict: verdict.to_string(),
            value: String::new(),
            message: one.because.first().cloned().unwrap_or_default(),
            evidence: one.pattern.iter().map(|pattern| pattern.says.clone()).collect(),
            next: None,
            place: (program.to_string(), 1),
        };
        Test {
            name: one.name.clone(),
            is_judged: true,
            known: Vec::new(),
            problems: if is_wrong { vec![problem] } else { Vec::new() },
        }
    };
    Group { name: arguments.results.display().to_string(), tests: judged.results.iter().map(of).collect() }
}
