//! CSV: one row a case, sorted by id; one row a series.

use std::collections::BTreeMap;

use crate::record::{FitRecord, Record, SeriesRecord, SuiteRecord, shortest};

use super::{File, Report};

/// The name of the file with the fitted growths of all suites.
pub const GROWTH: &str = "growth.csv";

/// A table a suite, and one of all series.
pub struct Csv;

impl Report for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn doc(&self) -> &'static str {
        "NAME.csv: one row a case of the suite NAME; growth.csv: one row a fitted growth."
    }

    fn files(&self, suites: &[SuiteRecord]) -> Vec<File> {
        let of_suite = |suite: &SuiteRecord| File {
            name: format!("{}.csv", suite.name()),
            text: suite_csv(&suite.cases),
            of_one_suite: true,
        };
        let with_cases = suites.iter().filter(|suite| !suite.cases.is_empty());
        let mut files: Vec<File> = with_cases.map(of_suite).collect();
        let text = growth_csv(suites.iter().flat_map(|suite| &suite.series));
        files.push(File { name: GROWTH.to_string(), text, of_one_suite: false });
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

/// A report read back: each row's cells by column, the rows by the text of their first column or columns.
pub type Table = BTreeMap<String, BTreeMap<String, String>>;

/// Reads a CSV report's text. The first `keys` columns, joined by spaces, are the key of a row.
///
/// # Errors
/// What is no CSV, such as a row of another length than the header.
pub fn parse(text: &str, keys: usize) -> Result<Table, csv::Error> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers()?.iter().map(str::to_string).collect();
    let mut table = Table::new();
    for row in reader.records() {
        let row = row?;
        let key: Vec<&str> = row.iter().take(keys).collect();
        let cells = header.iter().cloned().zip(row.iter().map(str::to_string)).collect();
        table.insert(key.join(" "), cells);
    }
    Ok(table)
}
