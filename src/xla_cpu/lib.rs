//! XLA's CPU backend, apart from everything that computes for a TPU.
//!
//! `codegen` is the code that LLVM and XLA's emitters make of fusions, `library` the libraries that are called, `cpu_backend`
//! both as the machine asks for them, and `row` the chip.

#![deny(missing_docs)]

mod coded_sum;
mod codegen;
mod cpu_backend;
mod cpu_row;
mod function;
mod library;
mod side_by_side;
mod sum_loop_order;

use ulpgate_ir::{analysis, budget, deadline, ir, num, rewrite, tensor};
use ulpgate_machine as machine;

pub use cpu_row::XLA_CPU;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
