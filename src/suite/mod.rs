//! Suites: TOML files that each make one claim, and the cases they stand for.
//!
//! `table` is the shape of a file, `load` looks up its names and multiplies its matrices out, `file` reads the HLO
//! files that it names, and `case` is what comes of it. `suites/matmul-growth.toml` is the commented template.

mod case;
mod files;
mod load;
mod table;

pub use case::{Case, PlannedCheck, PlannedFit, PlannedMetric, Problem};
pub use load::{Suite, SuiteError, load, load_folder};
pub use table::Expect;
