//! Facts about one instruction of a file: its settings, and whether it has a meaning here.

mod asked;
pub mod unless_known;
