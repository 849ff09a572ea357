//! Numerical-precision conformance tests: emulated TPU precision modes judged against an MPFR ground truth.

pub mod file;
pub mod input;
pub mod ir;
pub mod metric;
pub mod name;
pub mod num;
pub mod stat;
pub mod tensor;
