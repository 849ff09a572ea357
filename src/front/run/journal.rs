//! The journal `.journal.jsonl` in a folder of reports: one line of JSON a record, so that a killed run resumes. Each
//! line has a check over itself and all lines above it, so that nothing is believed that a run did not write there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::file::read_whole;
use crate::record::{Build, Record};
use crate::suite::{Suite, fingerprint};

use super::locked_folder::LockedFolder;

/// Changes whenever a record or a line means something else.
const VERSION: u32 = 6;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be made, written or removed.
    #[error("failed to write the journal {path}: {source}; choose another folder with --out", path = path.display())]
    Write {
        /// The journal's file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The journal of an earlier run could not be read.
    #[error("failed to read the journal {path}: {source}; delete it or run without --resume", path = path.display())]
    Read {
        /// The journal's file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A whole line of the journal of an earlier run is no record.
    #[error("{path}:{line}: the journal is damaged: {why}; delete it or run without --resume", path = path.display())]
    Damaged {
        /// The journal's file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The content that was expected there.
        why: String,
    },
}

/// The first line: the run that the records belong to.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct JournalHeader {
    version: u32,
    /// The build that evaluates: results of two are not mixed.
    build: Build,
    /// Name and fingerprints of every suite.
    suites: Vec<(String, BTreeMap<String, u64>)>,
}

/// The part of the first line that every version has.
#[derive(Deserialize)]
struct JournalVersion {
    version: u32,
}

/// A line below the first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalLine {
    /// [`chained`] over the record's text.
    check: String,
    record: Box<RawValue>,
}

/// The check of a text below a line whose own is `above`.
fn chained(above: u64, text: &str) -> u64 {
    fingerprint([above.to_le_bytes().as_slice(), text.as_bytes()].into_iter())
}

/// The content of a journal, for a run that resumes.
pub(super) enum Found {
    /// There is none, or none was looked for.
    Nothing,
    /// It belongs to another run: why it is of no use.
    Other(String),
    /// It belongs to this run.
    Kept {
        /// Its records.
        records: Vec<Record>,
        /// The length of its whole lines, in bytes.
        end: u64,
        /// The check of the last of them.
        check: u64,
    },
}

/// The open journal of a run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Of the last line.
    check: u64,
}

impl Journal {
    /// The journal's place in a folder of reports.
    fn path_in(folder: &Path) -> PathBuf {
        folder.join(".journal.jsonl")
    }

    /// Opens the journal of a folder, and tells what `resume` finds there. A journal of other suites, or of another
    /// build or version, is begun anew, and so is one without `resume`. A last line without its end, as a killed run
    /// leaves it, is dropped.
    ///
    /// # Errors
    /// If the journal cannot be written, or `resume` finds a journal that cannot be read or is damaged.
    pub(super) fn open(
        folder: &LockedFolder,
        suites: &[Suite],
        resume: bool,
    ) -> Result<(Journal, Found), JournalError> {
        let path = Journal::path_in(folder.path());
        let write = |source| JournalError::Write { path: path.clone(), source };
        let header = JournalHeader {
            version: VERSION,
            build: Build::current(),
            suites: suites.iter().map(|s| (s.name.clone(), s.fingerprints.clone())).collect(),
        };
        // Without `resume` nothing is read: a damaged journal is no reason not to begin anew.
        let found = if resume { read(&path, &header)? } else { Found::Nothing };
        if let Found::Kept { end, check, .. } = &found {
            let mut file = OpenOptions::new().write(true).open(&path).map_err(write)?;
            // A line that a killed run left half would join the next one.
            file.set_len(*end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(write)?;
            return Ok((Journal { path, file, check: *check }, found));
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(&path).map_err(write)?;
        let mut journal = Journal { path, file, check: 0 };
        let header = journal.text_of(&header)?;
        journal.check = chained(0, &header);
        journal.line(header)?;
        Ok((journal, found))
    }

    /// Writes a record at the end.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let text = self.text_of(record)?;
        // Each line's check covers those above: a line that is lost or moved shows, and not only one that is changed.
        self.check = chained(self.check, &text);
        let record = RawValue::from_string(text).map_err(|e| self.unwritten(e.into()))?;
        let line = self.text_of(&JournalLine { check: format!("{:016x}", self.check), record })?;
        self.line(line)
    }

    fn unwritten(&self, source: std::io::Error) -> JournalError {
        JournalError::Write { path: self.path.clone(), source }
    }

    fn text_of(&self, value: &impl Serialize) -> Result<String, JournalError> {
        serde_json::to_string(value).map_err(|e| self.unwritten(e.into()))
    }

    fn line(&mut self, mut text: String) -> Result<(), JournalError> {
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|source| self.unwritten(source))
    }

    /// Removes the journal of a run that came to its end from a folder of reports, if there is one.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn remove(folder: &Path) -> Result<(), JournalError> {
        let path = Journal::path_in(folder);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(JournalError::Write { path, source: e }),
            _ => Ok(()),
        }
    }
}

/// The reason why a journal is not of the run that would go on with it; `None` if it is.
fn other_run(line: &str, header: &JournalHeader) -> serde_json::Result<Option<String>> {
    if serde_json::from_str::<JournalVersion>(line)?.version != header.version {
        return Ok(Some("another version of ulpgate wrote it".to_string()));
    }
    let JournalHeader { build, suites, .. } = serde_json::from_str(line)?;
    Ok(if build != header.build {
        Some(format!("it is of {build}, and this is {}", header.build))
    } else if suites != header.suites {
        Some("it is of other suites, or of other files of theirs".to_string())
    } else {
        None
    })
}

fn read(path: &Path, header: &JournalHeader) -> Result<Found, JournalError> {
    // Bytes and not text: a killed run may have stopped inside a character.
    let bytes = match read_whole(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(source) => return Err(JournalError::Read { path: path.to_path_buf(), source }),
    };
    let (mut records, mut end, mut check) = (Vec::new(), 0, 0);
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let length = line.len();
        let Some(line) = line.strip_suffix(b"\n") else { break };
        let damaged = |why: String| JournalError::Damaged { path: path.to_path_buf(), line: at + 1, why };
        let line = std::str::from_utf8(line).map_err(|e| damaged(e.to_string()))?;
        end += length as u64;
        if at == 0 {
            if let Some(why) = other_run(line, header).map_err(|e| damaged(e.to_string()))? {
                return Ok(Found::Other(why));
            }
            check = chained(0, line);
            continue;
        }
        let JournalLine { check: written, record } = serde_json::from_str(line).map_err(|e| damaged(e.to_string()))?;
        check = chained(check, record.get());
        if written != format!("{check:016x}") {
            return Err(damaged("it, or a line above it, is not as the run wrote it".to_string()));
        }
        records.push(serde_json::from_str::<Record>(record.get()).map_err(|e| damaged(e.to_string()))?);
    }
    // A run that was killed in its first line has kept nothing.
    Ok(if end == 0 { Found::Nothing } else { Found::Kept { records, end, check } })
}
