//! XLA's CPU backend, apart from everything that computes for a TPU.
//!
//! `codegen` is the code that LLVM and XLA's emitters make of fusions, `library` the libraries that are called, `cpu_backend`
//! both as the machine asks for them, and `row` the chip.

mod codegen;
mod cpu_backend;
mod cpu_row;
mod library;

#[cfg(test)]
pub(crate) use codegen::Step;
pub use codegen::{Contractions, find_contractions, find_inner_products, find_sum_loops, with_code};
pub(crate) use cpu_row::XLA_CPU;
