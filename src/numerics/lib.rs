//! The questions put to programs and their results: the modes of the emulated machine, inputs, subjects, metrics, checks.
//!
//! A crate of its own, so that it is built once and optimised, while the crates that read files and write reports are neither hot nor
//! slow to build. Everything here is part of the crate `ulpgate`, under the same paths.

#![deny(missing_docs)]

pub mod check;
pub mod criterion;
pub mod diff;
pub mod explore;
pub mod flow;
pub mod input;
pub mod metric;
pub mod mode;
pub mod program;
pub mod same;
pub mod stat;
pub mod subject;
pub mod why;

pub use ulpgate_hlo as hlo;
pub use ulpgate_ir::{activity, analysis, budget, deadline, file, ir, name, num, rewrite, scaled, tensor};
pub use ulpgate_oracle as oracle;

/// The emulated machine, with the modes that name one.
pub mod machine {
    pub use crate::mode::{CHIPS, EmulatedCompiler, Mode, chip_of_dumps, emulated_compilers, find_chip};
    pub use ulpgate_machine::*;
}

/// Fingerprints of the sources of the crates that compute, 16 hex digits each: builds of equal ones compute the same.
pub const SOURCES: [&str; 5] = [
    ulpgate_ir::SOURCES,
    ulpgate_oracle::SOURCES,
    ulpgate_machine::SOURCES,
    mode::BACKEND_SOURCES,
    env!("ULPGATE_SOURCES"),
];
