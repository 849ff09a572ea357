//! The arguments of a program from named arrays.

use crate::ir::{Op, Program};
use crate::tensor::Tensor;

use super::recording::{Recording, RecordingError, has_equal};

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

/// The program's arguments, in order: by the names in `names`, as `arg0`, `arg1`, ..., by the parameter's own name with or without
/// the number behind it, or where none of them is there and the one file holds as many arrays as the program takes, by position.
///
/// # Errors
/// If one is missing, or an array does not fit the argument's type and dims.
pub fn bind(program: &Program, names: &[String], given: &[Recording]) -> Result<Vec<Tensor>, RecordingError> {
    let shapes = program.entry().parameter_shapes();
    let own = parameter_names(program);
    let mut tensors = Vec::with_capacity(shapes.len());
    for (at, shape) in shapes.iter().enumerate() {
        let numbered = format!("arg{at}");
        let name = names.get(at).unwrap_or(&numbered);
        let parameter = own.get(at).map_or("", String::as_str);
        let without_number = parameter.rsplit_once('.').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit()));
        let without_number = without_number.map_or(parameter, |(name, _)| name);
        let wanted = [name.as_str(), numbered.as_str(), parameter, without_number];
        let has = |name: &str| given.iter().find(|file| file.names().any(|other| other == name));
        let found = wanted.into_iter().find_map(|name| has(name).map(|file| (file, name.to_string())));
        let by_position = || match given {
            [one] if one.names().count() != shapes.len() => Ok(None),
            [one] if one.is_sorted_by_name() && has_equal(&shapes) => {
                let (file, has) = (one.file(), one.names().collect::<Vec<_>>().join(", "));
                let how = format!("naming them arg0 to arg{}, or as the program's parameters,", shapes.len() - 1);
                Err(RecordingError::Sorted { file, has, how })
            }
            [one] => Ok(one.position(at).map(|name| (one, name))),
            _ => Ok(None),
        };
        let found = if found.is_some() { found } else { by_position()? };
        let (file, found) = found.ok_or_else(|| RecordingError::Missing {
            file: given.iter().map(Recording::file).collect::<Vec<_>>().join(", "),
            name: match without_number == *name {
                true => name.clone(),
                false => format!("{name} ({without_number})"),
            },
            shape: shape.to_string(),
            has: given.iter().flat_map(Recording::names).collect::<Vec<_>>().join(", "),
        })?;
        tensors.push(file.take(&found, shape)?);
    }
    Ok(tensors)
}
