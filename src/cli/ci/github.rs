//! GitHub Actions: workflow commands that mark lines of files, and the summary of a step in Markdown.

use std::io::Write;

use super::super::Failure;
use super::{Group, problems};

/// GitHub shows ten annotations of a kind a step, and drops the others without a word.
const ANNOTATIONS: usize = 10;

/// Problems that the summary lists: it may have 1 MiB.
const LISTED: usize = 100;

/// Prints an error a problem, as far as GitHub shows them.
pub fn annotate(groups: &[Group], out: &mut dyn Write) -> Result<(), Failure> {
    for (test, problem) in problems(groups).take(ANNOTATIONS) {
        let (file, line) = &problem.place;
        let title = format!("{} in {}", problem.rule, test.name);
        let said = std::iter::once(&problem.message).chain(&problem.evidence).chain(&problem.next);
        let said: Vec<&str> = said.map(String::as_str).collect();
        let (file, title, said) = (property(file), property(&title), data(&said.join("\n")));
        writeln!(out, "::error file={file},line={line},title={title}::{said}")?;
    }
    let more = problems(groups).count().saturating_sub(ANNOTATIONS);
    if more > 0 {
        writeln!(out, "::notice title=ulpgate::{more} more problems are in the log and the summary of this step")?;
    }
    Ok(())
}

/// Appends the summary to the file that GitHub names; nothing where it names none.
pub fn append_summary(groups: &[Group]) -> Result<(), Failure> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(summary(groups).as_bytes()));
    written.map_err(|error| Failure::Message(format!("failed to write GITHUB_STEP_SUMMARY: {error}")))
}

fn summary(groups: &[Group]) -> String {
    let count = problems(groups).count();
    let judged = |group: &Group| group.tests.iter().filter(|test| test.is_judged).count();
    let verdict = match count {
        0 if groups.iter().map(judged).sum::<usize>() == 0 => "measured, nothing judged".to_string(),
        0 => "as expected".to_string(),
        1 => "1 problem".to_string(),
        count => format!("{count} problems"),
    };
    let mut text = format!("## ulpgate: {verdict}\n\n| | judged | known findings | problems |\n|---|---:|---:|---:|\n");
    for group in groups {
        let known: usize = group.tests.iter().map(|test| test.known.len()).sum();
        let problems: usize = group.tests.iter().map(|test| test.problems.len()).sum();
        text.push_str(&format!("| {} | {} | {known} | {problems} |\n", group.name, judged(group)));
    }
    for (test, problem) in problems(groups).take(LISTED) {
        text.push_str(&format!("\n- **{}** `{}`: {}: {}", problem.verdict, test.name, problem.rule, problem.message));
        for line in problem.evidence.iter().chain(&problem.next) {
            text.push_str(&format!("\n  - {line}"));
        }
    }
    if count > LISTED {
        text.push_str(&format!("\n- {} more in the log", count - LISTED));
    }
    text.push('\n');
    text
}

/// Text as a workflow command takes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same for a property, which commas and colons end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
