//! HLO text: what compilers dump, read into [`crate::ir`].

pub mod ast;
mod attribute;
mod constant;
mod convolution;
mod emit;
mod layout;
mod lower;
mod operation;
mod parse;
mod print;

pub use lower::{Import, LowerError, Origin, lower};
pub use parse::{ParseError, parse};
