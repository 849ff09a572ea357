//! Facts about one instruction of a file: its settings, whether it has a meaning here, and where f64 begins.

mod asked;
pub mod first_double;
pub mod unless_known;
