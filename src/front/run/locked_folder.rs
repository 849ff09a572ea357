//! A folder of reports that one process writes at a time, so that two runs do not take each other's journal, records
//! and reports away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::file::read_text;

/// The file in a locked folder that names the process writing there.
pub const LOCK: &str = ".ulpgate.lock";

/// Attempts to lock a file that another process takes away at the same time.
const ATTEMPTS: usize = 100;

/// Why a folder cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process writes there.
    #[error(
        "{folder} is being written by {by}: wait for it, or choose another folder", folder = folder.display()
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The other process, as its lock names it.
        by: String,
    },
    /// The folder or the lock in it could not be made.
    #[error("failed to write {path}: {source}; choose a writable folder, as with --out", path = path.display())]
    Write {
        /// The folder, or the file of the lock.
        path: PathBuf,
        /// The answer of the system.
        source: std::io::Error,
    },
}

/// A folder that no other process locks while this value lives. The system ends the lock with the process, however that
/// ends: the file that a killed one leaves behind is taken over.
#[derive(Debug)]
pub struct LockedFolder {
    folder: PathBuf,
    /// `None` where the file system has no locks.
    held: Option<File>,
    /// Whether the folder was not there before.
    is_new: bool,
}

impl LockedFolder {
    /// Locks a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// If another process has locked it, or it cannot be written.
    pub fn lock(folder: &Path) -> Result<LockedFolder, LockError> {
        let fail = |path: &Path| {
            let path = path.to_path_buf();
            move |source| LockError::Write { path, source }
        };
        let is_new = !folder.exists();
        std::fs::create_dir_all(folder).map_err(fail(folder))?;
        let path = folder.join(LOCK);
        let name = own_name();
        let locked = |held| LockedFolder { folder: folder.to_path_buf(), held, is_new };
        for _ in 0..ATTEMPTS {
            let mut options = OpenOptions::new();
            let mut file =
                options.create(true).truncate(false).read(true).write(true).open(&path).map_err(fail(&path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut by = String::new();
                    // What cannot be read is not named.
                    let _ = file.read_to_string(&mut by);
                    let by = if by.is_empty() { "a process that has just begun".to_string() } else { by };
                    let by = by.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
                    return Err(LockError::Held { folder: folder.to_path_buf(), by });
                }
                // Some network file systems have no locks, and what worked there goes on working.
                Err(TryLockError::Error(_)) => {
                    let _ = std::fs::remove_file(&path);
                    return Ok(locked(None));
                }
            }
            if claim(&mut file, &path, &name).map_err(fail(&path))? {
                return Ok(locked(Some(file)));
            }
        }
        Err(fail(&path)(std::io::ErrorKind::ResourceBusy.into()))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Whether the file system keeps other processes out.
    pub fn is_exclusive(&self) -> bool {
        self.held.is_some()
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        // While it is held, the file is this process's own. One that cannot be removed is taken over.
        if self.held.is_some() {
            let _ = std::fs::remove_file(self.folder.join(LOCK));
        }
        // A command that is refused before it writes leaves nothing behind; a folder that holds something stays.
        if self.is_new {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

/// Writes a name into a file that is locked, and says whether the file is still the one at this path. The previous
/// holder of the lock may have removed it in between: then this lock is of a file that nobody else finds.
fn claim(file: &mut File, path: &Path, name: &str) -> std::io::Result<bool> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(name.as_bytes())?;
    Ok(read_text(path).is_ok_and(|text| text == name))
}

/// Locks that this process has asked for.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// This process, `process 4242 on build-7 since 2026-11-26 14:20:35 UTC`, and a line that no other lock has.
fn own_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (process, asked) = (std::process::id(), ASKED.fetch_add(1, Relaxed));
    format!("process {process} on {} since {}\n{:x}-{asked}\n", host(), date(now.as_secs()), now.as_nanos())
}

/// The name of the machine, as the system has it.
fn host() -> String {
    let of_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let of_windows = || std::env::var("COMPUTERNAME").ok();
    let of_command = || String::from_utf8(Command::new("uname").arg("-n").output().ok()?.stdout).ok();
    let name = of_kernel().or_else(of_windows).or_else(of_command).unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
    if name.is_empty() { "this machine".to_string() } else { name }
}

/// A point in time, in seconds since 1970, in the Gregorian calendar. Source: Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", `civil_from_days`: years begin in March, so that the leap day is their last.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_709_251_200), "2024-03-01 00:00:00 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59:59 UTC");
    }

    /// Locks of one process exclude each other as those of two do.
    #[test]
    fn one_holds_a_folder_and_names_itself() {
        let folder = tempfile::tempdir().unwrap();
        let reports = folder.path().join("reports");
        let lock = LockedFolder::lock(&reports).unwrap();
        assert!(lock.is_exclusive());
        let refused = LockedFolder::lock(&reports).unwrap_err().to_string();
        assert!(refused.contains(&format!("written by process {} on ", std::process::id())), "{refused}");
        assert!(refused.contains(&host()) && refused.contains(" UTC: wait for it"), "{refused}");
        drop(lock);
        assert!(!reports.exists(), "a folder in which nothing was written");
        // What a killed process leaves is no lock.
        std::fs::create_dir(&reports).unwrap();
        std::fs::write(reports.join(LOCK), "process 1 on elsewhere since ever\n").unwrap();
        let lock = LockedFolder::lock(&reports).unwrap();
        let text = read_text(&lock.path().join(LOCK)).unwrap();
        assert!(text.starts_with(&format!("process {} on ", std::process::id())), "{text}");
        drop(lock);
        assert_eq!(std::fs::read_dir(&reports).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_was_removed_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let mut file = File::create(&path).unwrap();
        assert!(claim(&mut file, &path, "one").unwrap() && claim(&mut file, &path, "two").unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!claim(&mut file, &path, "one").unwrap());
        // Another process has made a new one by now.
        std::fs::write(&path, "three").unwrap();
        assert!(!claim(&mut file, &path, "one").unwrap());
    }

    #[test]
    fn many_that_begin_at_once_hold_it_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, held) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(_lock) = LockedFolder::lock(folder.path()) else { continue };
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        held.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(held.into_inner() > 8);
    }
}
