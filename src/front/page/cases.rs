//! Every case, by suite, for the search by id.

use maud::{Markup, html};

use crate::record::{Record, SuiteRecord, Verdict, shortest};

use super::words::word;

/// A verdict in the terminal's words.
pub(super) const fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Measured => "measured",
        Verdict::Pass => "pass",
        Verdict::Abstain => "nothing to say",
        Verdict::Reported | Verdict::ExpectedFinding => "known finding",
        Verdict::Undecided => "undecided",
        Verdict::MissingFinding => "missing finding",
        Verdict::UnexpectedFinding => "finding",
    }
}

/// A verdict with its colour.
pub(super) fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Measured => "measured",
        _ if verdict.is_known() => "known",
        _ if verdict.as_expected() => "pass",
        _ => "bad",
    };
    html! { span class={ "badge " (class) } title=(verdict.name()) { (words(verdict)) } }
}

/// A table a suite, and the search.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    html! {
        section #cases aria-labelledby="cases-title" {
            h2 #cases-title { "Every case" }
            p { "All figures of a case are in the CSV file of its suite, which stands beside this page." }
            // Shown by the script alone: without it, the browser's own search finds what is open.
            p #search hidden {
                label for="query" { "Search case ids " }
                input #query type="search" autocomplete="off" spellcheck="false" placeholder="top_p v5e 1024";
                " " output #hits for="query" aria-live="polite" {}
            }
            // Filled by the script, too.
            p #filters hidden {
                @for (id, name) in [("by-verdict", "verdict"), ("by-suite", "suite"), ("by-chip", "chip"), ("by-metric", "metric")] {
                    label for=(id) { (name) " " select id=(id) { option value="" { "all" } } } " "
                }
                label for="order" { "order " select #order {
                    option value="" { "as in the suite" }
                    option value="down" { "largest figure first" }
                    option value="up" { "smallest figure first" }
                } }
            }
            @for suite in suites.iter().filter(|suite| !suite.cases.is_empty()) {
                details.cases id={ "cases/" (suite.name()) } {
                    summary { span.name { (suite.name()) } ": " (suite.cases.len()) " cases" }
                    div.wide tabindex="0" role="region" aria-label={ "cases of " (suite.name()) } {
                        table {
                            thead { tr { th scope="col" { "case" } th scope="col" { "verdict" } th scope="col" { "first figure" } } }
                            tbody { @for record in &suite.cases { (row(record)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The chip of a case's mode, or the subject where it is another one.
fn chip(record: &Record) -> &str {
    record.key.subject.split('/').next().unwrap_or(&record.key.subject)
}

/// The name of a case's first figure.
fn metric(record: &Record) -> Option<&str> {
    record.figures.first().map(|figure| figure.name.as_str())
}

fn row(record: &Record) -> Markup {
    let id = record.id();
    html! {
        tr.case id=(id) data-verdict=(words(record.verdict())) data-chip=(chip(record)) data-metric=[metric(record)] data-value=[record.figures.first().map(|f| f.value)] {
            td { span.id { (id) } }
            td { (badge(record.verdict())) }
            td { @if let Some(first) = record.figures.first() { (word(&first.column())) " " span.figure { (shortest(first.value)) } } }
        }
    }
}
