//! A function of the user's own.

use crate::machine::Mode;
use crate::tensor::Tensor;

use super::{Call, Subject, SubjectError};

/// Error of such a function.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A function that computes a program's results.
pub struct Function<F> {
    name: String,
    promise: Mode,
    function: F,
}

impl<F: Fn(&Call) -> Result<Vec<Tensor>, Failure> + Send + Sync> Function<F> {
    /// `name` is its id; `promise` the arithmetic that it is judged by.
    pub fn new(name: impl Into<String>, promise: Mode, function: F) -> Function<F> {
        Function { name: name.into(), promise, function }
    }
}

impl<F: Fn(&Call) -> Result<Vec<Tensor>, Failure> + Send + Sync> Subject for Function<F> {
    fn id(&self) -> String {
        self.name.clone()
    }

    fn promise(&self) -> &Mode {
        &self.promise
    }

    fn run(&self, call: &Call) -> Result<Vec<Tensor>, SubjectError> {
        (self.function)(call).map_err(|why| SubjectError::Failed { subject: self.id(), why: why.to_string() })
    }
}
