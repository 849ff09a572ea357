//! `ulpgate vectors`: test vectors of scaled block dots.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use ulpgate_front::vectors::{DEFAULT_COUNT, formats, write};

use super::seconds::Limit;
use super::{Exit, Failure, folder};

#[derive(Args)]
#[command(
    after_help = "A vector is one dot of 128 products in MXFP8, MXFP6, MXFP4 or NVFP4: elements and scales, the exact result rounded to \
    f32 once, and the results of three accumulators. Kinds: quantised normals, any codes, cancellation, far scales, half-way sums, terms that \
    f32 sums swallow, the smallest and the largest numbers. The README that is written says what each tensor holds and how to compare a unit's \
    results; the bytes are the same on any machine."
)]
pub struct VectorsArguments {
    /// Folder to write: a .safetensors file a format, README.md and SHA256SUMS
    #[arg(long, value_name = "DIR", default_value = "vectors")]
    out: PathBuf,
    /// Vectors of each format; fewer are the beginning of more
    #[arg(long, value_name = "N", default_value_t = DEFAULT_COUNT, value_parser = count)]
    count: usize,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// A number of vectors whose tensors fit a file.
fn count(text: &str) -> Result<usize, String> {
    const MOST: usize = 100_000_000;
    text.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or(format!("a number from 1 to {MOST} is needed"))
}

/// Writes the vectors and says how many there are.
pub fn run(arguments: &VectorsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let folder = folder(&Some(arguments.out.clone()), &arguments.out)?;
    let files = write(&folder, arguments.count).map_err(|error| Failure::Message(error.to_string()))?;
    let all = arguments.count * formats().count();
    writeln!(out, "{all} vectors of {} formats, {} files in {}", formats().count(), files.len(), folder.display())?;
    Ok(Exit::AsExpected)
}
