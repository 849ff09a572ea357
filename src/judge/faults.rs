//! Faults that people make, held to what is outside: which of them explains it.

use serde::Serialize;

use crate::subject::evaluate;
use crate::tensor::{DType, Data, Tensor};

use super::Ground;
use super::floats::Compared;
use super::marked::{Sum, sums, with_mask};
use super::members::{Member, work};

/// A fault that explains a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pattern {
    /// Its kind: `factor`, `row-factor`, `dropped`, `doubled`, `scaled`, `transposed`, `permuted`, `mask`, `stale-scale`,
    /// `other-row`, `rows`, `columns`, `element`, `everywhere`.
    pub kind: &'static str,
    /// The fault in words, with its places.
    pub says: String,
    /// Share of the difference that it explains, by squares.
    pub explained: f64,
    /// Rows (of the last dim), columns, elements or terms of K that it is about, up to 32.
    pub places: Vec<usize>,
    /// The factor, where the fault has one.
    pub factor: Option<f64>,
}

/// A difference, and all that can be asked about it.
pub(super) struct Evidence<'a> {
    pub ground: &'a Ground<'a>,
    pub output: usize,
    /// The nearest mode.
    pub member: &'a Member,
    /// Its results.
    pub values: &'a [f64],
    pub compared: &'a Compared<'a>,
    /// Elements that stand out.
    pub standing: &'a [usize],
}

/// Standard errors from which on a factor is no accident.
const SURE: f64 = 8.0;

/// The least distance of a factor from 1 that is looked for: modes that truncate operands shrink results by less.
const LEAST_FACTOR: f64 = 4e-4;

/// Share of the squares that a fault must explain.
const EXPLAINS: f64 = 0.8;

/// Operations that the search may take.
const MOST_WORK: u128 = 20_000_000_000;

/// Evaluations that the search may take.
const MOST_RUNS: usize = 600;

impl Evidence<'_> {
    /// The scaled differences from the nearest mode; elements that are not finite are 0.
    fn residual(&self) -> Vec<f64> {
        let of = |((x, y), scale): ((&f64, &f64), &f64)| (x - y) / scale;
        let each = self.compared.observed.iter().zip(self.values).zip(self.compared.scale).map(of);
        each.map(|z| if z.is_finite() { z } else { 0.0 }).collect()
    }

    fn columns(&self) -> usize {
        self.compared.dims.last().copied().unwrap_or(1).max(1)
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns()
    }

    fn row(&self, values: &[f64], row: usize) -> Vec<f64> {
        values[row * self.columns()..(row + 1) * self.columns()].to_vec()
    }

    /// Share of the squares of the residual that goes if `values` stand in place of the nearest mode's, at these positions or all.
    fn explained(&self, values: &[f64]) -> f64 {
        let before = self.compared.distance(self.compared.observed, self.values);
        let after = self.compared.distance(self.compared.observed, values);
        if before == 0.0 { 0.0 } else { 1.0 - (after / before).powi(2) }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

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
    let is_sure = slope.abs() > LEAST_FACTOR && slope.abs() > SURE * error && residual.len() > 8;
    is_sure.then(|| Pattern {
        kind: "factor",
        says: format!("all elements are about {:.6} times what they should be", 1.0 + slope),
        explained: 1.0 - left / before,
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
    if !is_done(&found) {
        found.extend(stretch(evidence));
    }
    if !is_done(&found) && !hidden {
        found.extend(arguments(evidence));
    }
    found.retain(|pattern| pattern.explained > EXPLAINS);
    found.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    if !hidden {
        found.extend(places(evidence));
    }
    found
}

/// Rows that stand out, by the share of the residual that is theirs.
fn bad_rows(evidence: &Evidence, residual: &[f64]) -> Vec<usize> {
    let columns = evidence.columns();
    let squares: Vec<f64> = residual.chunks(columns).map(|row| dot(row, row)).collect();
    let mut sorted = squares.clone();
    sorted.sort_by(f64::total_cmp);
    let (usual, largest) = (sorted[sorted.len() / 2], sorted.last().copied().unwrap_or(0.0));
    let limit = (100.0 * usual).max(1e-3 * largest);
    (0..squares.len()).filter(|row| squares[*row] > limit).collect()
}

/// Rows or columns whose values are those of another place.
fn other_rows(evidence: &Evidence) -> Option<Pattern> {
    let (rows, columns) = (evidence.rows(), evidence.columns());
    if rows * columns > 1 << 24 {
        return None;
    }
    let residual = evidence.residual();
    let observed = evidence.compared.observed;
    let transposed = |values: &[f64]| -> Vec<f64> {
        (0..rows * columns).map(|at| values[(at % columns) * columns + at / columns]).collect()
    };
    if rows == columns && rows > 1 {
        let values = transposed(evidence.values);
        let explained = evidence.explained(&values);
        if explained > EXPLAINS {
            let says = "the result is transposed".to_string();
            return Some(Pattern { kind: "transposed", says, explained, places: Vec::new(), factor: None });
        }
    }
    let mut bad = bad_rows(evidence, &residual);
    if bad.is_empty() {
        bad = (0..rows).collect();
    }
    for is_row in [true, false] {
        let (count, length) = if is_row { (rows, columns) } else { (columns, rows) };
        if length < 2 || count < 2 || count > 4096 {
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
            let own = apart(&lines[*place]);
            let best = (0..count).min_by(|a, b| apart(&lines[*a]).total_cmp(&apart(&lines[*b])));
            let Some(best) = best.filter(|best| best != place && apart(&lines[*best]) < 0.01 * own) else { continue };
            moved.push((*place, best));
            for (i, value) in lines[best].iter().enumerate() {
                values[if is_row { place * columns + i } else { i * columns + place }] = *value;
            }
        }
        let explained = evidence.explained(&values);
        if !moved.is_empty() && explained > EXPLAINS {
            let word = if is_row { "row" } else { "column" };
            let told: Vec<String> =
                moved.iter().take(4).map(|(to, from)| format!("{word} {to} has the values of {word} {from}")).collect();
            let more = if moved.len() > 4 { format!(" and {} more", moved.len() - 4) } else { String::new() };
            let kind = if moved.len() * 2 > count && count > 2 { "permuted" } else { "other-row" };
            let places = moved.iter().map(|(to, _)| *to).take(32).collect();
            return Some(Pattern { kind, says: told.join(", ") + &more, explained, places, factor: None });
        }
    }
    None
}

/// Rows or columns with a factor of their own each.
fn row_factors(evidence: &Evidence) -> Option<Pattern> {
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
        let explained = evidence.explained(&values);
        // A factor a line explains something of anything: nearly all of the difference must go.
        if !factors.is_empty() && explained > 0.99 {
            let word = if is_row { "row" } else { "column" };
            let told: Vec<String> =
                factors.iter().take(4).map(|(place, factor)| format!("{word} {place} {factor:.6}")).collect();
            let says = format!("{} {word}s have a factor, as of a stale scale: {}", factors.len(), told.join(", "));
            let places = factors.iter().map(|(place, _)| *place).take(32).collect();
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

/// Runs programs in the nearest mode, within a budget.
struct Runner<'a> {
    evidence: &'a Evidence<'a>,
    left: usize,
}

impl Runner<'_> {
    fn run(&mut self, program: &crate::ir::Program, arguments: &[Tensor]) -> Option<Vec<f64>> {
        self.left = self.left.checked_sub(1)?;
        let results = evaluate(program, &self.evidence.member.mode, arguments).ok()?;
        Some(results.get(self.evidence.output)?.data().to_f64s())
    }
}

fn budget(evidence: &Evidence) -> usize {
    let cost = work(evidence.ground.program).max(1);
    usize::try_from(MOST_WORK / cost).unwrap_or(MOST_RUNS).min(MOST_RUNS)
}

/// A stretch of terms of a sum that is missing, doubled or has a factor.
fn stretch(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let mut runner = Runner { evidence, left: budget(evidence) };
    let mut best: Option<Pattern> = None;
    for sum in sums(program) {
        let found = stretch_of(&mut runner, &sum);
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.explained > best.explained)) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.explained > 0.95) {
            break;
        }
    }
    best
}

#[expect(clippy::too_many_lines, reason = "one search with one state")]
fn stretch_of(runner: &mut Runner, sum: &Sum) -> Option<Pattern> {
    let evidence = runner.evidence;
    let program = with_mask(evidence.ground.program, sum);
    let number = evidence.ground.arguments.len();
    let dtype = program.entry().parameter_shapes().get(number)?.dtype()?;
    let mut with = |lo: usize, hi: usize, factor: f64| -> Option<Vec<f64>> {
        let mut arguments = evidence.ground.arguments.to_vec();
        arguments.push(mask(sum, dtype, lo, hi, factor)?);
        runner.run(&program, &arguments)
    };
    let base = with(0, 0, 1.0)?;
    let residual = evidence.residual();
    let scale = evidence.compared.scale;
    // What goes if a stretch is dropped, scaled; and how much of the residual it is.
    let slope = |without: &[f64]| -> (f64, f64) {
        let template: Vec<f64> = without
            .iter()
            .zip(&base)
            .zip(scale)
            .map(|((w, b), s)| (w - b) / s)
            .map(|z| if z.is_finite() { z } else { 0.0 })
            .collect();
        let size = dot(&template, &template);
        if size == 0.0 {
            (0.0, 0.0)
        } else {
            (dot(&residual, &template) / size, dot(&residual, &template).powi(2) / size)
        }
    };
    let (mut lo, mut hi) = (0, sum.terms);
    let mut sign = 1.0;
    while hi - lo > 1 {
        let pieces = (hi - lo).min(16);
        let cut = |piece: usize| lo + (hi - lo) * piece / pieces;
        let mut best = (0.0, lo, hi, 1.0);
        for piece in 0..pieces {
            let (alpha, explained) = slope(&with(cut(piece), cut(piece + 1), 0.0)?);
            if explained > best.0 {
                best = (explained, cut(piece), cut(piece + 1), alpha.signum());
            }
        }
        (lo, hi, sign) = (best.1, best.2, best.3);
        if best.0 == 0.0 {
            return None;
        }
    }
    // From that term on the stretch grows to both sides while more is explained.
    let factor = if sign > 0.0 { 0.0 } else { 2.0 };
    let shifted = |values: Vec<f64>| -> Vec<f64> {
        values.iter().zip(&base).zip(evidence.values).map(|((w, b), y)| y + (w - b)).collect()
    };
    let mut explained = evidence.explained(&shifted(with(lo, hi, factor)?));
    let mut step = (sum.terms / 4).max(1);
    while step > 0 {
        let mut tries = vec![(lo.saturating_sub(step), hi), (lo, (hi + step).min(sum.terms))];
        if hi - lo > step {
            tries.extend([(lo + step, hi), (lo, hi - step)]);
        }
        let mut is_better = false;
        for (from, to) in tries {
            if (from, to) == (lo, hi) {
                continue;
            }
            let share = evidence.explained(&shifted(with(from, to, factor)?));
            if share > explained + 1e-9 {
                (lo, hi, explained, is_better) = (from, to, share, true);
                break;
            }
        }
        if !is_better {
            step /= 2;
        }
    }
    let name = &evidence.ground.program.entry().instructions[sum.value].name;
    let mut kind = if factor == 0.0 { "dropped" } else { "doubled" };
    let mut other = None;
    if explained < 0.95 {
        // A stale scale: the stretch has a factor of its own.
        let (alpha, _) = slope(&with(lo, hi, 0.0)?);
        let fit = evidence.explained(&shifted(with(lo, hi, 1.0 - alpha)?));
        if fit > explained && (alpha - 1.0).abs() > 0.05 && (alpha + 1.0).abs() > 0.05 {
            (kind, explained, other) = ("scaled", fit, Some(1.0 - alpha));
        }
    }
    let of = format!(
        "of the {} terms of {name}, {}",
        sum.terms,
        if hi - lo == 1 { format!("{lo}") } else { format!("{lo} to {}", hi - 1) }
    );
    let says = match (kind, other) {
        ("scaled", Some(factor)) => format!("{of} have a factor of {factor:.4}, as of a stale scale"),
        (kind, _) => format!("{of} {} {kind}", if hi - lo == 1 { "is" } else { "are" }),
    };
    let places = (lo..hi).take(32).collect();
    Some(Pattern { kind, says, explained, places, factor: other })
}

/// Ones, but for the terms `lo..hi` of a sum.
fn mask(sum: &Sum, dtype: DType, lo: usize, hi: usize, factor: f64) -> Option<Tensor> {
    let count: usize = sum.dims.iter().product();
    let mut strides = vec![1; sum.dims.len()];
    for dim in (0..sum.dims.len().saturating_sub(1)).rev() {
        strides[dim] = strides[dim + 1] * sum.dims[dim + 1];
    }
    let term =
        |at: usize| sum.along.iter().fold(0, |term, dim| term * sum.dims[*dim] + at / strides[*dim] % sum.dims[*dim]);
    let values: Vec<f64> = (0..count).map(|at| if (lo..hi).contains(&term(at)) { factor } else { 1.0 }).collect();
    Some(Tensor::new(&sum.dims, Data::from_f64s(dtype, &values)?))
}

/// An argument that was read in another way: transposed, moved along a dim, a mask's rows of another place.
fn arguments(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let names = super::parameter_names(program);
    let mut runner = Runner { evidence, left: budget(evidence) };
    let mut best: Option<Pattern> = None;
    for (number, argument) in evidence.ground.arguments.iter().enumerate() {
        let name = names.get(number).cloned().unwrap_or_default();
        for (kind, says, places) in variants(argument.dims()) {
            let mut changed = evidence.ground.arguments.to_vec();
            changed[number] = argument.pick(argument.dims(), &places);
            if changed[number] == *argument {
                continue;
            }
            let Some(values) = runner.run(program, &changed) else { return best };
            // Of a mask only the rows that stand out may be of the other place.
            let mixed = rows_of(evidence, &values);
            let explained = evidence.explained(&values).max(evidence.explained(&mixed));
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                let kind = if argument.dtype() == DType::Pred && kind == "permuted" { "mask" } else { kind };
                let says = format!("{name} is read {says}");
                best = Some(Pattern { kind, says, explained, places: Vec::new(), factor: None });
            }
        }
    }
    best
}

/// The nearest mode's results with the rows of `values` that are nearer to the recorded ones.
fn rows_of(evidence: &Evidence, values: &[f64]) -> Vec<f64> {
    let mut mixed = evidence.values.to_vec();
    for row in 0..evidence.rows() {
        let (seen, own, other) = (
            evidence.row(evidence.compared.observed, row),
            evidence.row(evidence.values, row),
            evidence.row(values, row),
        );
        let apart = |line: &[f64]| -> f64 { seen.iter().zip(line).map(|(x, y)| (x - y).powi(2)).sum() };
        if apart(&other) < 0.01 * apart(&own) {
            mixed[row * evidence.columns()..(row + 1) * evidence.columns()].copy_from_slice(&other);
        }
    }
    mixed
}

/// Other ways to read an array of these dims: the kind of fault, its words, and the place that each element comes from.
fn variants(dims: &[usize]) -> Vec<(&'static str, String, Vec<usize>)> {
    let count: usize = dims.iter().product();
    let mut found = Vec::new();
    let mut strides = vec![1; dims.len()];
    for dim in (0..dims.len().saturating_sub(1)).rev() {
        strides[dim] = strides[dim + 1] * dims[dim + 1];
    }
    if count > 1 << 24 {
        return found;
    }
    for dim in 0..dims.len().saturating_sub(1) {
        let (a, b) = (dims[dim], dims[dim + 1]);
        let inner: usize = dims[dim + 2..].iter().product();
        if a < 2 || b < 2 {
            continue;
        }
        // The memory of the transposed array, read as if it were this one.
        let from = |at: usize| {
            let (outer, middle, rest) = (at / (a * b * inner), at / inner % (a * b), at % inner);
            outer * a * b * inner + (middle % a * b + middle / a) * inner + rest
        };
        found.push(("transposed", format!("transposed in dims {dim} and {}", dim + 1), (0..count).map(from).collect()));
        let back = |at: usize| {
            let (outer, middle, rest) = (at / (a * b * inner), at / inner % (a * b), at % inner);
            outer * a * b * inner + (middle % b * a + middle / b) * inner + rest
        };
        if a != b {
            found.push((
                "transposed",
                format!("as if stored transposed in dims {dim} and {}", dim + 1),
                (0..count).map(back).collect(),
            ));
        }
    }
    for (dim, extent) in dims.iter().enumerate().filter(|(_, extent)| **extent > 1) {
        let at_place =
            |at: usize, place: usize| at - (at / strides[dim] % extent) * strides[dim] + place * strides[dim];
        let mut offer = |kind: &'static str, says: String, place: &dyn Fn(usize) -> usize| {
            let from = |at: usize| at_place(at, place(at / strides[dim] % extent));
            found.push((kind, says, (0..count).map(from).collect()));
        };
        offer("permuted", format!("one place later in dim {dim}"), &|place| (place + 1) % extent);
        offer("permuted", format!("one place earlier in dim {dim}"), &|place| (place + extent - 1) % extent);
        offer("permuted", format!("backwards in dim {dim}"), &|place| extent - 1 - place);
        if extent % 2 == 0 && *extent > 2 {
            offer("permuted", format!("with the halves of dim {dim} exchanged"), &|place| {
                (place + extent / 2) % extent
            });
            offer("permuted", format!("with neighbours of dim {dim} exchanged"), &|place| place ^ 1);
            offer("permuted", format!("with even places of dim {dim} before odd ones"), &|place| {
                if place < extent / 2 { 2 * place } else { 2 * (place - extent / 2) + 1 }
            });
            offer("permuted", format!("with the halves of dim {dim} interleaved"), &|place| {
                place / 2 + place % 2 * (extent / 2)
            });
        }
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
