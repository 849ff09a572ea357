//! Files that outlive a run: arrays in the safetensors format, and any file read whole and written whole or not at all.

mod component;
mod entry;
mod json;
pub mod npy;
mod npy_header;
pub mod npz;
pub mod safetensors;
mod whole;

pub use component::{NameFault, check_component};
pub use entry::Entry;
pub use json::{read_json, repeated_name};
pub use whole::{read_text, read_whole, write_whole};
