//! `ulpgate judge`: results from elsewhere.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::ir::Program;
use crate::judge::{Judged, JudgedResult, Recording, Settings, Verdict, bind, judge, parameter_names};
use crate::machine::{CHIPS, Chip, Mode, find_chip};
use crate::name::hint;
use crate::program::ProgramSpec;
use crate::suite::is_file;

use super::ci::{Formats, Group, Problem, Test};
use super::hlo::read;
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
    /// The program: HLO text before compilation, or a built-in one such as matmul[rows=8]
    #[arg(long, value_name = "PROGRAM")]
    program: String,
    /// The compiled program, if it is at hand: run as it stands
    #[arg(long, value_name = "FILE")]
    compiled: Option<PathBuf>,
    /// Its arguments: arg0, arg1, ..., by their names, or by position; .safetensors, .npz or .npy
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
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
struct NamedChip(&'static Chip);

fn chip(name: &str) -> Result<NamedChip, String> {
    let known = CHIPS.iter().map(|chip| chip.name);
    find_chip(name).map(NamedChip).ok_or_else(|| format!("no chip is called that; {}", hint(name, known)))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("it has the form NAME=RESULT, such as logits=out0")?;
    Ok((pair.0.to_string(), pair.1.to_string()))
}

pub fn run(arguments: &JudgeArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    arguments.formats.check([&arguments.results, &arguments.inputs].into_iter().cloned())?;
    let fail = |why: &dyn std::fmt::Display| Failure::Message(why.to_string());
    let (program, names) = program(arguments)?;
    let inputs = Recording::open(&arguments.inputs).map_err(|error| fail(&error))?;
    let tensors = bind(&program, &names, &inputs).map_err(|error| fail(&error))?;
    let recording = Recording::open(&arguments.results).map_err(|error| fail(&error))?;
    let recording = recording.map(arguments.mapping.clone());
    let compiled = match &arguments.compiled {
        Some(path) => Some(compiled(path, &program)?),
        None => None,
    };
    let settings = Settings {
        mode: arguments.mode.clone(),
        chips: arguments.chips.iter().map(|chip| chip.0).collect(),
        compiled,
        tokens: arguments.tokens.clone(),
        scores: arguments.scores.clone(),
    };
    let of = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.results.display()));
    let judged = judge(&program, &tensors, &recording, &settings).map_err(|error| of(&error))?;
    if arguments.json {
        let page = json!({ "version": 1, "program": arguments.program, "verdict": judged.verdict(), "results": judged.results, "notes": judged.notes });
        writeln!(out, "{}", serde_json::to_string_pretty(&page).map_err(|error| fail(&error))?)?;
    } else {
        text(&judged, out)?;
    }
    arguments.formats.write(&[], || vec![group(arguments, &judged)], out)?;
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
            Err(of(&format!("not judged: {}", open.join(", "))))
        }
    }
}

/// The program and the names of its arguments.
fn program(arguments: &JudgeArguments) -> Result<(Program, Vec<String>), Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.program));
    if is_file(&arguments.program) {
        let (module, import) = read(Path::new(&arguments.program))?;
        if module.is_compiled() {
            let told = "it is compiled already: --program takes the program before compilation, --compiled this file beside it";
            return Err(fail(&told));
        }
        return Ok((import.program, import.argument_names));
    }
    let spec: ProgramSpec = arguments.program.parse().map_err(|error| fail(&error))?;
    let program = spec.build(arguments.size, spec.rows).map_err(|error| fail(&error))?;
    let names = parameter_names(&program);
    Ok((program, names))
}

/// The compiled program, which must take and give what the program does.
fn compiled(path: &Path, program: &Program) -> Result<Program, Failure> {
    let (_, import) = read(path)?;
    let shapes = |program: &Program| -> Vec<String> {
        let outputs = program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.to_string());
        program.entry().parameter_shapes().iter().map(|shape| shape.to_string()).chain(outputs).collect()
    };
    let (of_program, of_compiled) = (shapes(program), shapes(&import.program));
    if of_program != of_compiled {
        let why = format!("it takes and gives {}, and the program {}", of_compiled.join(", "), of_program.join(", "));
        return Err(Failure::Message(format!("{}: {why}", path.display())));
    }
    Ok(import.program)
}

/// The verdicts for a terminal.
fn text(judged: &Judged, out: &mut dyn Write) -> Result<(), Failure> {
    for one in &judged.results {
        let recorded = if one.recorded_as == one.name { String::new() } else { format!(" ({})", one.recorded_as) };
        writeln!(out, "{}{recorded} {}: {}", one.name, one.shape, one.verdict.name().to_uppercase())?;
        one.because.iter().try_for_each(|why| writeln!(out, "  {why}"))?;
        for pattern in &one.pattern {
            writeln!(out, "  {}: {} (explains {:.1} %)", pattern.kind, pattern.says, 100.0 * pattern.explained)?;
        }
        figures(one, out)?;
    }
    for note in &judged.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

/// Modes that a line names.
const SHOWN: usize = 4;

/// The modes, errors and tokens of one result.
fn figures(one: &JudgedResult, out: &mut dyn Write) -> Result<(), Failure> {
    if !one.modes.is_empty() {
        let more = one.modes.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more that compute it alike") } else { String::new() };
        let shown: Vec<&str> = one.modes.iter().take(SHOWN).map(String::as_str).collect();
        writeln!(out, "  same bits: {}{more}", shown.join(", "))?;
    } else if let Some(nearest) = &one.nearest {
        let (mode, rms, orders) = (&nearest.mode, nearest.relative_rms, nearest.orders);
        writeln!(out, "  nearest: {mode}, relative rms {rms:.2e}, {orders:.2} of what orders of sums change")?;
    }
    if let Some(error) = &one.error {
        let ratio = one.ratio.map_or(String::new(), |ratio| format!(", {ratio:.3} of that mode's"));
        let [half, nine, most] = error.quantiles;
        let rms = error.relative_rms;
        writeln!(
            out,
            "  error: relative rms {rms:.2e}{ratio}; 50, 90, 99 % {half:.1e}, {nine:.1e}, {most:.1e}; largest {:.1e} at {}",
            error.largest, error.largest_at
        )?;
    }
    if let Some(detectable) = &one.detectable {
        writeln!(out, "  power: {detectable}")?;
    }
    if one.outside.elements > 0 || one.outside.unknown > 0 {
        writeln!(out, "  permitted: {} elements outside, {} not known", one.outside.elements, one.outside.unknown)?;
    }
    for token in one.tokens.iter().flatten().take(8) {
        let margin = token.margin_ulp.map_or(String::new(), |margin| format!(", {margin:.2} ulp behind"));
        let (at, recorded, declared) = (token.element, token.recorded, token.declared);
        writeln!(out, "  token {at}: {recorded} instead of {declared}{margin}: {}", token.because)?;
    }
    Ok(())
}

/// The verdicts as tests.
fn group(arguments: &JudgeArguments, judged: &Judged) -> Group {
    let of = |one: &JudgedResult| {
        let is_wrong = matches!(one.verdict, Verdict::Outside | Verdict::Unknown);
        let verdict = if one.verdict == Verdict::Unknown { "undecided" } else { one.verdict.name() };
        let problem = Problem {
            rule: "judge".to_string(),
            verdict: verdict.to_string(),
            value: String::new(),
            message: one.because.first().cloned().unwrap_or_default(),
            evidence: one.pattern.iter().map(|pattern| pattern.says.clone()).collect(),
            place: (arguments.program.clone(), 1),
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
