//! A folder that reports are written into: one of reports, or one without a file that they would replace.

use std::path::Path;

use ulpgate_front::file::read_text;
use ulpgate_front::page;

use super::Failure;

/// The names of reports over all suites.
const OVER_ALL: [&str; 5] = ["SUMMARY.md", page::NAME, "fingerprints.csv", "growth.csv", "growth-points.csv"];

/// The beginnings of reports: of a suite, of growths and their points, of fingerprints, and the summary.
const BEGINNINGS: [&str; 4] = ["case,verdict,", "series,metric,", "suite,file,fingerprint", "# Summary\n"];

/// A part of the page's head.
const TITLE: &str = "<title>ulpgate";

/// Holds a folder to what reports may be written into, before the command takes its time: a file that is none of them
/// is not replaced, as where `--out .` names a folder with a page of its own. In a folder that holds records,
/// fingerprints or a journal all files of these names are reports, whatever was made of them.
pub(super) fn check_reports<'a>(folder: &Path, suites: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    if !folder.exists() || is_of_reports(folder) {
        return Ok(());
    }
    let of_suites = suites.map(|name| format!("{name}.csv"));
    let mut names = OVER_ALL.into_iter().map(str::to_string).chain(of_suites);
    let foreign = names.find(|name| is_foreign(&folder.join(name)));
    match foreign {
        Some(name) => Err(Failure::Message(format!(
            "{} is no report of ulpgate, and would be replaced by one: choose another folder",
            folder.join(name).display()
        ))),
        None => Ok(()),
    }
}

/// Whether a folder holds files that only reports are written with.
fn is_of_reports(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    has("records") || has(".journal.jsonl") || read_text(&folder.join(OVER_ALL[2])).is_ok_and(|text| is_report(&text))
}

fn is_report(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) || text.contains(TITLE)
}

/// Whether a file is there and says something else than a report.
fn is_foreign(path: &Path) -> bool {
    path.is_file() && read_text(path).map_or(true, |text| !text.is_empty() && !is_report(&text))
}
