//! `ulpgate hlo eval`: an HLO file's results for given inputs.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::evaluation::{NamedResult, RoundTo, bind, evaluate, exact, shape_text};
use ulpgate_front::file::safetensors;
use ulpgate_front::hlo::Import;
use ulpgate_front::machine::Mode;
use ulpgate_front::oracle::Oracle;
use ulpgate_front::tensor::Tensor;

use super::super::seconds::Limit;
use super::super::summary::shell_word;
use super::super::terminal::note;
use super::super::{Exit, Failure, check_tensors_target};
use super::input_files::inputs_beside;
use super::{announcer, note_second_compilation, read};

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 evaluated; 1 --exact leaves some elements undecided; 2 could not judge (bad file, an unsupported \
    operation, or --exact leaves all elements undecided). Standard error has the count of undecided elements."
)]
pub struct HloEvalArguments {
    /// HLO text, before or after compilation
    file: PathBuf,
    /// Arguments of the program: arg0, arg1, ...; what differs between devices as arg0@0, arg0@1, ...; s4 and other types that the
    /// format does not have in the narrowest wider one: s4 as I8, u4 as U8, f8e3m4 as F16. A program without arguments needs none
    #[arg(long, value_name = "IN.safetensors")]
    inputs: Option<PathBuf>,
    /// File for the results: out0, out1, ...; what differs between devices as out0@0, out0@1, ...; in the same types
    #[arg(long, value_name = "OUT.safetensors")]
    out: PathBuf,
    /// Machine, as chip/precision/excess[+key=value...]
    #[arg(long, value_name = "MODE", default_value = "v5e/default/as-compiled")]
    mode: Mode,
    /// Evaluate over the real numbers instead: floats correctly rounded, as --round-to says
    #[arg(long, conflicts_with = "mode")]
    exact: bool,
    /// Type to which --exact rounds floats: a float type such as f32, stored, the type of each result, or near, 2^-10 of its ulp. Of deep
    /// networks few bits are known much sooner than many
    #[arg(long, value_name = "DTYPE", default_value = "f64", requires = "exact")]
    round_to: RoundTo,
    /// A result to evaluate, such as out0; may be given several times [default: all]
    #[arg(long = "result", value_name = "NAME")]
    results: Vec<String>,
    /// Print what was written as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// One result, as the listing tells of it.
#[derive(serde::Serialize)]
struct ArgumentLine {
    name: String,
    shape: String,
    /// Elements of a bf16 result, or of one that picks by floats, which change when a float sum takes another order
    /// that HLO permits.
    order_sensitive: usize,
    /// Flat positions of elements that `--exact` could not decide. The file has NaN or zero there.
    undecided: Vec<usize>,
}

pub fn run(arguments: &HloEvalArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    check_tensors_target(&arguments.out, [&arguments.file].into_iter().chain(&arguments.inputs).cloned())?;
    let (module, import) = read(&arguments.file)?;
    note_second_compilation(&arguments.file, &module, &arguments.mode);
    let inputs = match &arguments.inputs {
        Some(path) => inputs(path, &import)?,
        None => no_inputs(&import, &arguments.file)?,
    };
    let program = import.program;
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.file.display()));
    let results = match arguments.exact {
        true => exact(&program, &inputs, &arguments.results, arguments.round_to, &mut announcer()),
        false => evaluate(&program, &arguments.mode, &inputs, &arguments.results),
    };
    let results = results.map_err(|error| fail(&error))?;
    let open: usize = results.iter().map(|result| result.undecided.len()).sum();
    let all: usize = results.iter().map(|result| result.tensor.len()).sum();
    let (mut lines, mut named) = (Vec::with_capacity(results.len()), Vec::with_capacity(results.len()));
    for NamedResult { name, tensor, order_sensitive, undecided } in results {
        lines.push(ArgumentLine { name: name.clone(), shape: shape_text(&tensor), order_sensitive, undecided });
        named.push((name, tensor));
    }
    safetensors::write(&arguments.out, &named).map_err(|error| Failure::Message(error.to_string()))?;
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&lines).map_err(|error| fail(&error))?)?;
        return exit(arguments, open, all);
    }
    for (line, (_, tensor)) in lines.iter().zip(&named) {
        write!(out, "{} {}", line.name, line.shape)?;
        if line.order_sensitive > 0 {
            write!(
                out,
                " order-sensitive: {} of {} elements change with the order of a sum",
                line.order_sensitive,
                tensor.len()
            )?;
        }
        if let Some(first) = line.undecided.first() {
            write!(
                out,
                " undecided: {} of {} elements at {} bits, the first at {first}; the file has {} there",
                line.undecided.len(),
                tensor.len(),
                Oracle::default().max_bits,
                if tensor.data().get_f64(*first).is_nan() { "NaN" } else { "0" },
            )?;
        }
        writeln!(out)?;
    }
    exit(arguments, open, all)
}

/// The exit that undecided elements make of an evaluation over the real numbers, with their count on standard error.
///
/// # Errors
/// If none of the elements is decided.
fn exit(arguments: &HloEvalArguments, open: usize, all: usize) -> Result<Exit, Failure> {
    let file = arguments.file.display();
    match open {
        0 => Ok(Exit::AsExpected),
        _ if open == all => Err(Failure::Message(format!(
            "{file}: nothing was decided: {open} of {all} elements are undecided at {} bits; {} has NaN or 0 there",
            Oracle::default().max_bits,
            arguments.out.display()
        ))),
        _ => {
            note(&format!("ulpgate: {file}: {open} of {all} elements are undecided"));
            Ok(Exit::Found)
        }
    }
}

/// The program's arguments, in order, from a file.
pub(crate) fn inputs(path: &Path, import: &Import) -> Result<Vec<Tensor>, Failure> {
    let given = safetensors::read(path).map_err(|error| Failure::Message(error.to_string()))?;
    bind(import, &given).map_err(|error| Failure::Message(format!("{}: {error}", path.display())))
}

/// The inputs of a program without arguments: none.
///
/// # Errors
/// If the program takes arguments; the message has each one's name and shape.
fn no_inputs(import: &Import, file: &Path) -> Result<Vec<Tensor>, Failure> {
    let shapes = import.program.entry().parameter_shapes();
    let arguments: Vec<_> =
        import.argument_names.iter().zip(&shapes).map(|(name, shape)| format!("{name} {shape}")).collect();
    if arguments.is_empty() {
        return Ok(Vec::new());
    }
    let found = inputs_beside(file);
    let beside = found.map(|path| format!("; its dump has them: --inputs {}", shell_word(&path.to_string_lossy())));
    Err(Failure::Message(format!(
        "{}: the program takes {}: give a safetensors file of them as --inputs{}",
        file.display(),
        arguments.join(", "),
        beside.unwrap_or_default()
    )))
}
