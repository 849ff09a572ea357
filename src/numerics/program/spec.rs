//! Programs as suites name them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::ir::Program;

use super::{BuildError, BuiltIn, Imported, ParameterError, Parameters, find_program};

/// A program that cases evaluate: a built-in one with its parameters, or a file's.
///
/// Displayed as in case ids: `name[key=value,...]`, keys sorted, defaults omitted; a file by its name without its folder.
#[derive(Clone)]
pub struct ProgramSpec {
    source: Source,
    /// Rows of the first argument, written as the parameter `rows`, which every program takes; 1 if omitted. A file's
    /// program takes a fixed number of them at a time, so these are a multiple of it.
    pub rows: usize,
}

#[derive(Clone)]
enum Source {
    BuiltIn(&'static dyn BuiltIn, Parameters),
    File(Arc<Imported>),
}

impl ProgramSpec {
    /// Checks names and choices; values equal to their default are dropped.
    pub fn new(name: &str, values: impl IntoIterator<Item = (String, String)>) -> Result<ProgramSpec, ParameterError> {
        let built_in = find_program(name).ok_or_else(|| ParameterError::UnknownProgram { name: name.to_string() })?;
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
        let parameters = Parameters { program: built_in.name(), values: kept };
        Ok(ProgramSpec { source: Source::BuiltIn(built_in, parameters), rows })
    }

    /// A file's program, over the rows that it takes at a time.
    pub fn from_file(file: Arc<Imported>) -> ProgramSpec {
        ProgramSpec { rows: file.rows(), source: Source::File(file) }
    }

    /// The same program over another number of rows.
    pub fn over(&self, rows: usize) -> ProgramSpec {
        ProgramSpec { rows, source: self.source.clone() }
    }

    /// Whether two specs build the same programs, whatever their rows.
    pub fn is_same_program(&self, other: &ProgramSpec) -> bool {
        match (&self.source, &other.source) {
            (Source::BuiltIn(a, of_a), Source::BuiltIn(b, of_b)) => a.name() == b.name() && of_a == of_b,
            (Source::File(a), Source::File(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }

    /// The file's program, where it is one.
    pub fn file(&self) -> Option<&Arc<Imported>> {
        match &self.source {
            Source::BuiltIn(..) => None,
            Source::File(file) => Some(file),
        }
    }

    /// Its description: the function that it computes.
    pub fn doc(&self) -> String {
        match &self.source {
            Source::BuiltIn(built_in, _) => built_in.doc().to_string(),
            Source::File(file) => file.doc(),
        }
    }

    /// The program for size `n` over `rows` rows (all of them, or a few at a time if rows are independent).
    pub fn build(&self, n: usize, rows: usize) -> Result<Program, BuildError> {
        match &self.source {
            Source::BuiltIn(built_in, parameters) => built_in.build(parameters, n, rows),
            Source::File(file) => fixed(file, n, rows).map(|()| file.program().clone()),
        }
    }

    /// The program of the scores that tokens are ranked by ([`BuiltIn::scores`]).
    pub fn scores(&self, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        match &self.source {
            Source::BuiltIn(built_in, parameters) => built_in.scores(parameters, n, rows),
            Source::File(file) => fixed(file, n, rows).map(|()| file.scores().cloned()),
        }
    }

    /// The number of rows that are evaluated at a time ([`BuiltIn::batch`]).
    pub fn batch(&self, n: usize) -> usize {
        match &self.source {
            Source::BuiltIn(built_in, _) => built_in.batch(n, self.rows).clamp(1, self.rows),
            Source::File(file) => file.rows(),
        }
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
        let mut pairs: Vec<String> = match &self.source {
            Source::BuiltIn(built_in, parameters) => {
                f.write_str(built_in.name())?;
                parameters.values.iter().map(|(k, v)| format!("{k}={v}")).collect()
            }
            Source::File(file) => {
                f.write_str(&file.name)?;
                Vec::new()
            }
        };
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

/// A file's program exists for its own shapes only.
fn fixed(file: &Imported, n: usize, rows: usize) -> Result<(), BuildError> {
    if n == file.n() && rows == file.rows() {
        return Ok(());
    }
    Err(BuildError::Fixed { file: file.path.display().to_string(), n: file.n(), rows: file.rows() })
}
