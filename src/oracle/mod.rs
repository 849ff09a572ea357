//! The oracle: what a program means over the real numbers.

pub mod dot;
pub mod elementary;
pub mod interval;
