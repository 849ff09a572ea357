//! Reports: files that people and the gate read, as pure functions of records.
//!
//! [`REPORTS`] lists the forms, [`files`] makes them and [`write_all`] writes them. [`parse`] reads a CSV back and
//! [`direction_of`] says which way a change in its columns counts; both serve the gate. [`suite_lines`] and
//! [`read_out`] are the words that the terminal and `SUMMARY.md` share; [`findings`] are what stops a run or a gate.

mod column_docs;
mod csv;
mod direction;
mod growth_tables;
mod growths;
mod markdown;
mod names;
mod pool;
mod said;
mod summary;
mod unexpected;
mod write;

pub use self::csv::{Row, Table, TableError, is_derived, is_standing, is_suite_report, parse};
pub use column_docs::{COLUMNS, ColumnDoc};
pub use direction::ColumnDirection;
pub use growths::{GrowthPoint, MetricGrowth, PowerLaw, growths};
pub use names::direction_of;
pub use pool::{Pool, Rate, pools};
pub use said::{heaviest, said};
pub use summary::{SuiteLine, Total, read_out, suite_lines, total};
pub use unexpected::{Unexpected, findings};
pub use write::{ReportError, remove, write_all};

use crate::record::SuiteRecord;

/// A form that records are read in. Registered in [`REPORTS`].
pub trait Report: Sync {
    /// The name that `ulpgate list` shows, such as `csv`.
    fn name(&self) -> &'static str;

    /// The files that it makes and their contents, for listings.
    fn doc(&self) -> &'static str;

    /// The files that it makes of some suites, in their order. The same records give the same bytes.
    fn files(&self, suites: &[SuiteRecord]) -> Vec<File>;
}

/// A file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file's name in the folder of reports, such as `growth.csv`.
    pub name: String,
    /// Its whole text.
    pub text: String,
    /// The suites that it covers, and so the runs after which it is right.
    pub covers: Covers,
}

/// The suites that a file of a report covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// One suite alone: it stays right when others change.
    OneSuite,
    /// Each suite in rows of its own: those that are there are right.
    EachSuite,
    /// All suites together: right if all of them ran, wholly.
    AllTogether,
}

/// All reports, in the order in which their files are made.
pub static REPORTS: &[&dyn Report] = &[&csv::Csv, &markdown::Markdown];

/// The files of all reports of some suites.
pub fn files(suites: &[SuiteRecord]) -> Vec<File> {
    REPORTS.iter().flat_map(|report| report.files(suites)).collect()
}
