//! Parameters of built-in programs: `name[key=value,...]`, keys sorted, defaults omitted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::ir::Program;
use crate::tensor::DType;

use super::{BuildError, BuiltIn, PROGRAMS, program_named};

/// One parameter of a program, for listings and checking.
#[derive(Debug)]
pub struct ParameterDoc {
    pub name: &'static str,
    pub default: &'static str,
    /// The only values allowed; empty where any value of the right kind is.
    pub choices: &'static [&'static str],
    pub doc: &'static str,
}

/// Why a parameter is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    #[error("unknown program `{name}`; {}", crate::name::hint(name, PROGRAMS.iter().map(|p| p.name())))]
    UnknownProgram { name: String },
    #[error("program {program} has no parameter `{key}`; {hint}")]
    UnknownKey { program: &'static str, key: String, hint: String },
    #[error("{program}: `{key}` is given twice")]
    Repeated { program: &'static str, key: String },
    #[error("{program}: {key} = `{value}` is not {expected}")]
    BadValue { program: &'static str, key: String, value: String, expected: String },
    #[error("`{text}` is not of the form name[key=value,...]")]
    Malformed { text: String },
}

/// The values given to a program's parameters; the others keep their default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parameters {
    program: &'static str,
    values: BTreeMap<String, String>,
}

/// A program with its parameters.
#[derive(Clone)]
pub struct ProgramSpec {
    pub built_in: &'static dyn BuiltIn,
    pub parameters: Parameters,
    /// Rows of the first argument, written as the parameter `rows`, which every program takes; 1 if omitted.
    pub rows: usize,
}

impl ProgramSpec {
    /// Checks names and choices; values equal to their default are dropped.
    pub fn new(name: &str, values: impl IntoIterator<Item = (String, String)>) -> Result<ProgramSpec, ParameterError> {
        let built_in = program_named(name).ok_or_else(|| ParameterError::UnknownProgram { name: name.to_string() })?;
        let mut kept = BTreeMap::new();
        let mut rows = 1;
        let mut seen = BTreeSet::new();
        for (key, value) in values {
            if !seen.insert(key.clone()) {
                return Err(ParameterError::Repeated { program: built_in.name(), key });
            }
            if key == "rows" {
                let bad = |expected: &str| ParameterError::BadValue {
                    program: built_in.name(),
                    key: key.clone(),
                    value: value.clone(),
                    expected: expected.to_string(),
                };
                rows = value.parse().ok().filter(|r| *r > 0).ok_or_else(|| bad("a number from 1 on"))?;
                continue;
            }
            let Some(doc) = built_in.parameters().iter().find(|p| p.name == key) else {
                let names: Vec<_> = built_in.parameters().iter().map(|p| p.name).chain(["rows"]).collect();
                let hint = crate::name::hint(&key, names.iter().copied());
                return Err(ParameterError::UnknownKey { program: built_in.name(), key, hint });
            };
            if !doc.choices.is_empty() && !doc.choices.contains(&value.as_str()) {
                let expected = format!("one of {}", doc.choices.join(", "));
                return Err(ParameterError::BadValue { program: built_in.name(), key, value, expected });
            }
            if value != doc.default {
                kept.insert(key, value);
            }
        }
        Ok(ProgramSpec { built_in, parameters: Parameters { program: built_in.name(), values: kept }, rows })
    }

    /// The program for size `n` over `rows` rows (all of them, or a few at a time where rows stand by themselves).
    pub fn build(&self, n: usize, rows: usize) -> Result<Program, BuildError> {
        self.built_in.build(&self.parameters, n, rows)
    }

    /// The program of the scores that tokens are ranked by ([`BuiltIn::scores`]).
    pub fn scores(&self, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        self.built_in.scores(&self.parameters, n, rows)
    }

    /// How many rows are evaluated at a time ([`BuiltIn::batch`]).
    pub fn batch(&self, n: usize) -> usize {
        self.built_in.batch(n, self.rows).clamp(1, self.rows)
    }
}

impl FromStr for ProgramSpec {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<ProgramSpec, ParameterError> {
        let malformed = || ParameterError::Malformed { text: text.to_string() };
        let (name, rest) = text.split_once('[').unwrap_or((text, "]"));
        let list = rest.strip_suffix(']').ok_or_else(malformed)?;
        let mut values = Vec::new();
        for pair in list.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(malformed)?;
            values.push((key.to_string(), value.to_string()));
        }
        ProgramSpec::new(name, values)
    }
}

impl fmt::Display for ProgramSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.built_in.name())?;
        let mut pairs: Vec<String> = self.parameters.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        if self.rows != 1 {
            pairs.push(format!("rows={}", self.rows));
        }
        pairs.sort();
        if pairs.is_empty() { Ok(()) } else { write!(f, "[{}]", pairs.join(",")) }
    }
}

impl fmt::Debug for ProgramSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramSpec({self})")
    }
}

impl Parameters {
    /// The value of a parameter, as text.
    pub fn text(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(value) => value,
            None => {
                let built_in = program_named(self.program).into_iter().flat_map(|p| p.parameters());
                built_in.into_iter().find(|p| p.name == key).map_or("", |p| p.default)
            }
        }
    }

    pub fn flag(&self, key: &str) -> Result<bool, ParameterError> {
        self.parsed(key, "true or false")
    }

    pub fn size(&self, key: &str) -> Result<usize, ParameterError> {
        self.parsed(key, "a whole number")
    }

    pub fn number(&self, key: &str) -> Result<f64, ParameterError> {
        let value: f64 = self.parsed(key, "a number")?;
        if value.is_finite() { Ok(value) } else { Err(self.bad(key, "a finite number")) }
    }

    /// A floating-point element type.
    pub fn float(&self, key: &str) -> Result<DType, ParameterError> {
        let dtype = DType::named(self.text(key)).filter(|d| d.is_float());
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

    fn parsed<T: FromStr>(&self, key: &str, expected: &str) -> Result<T, ParameterError> {
        self.text(key).parse().map_err(|_| self.bad(key, expected))
    }

    fn bad(&self, key: &str, expected: &str) -> ParameterError {
        ParameterError::BadValue {
            program: self.program,
            key: key.to_string(),
            value: self.text(key).to_string(),
            expected: expected.to_string(),
        }
    }
}
