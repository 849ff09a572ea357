//! The summary, on the terminal as in SUMMARY.md: a line a suite, and its records in words.

use std::collections::BTreeMap;

use crate::check::Outcome;
use crate::record::{Figure, FitRecord, Record, Series, SeriesRecord, SuiteRecord, Verdict, shortest};

use super::pool::{Pool, Rate, pools};
use super::said::said;

/// One suite in one line of the summary.
pub struct SuiteLine {
    /// The suite's name.
    pub suite: String,
    /// The one sentence that the suite tests.
    pub claim: String,
    /// The number of cases that ran.
    pub cases: usize,
    /// Cases and series with a finding that the suite expects or only reports.
    pub expected: usize,
    /// Cases and series that are not as expected: a finding that no suite expects, a missing one, or none decided.
    pub unexpected: usize,
    /// The largest value of the suite's first figure, behind its name: `max_ulp 0.5`. Empty without figures.
    pub worst: String,
    /// The suite's finding in a sentence, with the figure that bears its claim.
    pub said: String,
    /// The weightiest verdict of cases and series.
    pub verdict: Verdict,
}

/// One line a suite that has cases, in order.
pub fn suite_lines(suites: &[SuiteRecord]) -> Vec<SuiteLine> {
    let line = |suite: &SuiteRecord| SuiteLine {
        suite: suite.header.name.clone(),
        claim: suite.header.claim.clone(),
        cases: suite.cases.len(),
        expected: suite.verdicts().filter(|v| v.is_known()).count(),
        unexpected: suite.verdicts().filter(|v| !v.as_expected()).count(),
        worst: worst(&suite.cases),
        said: said(suite),
        verdict: suite.verdicts().max().unwrap_or(Verdict::Measured),
    };
    suites.iter().filter(|suite| !suite.cases.is_empty()).map(line).collect()
}

/// The totals of all suites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number of cases that ran.
    pub cases: usize,
    /// The number of those that nothing judges: they have no check, and no growth of their series was judged.
    pub measured: usize,
    /// Cases and series with a finding that a suite expects or only reports.
    pub known: usize,
    /// The numbers of cases and series that are not as expected, each with its kind: `not known`. Empty if all is as
    /// expected.
    pub alarms: Vec<(usize, &'static str)>,
}

/// Counts the totals of all suites.
pub fn total(suites: &[SuiteRecord]) -> Total {
    let count =
        |wanted: &[Verdict]| suites.iter().flat_map(SuiteRecord::verdicts).filter(|v| wanted.contains(v)).count();
    let alarms = [
        (Verdict::UnexpectedFinding, "not known"),
        (Verdict::MissingFinding, "known and not there any more"),
        (Verdict::Undecided, "undecided"),
    ];
    Total {
        cases: suites.iter().map(|suite| suite.cases.len()).sum(),
        measured: suites.iter().map(SuiteRecord::only_measured).sum(),
        known: count(&[Verdict::ExpectedFinding, Verdict::Reported]),
        alarms: alarms.into_iter().map(|(v, how)| (count(&[v]), how)).filter(|(count, _)| *count > 0).collect(),
    }
}

/// The largest value of the suite's first figure, whatever the setting of the check that gave it.
fn worst(records: &[Record]) -> String {
    let Some(first) = records.iter().find_map(|r| r.figures.first()) else { return String::new() };
    let mut worst: Option<&Figure> = None;
    for figure in records.iter().flat_map(|r| &r.figures).filter(|figure| figure.name == first.name) {
        if worst.is_none_or(|largest| figure.value.total_cmp(&largest.value).is_gt()) {
            worst = Some(figure);
        }
    }
    worst.map_or(String::new(), |figure| format!("{} {}", figure.name, short(figure.value)))
}

/// Three digits: enough for a summary. The full value is in the CSV.
fn short(value: f64) -> String {
    let plain = shortest(value);
    if plain.len() <= 7 { plain } else { format!("{value:.2e}") }
}

/// A suite's records in plain words, a sentence each. First come its fits, the ratios by which other modes exceed plain
/// f32, and the sizes up to which `bound` finds something. Its checks follow, pooled over sizes, inputs and seeds.
pub fn read_out(suite: &SuiteRecord) -> Vec<String> {
    let mut lines: Vec<String> = suite.series.iter().map(growth).collect();
    lines.extend(not_judged(suite));
    lines.extend(ratios(suite));
    lines.extend(last_detected(&suite.cases));
    lines.extend(spoken(&suite.cases));
    lines
}

/// A fitted growth as a sentence.
fn growth(record: &SeriesRecord) -> String {
    let Series { program, subject, .. } = &record.series;
    let (metric, rest) = (&record.metric, rest(&record.series));
    let verdict = match record.verdict() {
        Verdict::Pass => String::new(),
        verdict => format!("{}: ", verdict.name()),
    };
    match record.fit {
        Some(FitRecord { slope, low, high, .. }) => format!(
            "{verdict}{metric} of {program} in {subject} grows as n^{slope:.2} (95 % {low:.2} to {high:.2}, expected {}) on {rest}.",
            record.expected_slope
        ),
        None => format!("{verdict}{metric} of {program} in {subject} on {rest}: {}.", record.check.note),
    }
}

/// Series of which some cases ran and some are missing: part of a series says nothing of its growth.
fn not_judged(suite: &SuiteRecord) -> impl Iterator<Item = String> + '_ {
    suite.header.series.iter().filter_map(|plan| {
        let missing = plan.lacks(&suite.cases);
        let has_cases = suite.cases.iter().any(|record| record.key.series() == plan.series);
        let Series { program, subject, .. } = &plan.series;
        let sizes = missing.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        (has_cases && !missing.is_empty()).then(|| {
            format!(
                "{} of {program} in {subject} on {}: its growth is not judged without n = {sizes}.",
                plan.metric,
                rest(&plan.series)
            )
        })
    })
}

/// The rest of a series' id, behind program and subject.
fn rest(series: &Series) -> String {
    format!("{}/n/{}", series.input, series.seed)
}

fn spoken(records: &[Record]) -> Vec<String> {
    let pools = pools(records);
    // A check that found nothing anywhere has nothing to say; beside one that did, its silence tells.
    let speaks = |column: &str| pools.iter().any(|pool| pool.check == column && pool.worst > Verdict::Pass);
    let line = |pool: &Pool| {
        let (low, high) = (pool.sizes.iter().min()?, pool.sizes.iter().max()?);
        let sizes = if low == high { format!("n = {low}") } else { format!("n = {low} to {high}") };
        let rate = match pool.rate() {
            Some(Rate { share, low, high }) => format!(
                "{} of {} rows ({:.2} %, 95 % {:.2} to {:.2})",
                pool.found,
                pool.rows,
                100.0 * share,
                100.0 * low,
                100.0 * high
            ),
            None => format!("at n = {}, {}", pool.n, pool.note),
        };
        let because = pool.because.filter(|_| pool.worst > Verdict::Pass).map_or(String::new(), |b| format!(" ({b})"));
        let cases = if pool.cases == 1 { "1 case".to_string() } else { format!("{} cases", pool.cases) };
        let Pool { check, program, subject, worst, .. } = pool;
        Some(format!("{}: {check} of {program} in {subject}, {cases} of {sizes}: {rate}.{because}", worst.name()))
    };
    // What was found comes first.
    let mut spoken: Vec<&Pool> = pools.iter().filter(|pool| speaks(&pool.check)).collect();
    spoken.sort_by_key(|pool| std::cmp::Reverse(pool.worst));
    spoken.into_iter().filter_map(line).collect()
}

/// By how much one mode's divergence exceeds another's at each size, where a suite compares f32 with the rest.
fn ratios(suite: &SuiteRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &suite.series {
        let (metric, ours) = (&record.metric, &record.series);
        if ours.subject == YARDSTICK || metric.contains(" vs ") {
            continue;
        }
        // The plain f32 series of the same program, input and metric is the yardstick.
        let theirs = Series { subject: YARDSTICK.to_string(), ..ours.clone() };
        let figure = |series: &Series, n: u64| {
            suite.cases.iter().find(|r| r.key.n == n && r.key.series() == *series).and_then(|r| r.figure(metric))
        };
        let mut sizes: Vec<u64> = suite.cases.iter().filter(|r| r.key.series() == *ours).map(|r| r.key.n).collect();
        sizes.sort_unstable();
        let pairs: Vec<String> = sizes
            .into_iter()
            .filter_map(|n| {
                let (ours, theirs) = (figure(ours, n)?, figure(&theirs, n)?);
                (theirs > 0.0).then(|| format!("{n}: {}", short(ours / theirs)))
            })
            .collect();
        if !pairs.is_empty() {
            lines.push(format!(
                "{metric} of `{}/{}` in {} over {YARDSTICK}, by size: {}",
                ours.suite,
                ours.program,
                ours.subject,
                pairs.join(", ")
            ));
        }
    }
    lines
}

/// The mode that stands for plain f32.
const YARDSTICK: &str = "cpu/f32/off";

/// The largest size of each series at which the check `bound` still finds something.
fn last_detected(records: &[Record]) -> Vec<String> {
    let mut series: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
    for record in records {
        series.entry(record.key.series().to_string()).or_default().push(record);
    }
    let mut lines = Vec::new();
    for (series, cases) in series.iter().filter(|(_, cases)| cases.len() > 1) {
        let found = |r: &&&Record| r.checks.iter().any(|c| c.column() == "bound" && c.outcome == Outcome::Finding);
        if let Some(largest) = cases.iter().filter(found).map(|r| r.key.n).max() {
            lines.push(format!("{series} is told apart by the bound up to n = {largest}."));
        }
    }
    lines
}
