//! XLA's CPU backend, apart from everything that computes for a TPU.
//!
//! `codegen` is the code that LLVM and XLA's emitters make of fusions, `library` the libraries that are called, `cpu_backend`
//! both as the machine asks for them, and `row` the chip.

#![deny(missing_docs)]

mod codegen;
mod cpu_backend;
mod cpu_row;
mod library;

use ulpgate_ir::{analysis, budget, deadline, ir, num, tensor};
use ulpgate_machine as machine;

pub use codegen::{Contractions, find_contractions, find_inner_products, find_sum_loops, with_code};
pub use cpu_row::XLA_CPU;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
