//! HLO text: what compilers dump, read into [`crate::ir`].
//!
//! [`parse()`] reads a text into what it says ([`ast`]), which prints as it was read (`print`); [`lower()`] makes a
//! program of it.

pub mod ast;
mod asynchronous;
mod bitcast;
mod complex;
mod complex_function;
mod constant;
mod convolution;
mod custom_call;
mod emit;
mod error;
mod fft;
mod layout;
mod lower;
mod operation;
mod parse;
mod print;
mod product;
mod rng_bit_generator;
mod view;
mod window_config;

pub use error::LowerError;
pub use lower::{Import, Origin, lower};
pub use parse::{ParseError, parse};
