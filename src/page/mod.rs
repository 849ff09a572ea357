//! The page: all that is known of a run in one HTML file that needs nothing else, for whoever decides whether a numerics
//! change is accepted.
//!
//! [`page()`] is a pure function of records, of what changed against a baseline, and of the precision flows of the programs
//! that suites take from files; the same of these gives the same bytes. Markup is maud's, which escapes what it is given,
//! and charts are plotters'. The page holds no figure that records do not hold.

mod alarms;
mod axis;
mod bounds;
mod cases;
mod chart;
mod differences;
mod frame;
mod growth_charts;
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

/// What `ulpgate list` says of it, and the name of the form for `ulpgate report --format`.
pub const FORM: (&str, &str) = (
    "html",
    "index.html: one page that needs nothing else: what changed, findings with their witnesses, charts, every case.",
);

/// What a page is made of.
pub struct Content<'a> {
    /// The records of all suites, in their order.
    pub suites: &'a [SuiteRecord],
    /// What changed; `None` where there was nothing to compare with, or nothing to tell of it.
    pub changes: Option<Changes<'a>>,
    /// The precision flows of programs that suites take from files.
    pub flows: &'a [ProgramFlow],
}

/// How the records' reports differ from others.
pub struct Changes<'a> {
    /// What the baseline is called: its folder.
    pub baseline: &'a str,
    /// As the gate tells them.
    pub differences: &'a [Difference],
}

/// The page as HTML.
pub fn page(content: &Content) -> String {
    frame::document(content).into_string()
}
