//! Cases of one program, mode and check together, whatever their size, input, rows and seed.

use std::collections::BTreeMap;

use crate::check::find_check;
use crate::record::{Record, Verdict};
use crate::stat::clopper_pearson;

/// The cases of one program, mode and check together.
pub struct Pool<'a> {
    /// The check's column.
    pub check: String,
    /// The program, without the number of its rows.
    pub program: String,
    /// The subject that is judged: a mode, or another one.
    pub subject: &'a str,
    /// The number of cases.
    pub cases: usize,
    /// Their sizes, each once a case.
    pub sizes: Vec<u64>,
    /// Rows with something found.
    pub found: u64,
    /// Rows in all; 0 for a check that counts none.
    pub rows: u64,
    /// The weightiest verdict, of the first case that has it.
    pub worst: Verdict,
    /// The note of that case.
    pub note: &'a str,
    /// The size of that case.
    pub n: u64,
    /// Why the suite expects that, if it says so.
    pub because: Option<&'a str>,
}

/// A share of rows with its 95 % Clopper-Pearson interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Found by all, from 0 to 1.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Pool<'_> {
    /// The share of rows with something found; `None` for a check that counts no rows.
    pub fn rate(&self) -> Option<Rate> {
        let interval = clopper_pearson(self.found, self.rows, 0.95)?;
        Some(Rate { share: self.found as f64 / self.rows as f64, low: interval.low, high: interval.high })
    }
}

/// The pools of some cases, sorted by check, program and subject.
pub fn pools(records: &[Record]) -> Vec<Pool<'_>> {
    let mut pools: BTreeMap<(String, String, &str), Pool> = BTreeMap::new();
    for record in records {
        for check in &record.checks {
            let (column, program, subject) =
                (check.column(), without_rows(&record.key.program), record.key.subject.as_str());
            let (verdict, n) = (check.verdict(), record.key.n);
            let (note, because) = (check.note.as_str(), check.because.as_deref());
            let pool = pools.entry((column.clone(), program.clone(), subject)).or_insert_with(|| Pool {
                check: column,
                program,
                subject,
                cases: 0,
                sizes: Vec::new(),
                found: 0,
                rows: 0,
                worst: verdict,
                note,
                n,
                because,
            });
            pool.cases += 1;
            pool.sizes.push(n);
            let counted = find_check(&check.check).and_then(|c| c.row_count());
            if let Some(found) = counted.and_then(|name| record.figure_of(check, name)) {
                pool.found += found as u64;
                pool.rows += record.key.rows;
            }
            if verdict > pool.worst {
                (pool.worst, pool.note, pool.n, pool.because) = (verdict, note, n, because);
            }
        }
    }
    pools.into_values().collect()
}

/// A program's name without the number of its rows, which cases of one pool need not share.
fn without_rows(program: &str) -> String {
    let Some((name, list)) = program.split_once('[') else { return program.to_string() };
    let kept: Vec<&str> = list.trim_end_matches(']').split(',').filter(|pair| !pair.starts_with("rows=")).collect();
    if kept.is_empty() { name.to_string() } else { format!("{name}[{}]", kept.join(",")) }
}
