//! The oracle: what a program means over the real numbers.

pub mod interval;
