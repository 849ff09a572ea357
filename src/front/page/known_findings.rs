//! Findings that suites expect or only report, by suite and by expectation.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::record::{CheckRecord, Record, SuiteRecord};
use crate::report::SuiteLine;

use super::alarms::witness;
use super::words::{case_link, word};

/// Findings of one check for one reason.
type FindingGroup<'a> = Vec<(&'a Record, &'a CheckRecord)>;

/// The findings of each suite's cases and series that are as expected.
pub(super) fn section(suites: &[SuiteRecord], lines: &[SuiteLine]) -> Markup {
    html! {
        section #known aria-labelledby="known-title" {
            h2 #known-title { "Known findings, still there" }
            p { "A deviation that its suite expects, with the reason, or only reports. One that ceases to be found is an alarm." }
            @for suite in suites {
                @let line = lines.iter().find(|line| line.suite == suite.name());
                @if let Some(line) = line.filter(|line| line.expected > 0) {
                    details.inset id={ "known/" (suite.name()) } {
                        summary { span.name { (suite.name()) } ": " (line.expected) " — " (suite.header.claim) }
                        p { "Why it matters: " (suite.header.why) }
                        p.source { "Source: " (suite.header.source) }
                        (growths(suite))
                        @for ((check, because), group) in groups(suite) { (table(&check, because, &group)) }
                    }
                }
            }
        }
    }
}

/// The known findings of a suite's cases, by check and reason in the order in which they first come.
fn groups(suite: &SuiteRecord) -> Vec<((String, Option<&str>), FindingGroup<'_>)> {
    let mut groups: Vec<((String, Option<&str>), FindingGroup)> = Vec::new();
    let mut places: BTreeMap<(String, Option<&str>), usize> = BTreeMap::new();
    for record in &suite.cases {
        for check in record.checks.iter().filter(|check| check.verdict().is_known()) {
            let key = (check.column(), check.because.as_deref());
            let place = *places.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push((record, check));
        }
    }
    groups
}

fn growths(suite: &SuiteRecord) -> Markup {
    html! {
        @for record in suite.series.iter().filter(|record| record.verdict().is_known()) {
            h3 { (word(&record.check.check)) " of " (word(&record.metric)) }
            @if let Some(because) = &record.check.because { p { "Because " (because) "." } }
            p id={ "finding/growth of " (record.metric) "/" (record.series) } { span.id { (record.series) } ": " (record.check.note) }
        }
    }
}

fn table(check: &str, because: Option<&str>, group: &FindingGroup) -> Markup {
    html! {
        h3 { (word(check)) ": " (group.len()) }
        @if let Some(because) = because { p { "Because " (because) "." } }
        div.wide tabindex="0" role="region" aria-label={ "findings of " (check) } {
            table.findings {
                thead { tr { th scope="col" { "case" } th scope="col" { "what was found, and its witness" } } }
                tbody {
                    @for (record, check) in group {
                        tr.case id={ "finding/" (check.column()) "/" (record.id()) } {
                            td { (case_link(&record.id())) }
                            td { (check.note) (witness(Some(record), Some(check))) }
                        }
                    }
                }
            }
        }
    }
}
