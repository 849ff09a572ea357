//! Verdicts of `bound`: on results that conform, and on wrong ones.

mod bench;
mod proven;
mod scaled_orders;
mod search;
