//! The document around the sections: its head, the verdict, and a line a suite.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::record::SuiteRecord;
use crate::report::{SuiteLine, Total, suite_lines, total};

use super::cases::badge;
use super::{
    Content, alarms, bounds, cases, differences, growth_charts, headlines, known_findings, program_flow, rates,
    recalls, words,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The sections in their order: the element's id, and its name in the navigation.
const SECTIONS: [(&str, &str); 12] = [
    ("headlines", "Findings"),
    ("suites", "Suites"),
    ("changes", "Changes"),
    ("alarms", "Alarms"),
    ("known", "Known findings"),
    ("growth", "Error against size"),
    ("bounds", "Bounds"),
    ("rates", "Rates"),
    ("recall", "Recall"),
    ("flow", "Precision flow"),
    ("cases", "Cases"),
    ("words", "Names"),
];

/// The whole document.
pub(super) fn document(content: &Content) -> Markup {
    let suites = content.suites;
    let lines = suite_lines(suites);
    let body = html! {
        (differences::section(content))
        (alarms::section(suites))
        (headlines::section(suites))
        (suite_tables(suites, &lines))
        (known_findings::section(suites, &lines))
        (growth_charts::section(suites))
        (bounds::section(suites))
        (rates::section(suites))
        (recalls::section(suites))
        (program_flow::section(content.flows))
        (cases::section(suites))
        (words::list(suites))
    };
    // Sections without anything to show are left out, and so are their links.
    let there = |id: &str| body.0.contains(&format!("<section id=\"{id}\""));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "ulpgate: what this run found" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#verdict" { "Skip to the verdict" }
                header {
                    h1 { "ulpgate: does the arithmetic change what the model says?" }
                    @if let Some(commit) = content.commit { p.commit { "Suites as of " span.figure { (commit) } "." } }
                    nav aria-label="Sections" {
                        ul { @for (id, name) in SECTIONS { @if there(id) { li { a href={ "#" (id) } { (name) } } } } }
                    }
                }
                main {
                    (verdict(content))
                    (body)
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The answer, in a sentence or three.
fn verdict(content: &Content) -> Markup {
    let Total { cases, measured, known, alarms } = total(content.suites);
    let is_judged = measured < cases;
    let changed = differences::sentence(content);
    let alarms: Vec<String> = alarms.into_iter().map(|(count, how)| format!("{count} {how}")).collect();
    // What no check finds may still be what nobody wants: figures that moved.
    let (class, answer) = match (alarms.is_empty(), differences::is_as_before(content)) {
        (true, true) if !is_judged => ("moved", "Measured: nothing was judged.".to_string()),
        (true, false) if !is_judged => ("moved", "Measured: nothing was judged, and not as before.".to_string()),
        (true, true) => ("calm", "As expected.".to_string()),
        (true, false) => ("moved", "As expected, but not as before.".to_string()),
        (false, _) => ("alarm", format!("NOT as expected: {}.", alarms.join(", "))),
    };
    html! {
        section #verdict tabindex="-1" aria-label="Verdict" class=(class) {
            p.verdict {
                strong { (answer) }
                @if let Some(changed) = &changed { " " (changed) }
            }
            p {
                (cases) " cases. Known findings that are still there: " (known) "."
                @if measured > 0 && is_judged { " Measured, not judged: " (measured) "." }
            }
        }
    }
}

/// Questions that suites answer, each with the checks that ask it, the weightiest first.
const QUESTIONS: [(&str, &[&str]); 4] = [
    (
        "Do tokens change?",
        &[
            "dropped_token",
            "self_consistency",
            "nucleus",
            "divergence",
            "permitted",
            "ties",
            "recall",
            "margin",
            "ratio",
        ],
    ),
    ("Are two programs, batches or chips the same?", &["same", "agreement"]),
    ("Are errors within their bounds?", &["bound", "criterion", "overflow"]),
    ("How do errors grow?", &["growth", "drift"]),
];

/// The question that most cases and series of a suite ask; the last place for a suite without a check.
fn question(suite: &SuiteRecord) -> usize {
    let of_cases = suite.cases.iter().flat_map(|record| &record.checks).map(|check| check.check.as_str());
    let asked: Vec<&str> = of_cases.chain(suite.series.iter().map(|series| series.check.check.as_str())).collect();
    let count = |(_, checks): &(&str, &[&str])| asked.iter().filter(|check| checks.contains(check)).count();
    let counts = QUESTIONS.each_ref().map(count);
    let most = counts.iter().copied().max().filter(|most| *most > 0);
    counts.iter().position(|count| Some(*count) == most).unwrap_or(QUESTIONS.len())
}

/// A table a question: its suites, each with its claim and its finding.
fn suite_tables(suites: &[SuiteRecord], lines: &[SuiteLine]) -> Markup {
    let of = |place: usize| -> Vec<&SuiteLine> {
        let asks =
            |line: &&SuiteLine| suites.iter().any(|suite| suite.name() == line.suite && question(suite) == place);
        lines.iter().filter(asks).collect()
    };
    html! {
        section #suites aria-labelledby="suites-title" {
            h2 #suites-title { "Suites by question: " (lines.len()) }
            @for (place, title) in QUESTIONS.iter().map(|(title, _)| *title).chain(["Measured"]).enumerate() {
                @let lines = of(place);
                @if !lines.is_empty() {
                    details.paper {
                        summary { span.name { (title) } ": " (lines.len()) (alarm_count(&lines)) }
                        (suite_table(title, &lines))
                    }
                }
            }
        }
    }
}

fn alarm_count(lines: &[&SuiteLine]) -> Markup {
    let alarms: usize = lines.iter().map(|line| line.unexpected).sum();
    html! { @if alarms > 0 { ", " span."badge bad" { (alarms) " alarms" } } }
}

fn suite_table(title: &str, lines: &[&SuiteLine]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label={ "Suites: " (title) } {
            table {
                thead { tr {
                    th scope="col" { "suite" } th scope="col" { "claim" } th scope="col" { "found" }
                    th.number scope="col" { "cases" } th.number scope="col" { "known" } th.number scope="col" { "alarms" }
                    th scope="col" { "verdict" }
                } }
                tbody {
                    @for line in lines {
                        tr {
                            th.figure scope="row" { a href={ "#cases/" (line.suite) } { (line.suite) } }
                            td.sentence { (line.claim) }
                            td.sentence { (line.said) }
                            td.number { (line.cases) }
                            td.number {
                                @if line.expected > 0 { a href={ "#known/" (line.suite) } { (line.expected) } } @else { "0" }
                            }
                            td.number { (line.unexpected) }
                            td { (badge(line.verdict)) }
                        }
                    }
                }
            }
        }
    }
}
