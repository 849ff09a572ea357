//! Summary of records on the terminal, whether they were just made, read again or merged: a line a suite, then
//! everything that is not as expected, and the verdict last.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};

use crate::check::Outcome;
use crate::record::{SuiteRecord, Verdict};
use crate::report::{Total, findings, read_out, suite_lines, total};

use super::terminal::paint;
use super::{Exit, Failure};

/// Columns of a terminal of unknown width.
const WIDTH: usize = 80;

/// Findings that are not as expected and shown; lines of each, the first of which names it.
const SHOWN: usize = 6;
const LINES: usize = 4;

const ALARM: Style = AnsiColor::Red.on_default().bold();
const CALM: Style = AnsiColor::Green.on_default().bold();

/// The amount of output.
#[derive(Args, Clone, Copy, Default)]
pub(super) struct Extent {
    /// Show also what each suite found, in words, and what the truth cost
    #[arg(long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show the verdict alone
    #[arg(long)]
    pub quiet: bool,
}

/// Prints a line a suite, the findings of each if all is asked for, and everything that is not as expected.
pub fn print(suites: &[SuiteRecord], extent: Extent, out: &mut dyn Write) -> Result<(), Failure> {
    if extent.quiet {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["suite", "cases", "known", "alarms", "worst"]);
    for line in suite_lines(suites) {
        let numbers = [line.cases, line.expected, line.unexpected].map(|number| number.to_string());
        table.add_row([&[line.suite][..], &numbers, &[line.worst]].concat());
    }
    let lines: Vec<String> = table.lines().collect();
    // What is too long goes on below its own column.
    let below = " ".repeat(lines.first().and_then(|head| head.find("worst")).unwrap_or(0));
    lines.iter().try_for_each(|line| wrap(line.trim_end(), &below, out))?;
    if extent.verbose {
        for suite in suites {
            let lines = read_out(suite);
            if !lines.is_empty() {
                writeln!(out, "\n{}: {}", suite.name(), suite.header.claim)?;
            }
            lines.iter().try_for_each(|line| wrap(&format!("  {line}"), "    ", out))?;
        }
    }
    let alarms: Vec<_> = suites.iter().flat_map(findings).collect();
    let (shown, lines) = if extent.verbose { (usize::MAX, usize::MAX) } else { (SHOWN, LINES) };
    for alarm in alarms.iter().take(shown) {
        writeln!(out)?;
        for line in alarm.to_string().lines().take(lines) {
            wrap(line, "    ", out)?;
        }
    }
    if alarms.len() > shown {
        writeln!(out, "\n{} more alarms: --verbose shows them.", alarms.len() - shown)?;
    }
    Ok(writeln!(out)?)
}

/// The files that a command wrote.
pub(super) struct Written {
    /// Their number and folder, in words.
    pub what: String,
    /// Whether the page and the summary over all suites are among them.
    pub has_page: bool,
}

/// Prints the overall verdict, and the next step. `took` follows the number of cases, and `written` follows that.
pub fn print_verdict(
    suites: &[SuiteRecord],
    took: &str,
    written: &Written,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Total { cases, known, alarms } = total(suites);
    let (cases, Written { what, has_page }) = (quantity(cases, "case"), written);
    wrap(&format!("{cases}{took}; {what}. Known findings that are still there: {known}."), "", out)?;
    let alarms: Vec<String> = alarms.into_iter().map(|(count, how)| format!("{count} {how}")).collect();
    let silent = abstentions(suites);
    if silent > 0 {
        let checks = quantity(silent, "check");
        wrap(&format!("Not judged: {checks} abstained, and the notes of --verbose say why."), "", out)?;
    }
    if alarms.is_empty() && !is_judged(suites) {
        return Ok(writeln!(out, "Nothing was judged.")?);
    }
    if alarms.is_empty() {
        let where_told = if *has_page { "SUMMARY.md, index.html and --verbose say" } else { "--verbose says" };
        paint(CALM, "As expected", out)?;
        writeln!(out, ". {where_told} what was found.")?;
        return Ok(());
    }
    paint(ALARM, "NOT as expected", out)?;
    writeln!(out, ": {}.", alarms.join(", "))?;
    let next = "Next: `ulpgate explain CASE` shows the program as compiled; a finding that is meant gets `expect` and \
                `because` in its suite.";
    wrap(next, "", out)
}

/// A number of things, such as `1 case` and `2 cases`.
pub fn quantity(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Writes a line in as many as it needs; no word is broken.
pub fn wrap(line: &str, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let options = textwrap::Options::new(WIDTH)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    Ok(writeln!(out, "{}", textwrap::fill(line, options))?)
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

/// Checks of cases and series that abstained.
fn abstentions(suites: &[SuiteRecord]) -> usize {
    suites.iter().flat_map(outcomes).filter(|outcome| *outcome == Outcome::Abstain).count()
}

/// The findings of all checks of a suite.
fn outcomes(suite: &SuiteRecord) -> impl Iterator<Item = Outcome> {
    let of_cases = suite.cases.iter().flat_map(|case| &case.checks).map(|check| check.outcome);
    of_cases.chain(suite.series.iter().map(|series| series.check.outcome))
}

/// Whether anything was judged, or only to be measured. Where all checks abstain, that is no pass.
fn is_judged(suites: &[SuiteRecord]) -> bool {
    let is_measured = total(suites).cases > 0 && suites.iter().flat_map(outcomes).next().is_none();
    is_measured || suites.iter().flat_map(outcomes).any(|outcome| outcome != Outcome::Abstain)
}

/// The exit that the records of one of several parts come to. A part may have no case, and `merge` judges the whole.
pub fn exit_of_shard(suites: &[SuiteRecord]) -> Exit {
    let as_expected = suites.iter().flat_map(SuiteRecord::verdicts).all(Verdict::as_expected);
    if as_expected { Exit::AsExpected } else { Exit::Found }
}

/// The exit that the records come to.
///
/// # Errors
/// If nothing was judged: there is no case, or every check abstained where none is missed.
pub fn exit(suites: &[SuiteRecord]) -> Result<Exit, Failure> {
    let exit = exit_of_shard(suites);
    if exit == Exit::Found || is_judged(suites) {
        return Ok(exit);
    }
    let (cases, checks) = (total(suites).cases, quantity(abstentions(suites), "check"));
    let why = format!("nothing was judged: {checks} of {} abstained, and no other was asked", quantity(cases, "case"));
    Err(Failure::Message(why))
}
