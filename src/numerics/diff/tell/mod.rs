//! Words for differences: nothing outside of this folder makes text, and nothing here decides what differs.
//!
//! A [`StateChange`] holds the typed states of both programs (`state`), whose words are in `form_text` and `making_text`;
//! `operation_text` and `edit_text` name two operations so that their words tell them apart.

mod affected_results;
mod collectives;
mod describe;
mod edit_text;
mod form_text;
mod labels;
mod making_text;
mod not_understood;
mod operation_text;
mod settings;
mod state;

pub use affected_results::reach;
pub use collectives::find_plans;
pub use edit_text::edit_texts;
pub use not_understood::find_unknown;
pub use operation_text::operation_texts;
pub use settings::find_settings;
pub use state::{RoundedBy, SeenBy, State, StateChange};
