//! HLO text: what compilers dump, read into [`crate::ir`].

pub mod ast;
mod parse;
mod print;

pub use parse::{ParseError, parse};
