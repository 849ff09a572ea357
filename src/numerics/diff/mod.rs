//! Changes of a program's precision by a compiler or a flag: two imported programs, value by value.
//!
//! Values are matched by what they compute, not by how: each gets an expression over the parameters that looks through
//! everything that is no arithmetic (conversions, roundings, copies, reshapes, broadcasts, fusion boundaries), so that
//! one value that several fusions compute anew is one expression with several instances. What the expressions leave
//! open, names and results pair; a pair of that kind that does not compute the same is reported. For each pair the
//! readings are compared: the users of the value, and the width in which each uses it.
//!
//! [`difference`] reads both programs (`graph`) into expressions (`expression`), pairs their values (`matching`), elements where
//! values leave something open (`element`), compares the typed states of each pair (`compare`), and puts what differs into words
//! last (`tell`): a [`Change`] is a line. [`outcomes`] runs both on the same inputs and tells what the results come to.

mod accepted_line;
mod change;
mod compare;
mod element;
mod expression;
mod graph;
mod matching;
mod outcome;
mod result_difference;
mod results;
mod scores;
mod tell;

pub use accepted_line::line_key;
pub use change::{Change, ChangeKind, Difference, NotUnderstood};
pub use compare::difference;
pub use outcome::{Maximum, Outcome, OutcomeError, Scores, outcomes};
pub use result_difference::{Lost, Right, Verdict, differences};
pub use results::{DiffError, parameters_text};
pub use scores::rank_tokens;
