//! Alarms: results that are not as expected, each with its witness.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::check::Witness;
use crate::record::{CheckRecord, Record, SuiteRecord, Verdict};
use crate::report::{Unexpected, findings};

use super::words::{case_link, word};

/// The meaning of a verdict that is not as expected, for a reader who is new to it.
const fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::MissingFinding => "known, and not there any more",
        Verdict::Undecided => "undecided: the truth could not be told from its neighbours",
        _ => "not known",
    }
}

/// All alarms, in the order of the suites.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    let alarms: Vec<Unexpected> = suites.iter().flat_map(findings).collect();
    let named: BTreeSet<&str> = alarms.iter().map(|alarm| alarm.of.as_str()).collect();
    let records = suites.iter().flat_map(|suite| &suite.cases).map(|record| (record.id(), record));
    let cases: BTreeMap<String, &Record> = records.filter(|(id, _)| named.contains(id.as_str())).collect();
    html! {
        section #alarms aria-labelledby="alarms-title" {
            h2 #alarms-title { "Alarms: " (alarms.len()) }
            @if alarms.is_empty() {
                p { "Every check says what its suite expects." }
            } @else {
                p { code { "ulpgate explain CASE" } " shows the program as compiled. A finding that is meant gets "
                    code { "expect" } " and " code { "because" } " in its suite." }
            }
            @for alarm in &alarms {
                article.alarm id={ "alarm/" (alarm.check) "/" (alarm.of) } {
                    h3 { (word(&alarm.check)) ": " (meaning(alarm.verdict)) }
                    p { (case_link(&alarm.of)) }
                    p { (alarm.note) }
                    @if let Some(because) = &alarm.because { p { "It was expected because " (because) "." } }
                    @let case = cases.get(&alarm.of).copied();
                    @let check = case.and_then(|case| case.checks.iter().find(|check| check.column() == alarm.check));
                    (witness(case, check))
                }
            }
        }
    }
}

/// The evidence of a finding: the check's own lines and its worst element, else the element that the first metric found
/// worst.
pub(super) fn witness(case: Option<&Record>, check: Option<&CheckRecord>) -> Markup {
    let evidence = check.map_or(&[][..], |check| &check.evidence);
    let element =
        |Witness { result, row, index, .. }: &Witness| format!("{result}, row {row}, element {index}: computed ");
    html! {
        @if let Some(worst) = check.and_then(|check| check.witnesses.first()) {
            ul.witness {
                @for line in evidence { li { (line) } }
                li { "worst: " (element(worst)) (worst.value_hex) ", due " (worst.truth_hex) }
            }
        } @else if !evidence.is_empty() {
            ul.witness { @for line in evidence { li { (line) } } }
        } @else if let Some(worst) = case.and_then(|record| record.worst.as_ref()) {
            // What a metric measures is a float.
            @let Witness { value_hex, truth_hex, .. } = worst;
            ul.witness {
                li { (element(worst)) (value_hex) (decimal(value_hex)) ", true " (truth_hex) (decimal(truth_hex)) }
            }
        }
    }
}

/// The number that bits of f32 or f64 stand for, in parentheses. Of narrower bits it is not known which format they
/// are.
fn decimal(hex: &str) -> String {
    let digits = hex.trim_start_matches("0x");
    let value = match digits.len() {
        8 => u32::from_str_radix(digits, 16).ok().map(|bits| format!("{:e}", f32::from_bits(bits))),
        16 => u64::from_str_radix(digits, 16).ok().map(|bits| format!("{:e}", f64::from_bits(bits))),
        _ => None,
    };
    value.map_or(String::new(), |value| format!(" ({value})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_where_their_format_is_known() {
        assert_eq!(decimal("0x3f800000"), " (1e0)");
        assert_eq!(decimal("0xc000000000000000"), " (-2e0)");
        assert_eq!(decimal("0x3f80"), "");
        assert_eq!(decimal("nonsense"), "");
    }
}
