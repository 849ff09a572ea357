//! The folder that goes to a machine: inputs, a manifest, and scripts that ask.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::file::{npz, write_whole};

use super::ProbeError;
use super::probe_question::Question;

/// The files of the folder.
pub const FILES: [&str; 4] = ["inputs.npz", "manifest.json", "run_jax.py", "run_torch.py"];

/// Writes the folder's files, making it if it is not there, and gives their paths.
///
/// # Errors
/// If a file cannot be written.
pub fn write_folder(folder: &Path, questions: &[Question]) -> Result<Vec<PathBuf>, ProbeError> {
    let unwritten = |path: &Path, source| ProbeError::Unwritten { path: path.to_path_buf(), source };
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
    let inputs: BTreeMap<_, _> = questions.iter().flat_map(|question| question.operands.iter().cloned()).collect();
    let inputs: Vec<_> = inputs.into_iter().collect();
    let npz = npz::write(&inputs).map_err(|why| ProbeError::Question { question: "inputs".to_string(), why })?;
    let rows = questions.iter().map(|question| {
        let operands: Vec<&str> = question.operands.iter().map(|(name, _)| name.as_str()).collect();
        let dtype = if question.dtype == crate::tensor::DType::BF16 { "bfloat16" } else { "float32" };
        json!({"name": question.name, "operation": question.operation.name(), "dtype": dtype, "operands": operands})
    });
    let manifest = json!({"ulpgate": env!("CARGO_PKG_VERSION"), "questions": rows.collect::<Vec<_>>()});
    let files: [Vec<u8>; FILES.len()] = [
        npz,
        format!("{manifest:#}\n").into_bytes(),
        include_bytes!("run_jax.py").to_vec(),
        include_bytes!("run_torch.py").to_vec(),
    ];
    let mut paths = Vec::new();
    for (name, bytes) in FILES.iter().zip(files) {
        let path = folder.join(name);
        write_whole(&path, &bytes).map_err(|error| unwritten(&path, error))?;
        paths.push(path);
    }
    Ok(paths)
}
