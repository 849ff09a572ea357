//! The document around the sections: its head, the verdict, and a line a suite.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::{SuiteLine, Total, suite_lines, total};

use super::cases::badge;
use super::{
    Content, alarms, bounds, cases, differences, growth_charts, known_findings, program_flow, rates, recalls, words,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The sections in their order: the element's id, and its name in the navigation.
const SECTIONS: [(&str, &str); 10] = [
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
                title { "ulpgate: numerical-precision conformance" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#verdict" { "Skip to the verdict" }
                header {
                    h1 { "Numerical-precision conformance" }
                    nav aria-label="Sections" {
                        ul { @for (id, name) in SECTIONS { @if there(id) { li { a href={ "#" (id) } { (name) } } } } }
                    }
                }
                main {
                    (verdict(content))
                    (suite_table(&lines))
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

/// One line a suite, as on the terminal.
fn suite_table(lines: &[SuiteLine]) -> Markup {
    html! {
        details.paper #suites {
            summary { "The " (lines.len()) " suites" }
            div.wide tabindex="0" role="region" aria-label="Suites" {
                table {
                    thead { tr {
                        th scope="col" { "suite" } th scope="col" { "claim" } th.number scope="col" { "cases" }
                        th.number scope="col" { "known" } th.number scope="col" { "alarms" } th scope="col" { "found" }
                        th scope="col" { "verdict" }
                    } }
                    tbody {
                        @for line in lines {
                            tr {
                                th scope="row" { a href={ "#cases/" (line.suite) } { (line.suite) } }
                                td { (line.claim) }
                                td.number { (line.cases) }
                                td.number {
                                    @if line.expected > 0 { a href={ "#known/" (line.suite) } { (line.expected) } } @else { "0" }
                                }
                                td.number { (line.unexpected) }
                                td { (line.said) }
                                td { (badge(line.verdict)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
