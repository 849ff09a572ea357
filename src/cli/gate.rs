//! `ulpgate gate`: fresh reports against the committed ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::gate::{compare, left_over};
use crate::record::SuiteRecord;
use crate::report::{self, File};
use crate::run::{self, Selection, Settings};

use super::progress::OnStderr;
use super::{Exit, Failure, REPORTS, folder, suites};

#[derive(Args)]
pub struct Arguments {
    /// Suites by name; all of them if none is given
    suite: Vec<String>,
    /// Folder of the committed reports
    #[arg(long, value_name = "DIR", default_value = REPORTS)]
    baseline: Option<PathBuf>,
    /// Accept what there is now: write it as the new baseline
    #[arg(long)]
    bless: bool,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
}

/// Evaluates afresh, compares, and writes nothing unless asked to.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let suites = suites(&arguments.suite)?;
    super::run::set_threads(arguments.jobs)?;
    let baseline = folder(&arguments.baseline, REPORTS);
    if baseline.exists() && !baseline.is_dir() {
        return Err(Failure::Message(format!("the baseline {} is no folder", baseline.display())));
    }
    // A first run has no reports yet; a folder that is named is one that should be there.
    if baseline != Path::new(REPORTS) && !baseline.exists() && !arguments.bless {
        let why = format!("the baseline {} does not exist; `gate --bless` writes a first one", baseline.display());
        return Err(Failure::Message(why));
    }
    let outcome = run::run(&suites, &Selection::default(), &Settings::default(), None, &OnStderr::new())?;
    let records = SuiteRecord::all_of(&suites, outcome.records);
    // The files over all suites can only be compared when all of them ran.
    let whole = arguments.suite.is_empty();
    let files: Vec<File> = report::files(&records).into_iter().filter(|file| whole || file.of_one_suite).collect();
    let mut differences = compare(&files, &baseline)?;
    let gone = if whole { left_over(&files, &baseline)? } else { Vec::new() };
    differences.extend(gone.iter().cloned());
    if arguments.json {
        let list: Vec<serde_json::Value> = differences
            .iter()
            .map(|d| serde_json::json!({"file": d.file, "row": d.row, "change": d.change.name(), "what": d.what}))
            .collect();
        writeln!(out, "{:#}", serde_json::Value::Array(list))?;
    } else {
        for d in &differences {
            let row = if d.row.is_empty() { d.file.clone() } else { format!("{} {}", d.file, d.row) };
            let what = if d.what.is_empty() { String::new() } else { format!(": {}", d.what) };
            writeln!(out, "{}: {row}{what}", d.change.name())?;
        }
    }
    let verdicts = || records.iter().flat_map(SuiteRecord::verdicts);
    let unexpected = verdicts().filter(|v| !v.as_expected()).count();
    if arguments.bless {
        report::write_all(&baseline, &files)?;
        gone.iter().try_for_each(|d| report::remove(&baseline.join(&d.file)))?;
        if !arguments.json {
            writeln!(out, "{} differences accepted into {}.", differences.len(), baseline.display())?;
        }
    } else if !arguments.json {
        let count = |name: &str| differences.iter().filter(|d| d.change.name() == name).count();
        writeln!(
            out,
            "{} cases: {} better, {} worse, {} new, {} gone against {}; {unexpected} findings not expected.",
            records.iter().map(|suite| suite.cases.len()).sum::<usize>(),
            count("better"),
            count("worse"),
            count("new"),
            count("gone"),
            baseline.display()
        )?;
    }
    let same = differences.is_empty() || arguments.bless;
    Ok(if same && unexpected == 0 { Exit::AsExpected } else { Exit::Found })
}
