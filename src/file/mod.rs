//! Files that outlive a run: arrays in the safetensors format, and writing of any file whole or not at all.

pub mod safetensors;
mod whole;

pub use whole::write_whole;
