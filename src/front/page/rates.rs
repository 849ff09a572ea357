//! Rates at which each mode drops a token, or at which another check finds rows.

use maud::{Markup, html};

use crate::record::SuiteRecord;
use crate::report::{Pool, Rate, pools};

use super::cases::badge;
use super::chart::whisker;
use super::words::word;

/// A table for each check that found some rows; the checks that found none are told in a sentence.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    html! {
        section #rates aria-labelledby="rates-title" {
            h2 #rates-title { "Rates by mode" }
            p { "Rows with something found, of all rows of a program in a mode, with the 95 % Clopper-Pearson interval: for "
                (word("dropped_token")) " these are rows that lose their token. The line beside a rate goes from 0 to the "
                "number under it." }
            @for suite in suites {
                @let pools = pools(&suite.cases);
                @let tables = tables(&pools);
                @if !tables.is_empty() {
                    details.paper {
                        summary { span.name { (suite.name()) } ": " (suite.header.claim) }
                        @for (check, pools) in tables { (table(suite.name(), check, &pools)) }
                    }
                }
            }
        }
    }
}

/// The pools that count rows, by their check, in order.
fn tables<'a>(pools: &'a [Pool<'a>]) -> Vec<(&'a str, Vec<(&'a Pool<'a>, Rate)>)> {
    let mut tables: Vec<(&str, Vec<(&Pool, Rate)>)> = Vec::new();
    for (pool, rate) in pools.iter().filter_map(|pool| Some((pool, pool.rate()?))) {
        match tables.last_mut() {
            Some((check, list)) if *check == pool.check => list.push((pool, rate)),
            _ => tables.push((&pool.check, vec![(pool, rate)])),
        }
    }
    tables
}

fn table(suite: &str, check: &str, pools: &[(&Pool, Rate)]) -> Markup {
    let found: u64 = pools.iter().map(|(pool, _)| pool.found).sum();
    let rows: u64 = pools.iter().map(|(pool, _)| pool.rows).sum();
    let most = pools.iter().map(|(_, rate)| rate.high).fold(0.0, f64::max);
    html! {
        @if found == 0 {
            p { (word(check)) ": none of " (rows) " rows in " (pools.len()) " programs and modes." }
        } @else {
            div.wide.plot tabindex="0" role="region" aria-label={ (check) " of " (suite) " by mode" } data-points=(pools.len()) {
                table.rates {
                    thead { tr {
                        th scope="col" { (word(check)) " of" }
                        th scope="col" { "rows" }
                        th scope="col" { "share" }
                        th scope="col" { "95 % interval" br; span.scale { span { "0" } span { (percent(most)) } } }
                        th scope="col" { "verdict" }
                    } }
                    tbody {
                        @for (pool, rate) in pools {
                            tr {
                                th scope="row" { span.id { (pool.program) " in " (pool.subject) } }
                                td { (pool.found) " of " (pool.rows) }
                                td { (percent(rate.share)) }
                                td {
                                    (whisker([rate.share, rate.low, rate.high], most))
                                    span.interval { (percent(rate.low)) " to " (percent(rate.high)) }
                                }
                                td { (badge(pool.worst)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A share with two digits that tell.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p == 0.0 || p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        p if p >= 0.1 => format!("{p:.2} %"),
        p if p >= 0.01 => format!("{p:.3} %"),
        p => format!("{p:.1e} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_have_two_digits() {
        let shown = [0.0, 1.0, 0.123, 0.0456, 0.00789, 0.000373, 1.5e-6].map(percent);
        assert_eq!(shown, ["0 %", "100 %", "12 %", "4.6 %", "0.79 %", "0.037 %", "1.5e-4 %"]);
    }
}
