//! `ulpgate explore --against`: results that something else computed, compared with those that a compiler may make of a
//! program.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::value::RawValue;

use ulpgate_front::explore::{Outside, outside, outside_of_printed, printed_range};
use ulpgate_front::file::{repeated_name, safetensors};
use ulpgate_front::ir::movement::index_text;
use ulpgate_front::ir::{Program, Shape};
use ulpgate_front::name::printable;
use ulpgate_front::oracle::Enclosed;
use ulpgate_front::tensor::Tensor;

use super::{Exit, Failure};

/// Tells for each result the number of elements that lie outside of their enclosures.
pub fn compare(program: &Program, enclosed: &[Enclosed], path: &Path, out: &mut dyn Write) -> Result<Exit, Failure> {
    let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
    let (found, values) = if path.extension().is_some_and(|extension| extension == "json") {
        let printed = printed(program, path)?;
        (outside_of_printed(enclosed, &printed), printed.into_iter().map(|range| middles(&range)).collect())
    } else {
        let results = stored(program, path)?;
        let values = |result: &Tensor| (0..result.len()).map(|at| result.data().get_f64(at)).collect();
        (outside(enclosed, &results), results.iter().map(values).collect::<Vec<Vec<f64>>>())
    };
    let dims = |output: usize| program.entry().instructions[program.outputs()[output]].shape.dims().to_vec();
    let (mut exit, mut open, mut all) = (Exit::AsExpected, 0, 0);
    for Outside { output, elements, unknown } in found {
        let (name, count) = (&program.output_names[output], values[output].len());
        (open, all) = (open + unknown, all + count);
        write!(out, "{name}: {} of {count} elements outside, {unknown} not known", elements.len())?;
        if let Some(first) = elements.first() {
            exit = Exit::Found;
            let (value, at) = (values[output][*first], index_text(&dims(output), *first));
            match &enclosed[output] {
                Enclosed::Floats(floats) => {
                    let (lo, hi) = (floats[*first].lo, floats[*first].hi);
                    write!(out, "; the first at {at}: {value:e} is not in {lo:e} to {hi:e}")?;
                }
                Enclosed::Integers(integers) => {
                    write!(out, "; the first at {at}: {value} instead of {}", integers[*first].unwrap_or_default())?;
                }
            }
        }
        writeln!(out)?;
    }
    if exit == Exit::AsExpected && (open > 0 || all == 0) {
        let told = "were not judged: nothing is known of what the choices make of them";
        return Err(fail(format!("{open} of {all} elements {told}; no other element is outside")));
    }
    Ok(exit)
}

/// The results of a file of arrays, in the program's order.
fn stored(program: &Program, path: &Path) -> Result<Vec<Tensor>, Failure> {
    let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
    let given = safetensors::read(path).map_err(|error| Failure::Message(error.to_string()))?;
    let mut results = Vec::new();
    for (name, id) in program.output_names.iter().zip(program.outputs()) {
        let shape = &program.entry().instructions[id].shape;
        let found = given.iter().find(|(given, _)| given == name).map(|(_, tensor)| tensor.clone());
        let tensor = found.ok_or_else(|| fail(format!("{name} is missing, which must be {shape}")))?;
        let found = Shape::array(tensor.dtype(), tensor.dims());
        if found != *shape {
            return Err(fail(format!("{name} is {found}, but the program gives {shape}")));
        }
        results.push(tensor);
    }
    Ok(results)
}

/// The results of a JSON file as they were printed, in the program's order: the ends between which each element lies.
fn printed(program: &Program, path: &Path) -> Result<Vec<Vec<[f64; 2]>>, Failure> {
    let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(format!("failed to read it: {error}")))?;
    let given: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&text).map_err(|error| fail(format!("it is no object of arrays: {error}")))?;
    if let Some(name) = repeated_name(text.as_bytes()) {
        return Err(fail(format!("it has {name:?} twice")));
    }
    let mut results = Vec::new();
    for (name, id) in program.output_names.iter().zip(program.outputs()) {
        let shape = &program.entry().instructions[id].shape;
        let found = given.get(name).ok_or_else(|| fail(format!("{name} is missing, which must be {shape}")))?;
        // The digits count, which a number of JSON would lose: numbers stand between brackets and commas, perhaps in quotes.
        let between = |c: char| c.is_ascii_whitespace() || matches!(c, '[' | ']' | ',' | '"');
        let mut ranges = Vec::with_capacity(shape.elements());
        for number in found.get().split(between).filter(|number| !number.is_empty()) {
            let range = printed_range(number);
            ranges.push(range.ok_or_else(|| fail(format!("{name} has `{}`, which is no number", printable(number))))?);
        }
        if ranges.len() != shape.elements() {
            return Err(fail(format!("{name} has {} numbers, but the program gives {shape}", ranges.len())));
        }
        results.push(ranges);
    }
    Ok(results)
}

/// The numbers as they were printed.
fn middles(ranges: &[[f64; 2]]) -> Vec<f64> {
    ranges.iter().map(|[lo, hi]| lo + (hi - lo) / 2.0).collect()
}
