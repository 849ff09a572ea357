//! Markdown: the page to start with.

use std::fmt::Write;

use crate::record::SuiteRecord;

use super::summary::{SuiteLine, read_out, suite_lines};
use super::{Covers, File, Report};

/// One page over all suites.
pub struct Markdown;

impl Report for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn doc(&self) -> &'static str {
        "SUMMARY.md: one line a suite, then what each suite found, in words."
    }

    fn files(&self, suites: &[SuiteRecord]) -> Vec<File> {
        vec![File { name: "SUMMARY.md".to_string(), text: summary(suites), covers: Covers::AllTogether }]
    }
}

/// The page that stands beside the CSV files.
fn summary(suites: &[SuiteRecord]) -> String {
    let mut text =
        String::from("# Summary\n\nOne line a suite; every case is in the suite's CSV, every fit in growth.csv.\n\n");
    text.push_str("| suite | claim | cases | findings expected | not expected | found | verdict |\n|---|---|---|---|---|---|---|\n");
    for line in suite_lines(suites) {
        let SuiteLine { suite, claim, cases, expected, unexpected, said, verdict, .. } = line;
        let said = said.replace('|', "\\|");
        let _ =
            writeln!(text, "| {suite} | {claim} | {cases} | {expected} | {unexpected} | {said} | {} |", verdict.name());
    }
    for suite in suites {
        let lines = read_out(suite);
        if lines.is_empty() {
            continue;
        }
        let header = &suite.header;
        let _ = writeln!(
            text,
            "\n## {}\n\n{}\n\nWhy it matters: {}\n\nSource: {}\n",
            header.name, header.claim, header.why, header.source
        );
        for line in lines {
            let _ = writeln!(text, "- {line}");
        }
    }
    text
}
