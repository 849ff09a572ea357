//! The page as a file beside the reports.

use std::path::Path;

use crate::gate::{Difference, compare};
use crate::page::{Changes, Content, NAME, page, program_flows};
use crate::record::SuiteRecord;
use crate::report::{Covers, File};

use super::{Failure, SUITES};

/// The page over some records, with what their files change against those that stand in a folder; without changes where
/// none of them stands there.
pub(super) fn page_file(records: &[SuiteRecord], files: &[File], baseline: &Path) -> Result<File, Failure> {
    if !files.iter().any(|file| baseline.join(&file.name).exists()) {
        return Ok(page_of(records, None, baseline));
    }
    let differences = compare(files, baseline, &|_| true)?;
    Ok(page_of(records, Some(&differences), baseline))
}

/// The page over some records and what changed against a folder.
pub(super) fn page_of(records: &[SuiteRecord], differences: Option<&[Difference]>, baseline: &Path) -> File {
    let (flows, baseline) = (program_flows(records, Path::new(SUITES)), baseline.display().to_string());
    let changes = differences.map(|differences| Changes { baseline: &baseline, differences });
    let text = page(&Content { suites: records, changes, flows: &flows });
    File { name: NAME.to_string(), text, covers: Covers::AllTogether }
}
