//! Errors of suite files, each with its place.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An error of a suite file, with its place.
#[derive(Debug)]
pub struct SuiteError {
    /// The suite's file, or the folder of suites.
    pub path: PathBuf,
    /// Line and column, from 1; `None` for the file as a whole.
    pub at: Option<(usize, usize)>,
    /// The error, and the correction if it is known.
    pub why: String,
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl std::error::Error for SuiteError {}

/// A suite's file while it is read.
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// Line and column of a place.
    pub fn position(&self, span: Range<usize>) -> (usize, usize) {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }

    /// An error at a place.
    pub fn error(&self, span: Range<usize>, why: impl ToString) -> SuiteError {
        // Defaults have no place in the file.
        let at = (span.end > 0).then(|| self.position(span));
        SuiteError { path: self.path.to_path_buf(), at, why: why.to_string() }
    }
}
