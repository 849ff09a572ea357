//! Names, each with its meaning: as a title in place, and in a list at the end of the page.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::check::{CHECKS, Check, find_check};
use crate::machine::{Mode, REFINEMENTS};
use crate::metric::{METRICS, find_metric};
use crate::record::SuiteRecord;

/// The name of a check, metric or figure in a report's column: the part before a setting or another mode.
fn base(column: &str) -> &str {
    let name = column.split(" vs ").next().unwrap_or(column);
    name.split_once('[').map_or(name, |(name, _)| name)
}

/// The meaning of a check, metric or figure of a check; `None` for a name that is none of these.
fn meaning(name: &str) -> Option<&'static str> {
    let figure = || CHECKS.iter().flat_map(|check| check.figures()).find(|figure| figure.name == name).map(|f| f.doc);
    find_check(name).map(|c| c.doc()).or_else(|| find_metric(name).map(|m| m.doc())).or_else(figure)
}

/// A report's column, linked to its meaning.
pub(super) fn word(column: &str) -> Markup {
    let name = base(column);
    match meaning(name) {
        Some(doc) => html! { a.word href={ "#word-" (name) } title=(doc) { (column) } },
        None => html! { (column) },
    }
}

/// Names of metrics for people who read an axis.
const AXES: [(&str, &str); 15] = [
    ("componentwise", "largest error over magnitudes"),
    ("frobenius", "norm of the error"),
    ("kl_max", "largest KL divergence, nat"),
    ("kl_mean", "mean KL divergence, nat"),
    ("max_abs_error", "largest error"),
    ("max_ulp", "largest error, ulp"),
    ("mean_square", "mean square of the error"),
    ("mean_ulp", "mean error, ulp"),
    ("p99_ulp", "error that 99 % keep, ulp"),
    ("prob_sum_error", "error of the sum of probabilities"),
    ("relative_frobenius", "relative error"),
    ("rms", "root mean square of the error"),
    ("rms_componentwise", "rms error over magnitudes"),
    ("total_abs_error", "sum of errors"),
    ("total_variation", "total variation"),
];

/// A metric's column as the name of an axis: in words, and against which mode if it is none of the truth.
pub(super) fn axis_name(column: &str) -> String {
    let name = base(column);
    let words = AXES.iter().find(|(metric, _)| *metric == name).map(|(_, words)| (*words).to_string());
    let words = words.unwrap_or_else(|| name.replace('_', " "));
    column.split_once(" vs ").map_or(words.clone(), |(_, mode)| format!("{words}, against {mode}"))
}

/// A case's id, linked to its row.
pub(super) fn case_link(id: &str) -> Markup {
    html! { a.id href=(fragment(id)) { (id) } }
}

/// The address of the element with an id: brackets and percents have no place in one.
pub(super) fn fragment(id: &str) -> String {
    let mut out = String::from("#");
    for c in id.chars() {
        match c {
            '%' => out.push_str("%25"),
            '[' => out.push_str("%5B"),
            ']' => out.push_str("%5D"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            ' ' => out.push_str("%20"),
            c => out.push(c),
        }
    }
    out
}

/// All names that the records use, each with its meaning: checks with their figures, metrics, and the parts of modes.
pub(super) fn list(suites: &[SuiteRecord]) -> Markup {
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let asked = cases().flat_map(|record| record.checks.iter().map(|check| check.check.clone()));
    let fits = suites.iter().flat_map(|suite| suite.series.iter().map(|series| series.check.check.clone()));
    let checks: BTreeSet<String> = asked.chain(fits).collect();
    let columns = cases().flat_map(|record| &record.figures).map(|figure| base(&figure.name).to_string());
    let fitted = suites.iter().flat_map(|suite| suite.series.iter().map(|series| base(&series.metric).to_string()));
    let figures: BTreeSet<String> = columns.chain(fitted).collect();
    let subjects: BTreeSet<&str> = cases().map(|record| record.key.subject.as_str()).collect();
    html! {
        section #words aria-labelledby="words-title" {
            h2 #words-title { "What the names mean" }
            p { "A case is called " code { "suite/program/mode/input/size/seed" } ", and a mode is "
                code { "chip/precision/excess" } ", with refinements behind a plus sign." }
            details { summary { "Checks" } dl {
                @for check in CHECKS.iter().filter(|check| checks.contains(check.name())) {
                    dt id={ "word-" (check.name()) } { (check.name()) }
                    dd { (check.doc()) }
                    @for figure in check.figures().iter().filter(|f| figures.contains(f.name)) {
                        // Several checks may have a figure of one name; a link leads to the first.
                        @let id = is_first(check.name(), figure.name, &checks).then(|| format!("word-{}", figure.name));
                        dt.figure id=[id] { (figure.name) }
                        dd { (figure.doc) " [" (figure.unit.name()) "]" }
                    }
                }
            } }
            details { summary { "Metrics" } dl {
                @for metric in METRICS.iter().filter(|metric| figures.contains(metric.name())) {
                    dt id={ "word-" (metric.name()) } { (metric.name()) }
                    dd { (metric.doc()) " [" (metric.unit().name()) "]" }
                }
            } }
            details { summary { "Modes" } dl {
                @for (name, doc) in parts(&subjects) {
                    dt { (name) }
                    dd { (doc) }
                }
            } }
        }
    }
}

/// Whether a check of those listed is the first to have a figure of this name, and no check or metric is called so.
fn is_first(check: &str, figure: &str, checks: &BTreeSet<String>) -> bool {
    let has = |c: &&&dyn Check| checks.contains(c.name()) && c.figures().iter().any(|f| f.name == figure);
    let first = CHECKS.iter().find(has).is_some_and(|c| c.name() == check);
    first && find_check(figure).is_none() && find_metric(figure).is_none()
}

/// The parts of the modes among some subjects, each once, with its meaning.
fn parts(subjects: &BTreeSet<&str>) -> BTreeSet<(String, String)> {
    let mut parts = BTreeSet::new();
    for mode in subjects.iter().filter_map(|subject| subject.parse::<Mode>().ok()) {
        let of_chip = ("chip ", mode.chip.name, mode.chip.doc);
        let of_precision = ("precision ", mode.precision.name, mode.precision.doc);
        let of_excess = ("excess ", mode.excess.name, mode.excess.doc);
        for (kind, name, doc) in [of_chip, of_precision, of_excess] {
            parts.insert((format!("{kind}{name}"), doc.to_string()));
        }
        for row in REFINEMENTS {
            if let Some((value, doc)) = row.value_in(&mode.choices, mode.chip) {
                parts.insert((format!("+{}={value}", row.key), format!("{} Here: {doc}.", row.doc)));
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names() {
        assert_eq!(base("lost[output=token]"), "lost");
        assert_eq!(base("kl_max vs cpu/f32/off"), "kl_max");
        assert!(word("lost[output=token]").into_string().contains("href=\"#word-lost\""));
        assert_eq!(word("a<b").into_string(), "a&lt;b");
    }

    #[test]
    fn each_metric_has_a_name_for_people() {
        let named = |name: &str| AXES.iter().any(|(metric, _)| *metric == name);
        let missing: Vec<&str> = METRICS.iter().map(|metric| metric.name()).filter(|name| !named(name)).collect();
        assert!(missing.is_empty() && AXES.len() == METRICS.len(), "{missing:?}");
        assert_eq!(axis_name("max_ulp vs cpu/f32/off"), "largest error, ulp, against cpu/f32/off");
        assert_eq!(axis_name("lost[output=token]"), "lost");
    }

    #[test]
    fn an_address_has_no_brackets() {
        assert_eq!(fragment("s/matmul[lhs=4xn]/n"), "#s/matmul%5Blhs=4xn%5D/n");
    }
}
