//! Progress of a run, for an observer.

use crate::record::Record;

/// An observer of a run's progress, called from many threads at once. The default methods do nothing.
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

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
