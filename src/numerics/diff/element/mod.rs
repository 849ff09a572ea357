//! Elements of two programs that are the same numbers over the reals, wherever they lie.
//!
//! Expressions (`diff/expression`) know a value as a whole; where compilers cut, join, unroll or roll, no value of the one program
//! is one of the other. Here each element is followed by itself, through loops trip by trip: its *print* tells what it is
//! over the real numbers, and with it is kept by which operation, of which operands rounded how, it was *made* (docs/design/diff.md,
//! "Matching").

mod algebra;
mod claim;
mod combined;
mod converted;
mod element_function;
mod element_print;
mod element_room;
mod follow;
mod in_place;
mod label;
mod made;
mod row_order;
mod whole_number;

pub use claim::Sides;
pub use label::{Label, Making};
