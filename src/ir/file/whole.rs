//! Files that are read whole, and written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes read of a file that is not plain and has no known size: a device or a pipe may never end.
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

/// Writes `bytes` to `path`.
///
/// A plain file, existing or not, is written next to `path` under a name of its own that ends in `.partial`, and then
/// renamed: a killed run or a full disk leaves the old file as it was. An existing file keeps its permissions. A
/// symbolic link stays, and its target is written in this way. Anything else, such as a device or a pipe, is written to
/// and never replaced.
///
/// # Errors
/// The system's first error, such as a folder that does not exist; and a file that may not be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => match fs::canonicalize(path) {
            Ok(target) => write_whole(&target, bytes),
            // It leads to nothing yet; opening it makes that.
            Err(_) => fs::write(path, bytes),
        },
        Ok(there) if !there.is_file() => fs::OpenOptions::new().write(true).open(path)?.write_all(bytes),
        // Renaming asks for the folder's permissions alone.
        Ok(there) if there.permissions().readonly() => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"))
        }
        Ok(there) => replace(path, bytes, Some(there.permissions())),
        Err(_) => replace(path, bytes, None),
    }
}

/// Names tried for a file half written, where killed processes left theirs.
const NAMES: usize = 64;

fn replace(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let (mut file, partial) = partial(path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The first error is the one to report; a file that cannot be removed either changes nothing about it.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// A new file beside `path`, which no other process and no other thread writes.
fn partial(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut last = None;
    for number in 0..NAMES {
        let mut name = OsString::from(path.as_os_str());
        name.push(format!(".{}-{number}.partial", std::process::id()));
        let name = PathBuf::from(name);
        match File::create_new(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
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
        write_whole(&path, b"two").unwrap();
        assert_eq!(read_whole(&path).unwrap(), b"two");
        assert!(write_whole(&folder.join("missing/a"), b"x").is_err());
        assert!(write_whole(folder, b"x").is_err());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    /// Files of another process are neither removed nor written to.
    #[test]
    fn files_half_written_are_left_to_whoever_writes_them() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let others = ["a.partial".to_string(), format!("a.{}-0.partial", std::process::id())];
        others.iter().for_each(|name| fs::write(folder.path().join(name), b"half").unwrap());
        write_whole(&path, b"whole").unwrap();
        assert_eq!(read_whole(&path).unwrap(), b"whole");
        others.iter().for_each(|name| assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"half"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn threads_that_write_one_file_do_not_meet() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        std::thread::scope(|scope| {
            for byte in b'a'..b'i' {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write_whole(path, &[byte; 999]).unwrap()));
            }
        });
        let bytes = read_whole(&path).unwrap();
        assert!(bytes.len() == 999 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_read_only_is_not_replaced() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"kept").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(write_whole(&path, b"lost").unwrap_err().to_string(), "the file is read-only");
        assert_eq!(fs::read(&path).unwrap(), b"kept");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
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
