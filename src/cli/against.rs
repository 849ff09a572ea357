//! `ulpgate explore --against`: results that something else computed, compared with those that a compiler may make of a
//! program.

use std::io::Write;
use std::path::Path;

use crate::explore::{Outside, outside};
use crate::file::safetensors;
use crate::ir::{Program, Shape};
use crate::oracle::Enclosed;

use super::{Exit, Failure};

/// Tells for each result the number of elements that lie outside of their enclosures.
pub fn compare(program: &Program, enclosed: &[Enclosed], path: &Path, out: &mut dyn Write) -> Result<Exit, Failure> {
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
    let (mut exit, mut open, mut all) = (Exit::AsExpected, 0, 0);
    for Outside { output, elements, unknown } in outside(enclosed, &results) {
        let (name, count) = (&program.output_names[output], results[output].len());
        (open, all) = (open + unknown, all + count);
        write!(out, "{name}: {} of {count} elements outside, {unknown} not known", elements.len())?;
        if let Some(first) = elements.first() {
            exit = Exit::Found;
            let value = results[output].data().get_f64(*first);
            match &enclosed[output] {
                Enclosed::Floats(floats) => {
                    let (lo, hi) = (floats[*first].lo, floats[*first].hi);
                    write!(out, "; the first at {first}: {value:e} is not in {lo:e} to {hi:e}")?;
                }
                Enclosed::Integers(integers) => {
                    write!(out, "; the first at {first}: {value} instead of {}", integers[*first].unwrap_or_default())?;
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
