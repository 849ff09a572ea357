//! The files of records: one a suite, `NAME.jsonl`, with a line of JSON for the header, each case and each series, and
//! a last one with a check over all of them, so that nothing is believed that no run wrote.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file::{read_text, write_whole};
use crate::suite::{Asked, check_name, fingerprint};

use super::case_record::Record;
use super::case_set::CaseSet;
use super::made_by::Build;
use super::series::SeriesRecord;
use super::suite::{Origin, SuiteHeader, SuiteRecord};

/// Changes whenever a record means something else.
const VERSION: u32 = 5;

/// Name of the folder of records in a folder of reports.
const FOLDER: &str = "records";

/// Why records cannot be kept or had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The folder or a file in it could not be made, written or removed.
    #[error("failed to write the records {path}: {source}; choose another folder with --out", path = path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder or a file in it could not be read.
    #[error("failed to read the records {path}: {source}", path = path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// There is no file of records.
    #[error("{folder} holds no records; `ulpgate run --out {folder}` makes some", folder = folder.display())]
    None {
        /// The folder of reports that was to hold them.
        folder: PathBuf,
    },
    /// A line is no record, or lines are missing.
    #[error("{path}:{line}: these are no records that can be read: {why}; run the suite again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The content that was expected there, or the missing lines.
        why: String,
    },
    /// The records are of another version of their format.
    #[error(
        "{path}: these records are of version {version}, and ulpgate {made_by} made them; this is version {VERSION}: run \
         the suite again", path = path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of the format that it is in.
        version: u32,
        /// The version of ulpgate that wrote it.
        made_by: String,
    },
}

/// The part of the first line that every version has.
#[derive(Debug, Serialize, Deserialize)]
struct Version {
    version: u32,
    ulpgate: String,
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonlHead<H> {
    version: u32,
    /// As [`Build::version`] and [`Build::sources`].
    ulpgate: String,
    sources: String,
    /// As [`Asked`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    slow: bool,
    /// As [`Origin::wanted`].
    wanted: CaseSet,
    suite: H,
    /// Lines of cases and of series that follow: a file that ends early is damaged.
    cases: usize,
    series: usize,
}

/// A line after the first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JsonlLine {
    Case(Record),
    Series(SeriesRecord),
    Check(String),
}

/// A line to write, without copying.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum LineOf<'a> {
    Case(&'a Record),
    Series(&'a SeriesRecord),
    /// [`check_of`] the lines above it.
    Check(String),
}

/// The check of a text, 16 hex digits.
fn check_of(text: &str) -> String {
    format!("{:016x}", fingerprint([text.as_bytes()].into_iter()))
}

/// The folder of records in a folder of reports.
fn folder_in(reports: &Path) -> PathBuf {
    reports.join(FOLDER)
}

/// Keeps the records of some suites in a folder of reports, one file a suite, each whole or not at all. `all` says that
/// these are all suites there are: then files of other suites are removed, because `report` would render a suite again
/// that is gone. A file that holds no records stays.
///
/// # Errors
/// [`FileError::Write`], also of a suite whose name is no file's.
pub fn write_folder(reports: &Path, suites: &[SuiteRecord], all: bool) -> Result<(), FileError> {
    let folder = folder_in(reports);
    let write = |path: &Path, source| FileError::Write { path: path.to_path_buf(), source };
    std::fs::create_dir_all(&folder).map_err(|e| write(&folder, e))?;
    for suite in suites {
        check_name(suite.name()).map_err(|e| write(&folder, std::io::Error::other(e)))?;
        let path = folder.join(format!("{}.jsonl", suite.name()));
        let text = text_of(suite).map_err(|e| write(&path, e.into()))?;
        write_whole(&path, text.as_bytes()).map_err(|e| write(&path, e))?;
    }
    let is_kept = |path: &Path| suites.iter().any(|suite| path.file_stem().is_some_and(|stem| stem == suite.name()));
    for path in files_in(&folder).map_err(|e| write(&folder, e))?.iter().filter(|path| all && !is_kept(path)) {
        if has_records(path) {
            std::fs::remove_file(path).map_err(|e| write(path, e))?;
        }
    }
    Ok(())
}

/// Whether a file begins as one of records does, of whatever version.
fn has_records(path: &Path) -> bool {
    let first = read_text(path).ok().and_then(|text| text.lines().next().map(str::to_string));
    first.is_some_and(|line| serde_json::from_str::<Version>(&line).is_ok())
}

/// The files of records in a folder of them, in the order of their names.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn text_of(suite: &SuiteRecord) -> serde_json::Result<String> {
    let Origin { build, asked, wanted } = &suite.origin;
    let head = JsonlHead {
        version: VERSION,
        ulpgate: build.version.clone(),
        sources: build.sources.clone(),
        filter: asked.filter.clone(),
        slow: asked.slow,
        wanted: *wanted,
        suite: &suite.header,
        cases: suite.cases.len(),
        series: suite.series.len(),
    };
    let mut text = serde_json::to_string(&head)? + "\n";
    let lines = suite.cases.iter().map(LineOf::Case).chain(suite.series.iter().map(LineOf::Series));
    for line in lines {
        text += &serde_json::to_string(&line)?;
        text.push('\n');
    }
    let check = serde_json::to_string(&LineOf::Check(check_of(&text)))?;
    Ok(text + &check + "\n")
}

/// The records of a folder of reports, in the order of the suites' names.
///
/// # Errors
/// If there are none, or one of the files cannot be read, is damaged or of another version.
pub fn read_folder(reports: &Path) -> Result<Vec<SuiteRecord>, FileError> {
    let folder = folder_in(reports);
    let none = || FileError::None { folder: reports.to_path_buf() };
    let paths = match files_in(&folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(none()),
        paths => paths.map_err(|source| FileError::Read { path: folder.clone(), source })?,
    };
    if paths.is_empty() { Err(none()) } else { paths.iter().map(|path| read(path)).collect() }
}

fn read(path: &Path) -> Result<SuiteRecord, FileError> {
    let fail = |source| FileError::Read { path: path.to_path_buf(), source };
    let damaged = |line: usize, why: String| FileError::Damaged { path: path.to_path_buf(), line, why };
    let text = read_text(path).map_err(fail)?;
    let mut lines = text.split_inclusive('\n').enumerate();
    let first = lines.next().map(|(_, line)| line).unwrap_or_default();
    let Version { version, ulpgate: made_by } = serde_json::from_str(first).map_err(|e| damaged(1, e.to_string()))?;
    if version != VERSION {
        return Err(FileError::Version { path: path.to_path_buf(), version, made_by });
    }
    let head: JsonlHead<SuiteHeader> = serde_json::from_str(first).map_err(|e| damaged(1, e.to_string()))?;
    let origin = Origin {
        build: Build { version: head.ulpgate, sources: head.sources },
        asked: Asked { filter: head.filter, slow: head.slow },
        wanted: head.wanted,
    };
    let mut suite = SuiteRecord { header: head.suite, origin, cases: Vec::new(), series: Vec::new() };
    let (mut whole, mut checked) = (first.len(), None);
    for (at, line) in lines {
        if checked.is_some() {
            return Err(damaged(at + 1, "it stands behind the last line, which is the check".to_string()));
        }
        match serde_json::from_str(line).map_err(|e| damaged(at + 1, e.to_string()))? {
            JsonlLine::Case(record) => suite.cases.push(record),
            JsonlLine::Series(record) => suite.series.push(record),
            JsonlLine::Check(check) => checked = Some((at + 1, check)),
        }
        if checked.is_none() {
            whole += line.len();
        }
    }
    let (cases, series) = (suite.cases.len(), suite.series.len());
    if (cases, series) != (head.cases, head.series) {
        let why = format!(
            "there are {cases} cases and {series} series, but the first line says {} and {}",
            head.cases, head.series
        );
        return Err(damaged(1 + cases + series, why));
    }
    let Some((line, check)) = checked.filter(|_| text.ends_with('\n')) else {
        return Err(damaged(1 + cases + series, "the end is missing, which is a check over all lines".to_string()));
    };
    if check != check_of(&text[..whole]) {
        return Err(damaged(line, "a line above is not as the run wrote it".to_string()));
    }
    belongs_to(path, &suite).map_err(|why| damaged(1, why))?;
    Ok(suite)
}

/// Holds the names in a file of records to the file's own: reports are written under them.
fn belongs_to(path: &Path, suite: &SuiteRecord) -> Result<(), String> {
    let name = suite.name();
    check_name(name).map_err(|error| error.to_string())?;
    if path.file_stem().is_none_or(|stem| stem != name) {
        return Err(format!("it is of the suite {name}, so that the file is to be called {name}.jsonl"));
    }
    let mut ids = BTreeSet::new();
    for record in &suite.cases {
        let id = record.id();
        if record.key.suite != name {
            return Err(format!("{id} is a case of another suite than {name}"));
        }
        if let Some(id) = ids.replace(id) {
            return Err(format!("{id} has two records"));
        }
    }
    match suite.series.iter().find(|record| record.series.suite != name) {
        Some(record) => Err(format!("{} is a series of another suite than {name}", record.series)),
        None => Ok(()),
    }
}
