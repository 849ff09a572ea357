//! The worst error of each case as a share of its proven bound.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::record::{Record, SuiteRecord, shortest};

use super::axis::ChartAxis;
use super::cases::badge;
use super::chart::{Chart, ChartMark, swatch};
use super::words::{case_link, word};

/// The figure of the check `bound`: the largest error over its bound.
const FIGURE: &str = "error_over_bound";

/// Cases of one program, by mode.
type Modes<'a> = BTreeMap<&'a str, Vec<(&'a Record, f64)>>;

/// A chart for each program whose cases have a bound and several sizes, a table for each.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    html! {
        section #bounds aria-labelledby="bounds-title" {
            h2 #bounds-title { "Errors against their bounds" }
            p { "Each point is a case: its largest " (word(FIGURE)) ". A bound is derived from what the mode promises; a point "
                "above the thick line at 1 breaks it. Errors of zero have no place on a logarithmic axis and stand in the tables alone." }
            @for suite in suites {
                @let programs = programs(suite);
                @if !programs.is_empty() {
                    details.paper {
                        summary { span.name { (suite.name()) } ": " (suite.header.claim) }
                        div.plots { @for (program, modes) in &programs { (figure(suite.name(), program, modes)) } }
                    }
                }
            }
        }
    }
}

/// The cases with the figure, by the program's name.
fn programs(suite: &SuiteRecord) -> BTreeMap<&str, Modes<'_>> {
    let mut programs: BTreeMap<&str, Modes> = BTreeMap::new();
    for record in &suite.cases {
        let worst = record.figures.iter().filter(|f| f.name == FIGURE).map(|f| f.value).reduce(f64::max);
        let Some(worst) = worst else { continue };
        let program = record.key.program.split('[').next().unwrap_or(&record.key.program);
        programs.entry(program).or_default().entry(&record.key.subject).or_default().push((record, worst));
    }
    programs
}

fn chart(modes: &Modes) -> Option<Chart> {
    let cases = || modes.values().flatten();
    let sizes = || cases().map(|(record, _)| record.key.n);
    if sizes().min() == sizes().max() {
        return None;
    }
    let x = ChartAxis::of_sizes("size n", sizes())?;
    // The bound itself is always in sight.
    let y = ChartAxis::log("error / bound", cases().map(|(_, worst)| *worst).chain([1.0]))?;
    let limit = x.ends().map(|size| [size, 1.0]).to_vec();
    let dot = |(series, cases): (usize, &Vec<(&Record, f64)>)| -> Vec<ChartMark> {
        cases.iter().map(|(record, worst)| ChartMark::Point(series, [record.key.n as f64, *worst])).collect()
    };
    let dots = modes.values().enumerate().flat_map(dot);
    let marks = [ChartMark::Limit(limit)].into_iter().chain(dots).collect();
    Some(Chart { x, y, marks }).filter(|chart| chart.points() > 0)
}

fn figure(suite: &str, program: &str, modes: &Modes) -> Markup {
    let chart = chart(modes);
    let title = format!("{program} in {suite}");
    html! {
        figure.plot data-points=[chart.as_ref().map(Chart::points)] {
            figcaption { span.id { (program) } }
            @if let Some(chart) = &chart {
                (chart.svg(&format!("{title}: error over bound against size, logarithmic axes; the tables below hold the figures")))
            }
            div.wide tabindex="0" role="region" aria-label={ "modes of " (title) } {
                table.legend {
                    thead { tr { th scope="col" { "mode" } th scope="col" { "cases" } th scope="col" { "largest error / bound" } } }
                    tbody {
                        @for (series, (mode, cases)) in modes.iter().enumerate() {
                            tr {
                                th scope="row" { (swatch(series)) " " span.id { (mode) } }
                                td { (cases.len()) }
                                td { (format!("{:.3}", cases.iter().map(|(_, worst)| *worst).fold(0.0, f64::max))) }
                            }
                        }
                    }
                }
            }
            details {
                summary { "The cases of " (title) }
                div.wide tabindex="0" role="region" aria-label={ "cases of " (title) } {
                    table {
                        thead { tr { th scope="col" { "case" } th scope="col" { "error / bound" } th scope="col" { "verdict" } } }
                        tbody {
                            @for (record, worst) in modes.values().flatten() {
                                tr { td { (case_link(&record.id())) } td { (shortest(*worst)) } td { (badge(record.verdict())) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
