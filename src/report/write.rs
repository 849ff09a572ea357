//! Writes reports whole or not at all.

use std::path::{Path, PathBuf};

use crate::file::write_whole;

use super::File;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {path}: {source}; choose a writable folder with --out", path = path.display())]
pub struct ReportError {
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Writes files into a folder. Each replaces an old one in one step, so that a reader never sees half of it.
/// Gives the number of those that changed.
pub fn write_all<'a>(folder: &Path, files: impl IntoIterator<Item = &'a File>) -> Result<usize, ReportError> {
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReportError { path, source }
    };
    std::fs::create_dir_all(folder).map_err(fail(folder))?;
    let mut changed = 0;
    for File { name, text, .. } in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        write_whole(&path, text.as_bytes()).map_err(fail(&path))?;
        changed += 1;
    }
    Ok(changed)
}

/// Removes a report.
pub fn remove(path: &Path) -> Result<(), ReportError> {
    std::fs::remove_file(path).map_err(|source| ReportError { path: path.to_path_buf(), source })
}
