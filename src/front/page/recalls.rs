//! The recall of approximate top-k, against the one that its bins let one expect.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::record::{Record, SuiteRecord};

use super::axis::ChartAxis;
use super::cases::badge;
use super::chart::{Chart, ChartMark, swatch};
use super::words::{case_link, word};

/// A case's recall.
struct RecallFigure<'a> {
    record: &'a Record,
    expected: f64,
    observed: f64,
    /// Observed minus expected, in standard errors.
    z: f64,
}

impl RecallFigure<'_> {
    fn of(record: &Record) -> Option<RecallFigure<'_>> {
        let figure = |name: &str| record.figures.iter().find(|f| f.name == name).map(|f| f.value);
        let (expected, observed) = (figure("recall_expected")?, figure("recall_observed")?);
        Some(RecallFigure { record, expected, observed, z: figure("recall_z")? })
    }

    /// The standard error that `z` counts in; zero where it says nothing of it.
    fn standard_error(&self) -> f64 {
        let error = (self.observed - self.expected) / self.z;
        if error.is_finite() { error } else { 0.0 }
    }
}

/// Normal quantile of a 95 % interval.
const TWO_SIDED_95: f64 = 1.96;

/// One chart over all suites; nothing where no case has a recall.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    let recalls: Vec<RecallFigure> =
        suites.iter().flat_map(|suite| &suite.cases).filter_map(RecallFigure::of).collect();
    let mut inputs: BTreeMap<&str, Vec<&RecallFigure>> = BTreeMap::new();
    for recall in &recalls {
        inputs.entry(&recall.record.key.input).or_default().push(recall);
    }
    html! {
        @if !recalls.is_empty() {
            section #recall aria-labelledby="recall-title" {
                h2 #recall-title { "Recall against expectation" }
                p { "Each point is a case: the share of the true top k that came back, against its expectation for random "
                    "placement in the actual bins, with the 95 % interval that its standard error gives. On the thick line "
                    "both are equal; " (word("recall")) " finds 4 standard errors or more, either way." }
                (figure(&inputs, recalls.len()))
            }
        }
    }
}

fn chart(inputs: &BTreeMap<&str, Vec<&RecallFigure>>) -> Chart {
    let mut marks = vec![ChartMark::Limit(vec![[0.0, 0.0], [1.0, 1.0]])];
    for (series, recalls) in inputs.values().enumerate() {
        for recall in recalls {
            let half = TWO_SIDED_95 * recall.standard_error();
            let (low, high) = ((recall.observed - half).max(0.0), (recall.observed + half).min(1.0));
            marks.push(ChartMark::Interval(series, [recall.expected, low, high]));
            marks.push(ChartMark::Point(series, [recall.expected, recall.observed]));
        }
    }
    Chart { x: ChartAxis::of_shares("recall expected"), y: ChartAxis::of_shares("recall observed"), marks }
}

fn figure(inputs: &BTreeMap<&str, Vec<&RecallFigure>>, cases: usize) -> Markup {
    let chart = chart(inputs);
    html! {
        div.plots {
            figure.plot data-points=(chart.points()) {
                figcaption { @if cases == 1 { "1 case" } @else { (cases) " cases, by input" } }
                (chart.svg("Observed recall against expected recall, both from 0 to 1; the table below holds the figures"))
                ul.legend { @for (series, input) in inputs.keys().enumerate() { li { (swatch(series)) " " span.id { (input) } } } }
            }
        }
        details {
            summary { "The recall of each case" }
            div.wide tabindex="0" role="region" aria-label="recall of each case" {
                table {
                    thead { tr {
                        th scope="col" { "case" } th scope="col" { "expected" } th scope="col" { "observed" }
                        th scope="col" { "standard errors apart" } th scope="col" { "verdict" }
                    } }
                    tbody {
                        @for recall in inputs.values().flatten() {
                            tr {
                                td { (case_link(&recall.record.id())) }
                                td { (format!("{:.4}", recall.expected)) }
                                td { (format!("{:.4}", recall.observed)) }
                                td { (format!("{:.2}", recall.z)) }
                                td { (badge(recall.record.verdict())) }
                            }
                        }
                    }
                }
            }
        }
    }
}
