//! `ulpgate gate`: fresh reports against the committed ones.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::gate::{Difference, RowChange, compare, left_over};
use ulpgate_front::name::quantity;
use ulpgate_front::page;
use ulpgate_front::record::SuiteRecord;
use ulpgate_front::report::{self, Covers, File, Row, Unexpected};
use ulpgate_front::run::{self, Selection, Settings};
use ulpgate_front::suite::Suite;

use super::ci::{Formats, Places, of_differences, of_suites};
use super::page_file::page_of;
use super::progress::OnStderr;
use super::reports_folder::check_reports;
use super::run::Selected;
use super::seconds::Limit;
use super::summary;
use super::{Exit, Failure, REPORTS, SUITES, check_target, files_of, locked, suites, write_file};

#[derive(Args)]
pub struct GateArguments {
    /// Suites by name; all of them if none is given
    suite: Vec<String>,
    /// Folder of the committed reports [default: reports; with --slow reports/slow]
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    /// Accept what there is now: write it as the new baseline
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    selected: Selected,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Write a page with what differs, all findings and charts: HTML that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print differences and findings as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
    #[command(flatten)]
    formats: Formats,
}

/// Evaluates afresh, compares, and writes nothing unless asked to.
pub fn run(arguments: &GateArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let suites = suites(&arguments.suite)?;
    super::run::set_threads(arguments.jobs)?;
    let selection = arguments.selected.of(&suites)?;
    let usual = if selection.asked.slow { Path::new(REPORTS).join("slow") } else { PathBuf::from(REPORTS) };
    let baseline = arguments.baseline.clone().unwrap_or(usual);
    check_baseline(arguments, &selection, &baseline)?;
    arguments.formats.check(files_of(&suites))?;
    arguments.html.iter().try_for_each(|path| check_target(path, files_of(&suites)))?;
    if arguments.bless {
        check_reports(&baseline, suites.iter().map(|suite| suite.name.as_str()))?;
    }
    // Held until all is accepted.
    let _locked = arguments.bless.then(|| locked(&baseline)).transpose()?;
    let ran = run::run(&suites, &selection, &Settings::default(), None, &OnStderr::new()).map_err(Failure::from);
    let outcome = arguments.formats.tell_failure("gate", Path::new(SUITES), ran, out)?;
    let records = SuiteRecord::all_of(&suites, outcome.records, &selection.asked);
    let (differences, files) = differences(arguments, &suites, &selection, &records, &baseline)?;
    let findings: Vec<Unexpected> = records.iter().flat_map(report::findings).collect();
    let cases: usize = records.iter().map(|suite| suite.cases.len()).sum();
    if let Some(path) = &arguments.html {
        let page = page_of(&records, Some(&differences), &baseline);
        write_file(path, &page.text)?;
    }
    if arguments.bless {
        accept(&baseline, &differences, &files)?;
    }
    if arguments.json {
        json(cases, &differences, &findings, out)?;
    } else {
        tell(arguments, cases, (&differences, &findings), &baseline, out)?;
    }
    let groups = || {
        let places = Places::of(&suites);
        let told: &[Difference] = if arguments.bless { &[] } else { &differences };
        let mut groups = of_suites(&records, &places);
        groups.push(of_differences(told, &baseline.display().to_string(), &places));
        groups
    };
    arguments.formats.write(&outcome.costs, groups, out)?;
    let same = arguments.bless || differences.iter().all(|d| d.change == RowChange::Stray);
    Ok(if same && findings.is_empty() { Exit::AsExpected } else { Exit::Found })
}

/// Prints the differences and the findings, their numbers, and the next command.
fn tell(
    arguments: &GateArguments,
    cases: usize,
    (differences, findings): (&[Difference], &[Unexpected]),
    baseline: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    differences.iter().try_for_each(|difference| writeln!(out, "{difference}"))?;
    findings.iter().try_for_each(|finding| writeln!(out, "{finding}"))?;
    let count = |change: RowChange| differences.iter().filter(|d| d.change == change).count();
    if arguments.bless {
        let accepted = differences.len() - count(RowChange::Stray);
        writeln!(out, "{} accepted into {}.", quantity(accepted, "difference"), baseline.display())?;
        if !findings.is_empty() {
            writeln!(
                out,
                "{} not expected: --bless accepts reports, and no finding.",
                quantity(findings.len(), "finding")
            )?;
            next_step(&[], findings, out)?;
        }
    } else {
        writeln!(
            out,
            "{}: {} better, {} worse, {} new, {} gone, {} changed against {}; {} not expected.",
            quantity(cases, "case"),
            count(RowChange::Better),
            count(RowChange::Worse),
            count(RowChange::New),
            count(RowChange::Gone),
            count(RowChange::Changed),
            baseline.display(),
            quantity(findings.len(), "finding"),
        )?;
        next_step(differences, findings, out)?;
    }
    Ok(())
}

/// Writes the files of the baseline anew, and removes those that are gone.
fn accept(baseline: &Path, differences: &[Difference], files: &[File]) -> Result<(), Failure> {
    report::write_all(baseline, files)?;
    // A line that is gone is no file that is gone.
    let is_written = |name: &str| files.iter().any(|file| file.name == name);
    let gone = |d: &&Difference| d.change == RowChange::Gone && d.row.is_empty() && !is_written(&d.file);
    differences.iter().filter(gone).try_for_each(|d| report::remove(&baseline.join(&d.file)))?;
    Ok(())
}

/// Names the next command of a red gate: the case to look at, and how the differences are accepted.
fn next_step(differences: &[Difference], findings: &[Unexpected], out: &mut dyn Write) -> Result<(), Failure> {
    let differs: Vec<&Difference> = differences.iter().filter(|d| d.change != RowChange::Stray).collect();
    if let Some(found) = findings.first() {
        let then = if differs.is_empty() { "" } else { "; then `ulpgate gate --bless` accepts what there is" };
        let step = summary::next_step(&found.of, found.verdict);
        return summary::wrap(&format!("Next: {step}{then}."), "    ", out);
    }
    if differs.is_empty() {
        return Ok(());
    }
    summary::wrap(&summary::next_of_differences(differs), "    ", out)
}

/// Checks that there is a baseline to compare with, or that it may be written.
fn check_baseline(arguments: &GateArguments, selection: &Selection, baseline: &Path) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::Message(why));
    if arguments.bless && !selection.takes_whole_suites() {
        return refuse("--bless accepts all cases of a suite: leave out --filter and --shard".to_string());
    }
    if baseline.exists() && !baseline.is_dir() {
        return refuse(format!("the baseline {} is no folder", baseline.display()));
    }
    // A first run has no reports yet; another folder is one that should be there.
    if baseline != Path::new(REPORTS) && !baseline.exists() && !arguments.bless {
        return refuse(format!(
            "the baseline {} does not exist; `gate{} --bless` writes a first one",
            baseline.display(),
            if selection.asked.slow { " --slow" } else { "" }
        ));
    }
    Ok(())
}

/// The differences from the baseline, and the files that were compared. Files over all suites can only be compared when
/// all of them ran, wholly.
fn differences(
    arguments: &GateArguments,
    suites: &[Suite],
    selection: &Selection,
    records: &[SuiteRecord],
    baseline: &Path,
) -> Result<(Vec<Difference>, Vec<File>), Failure> {
    let every_suite = arguments.suite.is_empty();
    let whole = every_suite && selection.takes_whole_suites();
    let compared = |file: &File| match file.covers {
        Covers::OneSuite => true,
        // A baseline of some suites must not lose the rows of others, and `run` of some suites writes none of these files.
        Covers::EachSuite => every_suite || !arguments.bless && baseline.join(&file.name).exists(),
        Covers::AllTogether => whole,
    };
    let all = report::files(records);
    let names: BTreeSet<String> = all.iter().map(|file| file.name.clone()).collect();
    let files: Vec<File> = all.into_iter().filter(compared).collect();
    let ran: BTreeSet<String> = records.iter().flat_map(|suite| &suite.cases).map(|record| record.id()).collect();
    // Cases of other parts. A slow case that was not asked for has no row in these reports.
    let asked_for = suites.iter().flat_map(|s| &s.cases).filter(|case| selection.asked.takes(case));
    let left_out: BTreeSet<&str> = asked_for.map(|case| case.id.as_str()).filter(|id| !ran.contains(*id)).collect();
    let about = |row: &Row| match (row.get("case"), row.get("suite")) {
        (Some(case), _) => !left_out.contains(case.as_str()) && selection.asked.has_in_filter(case),
        (None, Some(suite)) => every_suite || suites.iter().any(|s| s.name == *suite),
        (None, None) => true,
    };
    let mut differences = compare(&files, baseline, &about)?;
    if every_suite {
        // What did not run for the selection's sake is no less a report.
        let of_suites = suites.iter().map(|suite| format!("{}.csv", suite.name));
        let names = names.into_iter().chain(of_suites).chain([page::NAME.to_string()]).collect();
        differences.extend(left_over(&names, baseline)?);
    }
    Ok((differences, files))
}

/// Changes when a field means something else or goes.
const VERSION: u32 = 1;

fn json(cases: usize, differences: &[Difference], findings: &[Unexpected], out: &mut dyn Write) -> Result<(), Failure> {
    let difference =
        |d: &Difference| serde_json::json!({"file": d.file, "row": d.row, "change": d.change.name(), "what": d.what});
    let finding = |f: &Unexpected| {
        serde_json::json!({
            "case": f.of, "check": f.check, "verdict": f.verdict.name(), "note": f.note, "because": f.because,
            "evidence": f.evidence,
        })
    };
    let all = serde_json::json!({
        "version": VERSION,
        "cases": cases,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    });
    Ok(writeln!(out, "{all:#}")?)
}
