//! `ulpgate merge`: one set of records and reports from the parts of a run.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use ulpgate_front::record::{SuiteRecord, merge, read_folder, write_folder};

use super::report::Form;
use super::reports_folder::check_reports;
use super::{Exit, Failure, folder, locked};

#[derive(Args)]
pub struct MergeArguments {
    /// Folders of reports, as `run --shard K/N --out DIR` writes them
    #[arg(value_name = "DIR", required = true)]
    from: Vec<PathBuf>,
    /// Folder for the records and reports of all of them
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    pub(super) form: Form,
}

/// Joins the records of some folders, keeps them, writes their reports, prints the summary.
pub fn run(arguments: &MergeArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut parts = Vec::new();
    for folder in &arguments.from {
        parts.push((folder.display().to_string(), read_folder(folder)?));
    }
    let suites = merge(&parts)?;
    let target = folder(&Some(arguments.out.clone()), &arguments.out)?;
    check_reports(&target, suites.iter().map(SuiteRecord::name))?;
    let locked = locked(&target)?;
    write_folder(locked.path(), &suites, true)?;
    arguments.form.show(&suites, &locked, out)
}
