//! Parameters of built-in programs.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::tensor::DType;

use super::{PROGRAMS, find_program};

/// One parameter of a program, for listings and checking.
#[derive(Debug)]
pub struct ParameterDoc {
    /// Its key, as in `name[KEY=value]`.
    pub name: &'static str,
    /// The value where none is given.
    pub default: &'static str,
    /// The only values allowed; empty where any value of the right kind is.
    pub choices: &'static [&'static str],
    /// Its meaning, for listings.
    pub doc: &'static str,
}

/// Why a parameter is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No built-in program has this name.
    #[error("unknown program `{name}`; {}", crate::name::hint(name, PROGRAMS.iter().map(|p| p.name())))]
    UnknownProgram {
        /// The name that was given.
        name: String,
    },
    /// The program has no such parameter.
    #[error("program {program} has no parameter `{key}`; {hint}")]
    UnknownKey {
        /// The program's name.
        program: &'static str,
        /// The key that was given.
        key: String,
        /// The nearest key that it has, or all of them.
        hint: String,
    },
    /// A parameter is given more than once.
    #[error("{program}: `{key}` is given twice")]
    Repeated {
        /// The program's name.
        program: &'static str,
        /// The key.
        key: String,
    },
    /// A parameter does not take this value.
    #[error("{program}: {key} = `{value}` is not {expected}")]
    BadValue {
        /// The program's name.
        program: &'static str,
        /// The parameter.
        key: String,
        /// The value that was given.
        value: String,
        /// The values that it takes, in words.
        expected: String,
    },
    /// A text that is no program with parameters.
    #[error("`{text}` is not of the form name[key=value,...]")]
    Malformed {
        /// The text that was given.
        text: String,
    },
}

/// The values given to a program's parameters; the others keep their default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parameters {
    pub(super) program: &'static str,
    pub(super) values: BTreeMap<String, String>,
}

impl Parameters {
    /// The value of a parameter, as text; empty where the program has no such parameter. The other methods read it, and
    /// fail where it is nothing of their kind.
    pub fn text(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(value) => value,
            None => {
                let built_in = find_program(self.program).into_iter().flat_map(|p| p.parameters());
                built_in.into_iter().find(|p| p.name == key).map_or("", |p| p.default)
            }
        }
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str) -> Result<bool, ParameterError> {
        self.parsed(key, "true or false")
    }

    /// A whole number from 0 on.
    pub fn size(&self, key: &str) -> Result<usize, ParameterError> {
        self.parsed(key, "a whole number")
    }

    /// A finite number.
    pub fn number(&self, key: &str) -> Result<f64, ParameterError> {
        let value: f64 = self.parsed(key, "a number")?;
        if value.is_finite() { Ok(value) } else { Err(self.bad(key, "a finite number")) }
    }

    /// A floating-point element type.
    pub fn float(&self, key: &str) -> Result<DType, ParameterError> {
        let dtype = DType::from_name(self.text(key)).filter(|d| d.is_float());
        dtype.ok_or_else(|| self.bad(key, "a floating-point type"))
    }

    /// Two sizes such as `nx4`, where `n` stands for the case's size.
    pub fn shape(&self, key: &str, n: usize) -> Result<[usize; 2], ParameterError> {
        let size = |text: &str| if text == "n" { Some(n) } else { text.parse().ok() };
        let (rows, columns) = self.text(key).split_once('x').unwrap_or(("", ""));
        match (size(rows), size(columns)) {
            (Some(rows), Some(columns)) => Ok([rows, columns]),
            _ => Err(self.bad(key, "two sizes such as nx4")),
        }
    }

    /// Sizes such as `4x2x4`, whose product is the case's size; `n` is one of them alone.
    pub fn extents(&self, key: &str, n: usize) -> Result<Vec<usize>, ParameterError> {
        let text = self.text(key);
        let sizes: Option<Vec<usize>> = match text {
            "n" => Some(vec![n]),
            _ => text.split('x').map(|size| size.parse().ok()).collect(),
        };
        let product = |sizes: &Vec<usize>| sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        let fitting = sizes.filter(|sizes| product(sizes) == Some(n));
        fitting.ok_or_else(|| self.bad(key, &format!("sizes such as 4x2x4 whose product is n = {n}")))
    }

    fn parsed<T: FromStr>(&self, key: &str, expected: &str) -> Result<T, ParameterError> {
        self.text(key).parse().map_err(|_| self.bad(key, expected))
    }

    pub(super) fn bad(&self, key: &str, expected: &str) -> ParameterError {
        ParameterError::BadValue {
            program: self.program,
            key: key.to_string(),
            value: self.text(key).to_string(),
            expected: expected.to_string(),
        }
    }
}
