//! Results that something else computed, in a file.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::file::safetensors::{self, FileError};
use crate::file::{npy, npz};
use crate::ir::{Program, Shape};
use crate::name::hint;
use crate::tensor::{DType, Data, Tensor, Unfit};

/// Why a recording cannot be read, or does not fit a program.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is of a kind that is not read.
    #[error("{}: it is no .safetensors, .npz or .npy file", .0.display())]
    Kind(PathBuf),
    /// An array that is asked for is not there.
    #[error("{file}: {name} is missing, which must be {shape}; there is {has}")]
    Missing {
        /// The file, or `the arrays`.
        file: String,
        /// The name.
        name: String,
        /// Its type and dims.
        shape: String,
        /// The names that are there.
        has: String,
    },
    /// A mapping names what is not there.
    #[error("--map {0}: {1}")]
    Map(String, String),
    /// The file has nothing that the program gives.
    #[error(
        "{file}: none of its arrays ({has}) is a result of the program ({wanted}); name them with --map NAME=RESULT"
    )]
    Nothing {
        /// The file, or `the arrays`.
        file: String,
        /// The names that are there.
        has: String,
        /// The results of the program.
        wanted: String,
    },
    /// An array has other dims.
    #[error("{file}: {name} is {found}, but the program has {shape}")]
    Dims {
        /// The file, or `the arrays`.
        file: String,
        /// The array.
        name: String,
        /// Its type and dims.
        found: String,
        /// The type and dims that are asked for.
        shape: String,
    },
    /// Names that fit none, of arrays that could be exchanged unseen.
    #[error(
        "{file}: its arrays ({has}) have none of the program's names, and come in the order of their own: {how} says which is which"
    )]
    Sorted {
        /// The file.
        file: String,
        /// The names of its arrays.
        has: String,
        /// The option or the names that say it.
        how: String,
    },
    /// An element has no place in the program's type.
    #[error("{file}: {name} is {found}, and its element {at}, {value}, is no {dtype}: the program has {shape}")]
    Value {
        /// The file, or `the arrays`.
        file: String,
        /// The array.
        name: String,
        /// Its type and dims.
        found: String,
        /// The flat position.
        at: usize,
        /// The element.
        value: f64,
        /// The program's type.
        dtype: DType,
        /// The type and dims that are asked for.
        shape: String,
    },
}

/// The place of arrays.
#[derive(Clone, Debug)]
enum Source {
    /// Arrays in memory.
    Memory(Vec<(String, Tensor)>),
    /// A file of the safetensors format: its names.
    Safetensors(PathBuf, Vec<String>),
    /// An archive of NumPy: the names of its arrays.
    Archive(PathBuf, Vec<String>),
    /// One array, under the file's stem.
    Array(PathBuf, String),
}

/// Arrays by name, read one at a time: no more than one of a file is in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    source: Source,
    /// Names of the recording with the results that they stand for.
    mapping: Vec<(String, String)>,
}

/// A result of the program that a recording has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its position among the program's results.
    pub output: usize,
    /// Its name in the recording.
    pub recorded_as: String,
    /// Whether nothing but its place in the recording says so.
    pub is_by_order: bool,
}

impl Recording {
    /// Arrays in memory.
    pub fn of_arrays(arrays: Vec<(String, Tensor)>) -> Recording {
        Recording { source: Source::Memory(arrays), mapping: Vec::new() }
    }

    /// The arrays of a `.safetensors`, `.npz` or `.npy` file. Only their names are read.
    ///
    /// # Errors
    /// If the file cannot be read, or is of another kind.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let path = path.to_path_buf();
        let source = match path.extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") => {
                let names = safetensors::names(&path)?;
                Source::Safetensors(path, names)
            }
            Some("npz") => {
                let names = npz::names(&path)?;
                Source::Archive(path, names)
            }
            Some("npy") => {
                let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
                // Read at once: a file that is no recording is an error before anything is computed.
                File::open(&path).map_err(|source| FileError::Unread { path: path.clone(), source })?;
                Source::Array(path, stem)
            }
            _ => return Err(RecordingError::Kind(path)),
        };
        Ok(Recording { source, mapping: Vec::new() })
    }

    /// The same with names of the recording mapped to results of the program.
    #[must_use]
    pub fn map(mut self, mapping: Vec<(String, String)>) -> Recording {
        self.mapping = mapping;
        self
    }

    /// The names of its arrays, in the file's order; of a safetensors file sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = match &self.source {
            Source::Memory(arrays) => arrays.iter().map(|(name, _)| name.as_str()).collect(),
            Source::Safetensors(_, names) | Source::Archive(_, names) => names.iter().map(String::as_str).collect(),
            Source::Array(_, name) => vec![name],
        };
        names.into_iter()
    }

    /// The name of the array at a position.
    pub(super) fn position(&self, at: usize) -> Option<String> {
        self.names().nth(at).map(str::to_string)
    }

    /// Whether the arrays come by their names: a writer of safetensors sorts them.
    pub(super) fn is_sorted_by_name(&self) -> bool {
        matches!(self.source, Source::Safetensors(..))
    }

    /// The file, for errors.
    pub(crate) fn file(&self) -> String {
        match &self.source {
            Source::Memory(_) => "the arrays".to_string(),
            Source::Safetensors(path, _) | Source::Archive(path, _) | Source::Array(path, _) => {
                path.display().to_string()
            }
        }
    }

    /// The results of the program that are recorded, in the program's order: mapped ones, then by name, then, if no name fits, by
    /// position: `out0`, `output_1`, `arr_0`, or as many arrays as the program has results. A safetensors file has its arrays by their
    /// names, which is no position among results of one shape.
    ///
    /// # Errors
    /// If a mapping names what is not there, or one thing twice, or there is no result at all.
    pub fn resolve(&self, program: &Program) -> Result<Vec<Found>, RecordingError> {
        let wanted = &program.output_names;
        let names: Vec<&str> = self.names().collect();
        let mut found: Vec<Found> = Vec::new();
        let offer = |found: &mut Vec<Found>, output: usize, name: &str| {
            if !found.iter().any(|one| one.output == output || one.recorded_as == name) {
                found.push(Found { output, recorded_as: name.to_string(), is_by_order: false });
            }
        };
        for (name, result) in &self.mapping {
            let fault = |why: String| RecordingError::Map(format!("{name}={result}"), why);
            if !names.contains(&name.as_str()) {
                let known = hint(name, names.iter().copied());
                return Err(fault(format!("{} has no array `{name}`; {known}", self.file())));
            }
            let output = wanted.iter().position(|other| other == result).or_else(|| place_of(result, wanted.len()));
            let output = output.ok_or_else(|| {
                fault(format!(
                    "the program has no result `{result}`; {}",
                    hint(result, wanted.iter().map(String::as_str))
                ))
            })?;
            if let Some(other) = found.iter().find(|one| one.output == output || one.recorded_as == *name) {
                let of_other = format!("{}={} is given", other.recorded_as, wanted[other.output]);
                return Err(fault(format!("{of_other} as well, and a result is one array")));
            }
            offer(&mut found, output, name);
        }
        for (output, result) in wanted.iter().enumerate() {
            if let Some(name) = names.iter().find(|name| *name == result) {
                offer(&mut found, output, name);
            }
        }
        for name in &names {
            if let Some(output) = place_of(name, wanted.len()) {
                offer(&mut found, output, name);
            }
        }
        if found.is_empty() && names.len() == wanted.len() {
            let outputs = program.outputs();
            let shapes: Vec<&Shape> = outputs.iter().map(|id| &program.entry().instructions[*id].shape).collect();
            if self.is_sorted_by_name() && has_equal(&shapes) {
                let maps = names.iter().zip(wanted).map(|(name, result)| format!("--map {name}={result}"));
                let maps = maps.collect::<Vec<_>>().join(" ");
                return Err(RecordingError::Sorted {
                    file: self.file(),
                    has: names.join(", "),
                    how: format!("`{maps}`, in the order that is true,"),
                });
            }
            let in_order =
                |(output, name): (usize, &&str)| Found { output, recorded_as: name.to_string(), is_by_order: true };
            found = names.iter().enumerate().map(in_order).collect();
        }
        if found.is_empty() {
            let (has, wanted) = (names.join(", "), wanted.join(", "));
            return Err(RecordingError::Nothing { file: self.file(), has, wanted });
        }
        found.sort_by_key(|one| one.output);
        Ok(found)
    }

    /// A note on arrays that were paired with results by nothing but their order, as [`Recording::resolve`] does where no name fits.
    pub(super) fn pairing_note(&self, program: &Program, found: &[Found]) -> Option<String> {
        let by_order = found.iter().filter(|one| one.is_by_order);
        let pairs: Vec<(&str, &str)> =
            by_order.map(|one| (one.recorded_as.as_str(), program.output_names[one.output].as_str())).collect();
        pairing_note(&self.file(), &pairs)
    }

    /// A result in the program's type.
    ///
    /// # Errors
    /// If it has other dims, or a value that the program's type has not.
    pub fn read(&self, program: &Program, found: &Found) -> Result<Tensor, RecordingError> {
        let shape = &program.entry().instructions[program.outputs()[found.output]].shape;
        take(self, &found.recorded_as, shape)
    }

    /// An array in the type and dims of `shape`: of another type it is taken where every value fits.
    ///
    /// # Errors
    /// If it has other dims, or a value that the type has not.
    pub(crate) fn take(&self, name: &str, shape: &Shape) -> Result<Tensor, RecordingError> {
        take(self, name, shape)
    }

    /// The type of `shape`, whose dims an array must have, extents of 1 aside.
    ///
    /// # Errors
    /// If it has other dims.
    pub(crate) fn check_dims(&self, name: &str, tensor: &Tensor, shape: &Shape) -> Result<DType, RecordingError> {
        let squeezed = |dims: &[usize]| dims.iter().copied().filter(|extent| *extent != 1).collect::<Vec<_>>();
        let dtype = shape.dtype().filter(|_| squeezed(tensor.dims()) == squeezed(shape.dims()));
        dtype.ok_or_else(|| self.unfit(name, tensor, shape, Unfit::Kind))
    }

    /// The error that an array has other dims than `shape` or numbers of another kind, or a number that its type has not.
    pub(crate) fn unfit(&self, name: &str, tensor: &Tensor, shape: &Shape, unfit: Unfit) -> RecordingError {
        let (file, name, shape_text) = (self.file(), name.to_string(), shape.to_string());
        let found = Shape::array(tensor.dtype(), tensor.dims()).to_string();
        match (unfit, shape.dtype()) {
            (Unfit::Number(at), Some(dtype)) => {
                let value = tensor.data().get_f64(at);
                RecordingError::Value { file, name, found, at, value, dtype, shape: shape_text }
            }
            _ => RecordingError::Dims { file, name, found, shape: shape_text },
        }
    }

    /// An array as it is recorded; raw bytes (`V1`, `V2`: NumPy's form of the types of ml_dtypes) are of the type `dtype`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn array(&self, name: &str, dtype: Option<DType>) -> Result<Tensor, RecordingError> {
        let missing = || RecordingError::Missing {
            file: self.file(),
            name: name.to_string(),
            shape: "an array".to_string(),
            has: self.names().collect::<Vec<_>>().join(", "),
        };
        match &self.source {
            Source::Memory(arrays) => {
                arrays.iter().find(|(other, _)| other == name).map(|(_, tensor)| tensor.clone()).ok_or_else(missing)
            }
            Source::Safetensors(path, _) => Ok(safetensors::read_one(path, name)?),
            Source::Archive(path, names) if names.iter().any(|other| other == name) => {
                Ok(npz::read_one(path, name, dtype)?)
            }
            Source::Archive(..) => Err(missing()),
            Source::Array(path, _) => Ok(npy::read_as(path, dtype)?),
        }
    }
}

/// Whether two of these are the same: arrays of one shape may be exchanged unseen.
pub(super) fn has_equal(shapes: &[&Shape]) -> bool {
    shapes.iter().enumerate().any(|(at, shape)| shapes[..at].contains(shape))
}

/// The position that a name says: `out0`, `output_0`, `arr_0`, `result0`, `0`.
fn place_of(name: &str, results: usize) -> Option<usize> {
    let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let word = name[..name.len() - number.len()].trim_end_matches(['_', '.', '-']);
    let is_numbered = matches!(word, "" | "out" | "output" | "arr" | "result");
    number.parse().ok().filter(|place| is_numbered && *place < results)
}

/// A note that arrays (first) were taken for values of the program (second) in their order; of one array there is no other way.
pub(crate) fn pairing_note(file: &str, pairs: &[(&str, &str)]) -> Option<String> {
    let told: Vec<String> = pairs.iter().take(8).map(|(name, value)| format!("{name}={value}")).collect();
    let more = if pairs.len() > 8 { ", ..." } else { "" };
    (pairs.len() > 1).then(|| {
        format!("no name of {file} fits, so its arrays are taken in their order: {}{more}; --map NAME=RESULT says it otherwise", told.join(", "))
    })
}

/// Bytes as codes of a float of eight bits, the form in which frameworks without the type save it (e8m0 scales as u8).
fn coded(dtype: DType, codes: &[u8]) -> Option<Data> {
    let is_of_eight_bits = dtype.format().is_some_and(|format| format.width() == 8);
    is_of_eight_bits.then(|| Data::Coded(dtype, codes.to_vec()))
}

/// An array of a recording in the type and dims of `shape`: of another type it is taken where every value fits, and
/// bytes are codes of floats of eight bits.
///
/// # Errors
/// If it has other dims, or a value that the type has not.
pub(super) fn take(given: &Recording, name: &str, shape: &Shape) -> Result<Tensor, RecordingError> {
    let tensor = given.array(name, shape.dtype())?;
    if Shape::array(tensor.dtype(), tensor.dims()) == *shape {
        return Ok(tensor);
    }
    let dtype = given.check_dims(name, &tensor, shape)?;
    if let Data::U8(codes) = tensor.data()
        && let Some(coded) = coded(dtype, codes)
    {
        return Ok(Tensor::new(shape.dims(), coded));
    }
    match tensor.data().exactly(dtype) {
        Ok(data) => Ok(Tensor::new(shape.dims(), data)),
        Err(unfit) => Err(given.unfit(name, &tensor, shape, unfit)),
    }
}
