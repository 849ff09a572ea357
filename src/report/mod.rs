//! Reports: pure functions of records.

mod csv;
mod markdown;
mod names;
mod summary;
mod write;

pub use self::csv::{GROWTH, Table, is_suite_report, parse};
pub use names::better_of;
pub use summary::{SuiteLine, reading, suite_lines};
pub use write::{ReportError, remove, write_all};

use crate::record::SuiteRecord;

/// A form that records are read in. Registered in [`REPORTS`].
pub trait Report: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, for listings.
    fn doc(&self) -> &'static str;

    /// The files that it makes of some suites, by name, in order. The same records give the same bytes.
    fn files(&self, suites: &[SuiteRecord]) -> Vec<File>;
}

/// A file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub text: String,
    /// Whether it is of one suite alone, and so stays right when others change.
    pub of_one_suite: bool,
}

/// All reports.
pub static REPORTS: &[&dyn Report] = &[&csv::Csv, &markdown::Markdown];

/// The files of all reports.
pub fn files(suites: &[SuiteRecord]) -> Vec<File> {
    REPORTS.iter().flat_map(|report| report.files(suites)).collect()
}
