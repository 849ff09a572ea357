//! Writes reports whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

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
        let partial = folder.join(format!(".{name}.partial"));
        let written = std::fs::File::create(&partial)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&partial, &path));
        if let Err(source) = written {
            // What was written of it is of no use; if it cannot be removed either, the error below says where.
            let _ = std::fs::remove_file(&partial);
            return Err(fail(&path)(source));
        }
    }
    Ok(())
}

/// Removes a report.
pub fn remove(path: &Path) -> Result<(), ReportError> {
    std::fs::remove_file(path).map_err(|source| ReportError { path: path.to_path_buf(), source })
}
