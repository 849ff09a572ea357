//! Files that are read whole, and written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// The most bytes read of what is no plain file and says nothing of its size: a device or a pipe may never end.
const MOST: u64 = 1 << 30;

/// The bytes of a plain file of any size that memory holds, or up to 1 GiB (2^30 bytes) of a device or a pipe.
///
/// # Errors
/// The system's error, such as a file that does not exist, or that more than 1 GiB comes.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        return fs::read(path);
    }
    read_at_most(File::open(path)?, MOST)
}

fn read_at_most(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it is no plain file and gives more than {most} bytes; save them to a file and name that");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The text of a file, as [`read_whole`] reads it.
///
/// # Errors
/// As [`read_whole`], or that the bytes are no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_whole(path)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Writes `bytes` to `path`. A plain file, there or not, is written beside as `path` with `.partial` appended and then
/// renamed, so that a killed run or a full disk leaves it as it was. A symbolic link stays, and what it leads to is written
/// so; anything else, such as a device or a pipe, is written to and never replaced.
///
/// # Errors
/// The system's first error, such as a folder that does not exist.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => match fs::canonicalize(path) {
            Ok(target) => write_whole(&target, bytes),
            // It leads to nothing yet; opening it makes that.
            Err(_) => fs::write(path, bytes),
        },
        Ok(there) if !there.is_file() => fs::OpenOptions::new().write(true).open(path)?.write_all(bytes),
        _ => replace(path, bytes),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut partial = OsString::from(path.as_os_str());
    partial.push(".partial");
    // One that a killed run left. Anything else of that name is not written through.
    let _ = fs::remove_file(&partial);
    let written = File::create_new(&partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The first error is the one to report; a file that cannot be removed either changes nothing about it.
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    use tempfile::TempDir;

    #[test]
    fn replaces_and_leaves_nothing_beside() {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let path = folder.join("a");
        write_whole(&path, b"one").unwrap();
        fs::write(folder.join("a.partial"), b"left by a killed run").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(read_whole(&path).unwrap(), b"two");
        assert!(write_whole(&folder.join("missing/a"), b"x").is_err());
        assert!(write_whole(folder, b"x").is_err());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_devices() {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let (target, link) = (folder.join("target"), folder.join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for text in [b"made", b"kept"] {
            write_whole(&link, text).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&target).unwrap(), text);
        }
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        write_whole(&link, b"gone").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && !fs::metadata("/dev/null").unwrap().is_file());
        // Nobody listens, and it is not replaced by a file.
        let socket = folder.join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(write_whole(&socket, b"x").is_err());
        assert!(!fs::symlink_metadata(&socket).unwrap().is_file());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 3);
    }

    #[test]
    fn what_never_ends_is_read_up_to_a_limit() {
        assert_eq!(read_at_most(&b"four"[..], 4).unwrap(), b"four");
        let error = read_at_most(io::repeat(0), 4).unwrap_err().to_string();
        assert!(error.contains("more than 4 bytes"), "{error}");
    }
}
