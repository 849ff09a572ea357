//! The gate: fresh reports against the committed ones, row by row. It reads and compares, and writes nothing.

mod fault;
mod row_change;

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use crate::file::read_text;
use crate::report::{File, Row, Table, is_derived, is_standing, is_suite_report, parse};

use row_change::ReportCell;

/// The change of one row of a report against the baseline: the same row of the committed report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowChange {
    /// Some figure or verdict is better, and none is worse.
    Better,
    /// Some figure or verdict is worse, or the file of the baseline is damaged. Mixed figures count as worse.
    Worse,
    /// Neither can be said: something else is judged or expected, or a finding is gone at the cost of a larger error.
    Changed,
    /// The baseline has no such row or report.
    New,
    /// Only the baseline has such a row or report.
    Gone,
    /// A file beside the reports that is no report: told, and nothing depends on it.
    Stray,
}

impl RowChange {
    /// The name on the terminal, such as `worse`.
    pub const fn name(self) -> &'static str {
        match self {
            RowChange::Better => "better",
            RowChange::Worse => "worse",
            RowChange::Changed => "changed",
            RowChange::New => "new",
            RowChange::Gone => "gone",
            RowChange::Stray => "stray",
        }
    }
}

/// One difference, with its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The report's file, such as `matmul-growth.csv`.
    pub file: String,
    /// The key of the row: a case's id, or series and metric of a fit. Empty for the file as a whole.
    pub row: String,
    /// The kind of change.
    pub change: RowChange,
    /// `column: old -> new` for each cell that changed, those that decide first, or the fault of the file; empty for a row that is
    /// new or gone.
    pub what: String,
}

impl Difference {
    /// A difference of a file as a whole.
    fn of_file(file: &str, change: RowChange, what: String) -> Difference {
        Difference { file: file.to_string(), row: String::new(), change, what }
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Difference { file, row, change, what } = self;
        write!(f, "{}: {file}", change.name())?;
        if !row.is_empty() {
            write!(f, " {row}")?;
        }
        if what.is_empty() { Ok(()) } else { write!(f, ": {what}") }
    }
}

/// Why the gate cannot compare.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A file of the baseline, or its folder, could not be read.
    #[error("failed to read the baseline {path}: {source}; write it with `ulpgate gate --bless`", path = path.display())]
    Baseline {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Compares fresh report files with those of a baseline folder, in their order. Files of equal bytes give nothing. A
/// file of the baseline that is missing is one difference ([`RowChange::New`]), and so is one that is damaged, with the
/// fault ([`RowChange::Worse`]). A page without rows follows the files before it: it is better if all differences in them
/// are, worse if one is, and else changed.
///
/// If only part of the cases ran, `about` tells which rows of the baseline the fresh files would have if they were
/// still given: the others are not missed.
///
/// # Errors
/// If a file is there and cannot be read.
pub fn compare(files: &[File], baseline: &Path, about: &dyn Fn(&Row) -> bool) -> Result<Vec<Difference>, GateError> {
    compare_with(files, &|name| read_text(&baseline.join(name)), about).map_err(|(name, source)| {
        let path = baseline.join(name);
        GateError::Baseline { path, source }
    })
}

/// As [`compare`], with texts of a baseline that lies anywhere, by their names.
///
/// # Errors
/// The first name whose text is there and cannot be read.
pub fn compare_with(
    files: &[File],
    read: &dyn Fn(&str) -> std::io::Result<String>,
    about: &dyn Fn(&Row) -> bool,
) -> Result<Vec<Difference>, (String, std::io::Error)> {
    let mut differences = Vec::new();
    for File { name, text: fresh, .. } in files {
        let fail = |source| (name.clone(), source);
        let old = match read(name) {
            Ok(old) => old,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let what = "the baseline has no such report".to_string();
                differences.push(Difference::of_file(name, RowChange::New, what));
                continue;
            }
            Err(e) => return Err(fail(e)),
        };
        // Nearly every report is unchanged, and equal bytes need no parser.
        if old == *fresh {
            continue;
        }
        let fault = fault::of_text(&old);
        let damaged = fault.is_some();
        differences.extend(fault.map(|what| Difference::of_file(name, RowChange::Worse, what)));
        if name.ends_with(".csv") {
            let rows_now = parse(name, fresh).map_err(|e| fail(std::io::Error::other(e)))?;
            match parse(name, old.trim_start_matches(fault::BYTE_ORDER_MARK)) {
                Ok(rows_then) => {
                    let found = rows(name, &rows_then, &rows_now, about);
                    // A column without a cell, another order: cells that are the same do not excuse a text that is another.
                    if found.is_empty() && !damaged && rows_then.keys().eq(rows_now.keys()) {
                        let what =
                            format!("the same rows, written otherwise: {}", fault::first_difference(&old, fresh));
                        differences.push(Difference::of_file(name, RowChange::Worse, what));
                    }
                    differences.extend(found);
                }
                // A merge marker is no row, and has been told.
                Err(_) if damaged => {}
                Err(why) => {
                    let what = format!("the baseline is no report: {why}");
                    differences.push(Difference::of_file(name, RowChange::Worse, what));
                }
            }
        } else if !damaged {
            let change = together(&differences);
            differences.push(Difference::of_file(name, change, fault::first_difference(&old, fresh)));
        }
    }
    Ok(differences)
}

/// The files of a baseline folder beside the reports of these names, sorted: a report that no suite gives any more
/// ([`RowChange::Gone`]), and a file that is no report ([`RowChange::Stray`]). Folders and hidden files are left alone; a
/// folder that does not exist holds nothing.
///
/// # Errors
/// If the folder cannot be listed.
pub fn left_over(names: &BTreeSet<String>, baseline: &Path) -> Result<Vec<Difference>, GateError> {
    let fail = |source| GateError::Baseline { path: baseline.to_path_buf(), source };
    let entries = match std::fs::read_dir(baseline) {
        Ok(entries) => entries,
        // A first run has no baseline, of which nothing can be left over.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fail(e)),
    };
    let mut differences = Vec::new();
    for entry in entries {
        let path = entry.map_err(fail)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if names.contains(name) || name.starts_with('.') || path.is_dir() {
            continue;
        }
        let is_report = name.ends_with(".csv") && read_text(&path).is_ok_and(|t| is_suite_report(&t));
        differences.push(if is_report {
            Difference::of_file(name, RowChange::Gone, "no suite gives this report".to_string())
        } else {
            Difference::of_file(name, RowChange::Stray, "it is no report".to_string())
        });
    }
    differences.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(differences)
}

/// The rows that differ, and those that follow from other reports in one difference of the file. A column that every
/// report has and the whole baseline lacks is told once.
fn rows(file: &str, old: &Table, fresh: &Table, about: &dyn Fn(&Row) -> bool) -> Vec<Difference> {
    let lacking = lacking(old, fresh);
    let mut differences = Vec::new();
    if !lacking.is_empty() {
        let names = lacking.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let what = format!("the baseline has no {names}: an earlier version made it, and `gate --bless` adds them");
        differences.push(Difference::of_file(file, RowChange::New, what));
    }
    let mut derived = Vec::new();
    let keys: BTreeSet<&String> = old.keys().chain(fresh.keys()).collect();
    for key in keys {
        let (change, what) = match (old.get(key), fresh.get(key)) {
            (Some(old), None) if about(old) => (RowChange::Gone, String::new()),
            // The run left out this row's suite or size: a part says nothing of the rest.
            (_, None) => continue,
            (None, _) => (RowChange::New, String::new()),
            (Some(old), Some(fresh)) => {
                let columns: BTreeSet<&String> = old.keys().chain(fresh.keys()).collect();
                let is_changed = |c: &&String| !lacking.contains(c) && cell(old, c) != cell(fresh, c);
                let changed: Vec<&String> = columns.into_iter().filter(is_changed).collect();
                if changed.is_empty() {
                    continue;
                }
                let cells = changed.iter().map(|column| {
                    // A point's value is of the metric that its row names.
                    let figure = fresh.get("metric").filter(|_| *column == "value").unwrap_or(*column);
                    ReportCell { header: column, column: figure, old: cell(old, column), fresh: cell(fresh, column) }
                });
                let cells: Vec<ReportCell> = cells.collect();
                (row_change::change(&cells), row_change::told(&cells))
            }
        };
        let row = fresh.get(key).or(old.get(key));
        // One changed case changes every mean over it: such rows are summed up, so that the cause is seen.
        let list = if row.is_some_and(|row| is_derived(file, row)) { &mut derived } else { &mut differences };
        list.push(Difference { file: file.to_string(), row: key.clone(), change, what });
    }
    differences.extend(summed(file, &derived));
    differences
}

/// Columns that every report has, and no row of the baseline.
fn lacking<'a>(old: &Table, fresh: &'a Table) -> Vec<&'a String> {
    let (Some(old), Some(fresh)) = (old.values().next(), fresh.values().next()) else { return Vec::new() };
    fresh.keys().filter(|column| is_standing(column) && !old.contains_key(*column)).collect()
}

/// Rows that follow from others in one difference: they are no findings of their own.
fn summed(file: &str, derived: &[Difference]) -> Option<Difference> {
    let first = derived.first()?;
    let told = if first.what.is_empty() { first.change.name() } else { &first.what };
    let what = format!("{} rows that follow from other reports, such as {}: {told}", derived.len(), first.row);
    Some(Difference::of_file(file, together(derived), what))
}

/// The direction of several differences together.
fn together(differences: &[Difference]) -> RowChange {
    let all = |change: RowChange| !differences.is_empty() && differences.iter().all(|d| d.change == change);
    let is_worse = differences.iter().any(|d| d.change == RowChange::Worse);
    match [RowChange::Better, RowChange::New, RowChange::Gone].into_iter().find(|change| all(*change)) {
        Some(change) => change,
        None if is_worse => RowChange::Worse,
        None => RowChange::Changed,
    }
}

/// The cell of a row in a column; empty where it has none.
fn cell<'a>(row: &'a Row, column: &str) -> &'a str {
    row.get(column).map_or("", String::as_str)
}
