//! Reads suite files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::file::{NameFault, check_component, read_text};

use super::case::Case;
use super::error::{Source, SuiteError};
use super::expand::expand;
use super::files::Files;
use super::table::SuiteTable;

/// The tables that all suites share, by their stems.
const SHARED: [&str; 3] = ["growth", "growth-points", "fingerprints"];

/// Why a suite cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Its reports would lie elsewhere, or nowhere.
    #[error("no suite may be called `{}`: {fault}, and a suite's name is that of its files", name.escape_debug())]
    Fault {
        /// The name.
        name: String,
        /// The fault.
        fault: NameFault,
    },
    /// Its report would be one over all suites.
    #[error("no suite may be called {0}: {0}.csv is a report over all suites")]
    Shared(String),
}

/// Holds a suite's name to be one that its reports and records can have.
///
/// # Errors
/// The fault.
pub fn check_name(name: &str) -> Result<(), NameError> {
    check_component(name).map_err(|fault| NameError::Fault { name: name.to_string(), fault })?;
    if SHARED.contains(&name) { Err(NameError::Shared(name.to_string())) } else { Ok(()) }
}

/// A suite: its claim and its cases.
pub struct Suite {
    /// The stem of its file, and of its reports.
    pub name: String,
    /// The one sentence that it tests.
    pub claim: String,
    /// Why the claim matters.
    pub why: String,
    /// From where it is known.
    pub source: String,
    /// At least one, sorted by id.
    pub cases: Vec<Case>,
    /// A hash (FNV-1a, 64 bits) of its own file, but for comments and layout, and of each file that it names, by their
    /// paths from its folder: a journal of others is not resumed, and records of others are not merged.
    pub fingerprints: BTreeMap<String, u64>,
}

/// All suites (`*.toml`) of a folder, sorted by file name.
///
/// # Errors
/// If the folder cannot be read or has no suite, or as [`load`] says of the first suite that is wrong.
pub fn load_folder(folder: &Path) -> Result<Vec<Suite>, SuiteError> {
    let fail = |why: String| SuiteError { path: folder.to_path_buf(), at: None, why };
    let entries = std::fs::read_dir(folder).map_err(|e| {
        fail(format!(
            "failed to read the suites: {e}; run from the folder that holds `suites`, or begin with `ulpgate init`"
        ))
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| fail(format!("failed to list the folder: {e}")))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(fail("there are no suites (*.toml) in this folder".to_string()));
    }
    paths.iter().map(|path| load(path)).collect()
}

/// One suite, every name in it looked up and every program built once, so that a run fails early.
///
/// # Errors
/// If the file cannot be read, is no TOML or has unknown keys; if it names what does not exist or what does not go
/// together; or if it has no case, or one twice. The error has the place in the file, where it has one.
pub fn load(path: &Path) -> Result<Suite, SuiteError> {
    let fail = |why: String| SuiteError { path: path.to_path_buf(), at: None, why };
    let name = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_string);
    let name = name.ok_or_else(|| fail("the suite's name is no UTF-8 text: rename the file".to_string()))?;
    check_name(&name).map_err(|error| fail(error.to_string()))?;
    let text = read_text(path).map_err(|e| fail(format!("failed to read the suite: {e}")))?;
    let here = Source { path, text: &text };
    let table: SuiteTable = toml::from_str(&text).map_err(|e| SuiteError {
        path: path.to_path_buf(),
        at: e.span().map(|span| here.position(span)),
        why: e.message().to_string(),
    })?;
    let mut cases: Vec<Case> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut files = Files::beside(path);
    for matrix in &table.matrix {
        if let Some(key) = matrix.get_ref().empty_list() {
            return Err(here.error(matrix.span(), format!("`{key}` is an empty list, so the matrix has no cases")));
        }
        let more = expand(&here, &name, matrix, &mut files)?;
        if let Some(twice) = more.iter().find(|case| !ids.insert(case.id.clone())) {
            return Err(here.error(matrix.span(), format!("this matrix gives {} a second time", twice.id)));
        }
        cases.extend(more);
    }
    if cases.is_empty() {
        return Err(fail("the suite has no matrix, so it has no cases".to_string()));
    }
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    let plain = toml::from_str::<toml::Table>(&text).map(|t| t.to_string()).unwrap_or(text);
    let own = (format!("{name}.toml"), fingerprint([plain.as_bytes()].into_iter()));
    let named = files.contents().map(|(name, bytes)| (name, fingerprint([bytes].into_iter())));
    let fingerprints = [own].into_iter().chain(named).collect();
    Ok(Suite { name, claim: table.claim, why: table.why, source: table.source, cases, fingerprints })
}

/// FNV-1a: short, stable, and only ever compared with itself.
pub(crate) fn fingerprint<'a>(contents: impl Iterator<Item = &'a [u8]>) -> u64 {
    let bytes = contents.flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
