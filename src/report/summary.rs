//! SUMMARY.md and the terminal's lines: what a person reads first.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::check::{Outcome, check_named};
use crate::run::{FitRecord, Record, Verdict, shortest};
use crate::stat::clopper_pearson;
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

/// The largest value of the suite's first figure; a second check of a kind numbers its own, `lost_2`.
fn worst(records: &[&Record]) -> String {
    let Some(first) = records.iter().find_map(|r| r.figures.first()) else { return String::new() };
    let numbered = |name: &str| {
        let number = name.strip_prefix(&first.name).and_then(|rest| rest.strip_prefix('_'));
        number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut worst: Option<(&str, f64)> = None;
    for record in records {
        for figure in record.figures.iter().filter(|f| f.name == first.name || numbered(&f.name)) {
            let Some(value) = record.figure(&figure.name) else { continue };
            if worst.is_none_or(|(_, largest)| value.total_cmp(&largest).is_gt()) {
                worst = Some((&figure.name, value));
            }
        }
    }
    worst.map_or(String::new(), |(name, value)| format!("{name} {}", short(value)))
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

/// What a suite's records say, in plain words: its fits, its yardstick, then its checks, pooled over sizes and inputs.
pub fn reading(results: &Results, suite: &Suite) -> Vec<String> {
    let mut lines: Vec<String> = results.fits.iter().filter(|f| f.suite == suite.name).map(grows).collect();
    lines.extend(ratios(results, suite));
    let records: Vec<&Record> = results.of(&suite.name).collect();
    lines.extend(last_detected(&records));
    lines.extend(pooled(&records));
    lines
}

/// One fit as a sentence.
fn grows(fit: &FitRecord) -> String {
    let [program, mode, rest] = parts(&fit.series);
    let program = program.split_once('/').map_or(program.as_str(), |(_, p)| p);
    let verdict = if fit.verdict() == Verdict::Pass { String::new() } else { format!("{}: ", fit.verdict().name()) };
    match fit.slope {
        Some([slope, low, high]) => format!(
            "{verdict}{} of {program} in {mode} grows as n^{slope:.2} (95 % {low:.2} to {high:.2}, expected {}) on {rest}.",
            fit.metric, fit.expected_slope
        ),
        None => format!("{verdict}{} of {program} in {mode} on {rest}: {}.", fit.metric, fit.note),
    }
}

/// The cases of one program, mode and check together.
#[derive(Default)]
struct Pool<'a> {
    cases: usize,
    sizes: Vec<u64>,
    /// Rows with something found, and rows in all.
    found: u64,
    rows: u64,
    /// The weightiest verdict, with the note, size and reason of the first case that has it.
    worst: Option<(Verdict, &'a str, u64, Option<&'a String>)>,
}

fn pooled(records: &[&Record]) -> Vec<String> {
    let mut pools: BTreeMap<(String, String), Pool> = BTreeMap::new();
    for record in records {
        let [program, mode, _] = parts(&record.series);
        let program = without_rows(program.split_once('/').map_or(program.as_str(), |(_, p)| p));
        for check in &record.checks {
            let pool = pools.entry((check.column.clone(), format!("{program} in {mode}"))).or_default();
            pool.cases += 1;
            pool.sizes.push(record.n);
            let suffix = check.column.strip_prefix(check.kind.as_str()).unwrap_or("");
            let counted = check_named(&check.kind).and_then(|c| c.row_count());
            if let Some(found) = counted.and_then(|name| record.figure(&format!("{name}{suffix}"))) {
                pool.found += found as u64;
                pool.rows += record.rows;
            }
            let verdict = check.verdict();
            if pool.worst.as_ref().is_none_or(|(worst, ..)| verdict > *worst) {
                pool.worst = Some((verdict, &check.note, record.n, check.because.as_ref()));
            }
        }
    }
    // A check that found nothing anywhere has nothing to say; beside one that did, its silence tells.
    let speaks = |column: &str| {
        let of_column = pools.iter().filter(|((c, _), _)| c == column);
        of_column.into_iter().any(|(_, p)| p.worst.as_ref().is_some_and(|(v, ..)| *v > Verdict::Pass))
    };
    let line = |((column, what), pool): (&(String, String), &Pool)| {
        let (verdict, note, n, because) = pool.worst.as_ref()?;
        let (low, high) = (pool.sizes.iter().min()?, pool.sizes.iter().max()?);
        let sizes = if low == high { format!("n = {low}") } else { format!("n = {low} to {high}") };
        let rate = match clopper_pearson(pool.found, pool.rows, 0.95) {
            Some(interval) => format!(
                "{} of {} rows ({:.2} %, 95 % {:.2} to {:.2})",
                pool.found,
                pool.rows,
                100.0 * pool.found as f64 / pool.rows as f64,
                100.0 * interval.low,
                100.0 * interval.high
            ),
            None => format!("at n = {n}, {note}"),
        };
        let because = because.filter(|_| *verdict > Verdict::Pass).map_or(String::new(), |b| format!(" ({b})"));
        let cases = if pool.cases == 1 { "1 case".to_string() } else { format!("{} cases", pool.cases) };
        Some(format!("{}: {column} of {what}, {cases} of {sizes}: {rate}.{because}", verdict.name()))
    };
    // What was found comes first.
    let weight = |pool: &Pool| pool.worst.as_ref().map(|(verdict, ..)| std::cmp::Reverse(*verdict));
    let mut spoken: Vec<_> = pools.iter().filter(|((column, _), _)| speaks(column)).collect();
    spoken.sort_by_key(|(_, pool)| weight(pool));
    spoken.into_iter().filter_map(line).collect()
}

/// A program's name without the number of its rows, which cases of one pool need not share.
fn without_rows(program: &str) -> String {
    let Some((name, list)) = program.split_once('[') else { return program.to_string() };
    let kept: Vec<&str> = list.trim_end_matches(']').split(',').filter(|pair| !pair.starts_with("rows=")).collect();
    if kept.is_empty() { name.to_string() } else { format!("{name}[{}]", kept.join(",")) }
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
        if columns.contains(&"bound") {
            let found = |r: &&&Record| r.checks.iter().any(|c| c.column == "bound" && c.outcome() == Outcome::Finding);
            let largest = of_series().filter(found).map(|r| r.n).max();
            let all = of_series().count();
            if let Some(largest) = largest
                && all > 1
            {
                lines.push(format!("{series} is told apart by the bound up to n = {largest}."));
            }
        }
    }
    lines
}
