//! Arguments of a program, and their rows, that inputs fill.

use crate::ir::{Instruction, Op, Program};
use crate::num::Format;
use crate::tensor::DType;

use super::spec::InputSpec;
use super::stream::Streams;
use super::{InputError, ParameterDoc};

/// One argument of a program.
///
/// An argument of rank 2 or more has one row for each index of its leading dim; of rank 0 or 1 it is a single row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name, in errors and bindings.
    pub name: String,
    /// Element type of the tensor.
    pub dtype: DType,
    /// Its dims; of the first argument, those of the rows asked for.
    pub dims: Vec<usize>,
}

impl Argument {
    /// The arguments of a program, in order of the parameters' numbers.
    pub fn of_program(program: &Program) -> Vec<Argument> {
        let argument = |i: &Instruction| match i.op {
            Op::Parameter(number) => {
                let argument =
                    Argument { name: i.name.clone(), dtype: i.shape.dtype()?, dims: i.shape.dims().to_vec() };
                Some((number, argument))
            }
            _ => None,
        };
        let mut numbered: Vec<(usize, Argument)> = program.entry().instructions.iter().filter_map(argument).collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, argument)| argument).collect()
    }

    /// The names that bindings find it by, as the parameter of this number: its own, that without the number which XLA puts
    /// behind it (`gate` of `gate.1`), and `arg0`, `arg1`, ...
    pub fn answers_to(&self, number: usize) -> Vec<String> {
        let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
        let plain = self.name.rsplit_once('.').filter(|(_, end)| is_number(end)).map(|(plain, _)| plain.to_string());
        std::iter::once(self.name.clone()).chain(plain).chain([format!("arg{number}")]).collect()
    }

    /// Rows that have a stream of their own.
    pub fn rows(&self) -> usize {
        if self.dims.len() < 2 { 1 } else { self.dims[0] }
    }

    /// The number of elements along the last dim, which a distribution fills at a time; 1 for a scalar.
    pub fn width(&self) -> usize {
        self.dims.last().copied().unwrap_or(1)
    }

    /// Number of elements, if their f64 values can be addressed.
    pub(super) fn elements(&self) -> Result<usize, InputError> {
        let product = self.dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
        product
            .filter(|n| *n <= isize::MAX as usize / 8)
            .ok_or_else(|| InputError::TooLarge { argument: self.name.clone(), dims: self.dims.clone() })
    }
}

/// The row that a distribution is to fill.
pub struct Row<'a> {
    /// Distribution and parameters.
    pub spec: &'a InputSpec,
    /// All arguments of the program.
    pub arguments: &'a [Argument],
    /// The number of the row's argument.
    pub argument: usize,
    /// Index along the argument's leading dim. The rows of a higher-rank argument that share it are filled in order.
    pub index: u64,
    /// The format that the values will be rounded to.
    pub format: &'static Format,
    /// For values that several rows share.
    pub streams: &'a Streams,
}

impl Row<'_> {
    /// The value of a parameter.
    pub fn get(&self, parameter: &ParameterDoc) -> f64 {
        self.spec.get(parameter)
    }
}
