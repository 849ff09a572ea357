//! Arguments that were read in another way.

use crate::ir::movement::row_major;
use crate::tensor::DType;

use super::arguments::parameter_names;
use super::evidence::{Evidence, Pattern, Runner, budget};

/// An argument that was read in another way: transposed, moved along a dim, a mask's rows of another place.
pub(super) fn arguments(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let names = parameter_names(program);
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
            let (mixed, _) = rows_of(evidence, &values);
            let explained = evidence.least_share(&values).max(evidence.least_share(&mixed));
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                let kind = if argument.dtype() == DType::Pred && kind == "permuted" { "mask" } else { kind };
                let says = format!("{name} is read {says}");
                best = Some(Pattern { kind, says, explained, places: Vec::new(), factor: None });
            }
        }
    }
    best
}

/// The nearest mode's results with the rows of `values` that are nearer to the recorded ones, and these rows.
pub(super) fn rows_of(evidence: &Evidence, values: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let (mut mixed, mut rows) = (evidence.values.to_vec(), Vec::new());
    for row in 0..evidence.rows() {
        let (seen, own, other) = (
            evidence.row(evidence.compared.observed, row),
            evidence.row(evidence.values, row),
            evidence.row(values, row),
        );
        let apart = |line: &[f64]| -> f64 { seen.iter().zip(line).map(|(x, y)| (x - y).powi(2)).sum() };
        if apart(&other) < 0.01 * apart(&own) {
            mixed[row * evidence.columns()..(row + 1) * evidence.columns()].copy_from_slice(&other);
            rows.push(row);
        }
    }
    (mixed, rows)
}

/// Other ways to read an array of these dims: the kind of fault, its words, and the place that each element comes from.
fn variants(dims: &[usize]) -> Vec<(&'static str, String, Vec<usize>)> {
    let count: usize = dims.iter().product();
    let mut found = Vec::new();
    let strides: Vec<usize> = row_major(dims).into_iter().map(isize::unsigned_abs).collect();
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
