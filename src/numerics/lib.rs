//! The computing part: programs, the emulated machine, the oracle, and the questions put to their results.
//!
//! A crate of its own, so that it is built once and optimised, while what reads files and writes reports is neither hot nor
//! slow to build. Everything here is part of the crate `ulpgate`, under the same paths.

#![deny(missing_docs)]

pub mod activity;
pub mod analysis;
pub mod budget;
pub mod check;
pub mod criterion;
pub mod deadline;
pub mod explore;
pub mod file;
pub mod input;
pub mod ir;
pub mod machine;
pub mod metric;
pub mod name;
pub mod num;
pub mod oracle;
pub mod program;
pub mod rewrite;
pub mod same;
pub mod scaled;
pub mod stat;
pub mod subject;
pub mod tensor;
pub mod xla_cpu;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
