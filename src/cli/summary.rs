//! Summary of records on the terminal, whether they were just made, read again or merged: the claim and the finding of each
//! suite, then everything that is not as expected, and the verdict with the next step last.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::Args;

use ulpgate_front::check::Outcome;
use ulpgate_front::gate::{Difference, RowChange};
use ulpgate_front::name::quantity;
use ulpgate_front::record::{SuiteRecord, Verdict};
use ulpgate_front::report::{SuiteLine, Total, findings, read_out, suite_lines, total};

use super::terminal::{paint, width};
use super::{Exit, Failure, SUITES};

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

/// Prints the claim and the finding of each suite, all its findings if all is asked for, and everything that is not as
/// expected.
pub fn print(suites: &[SuiteRecord], extent: Extent, out: &mut dyn Write) -> Result<(), Failure> {
    if extent.quiet {
        return Ok(());
    }
    for line in suite_lines(suites) {
        let SuiteLine { suite, claim, cases, expected, unexpected, said, .. } = line;
        wrap(&format!("{suite}: {claim}"), "    ", out)?;
        let known = if expected == 0 { String::new() } else { format!(", {expected} known") };
        let alarms = if unexpected == 0 { String::new() } else { format!(", {}", quantity(unexpected, "alarm")) };
        wrap(&format!("  {} ({}{known}{alarms})", said, quantity(cases, "case")), "    ", out)?;
    }
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
    let Total { cases, measured, known, alarms } = total(suites);
    let (cases, Written { what, has_page }) = (quantity(cases, "case"), written);
    wrap(&format!("{cases}{took}; {what}. Known findings that are still there: {known}."), "", out)?;
    let alarms: Vec<String> = alarms.into_iter().map(|(count, how)| format!("{count} {how}")).collect();
    let silent = abstentions(suites);
    if silent > 0 {
        let checks = quantity(silent, "check");
        wrap(&format!("Not judged: {checks} abstained, and the notes of --verbose say why."), "", out)?;
    }
    if measured > 0 {
        let those = quantity(measured, "case");
        wrap(&format!("Measured, not judged: {those} without a check, in no series whose growth is judged."), "", out)?;
    }
    if alarms.is_empty() && !is_judged(suites) {
        let why = if measured == total(suites).cases { "Measured: nothing" } else { "Nothing" };
        return Ok(writeln!(out, "{why} was judged.")?);
    }
    let shown: Vec<&str> = suites.iter().filter(|suite| !suite.cases.is_empty()).map(SuiteRecord::name).collect();
    if alarms.is_empty() {
        paint(CALM, "As expected", out)?;
        let found = if known > 0 { "only what the suites expect was found" } else { "nothing was found" };
        writeln!(out, ": {found}.")?;
        if *has_page {
            writeln!(out, "Look at index.html or SUMMARY.md there; --verbose prints all findings.")?;
        } else {
            writeln!(out, "--verbose prints all findings.")?;
        }
        let suite = shown.first().copied().unwrap_or("SUITE");
        let next =
            format!("Next: `ulpgate explain {suite}` shows what it asks; `ulpgate gate` holds changes to the reports.");
        return wrap(&next, "    ", out);
    }
    paint(ALARM, "NOT as expected", out)?;
    writeln!(out, ": {}.", alarms.join(", "))?;
    let first = suites.iter().flat_map(findings).next();
    let next = first.map(|found| next_step(&found.of, found.verdict)).unwrap_or_default();
    wrap(&format!("Next: {next}."), "    ", out)
}

/// The command that shows a case, or the suite of a series, as an alarm names it; and the way to expect a finding, or not to.
pub fn next_step(of: &str, verdict: Verdict) -> String {
    let suite = of.split('/').next().unwrap_or(of);
    // A series has `n` in the place of a size, and is no case.
    let is_series = of.split('/').any(|part| part == "n");
    let shown = if is_series { suite } else { of };
    let shown = shell_word(shown);
    let then = match verdict {
        Verdict::MissingFinding => "a finding that is gone for good loses its `expect` and `because`",
        _ => "a finding that is meant gets `expect` and `because`",
    };
    format!("`ulpgate explain {shown}` shows why; {then} in {SUITES}/{suite}.toml")
}

/// The sentence after rows that differ from the committed reports: the first case that can be looked at, and the way to accept
/// them. A case that is gone cannot be explained any more.
pub fn next_of_differences<'a>(differences: impl IntoIterator<Item = &'a Difference>) -> String {
    let mut there = differences.into_iter().filter(|one| one.change != RowChange::Gone && is_case(&one.row));
    let look = there.next().map(|one| format!("`ulpgate explain {}` shows the case; ", shell_word(&one.row)));
    format!("Next: {}`ulpgate gate --bless` accepts what there is now.", look.unwrap_or_default())
}

/// Whether the key of a row is a case's id, which `explain` takes: a series has `n` in the place of a size.
fn is_case(row: &str) -> bool {
    row.contains('/') && row.split('/').all(|part| part != "n") && !row.contains(' ')
}

/// A name as a shell takes it for one word.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=,:@%".contains(c);
    if name.chars().all(is_plain) { name.to_string() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// A space that stays within its line: no text has this character of private use.
const KEPT_SPACE: char = '\u{e020}';

/// A text whose `commands` are one word each, so that no line ends within them and they can be copied.
fn with_whole_commands(line: &str) -> String {
    let mut parts: Vec<String> = line.split('`').map(str::to_string).collect();
    let closed = parts.len().saturating_sub(1) / 2 * 2;
    let within = parts.iter_mut().take(closed).skip(1).step_by(2);
    for command in within.filter(|text| text.starts_with("ulpgate ") || text.starts_with("--")) {
        *command = command.replace(' ', &KEPT_SPACE.to_string());
    }
    parts.join("`")
}

/// Writes a line in as many as the terminal's width needs; no word and no `command` is broken.
pub fn wrap(line: &str, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let options = textwrap::Options::new(width())
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let folded = textwrap::fill(&with_whole_commands(line), options);
    Ok(writeln!(out, "{}", folded.replace(KEPT_SPACE, " "))?)
}

/// The same as JSON: one object a suite.
pub fn json(suites: &[SuiteRecord], out: &mut dyn Write) -> Result<(), Failure> {
    let lines: Vec<serde_json::Value> = suite_lines(suites)
        .into_iter()
        .map(|l| {
            serde_json::json!({
                "suite": l.suite, "claim": l.claim, "cases": l.cases, "expected": l.expected,
                "unexpected": l.unexpected, "worst": l.worst, "found": l.said, "verdict": l.verdict.name(),
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

/// Whether anything was judged. Where all checks abstain or none is asked, that is no pass.
fn is_judged(suites: &[SuiteRecord]) -> bool {
    suites.iter().flat_map(outcomes).any(|outcome| outcome != Outcome::Abstain)
}

/// The exit that the records of one of several parts come to. A part may have no case, and `merge` judges the whole.
pub fn exit_of_shard(suites: &[SuiteRecord]) -> Exit {
    let as_expected = suites.iter().flat_map(SuiteRecord::verdicts).all(Verdict::as_expected);
    if as_expected { Exit::AsExpected } else { Exit::Found }
}

/// The exit that the records come to.
///
/// # Errors
/// If nothing was judged: there is no case, none has a check, or every check abstained where none is missed.
pub fn exit(suites: &[SuiteRecord]) -> Result<Exit, Failure> {
    let exit = exit_of_shard(suites);
    if exit == Exit::Found || is_judged(suites) {
        return Ok(exit);
    }
    let Total { cases, measured, .. } = total(suites);
    let why = match abstentions(suites) {
        0 if measured > 0 => format!("{} measured, and no check was asked", quantity(cases, "case")),
        silent => {
            format!("{} of {} abstained, and no other was asked", quantity(silent, "check"), quantity(cases, "case"))
        }
    };
    let why = format!("nothing was judged: {why}");
    Err(Failure::Message(why))
}
