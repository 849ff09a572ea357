//! The page as a file beside the reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ulpgate_front::gate::{Difference, compare, compare_with};
use ulpgate_front::page::{Changes, Content, NAME, page, program_flows};
use ulpgate_front::record::SuiteRecord;
use ulpgate_front::report::{Covers, File};

use super::{Failure, SUITES};

/// The page over some records, with the changes of their files against those of the folder that they are written to.
/// The old files are those that git has committed, so that a second run does not forget the changes of the first one,
/// or those in the folder if git has none. If nothing changes, it is the same page as in an empty folder: equal records
/// are equal bytes.
pub(super) fn page_file(records: &[SuiteRecord], files: &[File], target: &Path) -> Result<File, Failure> {
    let committed: BTreeMap<&str, String> =
        files.iter().filter_map(|file| Some((file.name.as_str(), committed(target, &file.name)?))).collect();
    let (baseline, differences) = if committed.is_empty() {
        let before = files.iter().any(|file| target.join(&file.name).exists());
        (target.to_path_buf(), if before { compare(files, target, &|_| true)? } else { Vec::new() })
    } else {
        let read = |name: &str| committed.get(name).cloned().ok_or(std::io::ErrorKind::NotFound.into());
        let differences = compare_with(files, &read, &|_| true);
        let fail = |(name, error)| Failure::Message(format!("{name}, as committed in {}: {error}", target.display()));
        (PathBuf::from(format!("HEAD:{}", target.display())), differences.map_err(fail)?)
    };
    Ok(page_of(records, Some(&differences[..]).filter(|differences| !differences.is_empty()), &baseline))
}

/// The text of a file as the last commit has it; `None` where there is no git, no repository, or no such file in it.
fn committed(folder: &Path, name: &str) -> Option<String> {
    let found = Command::new("git").arg("-C").arg(folder).args(["show", &format!("HEAD:./{name}")]).output().ok()?;
    found.status.success().then(|| String::from_utf8(found.stdout).ok())?
}

/// The last commit that changed a folder, and its date; `None` where there is no git or no commit.
fn commit(folder: &Path) -> Option<String> {
    let found = Command::new("git").args(["log", "-1", "--format=commit %h of %cs", "--"]).arg(folder).output().ok()?;
    let text = String::from_utf8(found.stdout).ok().filter(|_| found.status.success())?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// The page over some records, with their changes against a folder.
pub(super) fn page_of(records: &[SuiteRecord], differences: Option<&[Difference]>, baseline: &Path) -> File {
    let (flows, baseline) = (program_flows(records, Path::new(SUITES)), baseline.display().to_string());
    let changes = differences.map(|differences| Changes { baseline: &baseline, differences });
    let commit = commit(Path::new(SUITES));
    let text = page(&Content { suites: records, commit: commit.as_deref(), changes, flows: &flows });
    File { name: NAME.to_string(), text, covers: Covers::AllTogether }
}
