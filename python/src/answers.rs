//! Results from elsewhere and tolerances of tests, judged.

use std::path::PathBuf;

use pyo3::prelude::*;
use ulpgate::criterion::{HonestProgram, HonestRuns, Reference, Tolerance, ToleranceQuestion};
use ulpgate::hlo::lower_with_libraries;
use ulpgate::judge::{Recording, Settings, bind};
use ulpgate::machine::{CHIPS, Chip, find_chip};
use ulpgate::name::hint;
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::DType;

use crate::{Array, judge, mode, read, tensors};

/// Arrays in memory, or the path of a file of arrays.
#[derive(FromPyObject)]
pub enum Given {
    /// The path.
    File(PathBuf),
    /// The arrays.
    Arrays(Vec<Array>),
}

impl Given {
    fn recording(&self) -> Result<Recording, String> {
        match self {
            Given::File(path) => Recording::open(path).map_err(|error| error.to_string()),
            Given::Arrays(arrays) => Ok(Recording::of_arrays(tensors(arrays)?)),
        }
    }
}

fn chip(name: &String) -> Result<&'static Chip, String> {
    let known = CHIPS.iter().map(|chip| chip.name);
    find_chip(name).ok_or_else(|| format!("there is no chip {name}; {}", hint(name, known)))
}

/// The verdict on results of a program: JSON as the command line prints it, and its lines.
#[pyfunction]
#[pyo3(signature = (hlo, compiled, arguments, results, *, name, mapping, machine, chips, tokens, scores, whole))]
#[expect(clippy::too_many_arguments, reason = "the options of one command")]
pub fn judge_results(
    py: Python<'_>,
    hlo: String,
    compiled: Option<String>,
    arguments: Given,
    results: Given,
    name: String,
    mapping: Vec<(String, String)>,
    machine: Option<String>,
    chips: Vec<String>,
    tokens: Option<String>,
    scores: Option<String>,
    whole: bool,
) -> PyResult<(String, Vec<String>)> {
    judge(py, move || {
        let (_, import) = read(&name, &hlo, lower_with_libraries)?;
        let compiled = compiled.map(|text| read("compiled", &text, lower_with_libraries)).transpose()?;
        let inputs = bind(&import.program, &import.argument_names, &[arguments.recording()?]);
        let inputs = inputs.map_err(|error| error.to_string())?;
        let settings = Settings {
            mode: machine.as_deref().map(mode).transpose()?,
            chips: chips.iter().map(chip).collect::<Result<_, _>>()?,
            compiled: compiled.map(|(_, import)| import.program),
            tokens,
            scores,
            block_from: whole.then_some(u128::MAX),
        };
        let recording = results.recording()?.map(mapping);
        let judged = ulpgate::judge::judge(&import.program, &inputs, &recording, &settings);
        let judged = judged.map_err(|error| error.to_string())?;
        Ok((judged.to_json(&name).to_string(), judged.lines()))
    })
}

/// The program of a tolerance: the text of a file, or a built-in one; with the arguments that it runs on.
type ToleranceProgram = (String, bool, Option<Given>);

/// The verdict on a tolerance: JSON as the command line prints it, and its lines. `kind` is `close`, `ulp` or `nmse`, with its numbers.
#[pyfunction]
#[pyo3(signature = (kind, parts, *, dtype, magnitude, counts, program, n, distribution, runs, machine, reference))]
#[expect(clippy::too_many_arguments, reason = "the options of one command")]
pub fn tolerance(
    py: Python<'_>,
    kind: String,
    parts: [f64; 2],
    dtype: String,
    magnitude: Option<f64>,
    counts: Option<[u64; 2]>,
    program: Option<ToleranceProgram>,
    n: usize,
    distribution: String,
    runs: u64,
    machine: String,
    reference: String,
) -> PyResult<(String, Vec<String>)> {
    judge(py, move || {
        let tolerance = match kind.as_str() {
            "ulp" => Tolerance::Ulp(parts[0]),
            "nmse" => Tolerance::Nmse(parts[0]),
            _ => Tolerance::Close { atol: parts[0], rtol: parts[1] },
        };
        let format = DType::from_name(&dtype).filter(|dtype| dtype.is_float()).and_then(DType::format);
        let reference = match reference.as_str() {
            "truth" => Reference::Truth,
            "rounded" => Reference::Rounded,
            other => Reference::Mode(mode(other).map_err(|error| format!("neither truth nor rounded, and {error}"))?),
        };
        let program = program.map(|(text, is_built_in, arguments)| {
            let machine = mode(&machine)?;
            let drawn = || {
                Ok::<_, String>(HonestRuns::Drawn {
                    distribution: distribution.parse().map_err(|e| format!("{e}"))?,
                    n,
                    runs,
                })
            };
            if is_built_in {
                let spec: ProgramSpec = text.parse().map_err(|error| format!("{text}: {error}"))?;
                let honest = HonestProgram::of_spec(&spec, n, machine, reference.clone()).map_err(|e| e.to_string())?;
                return Ok((honest, drawn()?));
            }
            let (_, import) = read("hlo", &text, lower_with_libraries)?;
            let runs = match arguments {
                Some(given) => {
                    let bound = bind(&import.program, &import.argument_names, &[given.recording()?]);
                    HonestRuns::On(bound.map_err(|error| error.to_string())?)
                }
                None => drawn()?,
            };
            let name = import.program.name.clone();
            Ok::<_, String>((
                HonestProgram { name, program: import.program, mode: machine, reference: reference.clone() },
                runs,
            ))
        });
        let question = ToleranceQuestion {
            tolerance,
            format: format.ok_or_else(|| format!("there is no float type {dtype}"))?,
            magnitude,
            counts,
            program: program.transpose()?,
            reference,
        };
        let answer = question.answer().map_err(|error| error.to_string())?;
        Ok((serde_json::to_string(&answer).map_err(|error| error.to_string())?, answer.lines()))
    })
}
