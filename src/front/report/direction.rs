//! The direction of a change in a column: better or worse for the row, or neither.

use crate::metric::Better;

/// The direction in which a change in a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnDirection {
    /// A figure that improves this way. An empty cell has none: it is not measured there, or nothing was found to
    /// measure.
    Figure(Better),
    /// A verdict, or a check's outcome.
    Verdict,
    /// It follows from a figure or verdict, such as the place of the worst element, and decides nothing.
    Describes,
    /// The subject of a row, such as its program, its rows or the hash of a file: another one is neither better nor
    /// worse.
    Identifies,
}
