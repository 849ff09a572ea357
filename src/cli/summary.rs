//! What the terminal shows of records, whether they were just made, read again or merged.

use std::io::Write;

use comfy_table::{ContentArrangement, Table, presets};

use crate::record::{SuiteRecord, Verdict};
use crate::report::{findings, read_out, suite_lines};

use super::{Exit, Failure};

/// Lines of a suite's read_out that the terminal shows.
const SHOWN: usize = 8;

/// A line a suite, what each found in words, and what was not expected; `took` stands behind the number of cases.
pub fn print(suites: &[SuiteRecord], took: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["suite", "cases", "findings", "not expected", "worst", "claim"]);
    let lines = suite_lines(suites);
    for line in &lines {
        table.add_row([
            line.suite.clone(),
            line.cases.to_string(),
            line.expected.to_string(),
            line.unexpected.to_string(),
            line.worst.clone(),
            line.claim.clone(),
        ]);
    }
    writeln!(out, "{table}")?;
    for suite in suites {
        let lines = read_out(suite);
        if lines.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", suite.name())?;
        for line in lines.iter().take(SHOWN) {
            writeln!(out, "  {line}")?;
        }
        if lines.len() > SHOWN {
            writeln!(out, "  {} more in SUMMARY.md", lines.len() - SHOWN)?;
        }
    }
    for finding in suites.iter().flat_map(findings) {
        writeln!(out, "\n{finding}")?;
    }
    let cases: usize = lines.iter().map(|l| l.cases).sum();
    let findings: usize = lines.iter().map(|l| l.expected).sum();
    let not_expected: usize = lines.iter().map(|l| l.unexpected).sum();
    Ok(writeln!(
        out,
        "\n{cases} cases{took}: {findings} findings that the suites expect or report, {not_expected} not expected."
    )?)
}

/// The same as JSON: one object a suite.
pub fn json(suites: &[SuiteRecord], out: &mut dyn Write) -> Result<(), Failure> {
    let lines: Vec<serde_json::Value> = suite_lines(suites)
        .into_iter()
        .map(|l| {
            serde_json::json!({
                "suite": l.suite, "claim": l.claim, "cases": l.cases, "expected": l.expected,
                "unexpected": l.unexpected, "worst": l.worst, "verdict": l.verdict.name(),
            })
        })
        .collect();
    Ok(writeln!(out, "{:#}", serde_json::Value::Array(lines))?)
}

/// What the records come to.
pub fn exit(suites: &[SuiteRecord]) -> Exit {
    let as_expected = suites.iter().flat_map(SuiteRecord::verdicts).all(Verdict::as_expected);
    if as_expected { Exit::AsExpected } else { Exit::Found }
}
