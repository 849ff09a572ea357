//! The emulated machine: its formats, its rewrites, its operations, and results that it did not make.

mod clamps;
mod flushed;
mod golden_tpu;
mod k_blocks;
mod mirrored;
mod modes;
mod num;
mod rewrite;
mod small_floats;
mod starts;
mod xla_cpu;
