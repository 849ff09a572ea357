//! Error against size on log-log axes: points of every seed, the fitted power law with its interval, and the slope that
//! theory gives.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::record::{SeriesRecord, SuiteRecord, Verdict, shortest};
use crate::report::{MetricGrowth, growths};

use super::axis::ChartAxis;
use super::cases::badge;
use super::chart::{Chart, ChartMark, swatch};
use super::words::{axis_name, word};

/// Growths that share a chart: of one metric, on one input.
struct GrowthPanel<'a> {
    metric: &'a str,
    input: &'a str,
    growths: Vec<MetricGrowth<'a>>,
}

/// The charts of all suites that ask for growths.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    html! {
        section #growth aria-labelledby="growth-title" {
            h2 #growth-title { "Error against size" }
            p { "Points are measured, one a case. A solid line is the power law fitted to them, in a band that is its 95 % "
                "confidence interval; where a series has several seeds, to all of them together. A dashed line has the slope "
                "that theory gives: " (word("growth")) " finds a slope whose interval lies above it by more than 0.1." }
            @for suite in suites {
                @let panels = panels(suite);
                @if !panels.is_empty() {
                    details.paper {
                        summary { span.name { (suite.name()) } ": " (suite.header.claim) }
                        div.plots { @for panel in &panels { (figure(suite.name(), panel, &panels)) } }
                    }
                }
            }
        }
    }
}

fn panels(suite: &SuiteRecord) -> Vec<GrowthPanel<'_>> {
    let mut panels: BTreeMap<(&str, &str), Vec<MetricGrowth>> = BTreeMap::new();
    for growth in growths(suite) {
        if let Some(record) = growth.seeds.first() {
            let record: &SeriesRecord = record;
            panels.entry((&record.metric, &record.series.input)).or_default().push(growth);
        }
    }
    panels.into_iter().map(|((metric, input), growths)| GrowthPanel { metric, input, growths }).collect()
}

/// The chart of a panel. All panels of a suite with one metric have the same scales, so that they can be compared.
fn chart(panel: &GrowthPanel, panels: &[GrowthPanel]) -> Option<Chart> {
    let alike = || panels.iter().filter(|other| other.metric == panel.metric);
    let points = || alike().flat_map(|panel| &panel.growths).flat_map(|growth| &growth.points);
    let x = ChartAxis::of_sizes("size n", points().map(|p| p.n))?;
    let y = ChartAxis::log(&axis_name(panel.metric), points().map(|p| p.value))?;
    let (mut bands, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for (series, growth) in panel.growths.iter().enumerate() {
        dots.extend(growth.points.iter().map(|p| ChartMark::Point(series, [p.n as f64, p.value])));
        let (Some(law), Some(first)) = (growth.law(), growth.seeds.first()) else { continue };
        let mut sizes: Vec<u64> = growth.points.iter().map(|p| p.n).collect();
        sizes.dedup();
        let line = |value: &dyn Fn(u64) -> f64| sizes.iter().map(|n| [*n as f64, value(*n)]).collect::<Vec<_>>();
        let (low, mut high) = (line(&|n| law.interval_at(n).low), line(&|n| law.interval_at(n).high));
        high.reverse();
        bands.push(ChartMark::Band(series, [low, high].concat()));
        lines.push(ChartMark::Line(series, line(&|n| law.at(n))));
        lines.push(ChartMark::Theory(series, line(&|n| law.with_slope(first.expected_slope, n))));
    }
    let marks = bands.into_iter().chain(lines).chain(dots).collect();
    Some(Chart { x, y, marks })
}

fn figure(suite: &str, panel: &GrowthPanel, panels: &[GrowthPanel]) -> Markup {
    let title = format!("{} on {}", panel.metric, panel.input);
    let chart = chart(panel, panels);
    html! {
        figure.plot data-points=(chart.as_ref().map_or(0, Chart::points)) {
            figcaption { (word(panel.metric)) " on " span.id { (panel.input) } }
            @match &chart {
                Some(chart) => (chart.svg(&format!("{suite}: {title} against size, logarithmic axes; the tables below hold the figures"))),
                None => p { "No size has an error above zero: there is nothing to draw." },
            }
            div.wide tabindex="0" role="region" aria-label={ "fits of " (title) } {
                table.legend {
                    thead { tr { th scope="col" { "series" } th scope="col" { "slope" } th scope="col" { "theory" } th scope="col" { "verdict" } } }
                    tbody { @for (series, growth) in panel.growths.iter().enumerate() { (legend(series, growth)) } }
                }
            }
            details {
                summary { "The points of " (title) }
                div.wide tabindex="0" role="region" aria-label={ "points of " (title) } { (points(panel)) }
            }
        }
    }
}

/// A line of the legend: the series, its slope with interval, and the verdict.
fn legend(series: usize, growth: &MetricGrowth) -> Markup {
    let verdict = growth.seeds.iter().map(|record| record.verdict()).max().unwrap_or(Verdict::Pass);
    let law = growth.law();
    html! {
        @if let Some(first) = growth.seeds.first() {
            tr {
                th scope="row" { (swatch(series)) " " span.id { (first.series.program) " in " (first.series.subject) } }
                td {
                    @match &law {
                        Some(law) => {
                            (format!("{:.2}", law.fit.slope)) " "
                            span.interval { (format!("({:.2} to {:.2})", law.fit.slope_interval.low, law.fit.slope_interval.high)) }
                            @if growth.seeds.len() > 1 { " " (growth.seeds.len()) " seeds" }
                        }
                        None => (first.check.note),
                    }
                }
                td { (shortest(first.expected_slope)) }
                td { (badge(verdict)) }
            }
        }
    }
}

fn points(panel: &GrowthPanel) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "series" } th scope="col" { "size" } th scope="col" { "seed" } th scope="col" { (panel.metric) } } }
            tbody {
                @for growth in &panel.growths {
                    @for point in &growth.points {
                        tr {
                            td { @if let Some(series) = growth.series() { span.id { (series.program) " in " (series.subject) } } }
                            td { (point.n) }
                            td { (point.seed) }
                            td { (format!("{:.4e}", point.value)) }
                        }
                    }
                }
            }
        }
    }
}
