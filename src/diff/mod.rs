//! Changes of a program's precision by a compiler or a flag: two imported programs, value by value.
//!
//! Values are matched by what they compute, not by how: each gets an expression over the parameters that looks through
//! everything that is no arithmetic (conversions, roundings, copies, reshapes, broadcasts, fusion boundaries), so that
//! one value that several fusions compute anew is one expression with several instances. What the expressions leave
//! open, names and results pair; a pair of that kind that does not compute the same is reported. For each pair the
//! readings are compared: who reads the value, in which width.
//!
//! [`difference`] reads both programs (`graph`, `build`, `rule`) into expressions (`express`, `expression`), pairs
//! their values (`pair`), and writes a [`Change`] for each that differs (`compare` by `reading`, `disagree`, `edited`).
//! [`outcomes`] runs both on the same inputs and tells what the results come to.

mod build;
mod callee;
mod change;
mod change_steps;
mod choice;
mod compare;
mod counted;
mod describe;
mod differ;
mod disagree;
mod edited;
mod element;
mod express;
mod expression;
mod factors;
mod fold;
mod graph;
mod labels;
mod multiple;
mod not_understood;
mod one_form;
mod other_settings;
mod outcome;
mod pairing;
mod plan_of_collective;
mod quotient;
mod reading;
mod results;
mod rule;
mod scores;
mod sign;
mod spread;
mod stored;
mod texts;
mod undone;
mod upstream;
mod vertex;

pub use change::{Change, ChangeKind, Difference, NotUnderstood};
pub use compare::difference;
pub use differ::{Lost, Right, Verdict};
pub use outcome::{Maximum, Outcome, OutcomeError, Scores, outcomes};
pub use results::DiffError;
pub use scores::rank_tokens;
