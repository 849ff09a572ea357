//! Files that outlive a run: arrays in the safetensors format, and writing of any file whole or not at all.

mod entry;
pub mod npy;
pub mod safetensors;
mod whole;

pub use entry::Entry;
pub use whole::write_whole;
