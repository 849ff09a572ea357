//! What `bound` says: of results that conform, and of wrong ones.

mod bench;
mod proven;
mod search;
