//! Arguments that were read in another way.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ir::movement::row_major;
use crate::ir::{Computation, Instruction, Op, Unary, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::altered::{result_with_all, values};
use super::arguments::parameter_names;
use super::evidence::{Evidence, Pattern, Runner, budget};

/// Arguments that are read in another way: one, or several of the same dims alike, as a sine and a cosine; two that are exchanged.
pub(super) fn arguments(evidence: &Evidence) -> Option<Pattern> {
    let mut search = Search { evidence, runner: Runner { evidence, left: budget(evidence) }, best: None };
    if search.exchanged().is_some() && !search.is_done() && search.parts().is_some() && !search.is_done() {
        search.arguments();
    }
    search.best
}

/// Values on their way that are read in another way: repeated heads, halves of a rotation, positions.
pub(super) fn moved_values(evidence: &Evidence) -> Option<Pattern> {
    let mut search = Search { evidence, runner: Runner { evidence, left: budget(evidence) }, best: None };
    search.values();
    search.best
}

/// A search for readings; its steps give `None` where the budget is spent, and the best so far stands.
struct Search<'a> {
    evidence: &'a Evidence<'a>,
    runner: Runner<'a>,
    best: Option<Pattern>,
}

impl Search<'_> {
    /// Keeps what explains more, `mixed` where only some rows may be of the other reading.
    fn offer(&mut self, values: &[f64], mixed: bool, kind: &'static str, says: String) {
        let mut explained = self.evidence.least_share(values);
        // One number of a row is near to anything.
        if mixed && self.evidence.columns() > 1 {
            explained = explained.max(self.evidence.least_share(&rows_of(self.evidence, values).0));
        }
        if self.best.as_ref().is_none_or(|best| explained > best.explained) {
            self.best = Some(Pattern::new(kind, says, explained));
        }
    }

    fn is_done(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.explained > SETTLED)
    }

    /// Two arguments of one type and dims, each in the other's place.
    fn exchanged(&mut self) -> Option<()> {
        let arguments = self.evidence.ground.arguments;
        let names = parameter_names(self.evidence.ground.program);
        for (second, b) in arguments.iter().enumerate() {
            for (first, a) in arguments[..second].iter().enumerate() {
                if (a.dims(), a.dtype()) != (b.dims(), b.dtype()) || a == b {
                    continue;
                }
                let mut changed = arguments.to_vec();
                changed.swap(first, second);
                let values = self.runner.run(self.evidence.ground.program, &changed)?;
                let says = format!("{} and {} are exchanged", names[first], names[second]);
                self.offer(&values, false, "exchanged", says);
            }
        }
        Some(())
    }

    /// Arguments of joined weights, as of the gates of a recurrent cell, whose parts stand in another order or have the other sign.
    fn parts(&mut self) -> Option<()> {
        let (program, arguments) = (self.evidence.ground.program, self.evidence.ground.arguments);
        let names = parameter_names(program);
        for (extent, joined) in joined(arguments) {
            let name: Vec<&str> = joined.iter().map(|(at, _)| names.get(*at).map_or("", String::as_str)).collect();
            let name = name.join(", ");
            for parts in PARTS.into_iter().filter(|parts| extent % parts == 0 && extent > *parts) {
                let size = extent / parts;
                for (a, b) in (0..parts).flat_map(|b| (0..b).map(move |a| (a, b))) {
                    let place = |place: usize| match place / size {
                        part if part == a => place - a * size + b * size,
                        part if part == b => place - b * size + a * size,
                        _ => place,
                    };
                    let mut changed = arguments.to_vec();
                    for (at, dim) in &joined {
                        let dims = arguments[*at].dims();
                        changed[*at] = arguments[*at].pick(dims, &along(dims, *dim, place));
                    }
                    let values = self.runner.run(program, &changed)?;
                    let says = format!(
                        "parts {a} and {b} of the {parts} parts of {name} are exchanged, as of gates in another order"
                    );
                    self.offer(&values, false, "exchanged", says);
                }
                for part in 0..parts {
                    let mut changed = arguments.to_vec();
                    for (at, dim) in &joined {
                        changed[*at] = negated(&arguments[*at], *dim, part * size..(part + 1) * size)?;
                    }
                    let values = self.runner.run(program, &changed)?;
                    let says = format!(
                        "part {part} of the {parts} parts of {name} has the other sign, as where a gate is 1 less itself"
                    );
                    self.offer(&values, false, "negated", says);
                }
            }
        }
        Some(())
    }

    fn arguments(&mut self) -> Option<()> {
        let (program, arguments) = (self.evidence.ground.program, self.evidence.ground.arguments);
        let names = parameter_names(program);
        for group in groups(arguments.len(), |at| Some((arguments[at].dims(), arguments[at].dtype()))) {
            let of = &arguments[group[0]];
            let name: Vec<&str> = group.iter().map(|at| names.get(*at).map_or("", String::as_str)).collect();
            let verb = if group.len() > 1 { "are" } else { "is" };
            for (kind, says, places) in variants(of.dims()) {
                let mut changed = arguments.to_vec();
                group.iter().for_each(|at| changed[*at] = arguments[*at].pick(of.dims(), &places));
                if changed == arguments {
                    continue;
                }
                let values = self.runner.run(program, &changed)?;
                let (is_mask, name) = (of.dtype() == DType::Pred, name.join(" and "));
                let kind = if is_mask && kind == "permuted" { "mask" } else { kind };
                // Of a mask only the rows that stand out may be of the other place.
                self.offer(&values, is_mask, kind, format!("{name} {verb} read {says}"));
                // A rotation of neighbours in place of halves: read in that order, and put back. Heads that are moved and put back,
                // of another dim than the last, are those of other keys: a reading of the repeated keys says so.
                let width = of.dims().last().copied().unwrap_or(1).max(1);
                let is_rotation = places.iter().enumerate().all(|(at, place)| at / width == place / width);
                if is_rotation
                    && values.len() == places.len()
                    && of.dims() == self.evidence.compared.dims
                    && !self.is_done()
                {
                    let mut put_back = values.clone();
                    places.iter().zip(&values).for_each(|(place, value)| put_back[*place] = *value);
                    let says = format!("{name} {verb} read {says}, and the result is put back in order");
                    self.offer(&put_back, false, kind, says);
                }
            }
            if self.is_done() {
                break;
            }
        }
        Some(())
    }

    fn values(&mut self) -> Option<()> {
        let entry = self.evidence.ground.program.entry();
        let is_asked = |instruction: &Instruction| {
            let is_float = instruction.shape.dtype().is_some_and(DType::is_float);
            is_float
                && matches!(
                    instruction.op,
                    Op::Concatenate { .. }
                        | Op::Gather { .. }
                        | Op::Reshape
                        | Op::Broadcast { .. }
                        | Op::Unary(Unary::Cosine | Unary::Sine)
                )
        };
        let known: Vec<(ValueId, Tensor)> = values(&mut self.runner, &is_asked)
            .into_iter()
            .enumerate()
            .filter_map(|(id, tensor)| {
                Some((id, tensor.filter(|tensor| is_no_copy(entry, id) && tensor.dims().len() > 1)?))
            })
            .collect();
        let alike = |at: usize| {
            let (id, tensor): &(ValueId, Tensor) = known.get(at)?;
            Some((tensor.dims().to_vec(), std::mem::discriminant(&entry.instructions[*id].op)))
        };
        for group in groups(known.len(), alike) {
            let name: Vec<&str> = group.iter().map(|at| entry.instructions[known[*at].0].name.as_str()).collect();
            let verb = if group.len() > 1 { "are" } else { "is" };
            for (kind, says, places) in variants(known[group[0]].1.dims()) {
                let picked = |at: &usize| (known[*at].0, known[*at].1.pick(known[*at].1.dims(), &places));
                let others: Vec<(ValueId, Tensor)> = group.iter().map(picked).collect();
                if others.iter().zip(&group).all(|(other, at)| other.1 == known[*at].1) {
                    continue;
                }
                let values = result_with_all(&mut self.runner, &others)?;
                let is_repeated = kind == "transposed" && group.iter().all(|at| is_broadcast(entry, known[*at].0));
                let how = if is_repeated { ": repeated as a whole and not place by place, or the reverse" } else { "" };
                self.offer(&values, false, kind, format!("{} {verb} read {says}{how}", name.join(" and ")));
            }
            if self.is_done() {
                break;
            }
        }
        Some(())
    }
}

fn is_broadcast(entry: &Computation, id: ValueId) -> bool {
    matches!(entry.instructions[id].op, Op::Broadcast { .. })
}

/// Numbers of parts that arguments are joined of: gates, or query, key and value.
const PARTS: [usize; 3] = [2, 3, 4];

/// Arguments of floats that share the extent of one dim, by extent: the number of the argument, and the dim. At least two are joined: one
/// alone is read in other ways.
fn joined(arguments: &[Tensor]) -> Vec<(usize, Vec<(usize, usize)>)> {
    let mut found: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.dtype().is_float()) {
        let mut extents: Vec<usize> = Vec::new();
        // The last dim of several that are as long: outputs stand there.
        for (dim, extent) in argument.dims().iter().enumerate().rev() {
            if !extents.contains(extent) {
                extents.push(*extent);
                found.entry(*extent).or_default().push((at, dim));
            }
        }
    }
    found.into_iter().filter(|(_, joined)| joined.len() > 1).collect()
}

/// The places of an array's elements where those along one dim are others.
fn along(dims: &[usize], dim: usize, place: impl Fn(usize) -> usize) -> Vec<usize> {
    let stride = row_major(dims)[dim].unsigned_abs();
    let own = |at: usize| at / stride % dims[dim];
    (0..dims.iter().product()).map(|at| at - own(at) * stride + place(own(at)) * stride).collect()
}

/// The array with the other sign in a range of one dim.
fn negated(tensor: &Tensor, dim: usize, range: Range<usize>) -> Option<Tensor> {
    let (dims, stride) = (tensor.dims(), row_major(tensor.dims())[dim].unsigned_abs());
    let is_inside = |at: usize| range.contains(&(at / stride % dims[dim]));
    let of = |(at, x): (usize, f64)| if is_inside(at) { -x } else { x };
    let numbers: Vec<f64> = tensor.data().to_f64s().into_iter().enumerate().map(of).collect();
    Some(Tensor::new(dims, Data::from_f64s(tensor.dtype(), &numbers)?))
}

/// Whether a value moves numbers, and is no array of one number.
fn is_no_copy(entry: &Computation, id: ValueId) -> bool {
    let operand = entry.instructions[id].operands.first().map(|id| &entry.instructions[*id]);
    operand.is_some_and(|operand| operand.shape.elements() > 1)
}

/// Share of the difference beyond which no other reading is looked for.
const SETTLED: f64 = 0.99;

/// Each of so many things alone, and those that are alike in pairs.
fn groups<K: PartialEq>(count: usize, alike: impl Fn(usize) -> Option<K>) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = (0..count).map(|at| vec![at]).collect();
    for second in 0..count {
        for first in 0..second {
            if alike(first).is_some() && alike(first) == alike(second) {
                found.push(vec![first, second]);
            }
        }
    }
    found
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

/// Places of a dim of which each two may be exchanged: heads, experts.
const FEW_PLACES: usize = 8;

/// Another way to read an array: the kind of fault, its words, and the place that each element comes from.
type Reading = (&'static str, String, Vec<usize>);

/// An array read as that of two exchanged neighbouring dims.
fn transposed(dims: &[usize]) -> Vec<Reading> {
    let count: usize = dims.iter().product();
    let mut found = Vec::new();
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
    found
}

/// Other ways to read an array of these dims.
fn variants(dims: &[usize]) -> Vec<Reading> {
    let count: usize = dims.iter().product();
    if count > 1 << 24 {
        return Vec::new();
    }
    let mut found = transposed(dims);
    for (dim, extent) in dims.iter().enumerate().filter(|(_, extent)| **extent > 1) {
        let mut offer = |kind: &'static str, says: String, place: &dyn Fn(usize) -> usize| {
            found.push((kind, says, along(dims, dim, place)));
        };
        offer("permuted", format!("one place later in dim {dim}"), &|place| (place + 1) % extent);
        offer("permuted", format!("one place earlier in dim {dim}"), &|place| (place + extent - 1) % extent);
        offer("permuted", format!("backwards in dim {dim}"), &|place| extent - 1 - place);
        if *extent <= FEW_PLACES {
            for (a, b) in (0..*extent).flat_map(|b| (0..b).map(move |a| (a, b))) {
                let says = format!("with places {a} and {b} of dim {dim} exchanged");
                offer("permuted", says, &|place| {
                    if place == a {
                        b
                    } else if place == b {
                        a
                    } else {
                        place
                    }
                });
            }
            for only in 0..*extent {
                offer("permuted", format!("with place {only} of dim {dim} in every place"), &|_| only);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_weights_share_an_extent() {
        let array = |dims: &[usize]| Tensor::new(dims, Data::F32(vec![1.0; dims.iter().product()]));
        let arguments = [array(&[2, 3, 8]), array(&[3, 6]), array(&[2, 6]), array(&[6])];
        // Arguments 0 and 1 share the extent 3, 0 and 2 the extent 2, and 1 to 3 that of their parts.
        let found = joined(&arguments);
        assert_eq!(found, [(2, vec![(0, 0), (2, 0)]), (3, vec![(0, 1), (1, 0)]), (6, vec![(1, 1), (2, 1), (3, 0)])]);
        let turned = negated(&Tensor::new(&[2, 2], Data::F32(vec![1.0, 2.0, 3.0, 4.0])), 1, 1..2).unwrap();
        assert_eq!(turned.data().to_f64s(), [1.0, -2.0, 3.0, -4.0]);
        assert_eq!(along(&[2, 3], 1, |place| 2 - place), [2, 1, 0, 5, 4, 3]);
    }

    /// The places of each reading of six and of four elements, written out. All but the copies of one place hold each place once.
    #[test]
    fn readings_are_as_they_say() {
        let of = |dims: &[usize], says: &str| variants(dims).into_iter().find(|(_, other, _)| other == says).unwrap().2;
        assert_eq!(of(&[6], "with neighbours of dim 0 exchanged"), [1, 0, 3, 2, 5, 4]);
        assert_eq!(of(&[6], "with the halves of dim 0 exchanged"), [3, 4, 5, 0, 1, 2]);
        assert_eq!(of(&[6], "with even places of dim 0 before odd ones"), [0, 2, 4, 1, 3, 5]);
        assert_eq!(of(&[6], "with the halves of dim 0 interleaved"), [0, 3, 1, 4, 2, 5]);
        assert_eq!(of(&[4], "one place later in dim 0"), [1, 2, 3, 0]);
        assert_eq!(of(&[4], "one place earlier in dim 0"), [3, 0, 1, 2]);
        assert_eq!(of(&[4], "backwards in dim 0"), [3, 2, 1, 0]);
        assert_eq!(of(&[3], "with places 0 and 2 of dim 0 exchanged"), [2, 1, 0]);
        // The transpose of 2 by 3 lies as 0 3 1 4 2 5.
        assert_eq!(of(&[2, 3], "transposed in dims 0 and 1"), [0, 3, 1, 4, 2, 5]);
        assert_eq!(of(&[2, 3], "as if stored transposed in dims 0 and 1"), [0, 2, 4, 1, 3, 5]);
        for (_, says, places) in variants(&[2, 4, 6]).into_iter().filter(|(_, says, _)| !says.contains("every place")) {
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..48).collect::<Vec<_>>(), "{says}");
        }
    }
}
