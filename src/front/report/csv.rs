//! CSV: one row a case, sorted by id; one row a series.

use std::collections::BTreeMap;

use crate::check::Witness;
use crate::record::{Key, Record, SuiteRecord, shortest};

use super::growth_tables::{ALL_SEEDS, GROWTH, POINTS, fits, points};
use super::{Covers, File, Report};

/// The name of the file with the fingerprints of all suites and of the files that they name.
const FINGERPRINTS: &str = "fingerprints.csv";

/// A table a suite, two of all series, and one of the files that all suites were made of.
pub struct Csv;

impl Report for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn doc(&self) -> &'static str {
        "NAME.csv: one row a case of the suite NAME; growth.csv: one row a fitted growth; \
         growth-points.csv: one row a point of it; fingerprints.csv: one row a file that a suite is made of."
    }

    fn files(&self, suites: &[SuiteRecord]) -> Vec<File> {
        let of_suite = |suite: &SuiteRecord| File {
            name: format!("{}.csv", suite.name()),
            text: suite_csv(&suite.cases),
            covers: Covers::OneSuite,
        };
        let with_cases = suites.iter().filter(|suite| !suite.cases.is_empty());
        let mut files: Vec<File> = with_cases.map(of_suite).collect();
        for (name, rows) in [(GROWTH, fits(suites)), (POINTS, points(suites))] {
            files.push(File { name: name.to_string(), text: written(&rows), covers: Covers::AllTogether });
        }
        files.push(File { name: FINGERPRINTS.to_string(), text: fingerprints_csv(suites), covers: Covers::EachSuite });
        files
    }
}

/// The report of one suite: `case,verdict`, the parts of the case, each check's verdict, each figure, `rows`, and the
/// element that shows the verdict ([`Record::witness`]). Columns that no case of the suite fills are left out; a cell
/// that a case does not fill is empty.
fn suite_csv(records: &[Record]) -> String {
    let checks = ordered(records.iter().flat_map(|r| r.checks.iter().map(|c| c.column())));
    let figures = ordered(records.iter().flat_map(|r| r.figures.iter().map(|f| f.column())));
    let fixed = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let header = [fixed(&["case", "verdict"]), fixed(&PARTS), checks.clone(), figures.clone(), fixed(&LAST)].concat();
    let mut rows = vec![header];
    for record in records {
        let mut row = vec![record.id(), record.verdict().name().to_string()];
        let Key { program, subject, input, n, seed, .. } = &record.key;
        row.extend([program.clone(), subject.clone(), input.clone(), n.to_string(), seed.to_string()]);
        let check = |name: &String| record.checks.iter().find(|c| c.column() == *name);
        row.extend(checks.iter().map(|name| check(name).map_or(String::new(), |c| c.outcome.name().to_string())));
        row.extend(figures.iter().map(|name| record.figure(name).map_or(String::new(), shortest)));
        row.push(record.key.rows.to_string());
        match record.witness() {
            Some((found_by, witness)) => row.extend(witness_cells(found_by, witness)),
            None => row.extend(std::iter::repeat_n(String::new(), LAST.len() - 1)),
        }
        rows.push(row);
    }
    written(&rows)
}

/// The columns that a case's id is made of.
const PARTS: [&str; 5] = ["program", "mode", "input", "size", "seed"];

/// The last columns of every suite's report.
const LAST: [&str; 9] =
    ["rows", "found_by", "result", "row", "index", "value_hex", "truth_hex", "tokens", "token_scores"];

/// The cells of the last columns behind `rows`. Tokens and their scores are separated by spaces.
fn witness_cells(found_by: String, witness: &Witness) -> [String; LAST.len() - 1] {
    let Witness { result, row, index, value_hex, truth_hex, tokens } = witness;
    let joined = |texts: Vec<String>| texts.join(" ");
    [
        found_by,
        result.clone(),
        row.to_string(),
        index.to_string(),
        value_hex.clone(),
        truth_hex.clone(),
        joined(tokens.iter().map(|scored| scored.token.to_string()).collect()),
        joined(tokens.iter().filter_map(|scored| scored.score_hex.clone()).collect()),
    ]
}

/// Whether every report of a suite, or of growths, has this column, whatever the suite asks.
pub fn is_standing(column: &str) -> bool {
    PARTS.contains(&column) || LAST.contains(&column)
}

/// Whether a row follows from rows of other reports: a point of a growth, or a fit through those of all seeds.
pub fn is_derived(file: &str, row: &Row) -> bool {
    file == POINTS || file == GROWTH && row.get("seed").is_some_and(|seed| seed == ALL_SEEDS)
}

/// Whether a text begins as the CSV report of a suite does.
pub fn is_suite_report(text: &str) -> bool {
    text.starts_with("case,verdict,")
}

/// One row a file of a suite: its own, and each that it names.
fn fingerprints_csv(suites: &[SuiteRecord]) -> String {
    let mut rows = vec![["suite", "file", "fingerprint"].map(str::to_string).to_vec()];
    for header in suites.iter().map(|suite| &suite.header) {
        let row = |(file, hash): (&String, &String)| vec![header.name.clone(), file.clone(), hash.clone()];
        rows.extend(header.fingerprints.iter().map(row));
    }
    written(&rows)
}

/// Names in the order in which they first come, which is the order of the suite file.
fn ordered(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn written(rows: &[Vec<String>]) -> String {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    for row in rows {
        // Rows are as long as the header and the sink is memory: nothing here can fail.
        let _ = writer.write_record(row);
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A report read back: the rows by the text of their first column or columns.
pub type Table = BTreeMap<String, Row>;

/// A row's cells by their columns.
pub type Row = BTreeMap<String, String>;

/// Why a text is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is no CSV, such as a row of another length than the header.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// Two columns have one name, of which a row's cell would be either.
    #[error("the column `{0}` stands twice")]
    TwoColumns(String),
    /// Two rows have one key.
    #[error("line {line} is a second row of `{key}`")]
    Twice {
        /// The line of the second, from 1.
        line: u64,
        /// The key of both.
        key: String,
    },
}

/// Reads the text of the report of this name. Rows are named by their case or, where a table is over all suites, by
/// their first two columns, and by a size where they have one, joined by spaces.
///
/// # Errors
/// If it is no CSV, or names a row or a column twice.
pub fn parse(name: &str, text: &str) -> Result<Table, TableError> {
    let keys = match name {
        POINTS => 3,
        GROWTH | FINGERPRINTS => 2,
        _ => 1,
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers()?.iter().map(str::to_string).collect();
    if let Some((_, twice)) = header.iter().enumerate().find(|(at, name)| header[..*at].contains(name)) {
        return Err(TableError::TwoColumns(twice.clone()));
    }
    let mut table = Table::new();
    for row in reader.records() {
        let row = row?;
        let key = row.iter().take(keys).collect::<Vec<_>>().join(" ");
        let cells = header.iter().cloned().zip(row.iter().map(str::to_string)).collect();
        if table.insert(key.clone(), cells).is_some() {
            return Err(TableError::Twice { line: row.position().map_or(0, csv::Position::line), key });
        }
    }
    Ok(table)
}
