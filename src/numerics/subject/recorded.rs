//! Results that something else computed, from a file.

use std::path::{Path, PathBuf};

use crate::file::safetensors::{self, FileError};
use crate::ir::{Op, Program, Shape};
use crate::machine::Mode;
use crate::tensor::Tensor;

use super::{Call, Subject, SubjectError};

/// Results from a `.safetensors` file, one tensor an output of the program, by its name and over all rows of the case.
///
/// The file may hold arguments as well, by the names of the parameters or as `arg0`, `arg1`, ...: then results are given
/// only for these bits.
pub struct Recorded {
    path: PathBuf,
    promise: Mode,
    tensors: Vec<(String, Tensor)>,
}

/// Why recorded results do not answer.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The file has no such tensor.
    #[error("{} holds no `{name}`; it holds {held}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The result's name.
        name: String,
        /// The names of the tensors that it holds.
        held: String,
    },
    /// A tensor has other dims than the case's results.
    #[error("{}: `{name}` is {given}, which holds no rows {first} to {last} of {expected}", path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// Its shape.
        given: String,
        /// The first row asked for.
        first: usize,
        /// The last row asked for.
        last: usize,
        /// The shape of the rows asked for.
        expected: String,
    },
    /// The results are those of other arguments.
    #[error("{}: the results are those of another `{name}`: element {element} differs", path.display())]
    OtherArgument {
        /// The file.
        path: PathBuf,
        /// The argument's name.
        name: String,
        /// The first element that differs, in the batch at hand.
        element: usize,
    },
}

impl Recorded {
    /// The results in the bytes of the file at `path`; `promise` is the arithmetic that they are judged by.
    ///
    /// # Errors
    /// If the bytes break the format.
    pub fn new(path: &Path, bytes: &[u8], promise: Mode) -> Result<Recorded, FileError> {
        Ok(Recorded { path: path.to_path_buf(), promise, tensors: safetensors::parse(path, bytes)? })
    }

    fn named(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|(other, _)| other == name).map(|(_, tensor)| tensor)
    }

    /// The rows of a tensor that an array of `shape` from `first` on is; all of it where they are as large.
    fn rows(&self, name: &str, tensor: &Tensor, shape: &Shape, first: usize) -> Result<Tensor, RecordedError> {
        let dims = shape.dims();
        let (rows, given) = (dims.first().copied().unwrap_or(1), tensor.dims());
        if shape.dtype() == Some(tensor.dtype()) {
            if given == dims && first == 0 {
                return Ok(tensor.clone());
            }
            let fits = given.len() == dims.len() && given.get(1..) == dims.get(1..);
            if fits && given.first().is_some_and(|all| first + rows <= *all) {
                return Ok(tensor.rows(first..first + rows));
            }
        }
        Err(RecordedError::Rows {
            path: self.path.clone(),
            name: name.to_string(),
            given: Shape::array(tensor.dtype(), given).to_string(),
            first,
            last: first + rows.max(1) - 1,
            expected: shape.to_string(),
        })
    }

    /// That the arguments are those that were recorded, where they were.
    fn check_arguments(&self, call: &Call) -> Result<(), RecordedError> {
        for (number, name, shape) in parameters(call.program) {
            let recorded = self.named(&format!("arg{number}")).or_else(|| self.named(&name));
            let Some(recorded) = recorded.filter(|_| !call.program.output_names.contains(&name)) else { continue };
            let argument = &call.arguments[number];
            // Only the first argument comes in rows.
            let first = if number == 0 { call.first_row } else { 0 };
            let rows = self.rows(&name, recorded, shape, first)?;
            let differs = |at: &usize| rows.data().bits(*at) != argument.data().bits(*at);
            if let Some(element) = (0..argument.len()).find(differs) {
                return Err(RecordedError::OtherArgument { path: self.path.clone(), name, element });
            }
        }
        Ok(())
    }
}

/// The numbers, names and shapes of a program's parameters.
fn parameters(program: &Program) -> impl Iterator<Item = (usize, String, &Shape)> {
    program.entry().instructions.iter().filter_map(|i| match i.op {
        Op::Parameter(number) => Some((number, i.name.clone(), &i.shape)),
        _ => None,
    })
}

impl Subject for Recorded {
    /// The file's name, and what it promises: `NAME.safetensors as MODE`.
    fn id(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        format!("{} as {}", name.display(), self.promise)
    }

    fn promise(&self) -> &Mode {
        &self.promise
    }

    fn computes(&self) -> bool {
        false
    }

    fn run(&self, call: &Call) -> Result<Vec<Tensor>, SubjectError> {
        self.check_arguments(call)?;
        let entry = call.program.entry();
        let mut results = Vec::new();
        for (name, id) in call.program.output_names.iter().zip(call.program.outputs()) {
            let tensor = self.named(name).ok_or_else(|| RecordedError::Missing {
                path: self.path.clone(),
                name: name.clone(),
                held: self.tensors.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
            })?;
            let shape = &entry.instructions[id].shape;
            results.push(self.rows(name, tensor, shape, call.first_row)?);
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, Data};

    /// The rows of a case are those from its first one on, of a tensor with its dims behind them; none are made up.
    #[test]
    fn rows_are_those_that_the_file_holds() {
        let recorded = Recorded { path: "r".into(), promise: "v5e/default/off".parse().unwrap(), tensors: Vec::new() };
        let tensor = Tensor::new(&[4, 2], Data::F32((0..8u8).map(f32::from).collect()));
        let rows = |dims: &[usize], first: usize| {
            let rows = recorded.rows("r", &tensor, &Shape::array(DType::F32, dims), first);
            rows.ok().map(|rows| (rows.dims().to_vec(), rows.data().to_f32s()))
        };
        for (count, first) in (1..=4usize).flat_map(|count| (0..=4usize).map(move |first| (count, first))) {
            let numbers = || (2 * first..2 * (first + count)).map(|i| i as f32).collect();
            let held = (first + count <= 4).then(|| (vec![count, 2], numbers()));
            assert_eq!(rows(&[count, 2], first), held, "{count} rows from row {first} on");
        }
        for dims in [&[4][..], &[2, 1], &[2, 3], &[2, 2, 1]] {
            assert_eq!(rows(dims, 0), None, "{dims:?}");
        }
    }
}
