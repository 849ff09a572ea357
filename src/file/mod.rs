//! Arrays in files.

pub mod safetensors;
mod whole;

pub use whole::write_whole;
