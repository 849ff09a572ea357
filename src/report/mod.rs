//! Reports: pure functions of records.

mod csv;
mod names;
mod summary;
mod write;

pub use csv::{Table, growth_csv, is_suite_report, parse, suite_csv};
pub use names::better_of;
pub use summary::{SuiteLine, reading, suite_lines, summary_markdown};
pub use write::{ReportError, remove, write_all};

use crate::run::{FitRecord, Record};
use crate::suite::Suite;

/// Everything that a report is made of.
pub struct Results<'a> {
    pub suites: &'a [Suite],
    pub records: &'a [Record],
    pub fits: &'a [FitRecord],
}

impl Results<'_> {
    /// The records of one suite, sorted by case.
    pub fn of<'a>(&'a self, suite: &'a str) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |r| r.suite == suite)
    }

    /// All report files of these results, by name, in order.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = self
            .suites
            .iter()
            .filter(|s| self.of(&s.name).next().is_some())
            .map(|s| (format!("{}.csv", s.name), suite_csv(&self.of(&s.name).collect::<Vec<_>>())))
            .collect();
        files.push(("growth.csv".to_string(), growth_csv(self.fits)));
        files.push(("SUMMARY.md".to_string(), summary_markdown(self)));
        files
    }
}
