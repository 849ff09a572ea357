//! `ulpgate report`: reports from the records of an earlier run, without evaluating.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::gate::compare;
use ulpgate_front::name::{hint, quantity};
use ulpgate_front::page;
use ulpgate_front::record::{SuiteRecord, read_folder};
use ulpgate_front::report::{self, File, REPORTS};
use ulpgate_front::run::LockedFolder;

use super::page_file::{page_file, page_of};
use super::reports_folder::check_reports;
use super::summary::{self, Extent, Written};
use super::{Exit, Failure, folder, locked};

#[derive(Args)]
pub struct ReportArguments {
    /// Folder of reports whose records are read
    #[arg(value_name = "DIR", default_value = super::REPORTS)]
    from: PathBuf,
    /// Folder for the reports [default: DIR]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) form: Form,
}

/// The form in which records are shown.
#[derive(Args)]
pub(super) struct Form {
    /// Write only this report, such as csv; `ulpgate list reports` has all [default: all of them]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Folder of reports that index.html says the changes against [default: the one written to, as it was]
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    extent: Extent,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Reads the records of a folder, writes their reports, prints the summary.
pub fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let suites = read_folder(&arguments.from)?;
    let target = folder(&arguments.out, &arguments.from)?;
    check_reports(&target, suites.iter().map(SuiteRecord::name))?;
    arguments.form.show(&suites, &locked(&target)?, out)
}

/// The number of files in a folder that were written because they changed, in words.
pub(super) fn describe_writes(changed: usize, folder: &Path) -> String {
    match changed {
        0 => format!("{} is unchanged", folder.display()),
        count => format!("{} written to {}", quantity(count, "file"), folder.display()),
    }
}

impl Form {
    /// Writes the reports of some records into a folder and prints their summary.
    pub fn show(&self, suites: &[SuiteRecord], folder: &LockedFolder, out: &mut dyn Write) -> Result<Exit, Failure> {
        let target = folder.path();
        let (files, page) = self.files(suites, target)?;
        let changed = report::write_all(target, &files)?;
        report::write_all(target, &page)?;
        if self.json {
            summary::json(suites, out)?;
            return summary::exit(suites);
        }
        summary::print(suites, self.extent, out)?;
        for suite in suites {
            let (header, there) = (&suite.header, suite.case_set());
            // A run of slow cases has the others too.
            let all = if suite.origin.asked.slow { header.cases.plus(header.slow) } else { header.cases };
            if there == all {
                continue;
            }
            let (there, all) = (there.count, all.count);
            writeln!(out, "Only {there} of {all} cases of {} are in these records.", suite.name())?;
        }
        let written = Written { what: describe_writes(changed, target), has_page: page.is_some() };
        summary::print_verdict(suites, "", &written, out)?;
        summary::exit(suites)
    }

    /// The files of reports, and the page over them where it is not all that is asked for.
    fn files(&self, suites: &[SuiteRecord], target: &Path) -> Result<(Vec<File>, Option<File>), Failure> {
        let reports = report::files(suites);
        let page = || match &self.baseline {
            Some(baseline) if !baseline.is_dir() => {
                Err(format!("the baseline {} is no folder", baseline.display()).into())
            }
            Some(baseline) => {
                let differences = compare(&reports, baseline, &|_| true);
                differences.map_err(Failure::from).map(|list| page_of(suites, Some(&list), baseline))
            }
            None => page_file(suites, &reports, target),
        };
        let Some(name) = &self.format else {
            let page = page()?;
            return Ok((reports, Some(page)));
        };
        if name == page::FORM.0 {
            return Ok((vec![page()?], None));
        }
        let report = REPORTS.iter().find(|report| report.name() == name);
        let names = REPORTS.iter().map(|report| report.name()).chain([page::FORM.0]);
        let files = report.ok_or_else(|| format!("unknown report `{name}`; {}", hint(name, names)))?.files(suites);
        Ok((files, None))
    }
}
