//! Programs: tensors and number formats, HLO operations, their analyses, and the rewrites that compilers may make.
//!
//! The lowest crate of `ulpgate`, under whose paths everything here is found. It knows no chip and no truth.

#![deny(missing_docs)]

pub mod activity;
pub mod analysis;
pub mod budget;
pub mod deadline;
pub mod file;
pub mod ir;
pub mod name;
pub mod num;
pub mod rewrite;
pub mod scaled;
pub mod tensor;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
