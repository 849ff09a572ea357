//! `ulpgate run`: evaluate, summarise, write reports.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};

use crate::report::{self, Results, suite_lines};
use crate::run::{self, Journal, Progress, Selection, Settings, Shard, Verdict};
use crate::suite::Suite;

use super::{Exit, Failure, REPORTS, folder, suites};

#[derive(Args, Default)]
pub struct Arguments {
    /// Suites by name; all of them if none is given
    suite: Vec<String>,
    /// Folder for the reports [default: reports, if every case runs; else none are written]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run only cases whose id contains TEXT
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run the slow cases as well
    #[arg(long)]
    slow: bool,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Run the K-th of N parts
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Go on where an interrupted run stopped
    #[arg(long)]
    resume: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Evaluates the chosen cases, prints the summary, writes the reports.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let suites = suites(&arguments.suite)?;
    let selection = Selection {
        filter: arguments.filter.clone(),
        slow: arguments.slow,
        shard: arguments.shard.unwrap_or_default(),
    };
    set_threads(arguments.jobs)?;
    if !suites.iter().flat_map(|s| &s.cases).any(|case| selection.takes(case)) {
        let why = "no case matches: loosen --filter, add --slow, or see `ulpgate explain SUITE`";
        return Err(Failure::Message(why.to_string()));
    }
    // Part of a suite never overwrites a committed report unless told where to write.
    let writes = arguments.out.is_some() || selection.is_whole();
    let target = folder(&arguments.out, REPORTS);
    let settings = Settings { resume: arguments.resume, ..Settings::default() };
    let started = std::time::Instant::now();
    let journal = (writes || arguments.resume).then_some(target.as_path());
    let outcome = run::run(&suites, &selection, &settings, journal, &Progress::on_stderr())?;
    let fits = run::fits(&suites, &outcome.records);
    let results = Results { suites: &suites, records: &outcome.records, fits: &fits };
    let written = if writes { written(&results, &arguments.suite, &target)? } else { 0 };
    if arguments.json {
        json(&results, out)?;
    } else {
        print(&results, &outcome, started.elapsed().as_secs_f64(), out)?;
        match written {
            0 if writes => writeln!(out, "{} is unchanged.", target.display())?,
            0 => writeln!(out, "Part of the cases ran, so no report was written; --out DIR writes one.")?,
            count => writeln!(out, "{count} files written to {}.", target.display())?,
        }
    }
    if writes {
        Journal::remove(&target)?;
    }
    let all_as_expected = suite_lines(&results).iter().all(|line| line.unexpected == 0);
    Ok(if all_as_expected { Exit::AsExpected } else { Exit::Found })
}

/// Writes the report files and says how many changed. Files over all suites are left alone if only some of them ran.
fn written(results: &Results, named: &[String], target: &Path) -> Result<usize, Failure> {
    let over_all = |name: &str| name == "growth.csv" || name == "SUMMARY.md";
    let keep_shared = !named.is_empty() && target == Path::new(REPORTS);
    let files: Vec<(String, String)> =
        results.files().into_iter().filter(|(name, _)| !(keep_shared && over_all(name))).collect();
    let differs =
        |(name, text): &&(String, String)| !std::fs::read_to_string(target.join(name)).is_ok_and(|t| t == *text);
    let changed = files.iter().filter(differs).count();
    report::write_all(target, &files)?;
    Ok(changed)
}

/// More would only wait for each other.
const MOST_THREADS: usize = 1024;

/// Sets the number of threads for the whole process.
pub(super) fn set_threads(jobs: Option<usize>) -> Result<(), Failure> {
    let Some(jobs) = jobs else { return Ok(()) };
    if !(1..=MOST_THREADS).contains(&jobs) {
        return Err(Failure::Message(format!("--jobs {jobs}: the number of threads is from 1 to {MOST_THREADS}")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    pool.map_err(|e| Failure::Message(format!("failed to start {jobs} threads: {e}")))
}

/// Suites whose cost the terminal shows.
const SLOWEST: usize = 3;
/// Lines of a suite's reading that the terminal shows.
const SHOWN: usize = 8;

/// The terminal summary: a table, what was not expected, and the slowest suites.
fn print(results: &Results, outcome: &run::Outcome, seconds: f64, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["suite", "cases", "findings", "not expected", "worst", "claim"]);
    let lines = suite_lines(results);
    for line in &lines {
        table.add_row([
            line.suite.clone(),
            line.cases.to_string(),
            line.expected.to_string(),
            line.unexpected.to_string(),
            line.worst.clone(),
            line.claim.clone(),
        ]);
    }
    writeln!(out, "{table}")?;
    for suite in results.suites {
        let lines = report::reading(results, suite);
        if lines.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", suite.name)?;
        for line in lines.iter().take(SHOWN) {
            writeln!(out, "  {line}")?;
        }
        if lines.len() > SHOWN {
            writeln!(out, "  {} more in SUMMARY.md", lines.len() - SHOWN)?;
        }
    }
    for suite in results.suites {
        for line in unexpected(results, suite) {
            writeln!(out, "\n{line}")?;
        }
    }
    let cases: usize = lines.iter().map(|l| l.cases).sum();
    let findings: usize = lines.iter().map(|l| l.expected).sum();
    let not_expected: usize = lines.iter().map(|l| l.unexpected).sum();
    writeln!(
        out,
        "\n{cases} cases in {seconds:.1} s: {findings} findings that the suites expect or report, {not_expected} not \
         expected."
    )?;
    let s = &outcome.stats;
    writeln!(
        out,
        "Truth: {} results by f64 intervals, {} by pairs of f64, {} by MPFR, {} dots ({} by grid, {} by slices, {} by \
         Dot2, {} by superaccumulator, {} by MPFR); precision raised {} times, to {} bits at most; {} undecided.",
        s.fast,
        s.pairs,
        s.mpfr,
        s.dots_grid + s.dots_sliced + s.dots_dot2 + s.dots_superaccumulator + s.dots_mpfr,
        s.dots_grid,
        s.dots_sliced,
        s.dots_dot2,
        s.dots_superaccumulator,
        s.dots_mpfr,
        s.escalations,
        s.highest_bits,
        s.undecided
    )?;
    let slowest: Vec<String> = run::slowest(&outcome.costs, SLOWEST)
        .iter()
        .map(|c| {
            let growth = c.exponent.map_or(String::new(), |e| format!(", time as work^{e:.2}"));
            format!("{} {:.1} s ({:.2} ns an operation{growth})", c.suite, c.seconds, c.seconds / c.work * 1e9)
        })
        .collect();
    if !slowest.is_empty() {
        writeln!(out, "Slowest: {}.", slowest.join("; "))?;
    }
    if let Some(bytes) = run::peak_memory() {
        writeln!(out, "Peak memory: {:.0} MiB.", bytes as f64 / f64::from(1 << 20))?;
    }
    Ok(())
}

/// The findings of a suite that it does not expect, each with its evidence.
fn unexpected(results: &Results, suite: &Suite) -> Vec<String> {
    let mut lines = Vec::new();
    for fit in results.fits.iter().filter(|f| f.suite == suite.name && !f.verdict().as_expected()) {
        lines.push(format!("{}: growth of {} in {}: {}", fit.verdict().name(), fit.metric, fit.series, fit.note));
    }
    for record in results.of(&suite.name) {
        for check in record.checks.iter().filter(|c| !c.verdict().as_expected()) {
            let mut line = format!("{}: {} in {}: {}", check.verdict().name(), check.column, record.case, check.note);
            if check.verdict() == Verdict::MissingFinding
                && let Some(because) = &check.because
            {
                line.push_str(&format!("\n  expected because {because}"));
            }
            check.evidence.iter().for_each(|e| line.push_str(&format!("\n  {e}")));
            lines.push(line);
        }
    }
    lines
}

fn json(results: &Results, out: &mut dyn Write) -> Result<(), Failure> {
    let lines: Vec<serde_json::Value> = suite_lines(results)
        .into_iter()
        .map(|l| {
            serde_json::json!({
                "suite": l.suite, "claim": l.claim, "cases": l.cases, "expected": l.expected,
                "unexpected": l.unexpected, "worst": l.worst, "verdict": l.verdict.name(),
            })
        })
        .collect();
    Ok(writeln!(out, "{:#}", serde_json::Value::Array(lines))?)
}
