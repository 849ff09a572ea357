//! Rows and columns of a result that are of another place, or have a factor of their own.

use crate::name::quantity;

use super::evidence::{EXPLAINS, Evidence, LEAST_FACTOR, Pattern, bad_rows, dot};

/// A result whose last two dims are exchanged.
fn transposed(evidence: &Evidence) -> Option<Pattern> {
    let [.., rows, columns] = *evidence.compared.dims else { return None };
    if rows != columns || rows < 2 {
        return None;
    }
    let size = rows * columns;
    let from = |at: usize| at / size * size + at % columns * columns + at % size / columns;
    let values: Vec<f64> = (0..evidence.values.len()).map(|at| evidence.values[from(at)]).collect();
    let explained = evidence.least_share(&values);
    let says = "the result is transposed".to_string();
    (explained > EXPLAINS).then(|| Pattern::new("transposed", says, explained))
}

/// Rows or columns whose values are those of another place.
pub(super) fn other_rows(evidence: &Evidence) -> Option<Pattern> {
    let (rows, columns) = (evidence.rows(), evidence.columns());
    if rows * columns > 1 << 24 {
        return None;
    }
    let residual = evidence.residual();
    let observed = evidence.compared.observed;
    if let Some(pattern) = transposed(evidence) {
        return Some(pattern);
    }
    let mut bad = bad_rows(evidence, &residual);
    if bad.is_empty() {
        bad = (0..rows).collect();
    }
    for is_row in [true, false] {
        let (count, length) = if is_row { (rows, columns) } else { (columns, rows) };
        if length < 2 || !(2..=4096).contains(&count) {
            continue;
        }
        let line = |values: &[f64], place: usize| -> Vec<f64> {
            if is_row {
                evidence.row(values, place)
            } else {
                (0..rows).map(|row| values[row * columns + place]).collect()
            }
        };
        let asked: Vec<usize> = if is_row { bad.clone() } else { (0..columns).collect() };
        let lines: Vec<Vec<f64>> = (0..count).map(|place| line(evidence.values, place)).collect();
        let mut values = evidence.values.to_vec();
        let mut moved = Vec::new();
        for place in asked.iter().take(256) {
            let seen = line(observed, *place);
            let apart = |other: &Vec<f64>| -> f64 { seen.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum() };
            let distances: Vec<f64> = lines.iter().map(apart).collect();
            let best = (0..count).min_by(|a, b| distances[*a].total_cmp(&distances[*b]));
            let is_moved = |best: &usize| best != place && distances[*best] < 0.01 * distances[*place];
            let Some(best) = best.filter(is_moved) else { continue };
            moved.push((*place, best));
            for (i, value) in lines[best].iter().enumerate() {
                values[if is_row { place * columns + i } else { i * columns + place }] = *value;
            }
        }
        let explained = evidence.least_share(&values);
        if !moved.is_empty() && explained > EXPLAINS {
            let word = if is_row { "row" } else { "column" };
            let line = |line: &usize| evidence.line_text(is_row, *line);
            let says =
                |(to, from): &(usize, usize)| format!("{word} {} has the values of {word} {}", line(to), line(from));
            let told: Vec<String> = moved.iter().take(4).map(says).collect();
            let more = if moved.len() > 4 { format!(" and {} more", moved.len() - 4) } else { String::new() };
            let kind = if moved.len() * 2 > count && count > 2 { "permuted" } else { "other-row" };
            let places = moved.iter().map(|(to, _)| *to).take(32).collect();
            return Some(Pattern { kind, says: told.join(", ") + &more, explained, places, factor: None });
        }
    }
    None
}

/// Factor below which a line holds nothing of its own.
const UNWRITTEN: f64 = 1e-6;

/// Rows or columns with a factor of their own each, or with nothing in them.
pub(super) fn row_factors(evidence: &Evidence) -> Option<Pattern> {
    let (rows, columns) = (evidence.rows(), evidence.columns());
    for (is_row, count, length) in [(true, rows, columns), (false, columns, rows)] {
        if count < 2 || length < 4 {
            continue;
        }
        let at = |place: usize, i: usize| if is_row { place * columns + i } else { i * columns + place };
        let mut values = evidence.values.to_vec();
        let mut factors = Vec::new();
        for place in 0..count {
            let positions: Vec<usize> = (0..length).map(|i| at(place, i)).collect();
            let y: Vec<f64> = positions.iter().map(|at| evidence.values[*at]).collect();
            let o: Vec<f64> = positions.iter().map(|at| evidence.compared.observed[*at]).collect();
            let slope = dot(&o, &y) / dot(&y, &y);
            if slope.is_finite() && (slope - 1.0).abs() > LEAST_FACTOR {
                factors.push((place, slope));
                positions.iter().for_each(|at| values[*at] *= slope);
            }
        }
        let explained = evidence.least_share(&values);
        // A factor a line explains something of anything: nearly all of the difference must go.
        if !factors.is_empty() && explained > 0.99 {
            let word = if is_row { "row" } else { "column" };
            let line = |line: &usize| evidence.line_text(is_row, *line);
            let told: Vec<String> =
                factors.iter().take(4).map(|(place, factor)| format!("{word} {} {factor:.6}", line(place))).collect();
            let (lines, have) = (quantity(factors.len(), word), if factors.len() == 1 { "has" } else { "have" });
            let says = format!("{lines} {have} a factor, as of a stale scale: {}", told.join(", "));
            let places: Vec<usize> = factors.iter().map(|(place, _)| *place).take(32).collect();
            if factors.iter().all(|(_, factor)| factor.abs() < UNWRITTEN) {
                let told: Vec<String> = places.iter().take(8).map(line).collect();
                let (are, were) = if factors.len() == 1 { ("is", "it was") } else { ("are", "they were") };
                let says = format!("{lines} {are} 0 or nearly so, as if {were} never written: {}", told.join(", "));
                return Some(Pattern { kind: "unwritten", says, explained, places, factor: None });
            }
            return Some(Pattern {
                kind: "stale-scale",
                says,
                explained,
                places,
                factor: factors.first().map(|one| one.1),
            });
        }
    }
    None
}
