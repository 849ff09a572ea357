//! Faults that people make, held to what is outside: which of them explains it.

use crate::num::{Direction, round_f64};

use super::argument_readings::arguments;
use super::evidence::{EXPLAINS, Evidence, LEAST_FACTOR, Pattern, bad_rows, dot};
use super::masks::masks;
use super::moved_lines::{other_rows, row_factors};
use super::stretches::stretch;

/// Standard errors from which on a factor is no accident.
const SURE: f64 = 8.0;

/// The same for a fault that nothing else shows.
const HIDDEN: f64 = 0.5;

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
        explained: evidence.share_of_residual(&factored).max(1.0 - left / before),
        places: Vec::new(),
        factor: Some(1.0 + slope),
    })
}

/// The faults that explain the difference. Of `hidden` ones only those that explain it as a whole, of others the places at least.
pub(super) fn explain(evidence: &mut Evidence, hidden: bool) -> Vec<Pattern> {
    if let Some(factor) = factor(evidence)
        && (hidden || factor.explained > EXPLAINS)
    {
        return vec![factor];
    }
    let mut found: Vec<Pattern> = Vec::new();
    let is_done = |found: &[Pattern]| found.iter().any(|pattern| pattern.explained > EXPLAINS);
    if !hidden {
        found.extend(other_rows(evidence));
        if !is_done(&found) {
            found.extend(row_factors(evidence));
        }
    }
    // Of a few elements some term of K explains any difference.
    if !is_done(&found) && (!hidden || evidence.values.len() > FEW) {
        found.extend(stretch(evidence));
    }
    if !is_done(&found) && !hidden {
        found.extend(masks(evidence));
    }
    if !is_done(&found) && !hidden {
        found.extend(arguments(evidence));
    }
    found.retain(|pattern| pattern.explained > if hidden { HIDDEN } else { EXPLAINS });
    found.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    if !hidden {
        found.extend(places(evidence));
    }
    found
}

/// The places that stand out: one element, rows, columns, or all.
fn places(evidence: &Evidence) -> Option<Pattern> {
    let residual = evidence.residual();
    let (rows, columns) = (evidence.rows(), evidence.columns());
    let total = dot(&residual, &residual);
    if total == 0.0 {
        return None;
    }
    let pattern = |kind: &'static str, says: String, places: Vec<usize>, explained: f64| {
        Some(Pattern { kind, says, explained, places, factor: None })
    };
    let (at, largest) =
        residual.iter().enumerate().fold((0, 0.0), |best, (at, z)| if z.abs() > best.1 { (at, z.abs()) } else { best });
    if largest * largest > 0.99 * total {
        let says = format!(
            "one element alone, {at}: {:e} instead of {:e}",
            evidence.compared.observed[at], evidence.values[at]
        );
        return pattern("element", says, vec![at], largest * largest / total);
    }
    let bad = bad_rows(evidence, &residual);
    let list = |places: &[usize]| places.iter().take(8).map(usize::to_string).collect::<Vec<_>>().join(", ");
    if !bad.is_empty() && bad.len() * 2 <= rows {
        let of: f64 = bad.iter().map(|row| dot(&evidence.row(&residual, *row), &evidence.row(&residual, *row))).sum();
        let says = format!("{} of {rows} rows: {}", bad.len(), list(&bad));
        return pattern("rows", says, bad.into_iter().take(32).collect(), of / total);
    }
    let mut by_column = vec![0.0; columns];
    residual.iter().enumerate().for_each(|(at, z)| by_column[at % columns] += z * z);
    let mut sorted = by_column.clone();
    sorted.sort_by(f64::total_cmp);
    let bad: Vec<usize> = (0..columns)
        .filter(|column| by_column[*column] > (100.0 * sorted[columns / 2]).max(1e-3 * sorted[columns - 1]))
        .collect();
    if !bad.is_empty() && bad.len() * 2 <= columns {
        let of: f64 = bad.iter().map(|column| by_column[*column]).sum();
        let says = format!("{} of {columns} columns: {}", bad.len(), list(&bad));
        return pattern("columns", says, bad.into_iter().take(32).collect(), of / total);
    }
    match evidence.standing.len() {
        some if some > 0 && some * 2 < residual.len() => {
            let says = format!("{some} of {} elements", residual.len());
            pattern("elements", says, evidence.standing.iter().copied().take(32).collect(), 1.0)
        }
        _ => pattern("everywhere", format!("all of {rows} rows and {columns} columns"), Vec::new(), 1.0),
    }
}
