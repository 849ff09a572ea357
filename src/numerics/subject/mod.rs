//! Subjects of a judgement: anything that gives a program's results.
//!
//! - [`Emulated`]: the machine in one mode, with the program rewritten as the mode's excess policy says.
//! - [`Recorded`]: results that something else computed, from a file.
//! - [`Function`]: a function of the user's own.

mod emulated;
mod function;
mod recorded;

use crate::ir::{Program, Shape};
use crate::machine::{EvalError, Mode};
use crate::tensor::Tensor;

pub use emulated::{Emulated, compile, evaluate, evaluate_declared, order_sensitive};
pub use function::{Failure, Function};
pub use recorded::{Recorded, RecordedError};

/// A judged source of results.
pub trait Subject: Send + Sync {
    /// Its name in ids and reports. For an emulated machine its mode: `chip/precision/excess[+refinement...]`.
    fn id(&self) -> String;

    /// The arithmetic that it claims to follow: checks judge it by the bounds of this mode.
    fn promise(&self) -> &Mode;

    /// The mode, if the subject is nothing but the emulated machine in it: then cases share work.
    fn emulated(&self) -> Option<&Mode> {
        None
    }

    /// Whether it computes any program for any arguments; false if it only holds results that were computed once.
    fn computes(&self) -> bool {
        true
    }

    /// The program's results, one an output and of its shape.
    ///
    /// # Errors
    /// If the subject cannot give them.
    fn run(&self, call: &Call) -> Result<Vec<Tensor>, SubjectError>;
}

/// A request to a subject.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The declared program.
    pub program: &'a Program,
    /// One tensor a parameter.
    pub arguments: &'a [Tensor],
    /// The number of the first row among all rows of the case, which come in batches.
    pub first_row: usize,
}

/// Why a subject has no results.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The machine does not support the program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// Results of another number or shape than the program declares.
    #[error("{subject} gives {given} for result {output}, which is {expected}")]
    Shape {
        /// The subject's id.
        subject: String,
        /// The result's name.
        output: String,
        /// The given shape, or `nothing`.
        given: String,
        /// The declared shape.
        expected: String,
    },
    /// A recorded result that does not fit.
    #[error(transparent)]
    Recorded(Box<RecordedError>),
    /// A function's own error.
    #[error("{subject}: {why}")]
    Failed {
        /// The subject's id.
        subject: String,
        /// The function's error, in words.
        why: String,
    },
}

impl From<RecordedError> for SubjectError {
    fn from(error: RecordedError) -> SubjectError {
        SubjectError::Recorded(Box::new(error))
    }
}

/// The results of [`Subject::run`], checked against the shapes that the program declares.
///
/// # Errors
/// As [`Subject::run`], and if a result is missing, one too many, or of another shape.
pub fn results(subject: &dyn Subject, call: &Call) -> Result<Vec<Tensor>, SubjectError> {
    let results = subject.run(call)?;
    let entry = call.program.entry();
    let shapes: Vec<&Shape> = call.program.outputs().iter().map(|id| &entry.instructions[*id].shape).collect();
    for at in 0..shapes.len().max(results.len()) {
        let given = results.get(at).map(|tensor| Shape::array(tensor.dtype(), tensor.dims()));
        if given.as_ref() != shapes.get(at).copied() {
            return Err(SubjectError::Shape {
                subject: subject.id(),
                output: call.program.output_names.get(at).map_or(format!("{at}"), String::clone),
                given: given.map_or("nothing".to_string(), |shape| shape.to_string()),
                expected: shapes.get(at).map_or("not there".to_string(), |shape| shape.to_string()),
            });
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;
    use crate::tensor::{DType, Data};

    /// Results are as many as the program has, each of its type and dims.
    #[test]
    fn results_that_do_not_fit_are_named() {
        let mut b = Builder::new("two");
        let x = b.parameter("x", DType::F32, &[2, 3]).unwrap();
        let program = b.finish(&[("first", x), ("second", x)]).unwrap();
        let whole = Tensor::new(&[2, 3], Data::F32(vec![0.0; 6]));
        let turned = Tensor::new(&[3, 2], Data::F32(vec![0.0; 6]));
        let narrow = Tensor::new(&[2, 3], Data::from_f64s(DType::BF16, &[0.0; 6]).unwrap());
        let given = |results: Vec<Tensor>| {
            let mode: Mode = "cpu/f32/off".parse().unwrap();
            let subject = Function::new("mine", mode, move |_: &Call| Ok(results.clone()));
            let call = Call { program: &program, arguments: &[], first_row: 0 };
            super::results(&subject, &call).map(|results| results.len()).map_err(|error| error.to_string())
        };
        assert_eq!(given(vec![whole.clone(), whole.clone()]), Ok(2));
        for (results, wrong) in [
            (vec![whole.clone()], "mine gives nothing for result second, which is f32[2,3]"),
            (vec![], "mine gives nothing for result first, which is f32[2,3]"),
            (vec![whole.clone(); 3], "mine gives f32[2,3] for result 2, which is not there"),
            (vec![whole.clone(), turned], "mine gives f32[3,2] for result second, which is f32[2,3]"),
            (vec![narrow, whole.clone()], "mine gives bf16[2,3] for result first, which is f32[2,3]"),
        ] {
            assert_eq!(given(results).unwrap_err(), wrong);
        }
    }
}
