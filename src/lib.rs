//! Numerical-precision conformance tests: emulated TPU precision modes judged against an MPFR ground truth.

pub mod ir;
pub mod num;
pub mod oracle;
pub mod program;
pub mod rewrite;
pub mod suggest;
pub mod tensor;
