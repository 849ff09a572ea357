//! CSV: one row a case, sorted by id; one row a series.

use std::collections::BTreeMap;

use crate::record::{FitRecord, Record, SeriesRecord, SuiteRecord, shortest};

use super::{Covers, File, Report};

/// The name of the file with the fitted growths of all suites.
const GROWTH: &str = "growth.csv";

/// The name of the file with the fingerprints of all suites and of the files that they name.
const FINGERPRINTS: &str = "fingerprints.csv";

/// A table a suite, one of all series, and one of what all suites were made of.
pub struct Csv;

impl Report for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn doc(&self) -> &'static str {
        "NAME.csv: one row a case of the suite NAME; growth.csv: one row a fitted growth; fingerprints.csv: one row a file that a suite is made of."
    }

    fn files(&self, suites: &[SuiteRecord]) -> Vec<File> {
        let of_suite = |suite: &SuiteRecord| File {
            name: format!("{}.csv", suite.name()),
            text: suite_csv(&suite.cases),
            covers: Covers::OneSuite,
        };
        let with_cases = suites.iter().filter(|suite| !suite.cases.is_empty());
        let mut files: Vec<File> = with_cases.map(of_suite).collect();
        let text = growth_csv(suites.iter().flat_map(|suite| &suite.series));
        files.push(File { name: GROWTH.to_string(), text, covers: Covers::AllTogether });
        files.push(File { name: FINGERPRINTS.to_string(), text: fingerprints_csv(suites), covers: Covers::EachSuite });
        files
    }
}

/// The report of one suite: `case,verdict`, each check's verdict, each figure, `rows`, and the worst case's index and
/// bits. Columns that no case of the suite fills are left out; a cell that a case does not fill is empty.
fn suite_csv(records: &[Record]) -> String {
    let checks = ordered(records.iter().flat_map(|r| r.checks.iter().map(|c| c.column())));
    let figures = ordered(records.iter().flat_map(|r| r.figures.iter().map(|f| f.column())));
    let fixed = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let header = [fixed(&["case", "verdict"]), checks.clone(), figures.clone(), fixed(&LAST)].concat();
    let mut rows = vec![header];
    for record in records {
        let mut row = vec![record.id(), record.verdict().name().to_string()];
        let check = |name: &String| record.checks.iter().find(|c| c.column() == *name);
        row.extend(checks.iter().map(|name| check(name).map_or(String::new(), |c| c.outcome.name().to_string())));
        row.extend(figures.iter().map(|name| record.figure(name).map_or(String::new(), shortest)));
        row.push(record.key.rows.to_string());
        match &record.worst {
            Some(worst) => row.extend([worst.index.to_string(), worst.value_hex.clone(), worst.truth_hex.clone()]),
            None => row.extend(std::iter::repeat_n(String::new(), 3)),
        }
        rows.push(row);
    }
    written(&rows)
}

/// The last columns of every suite's report.
const LAST: [&str; 4] = ["rows", "index", "value_hex", "truth_hex"];

/// Whether a text begins as the CSV report of a suite does.
pub fn is_suite_report(text: &str) -> bool {
    text.starts_with("case,verdict,")
}

/// One row a fitted growth, sorted by series and metric.
fn growth_csv<'a>(series: impl Iterator<Item = &'a SeriesRecord>) -> String {
    let header = [
        "series",
        "metric",
        "verdict",
        "outcome",
        "expected_slope",
        "slope",
        "slope_low",
        "slope_high",
        "residual",
        "sizes",
        "note",
    ];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    let mut records: Vec<&SeriesRecord> = series.collect();
    records.sort_by_cached_key(|record| (record.series.to_string(), record.metric.clone()));
    for record in records {
        let of_fit = |part: fn(&FitRecord) -> f64| record.fit.as_ref().map_or(String::new(), |fit| shortest(part(fit)));
        rows.push(vec![
            record.series.to_string(),
            record.metric.clone(),
            record.verdict().name().to_string(),
            record.check.outcome.name().to_string(),
            shortest(record.expected_slope),
            of_fit(|fit| fit.slope),
            of_fit(|fit| fit.low),
            of_fit(|fit| fit.high),
            of_fit(|fit| fit.residual),
            record.sizes.to_string(),
            record.check.note.clone(),
        ]);
    }
    written(&rows)
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
    /// Two rows have one key.
    #[error("line {line} is a second row of `{key}`")]
    Twice {
        /// The line of the second, from 1.
        line: u64,
        /// What names both.
        key: String,
    },
}

/// Reads the text of the report of this name. Rows are named by their case or, where a table is over all suites, by
/// their first two columns, joined by a space.
///
/// # Errors
/// If it is no CSV, or names a row twice.
pub fn parse(name: &str, text: &str) -> Result<Table, TableError> {
    let keys = if [GROWTH, FINGERPRINTS].contains(&name) { 2 } else { 1 };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers()?.iter().map(str::to_string).collect();
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
