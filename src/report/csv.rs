//! CSV: one row a case, sorted by id; one row a fit.

use std::collections::BTreeMap;

use crate::run::{FitRecord, Record};

/// The report of one suite: `case,verdict`, each check's verdict, each figure, `rows`, and the worst case's index and
/// bits. Columns that no case of the suite fills are left out; a cell that a case does not fill is empty.
pub fn suite_csv(records: &[&Record]) -> String {
    let checks = ordered(records.iter().flat_map(|r| r.checks.iter().map(|c| c.column.as_str())));
    let figures = ordered(records.iter().flat_map(|r| r.figures.iter().map(|f| f.name.as_str())));
    let mut header = vec!["case", "verdict"];
    header.extend(&checks);
    header.extend(&figures);
    header.extend(["rows", "index", "value_hex", "truth_hex"]);
    let mut rows = vec![header.into_iter().map(str::to_string).collect::<Vec<_>>()];
    for record in records {
        let mut row = vec![record.case.clone(), record.verdict().name().to_string()];
        let check = |name: &&str| record.checks.iter().find(|c| c.column == *name);
        row.extend(checks.iter().map(|name| check(name).map_or(String::new(), |c| c.outcome.clone())));
        let figure = |name: &&str| record.figures.iter().find(|f| f.name == *name);
        row.extend(figures.iter().map(|name| figure(name).map_or(String::new(), |f| f.value.clone())));
        row.push(record.rows.to_string());
        match &record.worst {
            Some(worst) => row.extend([worst.index.to_string(), worst.value_hex.clone(), worst.truth_hex.clone()]),
            None => row.extend(std::iter::repeat_n(String::new(), 3)),
        }
        rows.push(row);
    }
    written(&rows)
}

/// Whether a text begins as [`suite_csv`] does.
pub fn is_suite_report(text: &str) -> bool {
    text.starts_with("case,verdict,")
}

/// One row a fit, sorted by series and metric.
pub fn growth_csv(fits: &[FitRecord]) -> String {
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
    for fit in fits {
        let number = |v: Option<f64>| v.map_or(String::new(), crate::run::shortest);
        let slope = |at: usize| number(fit.slope.map(|s| s[at]));
        rows.push(vec![
            fit.series.clone(),
            fit.metric.clone(),
            fit.verdict().name().to_string(),
            fit.outcome.name().to_string(),
            number(Some(fit.expected_slope)),
            slope(0),
            slope(1),
            slope(2),
            number(fit.residual),
            fit.sizes.to_string(),
            fit.note.clone(),
        ]);
    }
    written(&rows)
}

/// Names in the order in which they first come, which is the order of the suite file.
fn ordered<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
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

/// A report read back: by the first column, each row's cells by column.
pub type Table = BTreeMap<String, BTreeMap<String, String>>;

/// Reads a report's text; the key joins the first `keys` columns.
pub fn parse(text: &str, keys: usize) -> Result<Table, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().map_err(|e| e.to_string())?.iter().map(str::to_string).collect();
    let mut table = Table::new();
    for row in reader.records() {
        let row = row.map_err(|e| e.to_string())?;
        let key: Vec<&str> = row.iter().take(keys).collect();
        let cells = header.iter().cloned().zip(row.iter().map(str::to_string)).collect();
        table.insert(key.join(" "), cells);
    }
    Ok(table)
}
