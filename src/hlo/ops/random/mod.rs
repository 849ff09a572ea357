//! Random numbers: the opcodes that draw them, and the conversion that rounds by them.

pub mod rng;
pub mod rng_bit_generator;
pub mod stochastic_convert;
