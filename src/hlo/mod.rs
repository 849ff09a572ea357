//! HLO text: what compilers dump, read into [`crate::ir`].

pub mod ast;
