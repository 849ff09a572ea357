//! The findings that matter most: the claims of a few suites, each with bars that compare the modes at a glance.

use maud::{Markup, html};

use crate::machine::Mode;
use crate::record::{SuiteRecord, Verdict};
use crate::report::{Pool, Rate, heaviest, pools, said};

use super::cases::badge;
use super::rates::percent;

/// Findings that are shown, and the bars of each.
const SHOWN: usize = 5;
const BARS: usize = 6;

/// A finding with the pools that it is compared with.
struct Headline<'a> {
    suite: &'a SuiteRecord,
    check: String,
    verdict: Verdict,
    /// The share of rows, at least: the lower end of its interval, so that few rows weigh little.
    weight: f64,
    bars: Vec<Bar>,
}

/// A bar: the share of rows in one program and mode.
struct Bar {
    label: String,
    rate: Rate,
    rows: u64,
    verdict: Verdict,
}

/// The findings, heaviest first: alarms before known ones, lost tokens before other rows, and of equals the largest share.
pub(super) fn section(suites: &[SuiteRecord]) -> Markup {
    let mut all: Vec<Headline> = suites.iter().filter_map(headline).collect();
    let kind = |h: &Headline| (h.verdict.as_expected(), h.check != "dropped_token");
    all.sort_by(|a, b| {
        let weights = b.weight.total_cmp(&a.weight);
        kind(a).cmp(&kind(b)).then(weights).then_with(|| a.suite.name().cmp(b.suite.name()))
    });
    let passed: Vec<&SuiteRecord> =
        suites.iter().filter(|suite| suite.verdicts().max() == Some(Verdict::Pass)).collect();
    html! {
        @if !all.is_empty() || !passed.is_empty() {
            section #headlines aria-labelledby="headlines-title" {
                h2 #headlines-title { "The findings that matter most" }
                @for headline in all.iter().take(SHOWN) { (article(headline)) }
                @if !passed.is_empty() {
                    p.confirmed {
                        strong { "Confirmed: " }
                        @for (at, suite) in passed.iter().enumerate() {
                            @if at > 0 { "; " }
                            (suite.header.claim)
                        }
                        "."
                    }
                }
            }
        }
    }
}

/// The heaviest finding of a suite that counts rows; `None` where it found none.
fn headline(suite: &SuiteRecord) -> Option<Headline<'_>> {
    let pools = pools(&suite.cases);
    let counted: Vec<(&Pool, Rate)> = pools.iter().filter_map(|pool| Some((pool, pool.rate()?))).collect();
    let first = heaviest(counted.iter().map(|(pool, _)| *pool).filter(|pool| pool.found > 0))?;
    // A refinement says little to a reader: beside the same mode without it, the latter stands for both.
    let is_plain = |pool: &Pool| std::ptr::eq(pool, first) || !pool.subject.contains('+');
    let of_check = counted.iter().filter(|(pool, _)| pool.check == first.check);
    let mut alike: Vec<&(&Pool, Rate)> = of_check.filter(|(pool, _)| is_plain(pool)).collect();
    alike.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    let named = alike.iter().position(|(pool, _)| std::ptr::eq(*pool, first));
    let alike: Vec<&(&Pool, Rate)> =
        shown_bars(alike.len(), named).into_iter().filter_map(|at| alike.get(at).copied()).collect();
    let shared = alike.iter().all(|(pool, _)| pool.program == first.program);
    let bars = alike.iter().map(|(pool, rate)| Bar {
        label: if shared { mode(pool.subject) } else { format!("{}, {}", pool.program, mode(pool.subject)) },
        rate: *rate,
        rows: pool.rows,
        verdict: pool.worst,
    });
    Some(Headline {
        suite,
        check: first.check.split('[').next().unwrap_or(&first.check).to_string(),
        verdict: first.worst,
        weight: first.rate().map_or(0.0, |rate| rate.low),
        bars: bars.collect(),
    })
}

/// The positions of the bars that are shown, of so many from the largest on: the most and the least of them (losses, and what avoids
/// them), and the one that the sentence names.
fn shown_bars(count: usize, named: Option<usize>) -> Vec<usize> {
    if count <= BARS {
        return (0..count).collect();
    }
    let mut most: Vec<usize> = (0..BARS / 2).collect();
    let least = count - BARS / 2..count;
    if let Some(named) = named.filter(|named| !most.contains(named) && !least.contains(named)) {
        most.pop();
        most.push(named);
    }
    most.into_iter().chain(least).collect()
}

fn article(headline: &Headline) -> Markup {
    let suite = headline.suite;
    html! {
        article.headline {
            h3 { (suite.header.claim) }
            p { (said(suite)) ". " (badge(headline.verdict)) " " a href={ "#cases/" (suite.name()) } { (suite.name()) } }
            table.bars {
                thead.unseen { tr { th scope="col" { "mode" } th scope="col" { "share of rows" } } }
                tbody { @for bar in &headline.bars { (row(bar)) } }
            }
        }
    }
}

fn row(bar: &Bar) -> Markup {
    let class = match bar.verdict {
        _ if bar.rate.share == 0.0 => "confirmed",
        verdict if verdict.as_expected() => "deviation",
        _ => "alarm",
    };
    let width = format!("{:.1}", 100.0 * bar.rate.share);
    html! {
        tr {
            th scope="row" {
                // Files and parameters have no space at which a narrow screen could break them.
                @for part in bar.label.split_inclusive(['.', ',', '=', '[']) { (part) wbr; }
            }
            td {
                span.track aria-hidden="true" { span class={ "bar " (class) } style={ "width:" (width) "%" } {} }
                span.share { (percent(bar.rate.share)) small { " of " (bar.rows) " rows" } }
            }
        }
    }
}

/// A mode in words: the chip, its arithmetic, and what the compiler left out. Other subjects are told by their names.
fn mode(subject: &str) -> String {
    let Ok(mode) = subject.parse::<Mode>() else { return subject.to_string() };
    let precision = match mode.precision.name {
        "default" => "one bf16 pass",
        "high" => "three bf16 passes",
        "highest" => "six bf16 passes",
        _ => "plain f32",
    };
    let excess = match mode.excess.name {
        "off" => "every rounding kept",
        "as-compiled" => "as compiled",
        "cpu" => "roundings left out as by the CPU's compiler",
        "gpu" => "roundings left out as by the GPU's compiler",
        "tpu" => "roundings left out as by the TPU model",
        other => other,
    };
    let refinements = subject.split_once('+').map_or(String::new(), |(_, rest)| format!(", {rest}"));
    let arithmetic = if mode.chip.matrix_unit { format!(", {precision}") } else { String::new() };
    format!("{}{arithmetic}, {excess}{refinements}", mode.chip.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_that_the_sentence_names_is_shown() {
        assert_eq!(shown_bars(4, Some(2)), [0, 1, 2, 3]);
        assert_eq!(shown_bars(10, Some(1)), [0, 1, 2, 7, 8, 9]);
        assert_eq!(shown_bars(10, Some(5)), [0, 1, 5, 7, 8, 9]);
        assert_eq!(shown_bars(10, Some(8)), [0, 1, 2, 7, 8, 9]);
    }

    #[test]
    fn modes_are_told_in_words() {
        assert_eq!(mode("v5e/default/cpu"), "v5e, one bf16 pass, roundings left out as by the CPU's compiler");
        assert_eq!(mode("cpu/default/as-compiled"), "cpu, as compiled");
        assert_eq!(mode("v6e/high/off+acc=chain"), "v6e, three bf16 passes, every rounding kept, acc=chain");
        assert_eq!(mode("recorded"), "recorded");
        assert_eq!([0.0, 0.3829, 0.0107, 0.0012].map(percent), ["0 %", "38 %", "1.1 %", "0.12 %"]);
    }
}
