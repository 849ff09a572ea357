//! HLO text to [`ast`](super::ast). Grammar: FACTS 7.2, openxla `hlo_lexer.cc` and `hlo_parser.cc`.
//!
//! One pass, left to right: the next construct is always decided by the next token, so nothing is read twice, and time is
//! linear in the text. Recursion (tuples in shapes and literals, lists in literals) stops at [`lex::LEVELS`].

mod attribute;
mod error;
mod instruction;
mod lex;
mod literal;
mod missing_shape;
mod module;
mod scope;
mod shape;
mod wrapped_start;

pub use error::ParseError;
pub use module::parse;
