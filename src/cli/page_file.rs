//! The page as a file beside the reports.

use std::path::Path;

use crate::gate::{Difference, compare};
use crate::page::{Changes, Content, NAME, page, program_flows};
use crate::record::SuiteRecord;
use crate::report::{Covers, File};

use super::{Failure, SUITES};

/// The page over some records, with what their files change against those that stand in the folder that they are written to.
/// Where nothing changes it is the same page as in an empty folder: equal records are equal bytes.
pub(super) fn page_file(records: &[SuiteRecord], files: &[File], target: &Path) -> Result<File, Failure> {
    let before = files.iter().any(|file| target.join(&file.name).exists());
    let differences = if before { compare(files, target, &|_| true)? } else { Vec::new() };
    Ok(page_of(records, Some(&differences[..]).filter(|differences| !differences.is_empty()), target))
}

/// The page over some records and what changed against a folder.
pub(super) fn page_of(records: &[SuiteRecord], differences: Option<&[Difference]>, baseline: &Path) -> File {
    let (flows, baseline) = (program_flows(records, Path::new(SUITES)), baseline.display().to_string());
    let changes = differences.map(|differences| Changes { baseline: &baseline, differences });
    let text = page(&Content { suites: records, changes, flows: &flows });
    File { name: NAME.to_string(), text, covers: Covers::AllTogether }
}
