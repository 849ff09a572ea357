//! Test vectors of scaled block dots, for people who test hardware: inputs, the exact result, and results of three accumulators.
//!
//! A vector is one dot of 128 elements under scales by blocks. Its bits depend on its format and its number alone, so that fewer
//! vectors are the beginning of more.

mod draw;
mod set;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::activity;
use crate::budget::{self, TooLarge};
use crate::file::write_whole;

pub use draw::{ELEMENTS_OF_A_VECTOR, KINDS, Kind, Vector, draw};
pub use set::{TILE, formats, tensors};

/// Vectors of each format without a count: a million and more over all formats.
pub const DEFAULT_COUNT: usize = 175_000;

/// Bytes that a vector takes while its file is made, at most: its codes and results four times over (drawn, as tensors, as bytes of
/// the file and as the file), and what its lists take beside.
const BYTES_OF_A_VECTOR: u128 = 4 * (2 * ELEMENTS_OF_A_VECTOR as u128 + 64);

/// Name of the file of checksums, in the form that `sha256sum --check` takes.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// Why vectors cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// Their numbers make no dot.
    #[error("a vector of {format} makes no dot: {source}")]
    Dot {
        /// The format's name.
        format: &'static str,
        /// Why.
        source: crate::scaled::BlockDotError,
    },
    /// The vectors of a format do not fit in memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// Tensors make no file.
    #[error(transparent)]
    File(#[from] crate::file::safetensors::FileError),
    /// A file cannot be written.
    #[error("failed to write {}: {source}", path.display())]
    Unwritten {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Writes `count` vectors of each format into a folder, a file a format, with a README and [`CHECKSUMS`]; gives the names of the files
/// written. The bytes are the same on any machine.
///
/// # Errors
/// If the vectors of a format do not fit in memory, or the folder or a file cannot be written.
pub fn write(folder: &Path, count: usize) -> Result<Vec<String>, VectorsError> {
    let unwritten = |path: &Path| {
        let path = path.to_path_buf();
        move |source| VectorsError::Unwritten { path, source }
    };
    std::fs::create_dir_all(folder).map_err(unwritten(folder))?;
    let mut files = Vec::new();
    let mut checksums = String::new();
    let mut put = |name: String, bytes: &[u8]| -> Result<(), VectorsError> {
        let path = folder.join(&name);
        write_whole(&path, bytes).map_err(unwritten(&path))?;
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        checksums += &format!("{sum}  {name}\n");
        files.push(name);
        Ok(())
    };
    put("README.md".to_string(), readme(count).as_bytes())?;
    for format in formats() {
        let what = || format!("{} ({count} vectors)", format.name);
        let _room = budget::reserve(count as u128 * BYTES_OF_A_VECTOR, what)?;
        let _busy = activity::begin(what());
        let name = format!("{}.safetensors", format.name);
        let bytes = crate::file::safetensors::to_bytes(&folder.join(&name), &tensors(format, count)?)?;
        put(name, &bytes)?;
    }
    let path = folder.join(CHECKSUMS);
    write_whole(&path, checksums.as_bytes()).map_err(unwritten(&path))?;
    files.push(CHECKSUMS.to_string());
    Ok(files)
}

/// The README beside vectors.
fn readme(count: usize) -> String {
    let rows: String = formats()
        .map(|format| {
            let element = format.element;
            let codes = match element.bits() {
                4 => "two codes a byte, the even index in the low half",
                6 => "one code of six bits a byte",
                _ => "one code a byte",
            };
            let block = format.block.unwrap_or(ELEMENTS_OF_A_VECTOR);
            let (name, scales) = (format.name, format.scales.name());
            format!(
                "| `{name}.safetensors` | {count} | {}, {codes} | {scales}, one for {block} elements |\n",
                element.name
            )
        })
        .collect();
    let kinds: String = KINDS.iter().enumerate().map(|(at, kind)| format!("| {at} | {} |\n", kind.doc())).collect();
    TEXT.replace("{rows}", &rows).replace("{kinds}", &kinds).replace("{tile}", &TILE.to_string())
}

const TEXT: &str = include_str!("readme.md");
