//! How far a run is, for whoever wants to know.

use crate::record::Record;

/// Is told how far a run is, from many threads at once. Without methods of its own it stays silent.
pub trait Progress: Sync {
    /// The run has this many cases.
    fn start(&self, _cases: usize) {}

    /// Some more of them are done.
    fn advance(&self, _records: &[Record]) {}

    /// Something that a person should know before it goes on.
    fn note(&self, _text: &str) {}

    /// No more will come.
    fn finish(&self) {}
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
