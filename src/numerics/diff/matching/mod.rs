//! The values of two programs side by side, and what differs between those that belong together.
//!
//! [`Pair`] finds the counterpart of each value. Of values that have one, `readings`, `scaled_back`, `constants` and
//! `selections` say what differs; of values that only names or results pair, `disagreements` and `edits` do.

mod constants;
mod disagreements;
mod edits;
mod loop_operations;
mod program_pair;
mod readings;
mod scaled_back;
mod selections;
mod steps;

pub use constants::{StoredConstant, find_stored};
pub use disagreements::{PairDisagreement, disagreements};
pub use edits::{Edit, find_edits};
pub use loop_operations::differences;
pub use program_pair::Pair;
pub use readings::{Readings, ValueReader, Width, bounds, common_readings, readings, way};
pub use scaled_back::{ScaledBack, find_scaled_back};
pub use selections::{SelectionChange, find_selections};
pub use steps::without_steps;
