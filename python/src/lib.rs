//! Functions for Python: texts and arrays as bytes go in, JSON and arrays as bytes come out. The package `ulpgate` around it
//! makes objects of them.

mod answers;

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{create_exception, wrap_pyfunction};
use ulpgate::Mode;
use ulpgate::diff::{Scores, difference, outcomes};
use ulpgate::evaluation::{self, NamedResult, RoundTo, TokenTruth, bind, token_results};
use ulpgate::flow;
use ulpgate::hlo::ast::Module;
use ulpgate::hlo::{Import, LowerError, lower_with_libraries, lower_with_opaque, parse};
use ulpgate::name::{self, one_line};
use ulpgate::tensor::{DType, Data, Tensor};

create_exception!(
    ulpgate,
    Error,
    PyValueError,
    "What could not be judged: a text that is no HLO, an unsupported operation, arguments that do not fit, a package that is missing."
);

/// An array: its name, HLO's name of its type, its dims, and its elements (`Data::to_le_bytes`).
type Array = (String, String, Vec<usize>, Vec<u8>);

/// A result: an array, how many of its elements depend on the order of a sum, and which are undecided.
type Computed = (String, String, Vec<usize>, Py<PyBytes>, usize, Vec<usize>);

/// Runs what holds no Python object, while other threads of Python go on. An error is one line; a panic is a bug, and one too.
fn judge<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> Result<T, String>) -> PyResult<T> {
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let result = result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it says nothing");
        Err(format!("an error of ulpgate, please report it with the program: {text}"))
    });
    result.map_err(|message| Error::new_err(one_line(&message)))
}

/// A text's program; `of` is what errors call it.
fn read(
    of: &str,
    text: &str,
    lower: impl Fn(&Module) -> Result<Import, LowerError>,
) -> Result<(Module, Import), String> {
    let fail = |why: &dyn std::fmt::Display| format!("{of}: {why}");
    let first = text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with("//"));
    if first
        .is_some_and(|line| line.starts_with("module @") || line.starts_with("#loc") || line.starts_with("module {"))
    {
        return Err(fail(&"this is StableHLO; ulpgate reads HLO: jax.jit(f).lower(...).as_text(dialect=\"hlo\")"));
    }
    let module = parse(text).map_err(|error| fail(&error))?;
    let import = lower(&module).map_err(|error| fail(&error))?;
    Ok((module, import))
}

fn mode(text: &str) -> Result<Mode, String> {
    text.parse::<Mode>().map_err(|error| error.to_string())
}

fn tensor((name, dtype, dims, bytes): &Array) -> Result<(String, Tensor), String> {
    let dtype = DType::from_name(dtype).ok_or_else(|| format!("{name}: there is no element type {dtype}"))?;
    let data = Data::from_le_bytes(dtype, bytes).map_err(|error| format!("{name}: {error}"))?;
    let elements = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    match elements == Some(data.len()) {
        true => Ok((name.clone(), Tensor::new(dims, data))),
        false => Err(format!("{name}: {} elements are given for dims {dims:?}", data.len())),
    }
}

fn tensors(arrays: &[Array]) -> Result<Vec<(String, Tensor)>, String> {
    arrays.iter().map(tensor).collect()
}

fn computed(py: Python<'_>, results: Vec<(NamedResult, Vec<u8>)>) -> Vec<Computed> {
    let results = results.into_iter().map(|(NamedResult { name, tensor, order_sensitive, undecided }, bytes)| {
        let (dtype, dims) = (tensor.dtype().name().to_string(), tensor.dims().to_vec());
        (name, dtype, dims, PyBytes::new(py, &bytes).unbind(), order_sensitive, undecided)
    });
    results.collect()
}

fn with_bytes(results: Vec<NamedResult>) -> Vec<(NamedResult, Vec<u8>)> {
    results.into_iter().map(|result| (result.tensor.data().to_le_bytes(), result)).map(|(b, r)| (r, b)).collect()
}

/// Runs the command line; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    judge(py, move || {
        let code = ulpgate::cli::run_command(arguments);
        // Python ends the process without Rust's own end; a closed pipe is no failure.
        let _ = std::io::stdout().flush();
        Ok(code)
    })
}

/// The part of a finding by which it is accepted.
#[pyfunction]
fn line_key(line: &str) -> String {
    ulpgate::diff::line_key(line)
}

/// The results of a program on the machine of a mode.
#[pyfunction]
fn evaluate(
    py: Python<'_>,
    hlo: String,
    arguments: Vec<Array>,
    machine: String,
    results: Vec<String>,
) -> PyResult<Vec<Computed>> {
    let found = judge(py, move || {
        let (_, import) = read("hlo", &hlo, lower_with_libraries)?;
        let inputs = bind(&import, &tensors(&arguments)?).map_err(|e| e.to_string())?;
        let found = evaluation::evaluate(&import.program, &mode(&machine)?, &inputs, &results);
        found.map(with_bytes).map_err(|e| e.to_string())
    })?;
    Ok(computed(py, found))
}

/// The results of a program over the real numbers, floats rounded once.
#[pyfunction]
fn exact(
    py: Python<'_>,
    hlo: String,
    arguments: Vec<Array>,
    round_to: String,
    results: Vec<String>,
) -> PyResult<Vec<Computed>> {
    let found = judge(py, move || {
        let (_, import) = read("hlo", &hlo, lower_with_libraries)?;
        let inputs = bind(&import, &tensors(&arguments)?).map_err(|e| e.to_string())?;
        let round_to: RoundTo = round_to.parse()?;
        let found = evaluation::exact(&import.program, &inputs, &results, round_to, &mut |_| {});
        found.map(with_bytes).map_err(|e| e.to_string())
    })?;
    Ok(computed(py, found))
}

/// The changes from one program to another, as JSON, and as the lines that the command line prints; with arguments both are run.
#[pyfunction]
fn diff(
    py: Python<'_>,
    before: String,
    after: String,
    arguments: Option<Vec<Array>>,
    machine: String,
    scores: Option<String>,
) -> PyResult<(String, Vec<String>)> {
    judge(py, move || {
        // What is run has to be understood.
        let lower = if arguments.is_some() { lower_with_libraries } else { lower_with_opaque };
        let (_, before) = read("before", &before, lower)?;
        let (_, after) = read("after", &after, lower)?;
        let mode = mode(&machine)?;
        let found = difference(&before, &after, arguments.as_ref().map(|_| mode.chip)).map_err(|e| e.to_string())?;
        let results = match &arguments {
            Some(arguments) => {
                let inputs = bind(&before, &tensors(arguments)?).map_err(|e| e.to_string())?;
                Some(
                    outcomes(
                        &before,
                        &after,
                        [&mode, &mode],
                        &inputs,
                        scores.as_deref().map(Scores::Named),
                        &mut |_| {},
                    )
                    .map_err(|e| e.to_string())?,
                )
            }
            None => None,
        };
        let told = results.iter().flatten().map(|result| result.to_string().trim_end().to_string());
        let lines = found.changes.iter().map(|change| name::printable(&change.to_string()).into_owned()).chain(told);
        let lines = lines.collect();
        Ok((found.to_json(results.as_deref()).to_string(), lines))
    })
}

/// The precision flow of a program, in the form `text`, `json` or `dot`.
#[pyfunction]
fn show(py: Python<'_>, hlo: String, machine: Option<String>, form: String, all: bool) -> PyResult<String> {
    judge(py, move || {
        let (module, import) = read("hlo", &hlo, lower_with_opaque)?;
        let compiled = module.is_compiled();
        let modes = flow::compilers(machine.as_deref(), compiled).map_err(|e| e.to_string())?;
        let flow = flow::flow(&import, compiled, &modes);
        match form.as_str() {
            "text" => Ok(flow::text(&flow, all).split('\n').map(name::printable).collect::<Vec<_>>().join("\n")),
            "dot" => Ok(flow::dot(&flow, all)),
            "json" => serde_json::to_string(&flow).map_err(|e| e.to_string()),
            other => Err(format!("there is no form `{other}`; known: text, json, dot")),
        }
    })
}

/// Rows of results that say another token than the truth of a program, as JSON: a list for each set of results. `asked` are
/// names of results; without it, those that say something of tokens.
#[pyfunction]
fn tokens(
    py: Python<'_>,
    hlo: String,
    arguments: Vec<Array>,
    sets: Vec<Vec<Array>>,
    asked: Option<Vec<String>>,
) -> PyResult<String> {
    judge(py, move || {
        let (_, import) = read("hlo", &hlo, lower_with_libraries)?;
        let inputs = bind(&import, &tensors(&arguments)?).map_err(|e| e.to_string())?;
        let sets: Vec<Vec<Tensor>> = sets.iter().map(|set| in_order(&import, set)).collect::<Result<_, _>>()?;
        let Some(first) = sets.first() else { return Ok("[]".to_string()) };
        let positions = match asked {
            Some(names) => positions(&import, &names)?,
            None => token_results(&import, first),
        };
        let truth = TokenTruth::new(&import.program, &inputs, first, &positions, &mut |_| {});
        let truth = truth.map_err(|e| e.to_string())?;
        let rows: Vec<_> = sets.iter().map(|set| truth.compare(set)).collect();
        serde_json::to_string(&rows).map_err(|e| e.to_string())
    })
}

/// Distances of results from the truth, as JSON: an object for each result of the truth, which `exact` gave. `undecided` are the
/// flat positions of elements that stayed open, by the results' names; `allowed` the error in ulps from which on elements count.
#[pyfunction]
fn errors(
    py: Python<'_>,
    results: Vec<Array>,
    truth: Vec<Array>,
    undecided: Vec<(String, Vec<usize>)>,
    allowed: f64,
) -> PyResult<String> {
    judge(py, move || {
        let of_truth = |(name, tensor): (String, Tensor)| {
            let open = undecided.iter().find(|(other, _)| *other == name);
            let undecided = open.map(|(_, places)| places.clone()).unwrap_or_default();
            NamedResult { name, tensor, order_sensitive: 0, undecided }
        };
        let truth: Vec<NamedResult> = tensors(&truth)?.into_iter().map(of_truth).collect();
        let errors = evaluation::result_errors(&tensors(&results)?, &truth, allowed)?;
        serde_json::to_string(&errors).map_err(|e| e.to_string())
    })
}

/// The rule behind elements and scales, as JSON and as the lines that the command line prints.
#[pyfunction]
fn scales(
    py: Python<'_>,
    elements: Array,
    scales: Array,
    per_tensor: Option<f32>,
    input: Option<Array>,
    zero_points: Option<Array>,
) -> PyResult<(String, String)> {
    judge(py, move || {
        let mut named = vec![tensor(&elements)?, tensor(&scales)?];
        for other in [&input, &zero_points].into_iter().flatten() {
            named.push(tensor(other)?);
        }
        let mut given = ulpgate::scales::find_tensors(&named, &[]).map_err(|e| e.to_string())?;
        given.per_tensor = per_tensor;
        let answer = ulpgate::scales::judge(&given).map_err(|e| e.to_string())?;
        let text = ulpgate::scales::text(&answer).map_err(|e| e.to_string())?;
        Ok((serde_json::to_string(&answer).map_err(|e| e.to_string())?, text))
    })
}

/// An array with its bytes as Python takes them.
type Stored = (String, Vec<usize>, Py<PyBytes>);

/// The name of an element type, elements, scales, the per-tensor scale and the zero points.
type Quantized = (String, Stored, Stored, Option<f32>, Option<Stored>);

/// A tensor quantised by a rule.
#[pyfunction]
fn quantize(py: Python<'_>, input: Array, rule: String, axis: usize, block: Option<usize>) -> PyResult<Quantized> {
    let (element, made) = judge(py, move || {
        let (_, x) = tensor(&input)?;
        let (format, rule) = ulpgate::scaled::find_rule(&rule).map_err(|e| e.to_string())?;
        let made = ulpgate::scaled::quantize(&x, format, rule, axis, block).map_err(|e| e.to_string())?;
        Ok((format.element.name.to_string(), made))
    })?;
    let stored = |tensor: &Tensor| {
        let bytes = PyBytes::new(py, &tensor.data().to_le_bytes()).unbind();
        (tensor.dtype().name().to_string(), tensor.dims().to_vec(), bytes)
    };
    let zero_points = made.zero_points.as_ref().map(stored);
    Ok((element, stored(&made.elements), stored(&made.scales), made.per_tensor, zero_points))
}

/// A text of which a terminal obeys nothing, whatever names it holds; ends of lines are escaped as well.
#[pyfunction]
fn printable(text: &str) -> String {
    name::printable(text).into_owned()
}

/// Results as a program gives them: all of them, each of its type and dims.
fn in_order(import: &Import, set: &[Array]) -> Result<Vec<Tensor>, String> {
    let (program, mut ordered) = (&import.program, Vec::new());
    let given = tensors(set)?;
    for (id, name) in program.outputs().into_iter().zip(&program.output_names) {
        let found = given.iter().find(|(given, _)| given == name);
        let (_, tensor) = found.ok_or_else(|| format!("the program has a result {name}, which is not given"))?;
        let (shape, found) = (program.entry().instructions[id].shape.to_string(), evaluation::shape_text(tensor));
        if shape != found {
            return Err(format!("{name} is {found}, but the program gives {shape}"));
        }
        ordered.push(tensor.clone());
    }
    Ok(ordered)
}

fn positions(import: &Import, names: &[String]) -> Result<Vec<usize>, String> {
    let known = &import.program.output_names;
    let position = |name: &String| {
        let found = known.iter().position(|known| known == name);
        found.ok_or_else(|| format!("there is no result `{name}`; known: {}", known.join(", ")))
    };
    names.iter().map(position).collect()
}

#[pymodule]
fn _ulpgate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(exact, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(show, module)?)?;
    module.add_function(wrap_pyfunction!(errors, module)?)?;
    module.add_function(wrap_pyfunction!(quantize, module)?)?;
    module.add_function(wrap_pyfunction!(scales, module)?)?;
    module.add_function(wrap_pyfunction!(printable, module)?)?;
    module.add_function(wrap_pyfunction!(line_key, module)?)?;
    module.add_function(wrap_pyfunction!(answers::judge_results, module)?)?;
    module.add_function(wrap_pyfunction!(answers::tolerance, module)?)?;
    module.add_function(wrap_pyfunction!(tokens, module)?)
}
