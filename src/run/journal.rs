//! The journal `.journal.jsonl` in a folder of reports: one line of JSON a record, so that a killed run resumes.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::suite::Suite;

use crate::record::Record;

/// Changes whenever a record or an evaluation means something else.
const VERSION: u32 = 2;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be made, written or removed.
    #[error("failed to write the journal {path}: {source}; choose another folder with --out", path = path.display())]
    Write {
        /// The journal's file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The journal of an earlier run could not be read.
    #[error("failed to read the journal {path}: {source}; delete it or run without --resume", path = path.display())]
    Read {
        /// The journal's file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A whole line of the journal of an earlier run is no record.
    #[error("{path}:{line}: the journal is damaged: {why}; delete it or run without --resume", path = path.display())]
    Damaged {
        /// The journal's file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What was expected there.
        why: String,
    },
}

/// The first line: what the records belong to.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    program: String,
    /// Name and text fingerprint of every suite.
    suites: Vec<(String, String)>,
}

/// The open journal of a run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// The journal's place in a folder of reports.
    fn path_in(folder: &Path) -> PathBuf {
        folder.join(".journal.jsonl")
    }

    /// Opens the journal of a folder, with the records that `resume` finds there. A journal of other suites or of
    /// another version is begun anew, and so is one without `resume`. A last line without its end, as a killed run
    /// leaves it, is dropped.
    ///
    /// # Errors
    /// If the folder or the journal cannot be written, or `resume` finds a journal that cannot be read or is damaged.
    pub(super) fn open(folder: &Path, suites: &[Suite], resume: bool) -> Result<(Journal, Vec<Record>), JournalError> {
        let path = Journal::path_in(folder);
        let write = |source| JournalError::Write { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(write)?;
        let header = Header {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_string(),
            suites: suites.iter().map(|s| (s.name.clone(), format!("{:016x}", s.fingerprint))).collect(),
        };
        let known = if resume { read(&path, &header)? } else { Vec::new() };
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(&path).map_err(write)?;
        let mut journal = Journal { path, file };
        journal.line(&header)?;
        for record in &known {
            journal.append(record)?;
        }
        Ok((journal, known))
    }

    /// Writes a record at the end.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.line(record)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let fail = |source| JournalError::Write { path: self.path.clone(), source };
        let mut text = serde_json::to_string(value).map_err(|e| fail(e.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(fail)
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

fn read(path: &Path, header: &Header) -> Result<Vec<Record>, JournalError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Read { path: path.to_path_buf(), source }),
    };
    let mut reader = BufReader::new(file);
    let mut records = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        // Bytes and not text: a killed run may have stopped inside a character.
        let read = reader.read_until(b'\n', &mut line);
        read.map_err(|source| JournalError::Read { path: path.to_path_buf(), source })?;
        if line.last() != Some(&b'\n') {
            break;
        }
        let damaged =
            |e: serde_json::Error| JournalError::Damaged { path: path.to_path_buf(), line: number, why: e.to_string() };
        if number == 1 {
            if serde_json::from_slice::<Header>(&line).map_err(damaged)? != *header {
                return Ok(Vec::new());
            }
        } else {
            records.push(serde_json::from_slice::<Record>(&line).map_err(damaged)?);
        }
    }
    Ok(records)
}
