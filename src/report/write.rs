//! Writes reports whole or not at all.

use std::path::{Path, PathBuf};

use crate::file::write_whole;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {path}: {source}; choose a writable folder with --out", path = path.display())]
pub struct ReportError {
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Writes files into a folder. Each replaces an old one in one step, so that a reader never sees half of it.
pub fn write_all(folder: &Path, files: &[(String, String)]) -> Result<(), ReportError> {
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReportError { path, source }
    };
    std::fs::create_dir_all(folder).map_err(fail(folder))?;
    for (name, text) in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        write_whole(&path, text.as_bytes()).map_err(fail(&path))?;
    }
    Ok(())
}

/// Removes a report.
pub fn remove(path: &Path) -> Result<(), ReportError> {
    std::fs::remove_file(path).map_err(|source| ReportError { path: path.to_path_buf(), source })
}
