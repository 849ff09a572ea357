//! The flow as a person reads it, in 100 columns: what is remarkable first, then every value.

mod elided;
mod finding;
mod listing;
mod page;
mod sums;
mod wrap;

pub use page::text;
