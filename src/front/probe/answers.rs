//! Answers: what a machine gave to questions, read from a file or emulated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::file::npz;
use crate::file::safetensors::{self, FileError};
use crate::machine::Mode;
use crate::name::hint;
use crate::subject;
use crate::tensor::{DType, Data, Tensor};

use super::ProbeError;
use super::device_order;
use super::probe_question::Question;

/// The name under which a file says what answered, as its bytes.
pub(super) const ABOUT: &str = "about";

/// Answers to questions, by the questions' names.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// A description of what answered, as the script saved it: versions and device. Empty where the file has none.
    pub about: String,
    /// The answers.
    pub tensors: BTreeMap<String, Tensor>,
}

/// Why a file is no file of answers.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// It could not be read, or is no file of arrays.
    #[error("{0}; `ulpgate probe --out DIR` writes the scripts that save answers.npz")]
    File(#[from] FileError),
    /// An answer is to no question.
    #[error("{}: no question is called `{name}`; {hint}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The nearest name.
        hint: String,
    },
    /// An answer has other dims than its question's.
    #[error("{}: the answer `{name}` has dims {found:?}, and its question has {expected:?}", path.display())]
    Dims {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The dims that it has.
        found: Vec<usize>,
        /// The dims that it must have.
        expected: Vec<usize>,
    },
    /// An answer is of another type than its question's.
    #[error("{}: the answer `{name}` is of {found}, and its question's of {expected}", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The type that it has.
        found: &'static str,
        /// The type that it must have.
        expected: &'static str,
    },
    /// It answers nothing.
    #[error("{}: it has no answer", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Answers {
    /// The answers in a `.npz` or `.safetensors` file; some of the questions may be left out.
    ///
    /// # Errors
    /// If the file cannot be read, or holds an array that answers no question.
    pub fn read(path: &Path, questions: &[Question]) -> Result<Answers, ProbeError> {
        let arrays = if path.extension().is_some_and(|end| end == "safetensors") {
            safetensors::read(path).map_err(AnswersError::File)?
        } else {
            npz::read(path).map_err(AnswersError::File)?
        };
        let mut answers = Answers { about: String::new(), tensors: BTreeMap::new() };
        for (name, tensor) in arrays {
            if let (ABOUT, Data::U8(bytes)) = (name.as_str(), tensor.data()) {
                answers.about = String::from_utf8_lossy(bytes).into_owned();
                continue;
            }
            if let Some(tiles) = device_order::MESSAGES.into_iter().find(|tiles| device_order::name(*tiles) == name)
                && tensor.dtype() == DType::F32
            {
                let asked = tensor.dims().first().copied().unwrap_or(0).max(1);
                if tensor.dims() != [asked, tiles] {
                    let (found, expected) = (tensor.dims().to_vec(), vec![asked, tiles]);
                    return Err(AnswersError::Dims { path: path.to_path_buf(), name, found, expected }.into());
                }
                answers.tensors.insert(name, tensor);
                continue;
            }
            let Some(question) = questions.iter().find(|question| question.name == name) else {
                let hint = hint(&name, questions.iter().map(|question| question.name.as_str()));
                return Err(AnswersError::Unknown { path: path.to_path_buf(), name, hint }.into());
            };
            let program = question.program()?;
            let shape = program.outputs().into_iter().next().map(|id| &program.entry().instructions[id].shape);
            let (expected, dtype) = shape.map_or((Vec::new(), None), |shape| (shape.dims().to_vec(), shape.dtype()));
            if expected != tensor.dims() {
                let found = tensor.dims().to_vec();
                return Err(AnswersError::Dims { path: path.to_path_buf(), name, found, expected }.into());
            }
            if let Some(dtype) = dtype.filter(|dtype| *dtype != tensor.dtype()) {
                let (found, expected) = (tensor.dtype().name(), dtype.name());
                return Err(AnswersError::Type { path: path.to_path_buf(), name, found, expected }.into());
            }
            answers.tensors.insert(name, tensor);
        }
        match answers.tensors.is_empty() {
            true => Err(AnswersError::Empty { path: path.to_path_buf() }.into()),
            false => Ok(answers),
        }
    }

    /// The answers of the emulated machine in a mode.
    ///
    /// # Errors
    /// If a question is no program that the machine takes, which is a defect of this project.
    pub fn of(mode: &Mode, questions: &[Question]) -> Result<Answers, ProbeError> {
        let each = questions.iter().map(|question| Ok((question.name.clone(), answer_as(question, mode)?)));
        Ok(Answers { about: mode.to_string(), tensors: each.collect::<Result<_, ProbeError>>()? })
    }

    /// The numbers of an answer of floats.
    pub fn floats(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.tensors.get(name)?.data().to_f32s())
    }

    /// The bytes of a `.npz` file that holds them.
    ///
    /// # Errors
    /// If an answer has a type that no such file of ours has.
    pub fn to_npz(&self) -> Result<Vec<u8>, String> {
        let about = Tensor::new(&[self.about.len()], Data::U8(self.about.clone().into_bytes()));
        let mut arrays = vec![(ABOUT.to_string(), about)];
        arrays.extend(self.tensors.iter().map(|(name, tensor)| (name.clone(), tensor.clone())));
        npz::write(&arrays)
    }
}

/// Whether two answers are equal bit for bit; one NaN is as good as another.
pub(super) fn is_equal(one: &Tensor, other: &Tensor) -> bool {
    let bits = |tensor: &Tensor, at: usize| match tensor.data() {
        Data::F32(values) if values[at].is_nan() => u64::from(f32::NAN.to_bits()),
        data => data.bits(at),
    };
    one.dims() == other.dims()
        && one.dtype() == other.dtype()
        && (0..one.len()).all(|at| bits(one, at) == bits(other, at))
}

/// The answer of the emulated machine in a mode.
///
/// # Errors
/// If the question is no program that the machine takes, which is a defect of this project.
pub fn answer_as(question: &Question, mode: &Mode) -> Result<Tensor, ProbeError> {
    let fail = |why: String| ProbeError::Question { question: question.name.clone(), why };
    let results = subject::evaluate(&question.program()?, mode, &question.arguments());
    let result = results.map_err(|error| fail(error.to_string()))?.into_iter().next();
    result.ok_or_else(|| fail("it has no result".to_string()))
}
