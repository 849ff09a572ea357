//! `ulpgate scales`: the rule that made the scales of a quantised tensor.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use ulpgate_front::file::{npz, safetensors};
use ulpgate_front::scales::{find_tensors, judge, text};

use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "FILE holds `elements`, `scales`, `per_tensor` and `zero_points` where there are, and `input`, the tensor that was quantised \
    (f32, bf16 or f16); other names by --map. Elements are of a float8, float4, int8, uint8, int4 or uint4 type, or bytes: one code each, two of e2m1 \
    or int4, or four of e3m2 or e2m3 in three bytes. Scales are e8m0 (u8), e4m3 or floats; their dims are the number of blocks along each axis.\n\n\
    Rules: FLOOR, CEIL, EVEN, RCEIL a to e, NEAREST-LOG2, NEAREST-VALUE (e8m0); NVFP4, NVFP4-1 (e4m3); AMAX-127, AMAX-127.5, AMAX-7, \
    AMAX-7.5, AMAX-MAX, NO-CLIP, ... (floats), MINMAX, ... (with zero points). A class holds the rules that these bytes cannot tell apart. Classes are ranked by 512 blocks at \
    most; the best is held against all. Without the input the bytes can only exclude rules.\n\n\
    Exit codes: 0 one class explains all; 1 blocks disagree, or something else is wrong (another scale under the elements, exchanged axes, a \
    per-tensor scale ignored or missing); 2 could not judge (bad file, dims that do not fit, nothing but zeros)."
)]
pub struct ScalesArguments {
    /// Tensors, as .safetensors or .npz
    file: PathBuf,
    /// Names in the file: elements=NAME, scales=NAME, per_tensor=NAME, zero_points=NAME, input=NAME; several by commas or by giving it again
    #[arg(long, value_name = "ROLE=NAME")]
    map: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints the answer.
pub fn run(arguments: &ScalesArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let path = &arguments.file;
    let is_npz = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    let tensors = if is_npz { npz::read(path) } else { safetensors::read(path) };
    let tensors = tensors.map_err(|error| Failure::Message(error.to_string()))?;
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", path.display()));
    let given = find_tensors(&tensors, &arguments.map).map_err(|error| fail(&error))?;
    let answer = judge(&given).map_err(|error| fail(&error))?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&answer).map_err(|error| fail(&error))?;
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{}", text(&answer).map_err(|error| fail(&error))?)?;
    }
    Ok(if answer.agrees { Exit::AsExpected } else { Exit::Found })
}
