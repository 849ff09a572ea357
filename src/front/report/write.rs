//! Writes the files of reports, each whole or not at all.

use std::path::{Path, PathBuf};

use crate::file::{check_component, write_whole};

use super::File;

/// A file of a report, or the folder of them, could not be written or removed.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {path}: {source}; choose a writable folder with --out", path = path.display())]
pub struct ReportError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's error.
    pub source: std::io::Error,
}

/// Writes files into a folder, which is made if it does not exist, and returns how many of them changed. Each replaces
/// an old one in one step, so that a reader never sees half of it; one whose text is the same is not touched.
///
/// # Errors
/// Names the folder or the first file that could not be written, or whose name leads elsewhere; files before it are
/// written.
pub fn write_all<'a>(folder: &Path, files: impl IntoIterator<Item = &'a File>) -> Result<usize, ReportError> {
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReportError { path, source }
    };
    std::fs::create_dir_all(folder).map_err(fail(folder))?;
    let mut changed = 0;
    for File { name, text, .. } in files {
        check_component(name).map_err(std::io::Error::other).map_err(fail(&folder.join(name)))?;
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        write_whole(&path, text.as_bytes()).map_err(fail(&path))?;
        changed += 1;
    }
    Ok(changed)
}

/// Removes a file of a report.
///
/// # Errors
/// If it does not exist or cannot be removed.
pub fn remove(path: &Path) -> Result<(), ReportError> {
    std::fs::remove_file(path).map_err(|source| ReportError { path: path.to_path_buf(), source })
}
