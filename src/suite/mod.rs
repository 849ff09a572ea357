//! Suites: TOML files that each make one claim, and the cases they stand for.

mod case;
mod file;
mod load;
mod table;

pub use case::{Case, PlannedCheck, PlannedFit, PlannedMetric, Subject};
pub use load::{Suite, SuiteError, load, load_folder};
pub use table::Expect;
