//! Files that are either written whole or not at all.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path`: first to `path` with `.partial` appended, which is then renamed. A killed run or a full disk
/// leaves an existing file as it was.
///
/// # Errors
/// The system's first error, such as a folder that does not exist.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut partial = OsString::from(path.as_os_str());
    partial.push(".partial");
    let written = std::fs::File::create(&partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&partial, path));
    if written.is_err() {
        // The first error is the one to report; a file that cannot be removed either changes nothing about it.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::write_whole;

    #[test]
    fn replaces_and_leaves_nothing_beside() {
        let folder = std::env::temp_dir().join(format!("ulpgate-whole-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert!(write_whole(&folder.join("missing/a"), b"x").is_err());
        assert!(write_whole(&folder, b"x").is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
