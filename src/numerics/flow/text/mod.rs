//! The flow as a person reads it, in 100 columns: findings first, then every value.

mod elided;
mod listing;
mod page;
mod sentence;
mod sums;
mod wrap;

pub use page::text;
