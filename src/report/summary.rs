//! SUMMARY.md and the terminal's lines: what a person reads first.

use std::fmt::Write;

use crate::run::{FitRecord, Record, Verdict, shortest};
use crate::suite::Suite;

use super::Results;

/// One suite in one line.
pub struct SuiteLine {
    pub suite: String,
    pub claim: String,
    pub cases: usize,
    /// Findings that the suite expects or only reports, and those that no suite expects (or that did not occur).
    pub expected: usize,
    pub unexpected: usize,
    pub worst: String,
    pub verdict: Verdict,
}

/// One line a suite, in order.
pub fn suite_lines(results: &Results) -> Vec<SuiteLine> {
    let mut lines = Vec::new();
    for suite in results.suites {
        let records: Vec<&Record> = results.of(&suite.name).collect();
        if records.is_empty() {
            continue;
        }
        let verdicts = || {
            let fits = results.fits.iter().filter(|f| f.suite == suite.name).map(FitRecord::verdict);
            records.iter().map(|r| r.verdict()).chain(fits)
        };
        let found = |v: &Verdict| matches!(v, Verdict::ExpectedFinding | Verdict::Reported);
        lines.push(SuiteLine {
            suite: suite.name.clone(),
            claim: suite.claim.clone(),
            cases: records.len(),
            expected: verdicts().filter(found).count(),
            unexpected: verdicts().filter(|v| !v.as_expected()).count(),
            worst: worst(&records),
            verdict: verdicts().max().unwrap_or(Verdict::Pass),
        });
    }
    lines
}

/// The largest value of the suite's first metric, or the most telling note where it has no metric.
fn worst(records: &[&Record]) -> String {
    let Some(name) = records.iter().find_map(|r| r.figures.first()).map(|f| f.name.clone()) else {
        return String::new();
    };
    let value = records.iter().filter_map(|r| r.figure(&name)).max_by(f64::total_cmp);
    value.map_or(String::new(), |v| format!("{name} {}", short(v)))
}

/// Three digits: enough for a summary. The full value is in the CSV.
fn short(value: f64) -> String {
    let plain = shortest(value);
    if plain.len() <= 7 { plain } else { format!("{value:.2e}") }
}

/// The page that stands beside the CSV files.
pub fn summary_markdown(results: &Results) -> String {
    let mut text =
        String::from("# Summary\n\nOne line a suite; every case is in the suite's CSV, every fit in growth.csv.\n\n");
    text.push_str("| suite | claim | cases | findings expected | not expected | worst | verdict |\n|---|---|---|---|---|---|---|\n");
    for line in suite_lines(results) {
        let SuiteLine { suite, claim, cases, expected, unexpected, worst, verdict } = line;
        let _ = writeln!(
            text,
            "| {suite} | {claim} | {cases} | {expected} | {unexpected} | {worst} | {} |",
            verdict.name()
        );
    }
    for suite in results.suites {
        let lines = reading(results, suite);
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n## {}\n\n{}\n\nWhy it matters: {}\n\nSource: {}\n",
            suite.name, suite.claim, suite.why, suite.source
        );
        for line in lines {
            let _ = writeln!(text, "- {line}");
        }
    }
    text
}

/// What a suite's records say, in plain words: its fits, then its findings by note.
pub fn reading(results: &Results, suite: &Suite) -> Vec<String> {
    let mut lines = Vec::new();
    for fit in results.fits.iter().filter(|f| f.suite == suite.name) {
        lines.push(format!("{}: {} of `{}`: {}", fit.verdict().name(), fit.metric, fit.series, fit.note));
    }
    lines.extend(ratios(results, suite));
    let records: Vec<&Record> = results.of(&suite.name).collect();
    lines.extend(last_detected(&records));
    for record in records {
        for check in record.checks.iter().filter(|c| c.verdict() > Verdict::Pass) {
            let because = check.because.as_ref().map_or(String::new(), |b| format!(" Known: {b}"));
            lines.push(format!("{}: `{}`: {}.{because}", check.verdict().name(), record.case, check.note));
        }
    }
    lines
}

/// By how much one mode's divergence exceeds another's at each size, where a suite compares f32 with the rest.
fn ratios(results: &Results, suite: &Suite) -> Vec<String> {
    let fits: Vec<&FitRecord> = results.fits.iter().filter(|f| f.suite == suite.name).collect();
    let mut lines = Vec::new();
    for fit in &fits {
        // The plain f32 series of the same program, input and metric is the yardstick.
        let [program, mode, rest] = parts(&fit.series);
        if mode == YARDSTICK || fit.metric.contains(" vs ") {
            continue;
        }
        let yardstick = format!("{program}/{YARDSTICK}/{rest}");
        let figure = |series: &str, n: u64| {
            results.of(&suite.name).find(|r| r.series == series && r.n == n).and_then(|r| r.figure(&fit.metric))
        };
        let mut sizes: Vec<u64> = results.of(&suite.name).filter(|r| r.series == fit.series).map(|r| r.n).collect();
        sizes.sort_unstable();
        let pairs: Vec<String> = sizes
            .into_iter()
            .filter_map(|n| {
                let (ours, theirs) = (figure(&fit.series, n)?, figure(&yardstick, n)?);
                (theirs > 0.0).then(|| format!("{n}: {}", short(ours / theirs)))
            })
            .collect();
        if !pairs.is_empty() {
            lines.push(format!(
                "{} of `{program}` in {mode} over {YARDSTICK}, by size: {}",
                fit.metric,
                pairs.join(", ")
            ));
        }
    }
    lines
}

/// The mode that stands for plain f32.
const YARDSTICK: &str = "cpu/f32/off";

/// `suite/program`, `chip/precision/excess`, and the rest of a series' id.
fn parts(series: &str) -> [String; 3] {
    let parts: Vec<&str> = series.split('/').collect();
    let join = |range: std::ops::Range<usize>| parts.get(range).map_or(String::new(), |p| p.join("/"));
    [join(0..2), join(2..5), join(5..parts.len())]
}

/// The largest size at which a check that judges by another mode's promise still finds the difference.
fn last_detected(records: &[&Record]) -> Vec<String> {
    let mut series: Vec<&str> = records.iter().map(|r| r.series.as_str()).collect();
    series.sort_unstable();
    series.dedup();
    let mut lines = Vec::new();
    for series in series {
        let of_series = || records.iter().filter(|r| r.series == series);
        let columns: Vec<&str> = of_series().flat_map(|r| r.checks.iter().map(|c| c.column.as_str())).collect();
        for column in columns.first().into_iter().chain(columns.get(1)).filter(|c| **c == "bound") {
            let found = |r: &&&Record| {
                r.checks.iter().any(|c| c.column == **column && c.outcome() == crate::check::Outcome::Finding)
            };
            let largest = of_series().filter(found).map(|r| r.n).max();
            let all = of_series().count();
            if let Some(largest) = largest
                && all > 1
            {
                lines.push(format!("`{series}`: its bound tells it apart up to n = {largest}"));
            }
        }
    }
    lines
}
