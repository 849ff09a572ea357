//! The page: all that is known of a run in one HTML file that needs nothing else, for a person who decides whether a
//! numerics change is accepted.
//!
//! [`page()`] is a pure function of records, of their changes against a baseline, and of the precision flows of the
//! programs that suites take from files: equal inputs give equal bytes. Markup is maud's, which escapes its contents,
//! and charts are plotters'. The page holds no figure that records do not hold.

mod alarms;
mod axis;
mod bounds;
mod cases;
mod chart;
mod differences;
mod frame;
mod growth_charts;
mod headlines;
mod known_findings;
mod program_flow;
mod rates;
mod recalls;
mod words;

pub use program_flow::{ProgramFlow, program_flows};

use crate::gate::Difference;
use crate::record::SuiteRecord;

/// The page's name in a folder of reports.
pub const NAME: &str = "index.html";

/// Name of the form for `ulpgate report --format`, and its documentation in `ulpgate list`.
pub const FORM: (&str, &str) = (
    "html",
    "index.html: one page that needs nothing else: what changed, findings with their witnesses, charts, every case.",
);

/// The content of a page.
pub struct Content<'a> {
    /// The records of all suites, in their order.
    pub suites: &'a [SuiteRecord],
    /// The commit that the suites are of, with its date, in words; `None` where there is none.
    pub commit: Option<&'a str>,
    /// The changes; `None` if there was nothing to compare with, or nothing to tell of it.
    pub changes: Option<Changes<'a>>,
    /// The precision flows of programs that suites take from files.
    pub flows: &'a [ProgramFlow],
}

/// The differences of the records' reports from a baseline.
pub struct Changes<'a> {
    /// The name of the baseline: its folder.
    pub baseline: &'a str,
    /// As the gate tells them.
    pub differences: &'a [Difference],
}

/// The page as HTML.
pub fn page(content: &Content) -> String {
    frame::document(content).into_string()
}
