//! Keys of records: a case, or a series of cases.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::suite::Case;

/// The key that distinguishes one case from all others. Every part is the text that suites and the command line take.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The suite's name: the stem of its file.
    pub suite: String,
    /// `program[key=value,...]`.
    pub program: String,
    /// The subject that is judged ([`crate::subject::Subject::id`]); for an emulated machine, its mode
    /// `chip/precision/excess[+refinement...]`.
    pub subject: String,
    /// `distribution[key=value,...]`.
    pub input: String,
    /// The size, which the program maps to shapes.
    pub n: u64,
    /// Rows evaluated. Not part of the id: `program` holds them where they are not 1.
    pub rows: u64,
    /// Tells repetitions of the case with other input bits apart.
    pub seed: u64,
}

/// A series of cases, which differ in size alone: a [`Key`] without size and rows.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As [`Key::suite`].
    pub suite: String,
    /// As [`Key::program`].
    pub program: String,
    /// As [`Key::subject`].
    pub subject: String,
    /// As [`Key::input`].
    pub input: String,
    /// As [`Key::seed`].
    pub seed: u64,
}

impl Key {
    /// The key of a case.
    pub fn of(case: &Case) -> Key {
        let problem = &case.problem;
        Key {
            suite: problem.suite.clone(),
            program: problem.program.to_string(),
            subject: case.subject.id(),
            input: problem.input.to_string(),
            n: problem.n as u64,
            rows: problem.program.rows as u64,
            seed: problem.seed,
        }
    }

    /// The series that the case belongs to.
    pub fn series(&self) -> Series {
        let Key { suite, program, subject, input, seed, .. } = self.clone();
        Series { suite, program, subject, input, seed }
    }
}

/// The case's id: `suite/program/subject/input/n/seed`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { suite, program, subject, input, n, seed, .. } = self;
        write!(f, "{suite}/{program}/{subject}/{input}/{n}/{seed}")
    }
}

/// The id of its cases with `n` in the place of the size.
impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Series { suite, program, subject, input, seed } = self;
        write!(f, "{suite}/{program}/{subject}/{input}/n/{seed}")
    }
}
