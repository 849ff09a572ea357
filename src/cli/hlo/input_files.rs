//! Files of inputs that belong to a program of a dump.

use std::path::{Path, PathBuf};

use super::super::Failure;

/// The file of inputs: itself, or of a folder the one of the program's name, as `f.inputs.safetensors` of
/// `f.before.hlo`, which lies below it as the program lies below its own, in it, or in its folder `cpu`.
pub(crate) fn inputs_of(path: &Path, program: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let below = program.parent().unwrap_or(Path::new(""));
    let names: Vec<String> =
        name.rmatch_indices('.').map(|(at, _)| format!("{}.inputs.safetensors", &name[..at])).collect();
    let folders = [path.join(below), path.to_path_buf(), path.join("cpu")];
    let mut files = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let first = name.split('.').next().unwrap_or_default();
        Failure::Message(format!("{} has no {first}.inputs.safetensors for {}", path.display(), program.display()))
    })
}

/// The file of inputs that a dump has for a program: beside it, or in the folder `cpu` beside one of the folders that it lies in.
pub(crate) fn inputs_beside(program: &Path) -> Option<PathBuf> {
    let name = Path::new(program.file_name()?);
    // `dumps/tpu/v5e/f.before.hlo` has its inputs in `dumps/cpu`.
    program.parent()?.ancestors().take(3).find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        inputs_of(folder, name).ok()
    })
}
