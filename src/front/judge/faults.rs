//! Faults that people make, held to what is outside: which of them explains it.

use std::collections::BTreeSet;

use crate::ir::movement::index_text;
use crate::name::quantity;
use crate::num::{Direction, round_f64};

use super::altered::{alteration, operands, result_functions};
use super::argument_readings::{arguments, moved_values};
use super::evidence::{Compared, EXPLAINS, Evidence, LEAST_FACTOR, Pattern, dot};
use super::masks::masks;
use super::members::Member;
use super::moved_lines::{other_rows, row_factors};
use super::stretches::stretch;

/// Standard errors from which on a factor is no accident.
const SURE: f64 = 8.0;

/// The same for a fault that nothing else shows.
const HIDDEN: f64 = 0.5;

/// Share of the difference that a fault with fewer numbers may leave beyond one with more.
const SIMPLER: f64 = 0.01;

/// Elements of which nothing that only a fit shows is said.
const FEW: usize = 8;

/// A factor that the result has beside the nearest mode's, if it is no accident.
pub(super) fn factor(evidence: &Evidence) -> Option<Pattern> {
    let residual = evidence.residual();
    let scaled: Vec<f64> = (evidence.values.iter().zip(evidence.compared.scale))
        .map(|(value, scale)| value / scale)
        .map(|z| if z.is_finite() { z } else { 0.0 })
        .collect();
    let size = dot(&scaled, &scaled);
    let slope = dot(&residual, &scaled) / size;
    let left: f64 = residual.iter().zip(&scaled).map(|(r, y)| (r - slope * y).powi(2)).sum();
    let before = dot(&residual, &residual);
    let error = (left / residual.len().max(2) as f64 / size).sqrt();
    let times = |value: &f64| round_f64(evidence.format, value * (1.0 + slope), Direction::NearestEven);
    let factored: Vec<f64> = evidence.values.iter().map(times).collect();
    let is_sure = slope.abs() > LEAST_FACTOR && slope.abs() > SURE * error && residual.len() > FEW;
    is_sure.then(|| Pattern {
        kind: "factor",
        says: format!("all elements are about {:.6} times what they should be", 1.0 + slope),
        explained: evidence
            .share_of_residual(&factored)
            .max(1.0 - left / before)
            .min(evidence.share_of_elements(&factored)),
        places: Vec::new(),
        factor: Some(1.0 + slope),
    })
}

/// Share of the difference beyond which no other fault is looked for.
const SETTLED: f64 = 0.98;

/// Times as much as another fault leaves of the difference: a factor that leaves more is not named.
const AS_MUCH: f64 = 4.0;

/// Root mean square of what a factor may leave, in units in the last place: a few roundings.
const FEW_ULPS: f64 = 4.0;

/// The faults that explain the difference. Of `hidden` ones only those that explain it as a whole, of others the places at least.
pub(super) fn explain(evidence: &Evidence, hidden: bool) -> Vec<Pattern> {
    // An element whose own scale is tiny, as one that is exact in every order, counts as a usual one does: it would be all of the
    // difference otherwise.
    let mut sorted = evidence.compared.scale.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
    let scale: Vec<f64> = evidence.compared.scale.iter().map(|scale| scale.max(usual)).collect();
    let compared = Compared { scale: &scale, ..*evidence.compared };
    let evidence = &Evidence { compared: &compared, ..*evidence };
    let factor = factor(evidence);
    if let Some(factor) = &factor
        && factor.explained > SETTLED
        && leaves_modes(evidence, factor)
    {
        return vec![factor.clone()];
    }
    if let Some(function) = result_functions(evidence) {
        return vec![function];
    }
    if !hidden && let Some(operands) = operands(evidence) {
        return vec![operands];
    }
    let mut found = if hidden { hidden_faults(evidence) } else { shown_faults(evidence) };
    if let (true, Some(factor)) = (hidden, &factor) {
        // A factor of some terms shows as one of all elements too: the fault that explains more is named.
        found.retain(|pattern| pattern.explained > HIDDEN.max(factor.explained + SIMPLER));
        if found.is_empty() {
            return vec![factor.clone()];
        }
    }
    // What is left beside a factor is some roundings, or it is another fault, by which far less is left.
    let is_better = |factor: &Pattern| {
        let least = found.iter().map(|other| 1.0 - other.explained).fold(1.0, f64::min);
        factor.explained > SETTLED && 1.0 - factor.explained < AS_MUCH * least
    };
    found.extend(factor.filter(|factor| !hidden && (leaves_roundings(evidence, factor) || is_better(factor))));
    found.retain(|pattern| pattern.explained > if hidden { HIDDEN } else { EXPLAINS });
    found.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    if !hidden {
        found.extend(places(evidence));
    }
    found
}

/// Whether the rest beside a factor is of the size of some roundings.
fn leaves_roundings(evidence: &Evidence, factor: &Pattern) -> bool {
    let times = factor.factor.unwrap_or(1.0);
    let each = evidence.compared.observed.iter().zip(evidence.values);
    let ulps: Vec<f64> = each
        .map(|(observed, value)| (observed - times * value) / evidence.format.ulp(*observed))
        .filter(|ulps| ulps.is_finite())
        .collect();
    dot(&ulps, &ulps) <= FEW_ULPS * FEW_ULPS * ulps.len() as f64
}

/// Whether the rest beside a factor is no more than modes differ by: a factor beside another precision than the nearest one's.
fn leaves_modes(evidence: &Evidence, factor: &Pattern) -> bool {
    let times = factor.factor.unwrap_or(1.0);
    let values: Vec<f64> = evidence.values.iter().map(|value| times * value).collect();
    let spread = |member: &Member| {
        let other = member.results[evidence.output].data().to_f64s();
        evidence.compared.distance(&other, evidence.values)
    };
    let most = evidence.ground.members.each.iter().map(spread).fold(0.0, f64::max);
    let left = evidence.compared.distance(evidence.compared.observed, &values);
    left <= 2.0 * most * times.abs().max(1.0) || leaves_roundings(evidence, factor)
}

/// Faults of a result that no element shows: of a few elements some term of K explains any difference.
fn hidden_faults(evidence: &Evidence) -> Vec<Pattern> {
    if evidence.values.len() <= FEW {
        return Vec::new();
    }
    let altered = alteration(evidence, true).filter(|pattern| pattern.explained > HIDDEN);
    altered.or_else(|| stretch(evidence)).into_iter().collect()
}

/// Faults of a result that is outside.
fn shown_faults(evidence: &Evidence) -> Vec<Pattern> {
    let mut found: Vec<Pattern> = Vec::new();
    let is_done = |found: &[Pattern]| found.iter().any(|pattern| pattern.explained > SETTLED);
    found.extend(other_rows(evidence));
    if !is_done(&found) {
        found.extend(row_factors(evidence));
    }
    // A factor a line has as many numbers as there are lines: one stretch of a sum, or one other value, that explains as much is the
    // simpler fault, as where terms of a divisor are missing or it is summed in a narrow type.
    let of_lines = found.iter().find(|pattern| pattern.kind == "stale-scale").map(|pattern| pattern.explained);
    if !is_done(&found) || of_lines.is_some() {
        let needed = of_lines.map_or(SETTLED, |explained| SETTLED.max(explained - SIMPLER));
        let is_enough = |found: &[Pattern]| found.iter().any(|pattern| pattern.explained > needed);
        // Of a few elements a factor of some term explains any difference.
        let is_told = |pattern: &Pattern| pattern.kind != "scaled" || evidence.values.len() > FEW;
        let mut simpler: Vec<Pattern> = stretch(evidence).into_iter().filter(is_told).collect();
        // A factor of all terms is most often that of a constant or an argument, which has a name.
        let of_all = simpler.iter().find(|pattern| pattern.kind == "scaled" && pattern.places.is_empty());
        let of_all = of_all.map(|pattern| pattern.explained);
        if of_all.is_some() || !is_enough(&simpler) {
            let altered = alteration(evidence, false);
            if altered.as_ref().zip(of_all).is_some_and(|(altered, all)| altered.explained > all - SIMPLER) {
                simpler.clear();
            }
            simpler.extend(altered);
        }
        if of_lines.is_some() && !is_enough(&simpler) {
            simpler.extend(arguments(evidence));
        }
        match of_lines {
            None => found.extend(simpler),
            Some(explained) => {
                simpler.retain(|pattern| pattern.explained > explained - SIMPLER);
                if !simpler.is_empty() {
                    found = simpler;
                }
            }
        }
    }
    if !is_done(&found) {
        found.extend(masks(evidence));
    }
    if !is_done(&found) {
        found.extend(arguments(evidence));
    }
    if !is_done(&found) {
        found.extend(moved_values(evidence));
    }
    found
}

/// The places that stand out: one element, rows, columns, some elements, or all.
fn places(evidence: &Evidence) -> Option<Pattern> {
    let residual = evidence.residual();
    let (rows, columns) = (evidence.rows(), evidence.columns());
    let total = dot(&residual, &residual);
    let apart = evidence.apart;
    let share = |is_there: &dyn Fn(usize) -> bool| match total > 0.0 {
        true => (0..residual.len()).filter(|at| is_there(*at)).map(|at| residual[at].powi(2)).sum::<f64>() / total,
        false => 1.0,
    };
    let pattern = |kind: &'static str, says: String, places: Vec<usize>, explained: f64| {
        Some(Pattern { kind, says, explained, places, factor: None })
    };
    let list = |places: &[usize], text: &dyn Fn(usize) -> String| {
        places.iter().take(8).map(|at| text(*at)).collect::<Vec<_>>().join(", ")
    };
    let index = |at: usize| index_text(evidence.compared.dims, at);
    if let [at] = *apart {
        let (observed, value) = (evidence.compared.observed[at], evidence.values[at]);
        let times = Some(observed / value).filter(|times| times.is_finite());
        let times = times.map_or(String::new(), |times| format!(", {times:.6} times that"));
        let says = format!("one element alone, {}: {observed:e} instead of {value:e}{times}", index(at));
        return pattern("element", says, vec![at], share(&|other| other == at));
    }
    // Lines that hold all that stands out, and consist of it for the most part.
    for (is_row, count, length) in [(true, rows, columns), (false, columns, rows)] {
        let line = |at: usize| if is_row { at / columns } else { at % columns };
        let lines: BTreeSet<usize> = apart.iter().map(|at| line(*at)).collect();
        let is_dense = length > 1 && apart.len() * 2 >= lines.len() * length;
        if lines.is_empty() || lines.len() * 2 > count || !is_dense {
            continue;
        }
        let bad: Vec<usize> = lines.iter().copied().collect();
        let kind = if is_row { "rows" } else { "columns" };
        let told = list(&bad, &|line| evidence.line_text(is_row, line));
        let says = format!("{} of {count} {kind}: {told}", bad.len());
        return pattern(kind, says, bad.into_iter().take(32).collect(), share(&|at| lines.contains(&line(at))));
    }
    if !apart.is_empty() && apart.len() * 2 < residual.len() {
        let is_lost = apart.iter().all(|at| !evidence.compared.observed[*at].is_finite());
        let are = if is_lost { "are inf or NaN" } else { "stand out" };
        let says = format!("{} of {} elements {are}: {}", apart.len(), residual.len(), list(apart, &index));
        return pattern("elements", says, apart.iter().copied().take(32).collect(), 1.0);
    }
    if total == 0.0 {
        return None;
    }
    let differing = |count: usize, line: &dyn Fn(usize) -> usize| {
        // A rounding elsewhere is none of the difference.
        let differs =
            |at: &usize| if apart.is_empty() { residual[*at] != 0.0 } else { apart.binary_search(at).is_ok() };
        let lines: BTreeSet<usize> = (0..residual.len()).filter(differs).map(line).collect();
        if lines.len() == count { String::new() } else { format!("{} of ", lines.len()) }
    };
    let (of_rows, of_columns) = (differing(rows, &|at| at / columns), differing(columns, &|at| at % columns));
    let all = if of_rows.is_empty() && of_columns.is_empty() { "all of " } else { "" };
    let says = format!("{all}{of_rows}{} and {of_columns}{}", quantity(rows, "row"), quantity(columns, "column"));
    pattern("everywhere", says, Vec::new(), 1.0)
}
