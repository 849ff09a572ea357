//! `ulpgate run`: evaluate, summarise, write reports.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::oracle::Stats;
use ulpgate_front::record::{SuiteRecord, write_folder};
use ulpgate_front::report::{self, Covers};
use ulpgate_front::run::{self, Cost, Journal, LockedFolder, Selection, Settings, Shard};
use ulpgate_front::suite::{Asked, Suite};

use super::ci::{Formats, Places, of_suites};
use super::job_array::shard;
use super::page_file::page_file;
use super::progress::OnStderr;
use super::report::describe_writes;
use super::reports_folder::check_reports;
use super::seconds::Limit;
use super::summary::{self, Extent, Written};
use super::threads::start_threads;
use super::{Exit, Failure, REPORTS, SUITES, files_of, folder, locked, suites};

#[derive(Args, Default)]
pub struct RunArguments {
    /// Suites by name; all of them if none is given
    suite: Vec<String>,
    /// Folder for the reports [default: reports, if every case runs; else none are written]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    selected: Selected,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Go on where an interrupted run stopped
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
    #[command(flatten)]
    extent: Extent,
    #[command(flatten)]
    formats: Formats,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The cases that run.
#[derive(Args, Default)]
pub(super) struct Selected {
    /// Run only cases whose id contains TEXT
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run the slow cases as well
    #[arg(long)]
    slow: bool,
    /// Run the K-th of N parts; `auto` reads both from what the engine of a job array sets
    #[arg(long, value_name = "K/N", value_parser = shard)]
    shard: Option<Shard>,
}

impl Selected {
    /// The selection of cases from some suites, at least one.
    pub fn of(&self, suites: &[Suite]) -> Result<Selection, Failure> {
        let Selected { filter, slow, shard } = self;
        let asked = Asked { filter: filter.clone(), slow: *slow };
        let selection = Selection { asked, shard: shard.unwrap_or_default() };
        if suites.iter().flat_map(|s| &s.cases).any(|case| selection.asked.takes(case)) {
            return Ok(selection);
        }
        let why = "no case matches: loosen --filter, add --slow, or see `ulpgate explain SUITE`";
        Err(Failure::Message(why.to_string()))
    }
}

/// Evaluates the chosen cases, prints the summary, writes the reports.
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let suites = suites(&arguments.suite)?;
    let selection = arguments.selected.of(&suites)?;
    set_threads(arguments.jobs)?;
    // Part of a suite never overwrites a committed report unless told where to write.
    let writes = arguments.out.is_some() || selection.is_whole();
    let target = folder(&arguments.out, Path::new(REPORTS))?;
    arguments.formats.check(files_of(&suites))?;
    if writes {
        check_reports(&target, suites.iter().map(|suite| suite.name.as_str()))?;
    }
    let settings = Settings { resume: arguments.resume, ..Settings::default() };
    let started = std::time::Instant::now();
    // Held until all is written.
    let journal = (writes || arguments.resume).then(|| locked(&target)).transpose()?;
    let progress = if journal.is_some() { OnStderr::with_journal() } else { &OnStderr::new() };
    let ran = run::run(&suites, &selection, &settings, journal.as_ref(), progress).map_err(Failure::from);
    let outcome = arguments.formats.tell_failure("run", Path::new(SUITES), ran, out)?;
    let run::Outcome { records, stats, costs, resumed } = outcome;
    let records = SuiteRecord::all_of(&suites, records, &selection.asked);
    let written = journal.as_ref().filter(|_| writes);
    let changed = written.map(|folder| write(&records, &arguments.suite, folder)).transpose()?;
    if arguments.json {
        summary::json(&records, out)?;
    } else {
        summary::print(&records, arguments.extent, out)?;
        if arguments.extent.verbose {
            print_cost(&stats, &costs, out)?;
        }
        let kept = if resumed == 0 { String::new() } else { format!(" ({resumed} kept from an interrupted run)") };
        let what = match changed {
            Some(what) => what,
            None => "part of them, so no report was written (--out DIR writes one)".to_string(),
        };
        let has_page = writes && !is_part_of_reports(&arguments.suite, &target);
        let written = Written { what, has_page };
        let took = format!(" in {:.1} s{kept}", started.elapsed().as_secs_f64());
        summary::print_verdict(&records, &took, &written, out)?;
    }
    arguments.formats.write(&costs, || of_suites(&records, &Places::of(&suites)), out)?;
    if writes {
        Journal::remove(&target)?;
    }
    if selection.shard != Shard::default() { Ok(summary::exit_of_shard(&records)) } else { summary::exit(&records) }
}

/// Whether only some of the suites ran whose reports the folder holds: files over all of them are left alone.
fn is_part_of_reports(named: &[String], target: &Path) -> bool {
    !named.is_empty() && target == Path::new(REPORTS)
}

/// Keeps the records and writes the report files; says how many of these changed. Files over all suites are left alone
/// if only some of them ran, which is said, too.
fn write(records: &[SuiteRecord], named: &[String], folder: &LockedFolder) -> Result<String, Failure> {
    let target = folder.path();
    write_folder(target, records, named.is_empty())?;
    let files = report::files(records);
    let part = is_part_of_reports(named, target);
    let page = if part { None } else { Some(page_file(records, &files, target)?) };
    let changed = report::write_all(target, files.iter().filter(|file| file.covers == Covers::OneSuite || !part))?;
    // The page says what changed, and so may be another although no report is.
    report::write_all(target, &page)?;
    let left: Vec<&str> =
        files.iter().filter(|file| part && file.covers != Covers::OneSuite).map(|file| file.name.as_str()).collect();
    let left = match left.is_empty() {
        true => String::new(),
        false => format!(" ({} cover all suites and stay as they are: `ulpgate run` writes them)", left.join(", ")),
    };
    Ok(format!("{}{left}", describe_writes(changed, target)))
}

/// Sets the number of threads for the whole process.
pub(super) fn set_threads(jobs: Option<usize>) -> Result<(), Failure> {
    start_threads(jobs).map_err(Failure::Message)
}

/// Suites whose cost the terminal shows.
const SLOWEST: usize = 3;

/// Prints the methods that found the truth, and the cost of the run.
fn print_cost(s: &Stats, costs: &[Cost], out: &mut dyn Write) -> Result<(), Failure> {
    let truth = format!(
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
    );
    summary::wrap(&truth, "", out)?;
    let slowest: Vec<String> = run::slowest(costs, SLOWEST)
        .iter()
        .map(|c| {
            let growth = c.exponent.map_or(String::new(), |e| format!(", time as work^{e:.2}"));
            format!("{} {:.1} s ({:.2} ns an operation{growth})", c.suite, c.seconds, c.seconds / c.work * 1e9)
        })
        .collect();
    if !slowest.is_empty() {
        summary::wrap(&format!("Slowest: {}.", slowest.join("; ")), "", out)?;
    }
    if let Some(bytes) = run::peak_memory() {
        writeln!(out, "Peak memory: {:.0} MiB.", bytes as f64 / f64::from(1 << 20))?;
    }
    Ok(())
}
