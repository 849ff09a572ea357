//! Suites: TOML files that each make one claim, and the cases they stand for.
//!
//! `table` is the shape of a file, `expand` looks up its names and multiplies its matrices out, `files` reads the HLO
//! files that it names, and `case` is the result. `suites/matmul-growth.toml` is the commented template.

mod case;
mod error;
mod expand;
mod files;
mod load;
mod table;

pub use case::{Asked, Case, PlannedCheck, PlannedFit, PlannedMetric, Problem};
pub use error::SuiteError;
pub use files::is_file;
pub(crate) use load::fingerprint;
pub use load::{NameError, Suite, check_name, load, load_folder};
pub use table::{Expect, TruthType};
