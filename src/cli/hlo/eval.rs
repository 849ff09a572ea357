//! `ulpgate hlo eval`: an HLO file's results for given inputs.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::file::safetensors;
use crate::hlo::Import;
use crate::ir::{Program, Shape};
use crate::machine::Mode;
use crate::name::hint;
use crate::oracle::{Demand, Oracle, Prepared, TruthTensor};
use crate::run::{World, check_memory};
use crate::subject;
use crate::tensor::{DTYPES, DType, Data, Tensor};

use super::super::{Exit, Failure};
use super::{announce, note_second_compilation, read};

#[derive(Args)]
pub struct Arguments {
    /// HLO text, before or after compilation
    file: PathBuf,
    /// Arguments of the program: arg0, arg1, ...; what differs between devices as arg0@0, arg0@1, ...
    #[arg(long, value_name = "IN.safetensors")]
    inputs: PathBuf,
    /// Where to write the results: out0, out1, ...; what differs between devices as out0@0, out0@1, ...
    #[arg(long, value_name = "OUT.safetensors")]
    out: PathBuf,
    /// Machine, as chip/precision/excess[+key=value...]
    #[arg(long, value_name = "MODE", default_value = "v5e/default/as-compiled")]
    mode: Mode,
    /// Evaluate over the real numbers instead: floats correctly rounded, as --round-to says
    #[arg(long, conflicts_with = "mode")]
    exact: bool,
    /// What --exact rounds floats to: a float type such as f32, or stored, the type of each result. Of deep networks few
    /// bits are known much sooner than many
    #[arg(long, value_name = "DTYPE", default_value = "f64", requires = "exact", value_parser = rounding)]
    round_to: Rounding,
    /// A result to evaluate, such as out0; may be given several times [default: all]
    #[arg(long = "result", value_name = "NAME")]
    results: Vec<String>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// What floats are rounded to.
#[derive(Clone, Copy)]
enum Rounding {
    /// This float type.
    To(DType),
    /// The type of each result.
    Stored,
}

fn rounding(name: &str) -> Result<Rounding, String> {
    let floats = || DTYPES.into_iter().filter(|dtype| dtype.is_float());
    match floats().find(|dtype| dtype.name() == name) {
        Some(dtype) => Ok(Rounding::To(dtype)),
        None if name == "stored" => Ok(Rounding::Stored),
        None => {
            let names: Vec<&str> = floats().map(DType::name).collect();
            Err(format!("no float type is called that; there are stored, {}", names.join(", ")))
        }
    }
}

/// One result, as the listing tells of it.
#[derive(serde::Serialize)]
struct Line {
    name: String,
    shape: String,
    /// Elements of a bf16 result, or of one that picks by floats, which change when a float sum takes another order that
    /// HLO permits.
    order_sensitive: usize,
    /// Flat positions of elements that `--exact` could not decide. The file has NaN or zero there.
    undecided: Vec<usize>,
}

pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (module, import) = read(&arguments.file)?;
    note_second_compilation(&arguments.file, &module, &arguments.mode);
    let inputs = inputs(&arguments.inputs, &import)?;
    let program = import.program;
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.file.display()));
    let world = if arguments.exact { World::Truth } else { World::Machine };
    check_memory(&program, world).map_err(|error| fail(&error))?;
    let asked = asked(&program, &arguments.results).map_err(|why| fail(&why))?;
    let results: Vec<Written> = if arguments.exact {
        exact(&program, &inputs, &asked, arguments.round_to).map_err(|why| fail(&*why))?
    } else {
        let results = subject::evaluate(&program, &arguments.mode, &inputs).map_err(|error| fail(&error))?;
        let sensitive = subject::order_sensitive(&program, &arguments.mode, &inputs, &results);
        let counted = results.into_iter().zip(sensitive.map_err(|error| fail(&error))?);
        let all = counted.map(|(tensor, order_sensitive)| Written { tensor, order_sensitive, undecided: Vec::new() });
        all.zip(&asked).filter_map(|(result, is_asked)| is_asked.then_some(result)).collect()
    };
    let is_decided = results.iter().all(|result| result.undecided.is_empty());
    let exit = if is_decided { Exit::AsExpected } else { Exit::Found };
    let names = program.output_names.iter().zip(&asked).filter_map(|(name, is_asked)| is_asked.then_some(name));
    let (mut lines, mut named) = (Vec::with_capacity(results.len()), Vec::with_capacity(results.len()));
    for (name, Written { tensor, order_sensitive, undecided }) in names.zip(results) {
        let dims: Vec<String> = tensor.dims().iter().map(usize::to_string).collect();
        let shape = format!("{}[{}]", tensor.dtype(), dims.join(","));
        lines.push(Line { name: name.clone(), shape, order_sensitive, undecided });
        named.push((name.clone(), tensor));
    }
    safetensors::write(&arguments.out, &named).map_err(|error| Failure::Message(error.to_string()))?;
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&lines).map_err(|error| fail(&error))?)?;
        return Ok(exit);
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
    Ok(exit)
}

/// The program's arguments, in order. What each device has of one is called `arg0@0`, `arg0@1`, ...; an `arg0` goes to all
/// devices that the file gives nothing else.
pub(in crate::cli) fn inputs(path: &Path, import: &Import) -> Result<Vec<Tensor>, Failure> {
    let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
    let given = safetensors::read(path).map_err(|error| Failure::Message(error.to_string()))?;
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    let has = if names.is_empty() { "nothing".to_string() } else { names.join(", ") };
    let shapes = import.program.entry().parameter_shapes();
    let mut is_taken = vec![false; given.len()];
    let mut tensors = Vec::new();
    for (name, shape) in import.argument_names.iter().zip(&shapes) {
        let of_all = of_all_devices(name);
        let at =
            [Some(name), of_all.as_ref()].into_iter().flatten().find_map(|name| names.iter().position(|n| n == name));
        let or = of_all.map(|all| format!(", or {all} for all devices")).unwrap_or_default();
        let at = at.ok_or_else(|| fail(format!("{name} is missing, which must be {shape}{or}; the file has {has}")))?;
        is_taken[at] = true;
        let tensor = &given[at].1;
        let found = Shape::array(tensor.dtype(), tensor.dims());
        if found != **shape {
            return Err(fail(format!("{} is {found}, but the program takes {shape}", names[at])));
        }
        tensors.push(tensor.clone());
    }
    match names.iter().zip(is_taken).find(|(name, is_taken)| name.starts_with("arg") && !is_taken) {
        Some((name, _)) => {
            Err(fail(format!("{name} is more than the program takes: it has {} arguments", tensors.len())))
        }
        None => Ok(tensors),
    }
}

/// `arg0.real` of `arg0@1.real`: what all devices may have alike.
fn of_all_devices(name: &str) -> Option<String> {
    let (argument, device) = name.split_once('@')?;
    let part = device.find('.').map_or("", |at| &device[at..]);
    Some(format!("{argument}{part}"))
}

/// A result that was asked for.
struct Written {
    tensor: Tensor,
    order_sensitive: usize,
    undecided: Vec<usize>,
}

/// Of each result, whether it is among those with these names; all are if there are none.
fn asked(program: &Program, names: &[String]) -> Result<Vec<bool>, String> {
    let known = &program.output_names;
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        let near = hint(unknown, known.iter().map(String::as_str));
        return Err(format!("there is no result `{unknown}`; {near}"));
    }
    Ok(known.iter().map(|name| names.is_empty() || names.contains(name)).collect())
}

/// The real results that are asked for, rounded; what takes long is told before it begins.
fn exact(
    program: &Program,
    inputs: &[Tensor],
    asked: &[bool],
    round_to: Rounding,
) -> Result<Vec<Written>, Box<dyn std::error::Error>> {
    let demand = match round_to {
        Rounding::To(DType::F64) => Demand::Rounded,
        Rounding::To(dtype) => Demand::RoundedTo(dtype),
        Rounding::Stored => Demand::Stored,
    };
    let demands: Vec<Demand> = asked.iter().map(|is_asked| if *is_asked { demand } else { Demand::None }).collect();
    let truth = Oracle::default().announced_truth(&Prepared::new(program), inputs, &demands, &mut announce)?;
    let dtypes = program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.dtype());
    let results = truth.outputs.into_iter().zip(dtypes).zip(&program.output_names).zip(asked);
    let results = results.filter(|(_, is_asked)| **is_asked).map(|(((output, dtype), name), _)| {
        let result = match output {
            TruthTensor::Float(float) => {
                let target = match round_to {
                    Rounding::To(target) => Some(target),
                    Rounding::Stored => dtype,
                };
                let data = target.and_then(|target| Data::from_f64s(target, &float.rounded));
                data.map(|data| (Tensor::new(&float.dims, data), float.open))
            }
            TruthTensor::Integer { dims, values } => {
                let known: Vec<i64> = values.iter().map(|value| value.unwrap_or(0)).collect();
                let data = dtype.and_then(|dtype| Data::from_i64s(dtype, &known));
                data.map(|data| (Tensor::new(&dims, data), unknown(&values)))
            }
            TruthTensor::Predicate { dims, values } => {
                let known = values.iter().map(|value| value.unwrap_or(false)).collect();
                Some((Tensor::new(&dims, Data::Pred(known)), unknown(&values)))
            }
            TruthTensor::Skipped => None,
        };
        let (tensor, undecided) = result.ok_or_else(|| format!("{name} has no truth as an array"))?;
        Ok(Written { tensor, order_sensitive: 0, undecided })
    });
    results.collect()
}

/// Where nothing is known.
fn unknown<T>(values: &[Option<T>]) -> Vec<usize> {
    values.iter().enumerate().filter_map(|(at, value)| value.is_none().then_some(at)).collect()
}
