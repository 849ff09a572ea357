//! The arguments of a program from named arrays.

use crate::ir::{Op, Program};
use crate::tensor::Tensor;

use super::recording::{Recording, RecordingError, take};

/// The names of a built-in program's arguments, in order: those of its parameters.
pub fn parameter_names(program: &Program) -> Vec<String> {
    let mut names: Vec<(usize, String)> = program
        .entry()
        .instructions
        .iter()
        .filter_map(|instruction| match instruction.op {
            Op::Parameter(number) => Some((number, instruction.name.clone())),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

/// The program's arguments, in order: by the names in `names`, as `arg0`, `arg1`, ..., or where neither is there and the file
/// holds as many arrays as the program takes, by position.
///
/// # Errors
/// If one is missing, or an array does not fit the argument's type and dims.
pub fn bind(program: &Program, names: &[String], given: &Recording) -> Result<Vec<Tensor>, RecordingError> {
    let shapes = program.entry().parameter_shapes();
    let by_position = given.names().count() == shapes.len();
    let mut tensors = Vec::with_capacity(shapes.len());
    for (at, shape) in shapes.iter().enumerate() {
        let name = names.get(at).cloned().unwrap_or_else(|| format!("arg{at}"));
        let of_position = given.position(at).filter(|_| by_position);
        let numbered = format!("arg{at}");
        let wanted = [Some(name.as_str()), Some(numbered.as_str()), of_position.as_deref()];
        let found = wanted.into_iter().flatten().find(|name| given.names().any(|other| other == *name));
        let found = found.ok_or_else(|| RecordingError::Missing {
            file: given.file(),
            name: name.clone(),
            shape: shape.to_string(),
            has: given.names().collect::<Vec<_>>().join(", "),
        })?;
        tensors.push(take(given, found, shape)?);
    }
    Ok(tensors)
}
