//! Numerical-precision conformance tests: emulated TPU precision modes judged against an MPFR ground truth.

pub mod analysis;
pub mod check;
pub mod cli;
pub mod diff;
pub mod file;
pub mod flow;
pub mod gate;
pub mod hlo;
pub mod input;
pub mod ir;
pub mod machine;
pub mod metric;
pub mod name;
pub mod num;
pub mod oracle;
pub mod program;
pub mod record;
pub mod report;
pub mod rewrite;
pub mod run;
pub mod stat;
pub mod subject;
pub mod suite;
pub mod tensor;
