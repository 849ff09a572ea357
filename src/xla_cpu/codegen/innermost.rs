//! Loops over the result of a fusion, and the loops that the dims of its values run along, through moves.

use std::collections::HashMap;

use crate::ir::{Computation, Fusion, Instruction, Op, ValueId};

use super::along::{Along, Dims, SOMEWHERE, before_broadcast, before_reshape, before_transpose, changes_with};
use super::kernel_functions::{has_functions, hero, results_of};

/// For each value, the loops that its dims run along: 0 is the innermost loop, 1 the one around it. `None` if several
/// users disagree. The operand of a sum has the loops over the terms inside the sum's, the operand of a gather loops of
/// its own.
pub struct Loops {
    places: HashMap<ValueId, Option<Place>>,
    /// The concatenate that is split into its operands. Each operand has a loop, in which the users of the concatenate
    /// are computed.
    pub hero: Option<ValueId>,
}

/// The loops around a value.
#[derive(Clone)]
struct Place {
    along: Along,
    /// The sum inside whose loops it is.
    sum: Option<ValueId>,
}

/// The dim of a result that the innermost loop runs along, if it has more than one element. Each operand of a
/// concatenate that is split has a loop of its own.
pub fn of_result(computation: &Computation, hero: Option<ValueId>, result: ValueId) -> Option<usize> {
    let Instruction { shape, .. } = &computation.instructions[result];
    let minor = computation.instructions[result].minor();
    let last = |dims: &[usize]| dims.iter().rposition(|extent| *extent > 1);
    let part = hero.map(|hero| computation.instructions[hero].operands[0]);
    let part = part.map(|part| computation.instructions[part].shape.dims());
    match part.filter(|part| part.len() == shape.dims().len()) {
        Some(part) => last(part),
        None => minor.or_else(|| last(shape.dims())),
    }
}

impl Loops {
    /// The loops of a fusion.
    pub fn new(computation: &Computation, fusion: Option<Fusion>) -> Loops {
        let instructions = &computation.instructions;
        let results = results_of(computation, fusion);
        let hero = if has_functions(fusion) { hero(computation, fusion, &results) } else { None };
        let mut found: HashMap<ValueId, Option<Place>> = HashMap::new();
        for result in results {
            let dims = instructions[result].shape.dims();
            let inner = of_result(computation, hero, result);
            found.insert(result, inner.map(|inner| Place { along: over_result(dims, inner), sum: None }));
        }
        for id in (0..instructions.len()).rev().filter(|id| instructions[*id].fusion() == fusion) {
            let instruction = &instructions[id];
            let of_value = found.get(&id).cloned().flatten();
            for operand in &instruction.operands {
                let from = instructions[*operand].shape.dims();
                let before = of_value.as_ref().and_then(|place| {
                    let sum = if is_loop(computation, id) { Some(id) } else { place.sum };
                    Some(Place { along: before(instruction, &place.along, from)?, sum })
                });
                let known = found.entry(*operand).or_insert_with(|| before.clone());
                *known = known.take().zip(before).and_then(|(one, other)| one.agreed(&other));
            }
        }
        Loops { places: found, hero }
    }

    fn of(&self, id: ValueId) -> Option<&Place> {
        self.places.get(&id)?.as_ref()
    }

    /// Whether a broadcast along these dims varies in the innermost loop.
    pub fn keeps(&self, broadcast: ValueId, along: &[usize], dims: &[usize]) -> bool {
        match self.of(broadcast) {
            Some(place) if place.is_known() => along.iter().any(|dim| runs_along_innermost(&place.along[*dim])),
            _ => keeps_innermost(along, dims),
        }
    }

    /// The dim of a value along which the innermost loop runs.
    pub fn innermost(&self, id: ValueId) -> Option<usize> {
        self.of(id)?.along.iter().rposition(runs_along_innermost)
    }

    /// Whether a product is computed outside of the loop that its sum is in. The product is invariant in the loop
    /// around the innermost one, and the innermost loop is gone or the sum is computed before it. `is_gone` says
    /// whether nothing is left of the innermost loop of a sum, or of the one over the result.
    pub fn leaves(&self, product: ValueId, sum: ValueId, is_gone: impl Fn(Option<ValueId>) -> bool) -> bool {
        let Some((own, reader)) = self.of(product).zip(self.of(sum)) else { return false };
        if own.sum != reader.sum || reader.along.iter().flatten().any(|(number, _)| *number >= SOMEWHERE) {
            return false;
        }
        let around = reader.along.iter().flatten().map(|(number, _)| *number).filter(|number| *number > 0).min();
        let is_outside = around.is_some_and(|around| !changes_with(&own.along, around));
        is_outside && (!changes_with(&reader.along, 0) || changes_with(&own.along, 0) && is_gone(own.sum))
    }

    /// The extent of the innermost loop around a value.
    pub fn columns(&self, id: ValueId) -> Option<usize> {
        let dims = self.of(id)?.along.iter().flatten();
        Some(dims.filter(|(number, _)| *number == 0).map(|(_, extent)| extent).product())
    }
}

impl Place {
    /// Whether it is known which dim runs along the innermost loop.
    fn is_known(&self) -> bool {
        self.along.iter().any(runs_along_innermost)
    }

    /// The loops that two users agree on, among them the innermost one. If outer loops differ, the value varies in all
    /// of these.
    fn agreed(self, other: &Place) -> Option<Place> {
        if self.along == other.along && self.sum == other.sum {
            return Some(self);
        }
        let innermost = |along: &Along| along.iter().map(runs_along_innermost).collect::<Vec<_>>();
        let elsewhere = |dims: Dims| if runs_along_innermost(&dims) { dims } else { vec![(SOMEWHERE, 1)] };
        let agrees = self.sum == other.sum && innermost(&self.along) == innermost(&other.along);
        agrees.then(|| Place { along: self.along.into_iter().map(elsewhere).collect(), ..self })
    }
}

/// The loops that the dims of a result run along, the innermost one along `inner`.
fn over_result(dims: &[usize], inner: usize) -> Along {
    let long = |dims: &[usize]| dims.iter().filter(|extent| **extent > 1).count();
    let is_last = long(&dims[inner + 1..]) == 0;
    let of = |(dim, extent): (usize, &usize)| match extent {
        1 => Dims::new(),
        _ if dim == inner => vec![(0, *extent)],
        // In a layout of another kind the order of the other dims is not known.
        _ => vec![(if is_last { long(&dims[dim + 1..]) } else { SOMEWHERE }, *extent)],
    };
    dims.iter().enumerate().map(of).collect()
}

fn runs_along_innermost(dims: &Dims) -> bool {
    dims.iter().any(|(number, _)| *number == 0)
}

/// The loops that an operand's dims run along, from those of its user; `None` if its user is not followed.
fn before(reader: &Instruction, along: &Along, from: &[usize]) -> Option<Along> {
    let to = reader.shape.dims();
    let before: Along = match &reader.op {
        Op::ReduceWindow { .. } | Op::Gather(_) => return None,
        Op::Reduce { dims, .. } if from.len() == to.len() + dims.len() => within_sum(dims, along, from),
        Op::Broadcast { dims } => before_broadcast(dims, along),
        Op::Transpose { permutation } => before_transpose(permutation, along),
        Op::Reshape => before_reshape(from, to, along)?,
        Op::Reduce { .. } => return None,
        _ if from.len() == along.len() => along.clone(),
        _ => return None,
    };
    let of = |(dims, extent): (Dims, &usize)| if *extent > 1 { dims } else { Dims::new() };
    Some(before.into_iter().zip(from).map(of).collect())
}

/// The loops that the dims of a sum's terms run along: those over the summed dims, and around them the sum's own.
fn within_sum(summed: &[usize], along: &Along, from: &[usize]) -> Along {
    let is_loop = |dim: &usize| summed.contains(dim) && from[*dim] > 1;
    let count = |dims: std::ops::Range<usize>| dims.filter(is_loop).count();
    let mut kept = along.iter().cloned();
    let of = |dim: usize| match summed.contains(&dim) {
        true => vec![(count(dim + 1..from.len()), from[dim])],
        false => {
            let within = count(0..from.len());
            let outer = |(number, extent)| (if number == SOMEWHERE { number } else { number + within }, extent);
            kept.next().unwrap_or_default().into_iter().map(outer).collect()
        }
    };
    (0..from.len()).map(of).collect()
}

/// The last dim of more than one element along which a term is summed.
fn summed(op: &Op, term: &[usize]) -> Option<usize> {
    let Op::Reduce { dims, .. } = op else { return None };
    dims.iter().copied().filter(|dim| term[*dim] > 1).max()
}

/// Whether a value is a reduction over more than one element.
pub fn is_loop(computation: &Computation, id: ValueId) -> bool {
    let Instruction { op, operands, .. } = &computation.instructions[id];
    operands.first().is_some_and(|first| summed(op, computation.instructions[*first].shape.dims()).is_some())
}

/// The dim of an operand that the innermost loop runs along, if it runs along `inner` of the result; `None` if there is
/// no such dim.
pub fn dim_before(op: &Op, inner: Option<usize>, to: &[usize], from: &[usize]) -> Option<usize> {
    match op {
        Op::Reduce { dims, .. } if from.len() == to.len() + dims.len() => {
            let kept = |inner| (0..from.len()).filter(|dim| !dims.contains(dim)).nth(inner);
            summed(op, from).or_else(|| inner.and_then(kept))
        }
        Op::Broadcast { dims } => dims.iter().position(|dim| Some(*dim) == inner),
        Op::Transpose { permutation } => permutation.get(inner?).copied(),
        Op::Reshape => {
            let behind = |dims: &[usize], dim: usize| dims[dim + 1..].iter().product::<usize>();
            let inner = inner?;
            (0..from.len()).find(|dim| from[*dim].is_multiple_of(to[inner]) && behind(from, *dim) == behind(to, inner))
        }
        Op::Gather(_) | Op::ReduceWindow { .. } => {
            let is_last = inner.is_some_and(|inner| inner + 1 == to.len());
            from.len().checked_sub(1).filter(|_| is_last)
        }
        _ => inner,
    }
}

/// The innermost one of the dims that a reshape joins to one.
pub fn last_part(dim: usize, to: &[usize], from: &[usize]) -> Option<usize> {
    let behind = |dims: &[usize], dim: usize| dims[dim + 1..].iter().product::<usize>();
    (0..from.len())
        .find(|part| from[*part] > 1 && to[dim].is_multiple_of(from[*part]) && behind(from, *part) == behind(to, dim))
}

/// Whether the innermost dim of a broadcast is one of its operand's.
pub fn keeps_innermost(along: &[usize], dims: &[usize]) -> bool {
    along.last().is_some_and(|last| last + 1 == dims.len())
}

/// Whether a value is the same along its innermost dim: a broadcast along others alone.
pub fn spreads(instruction: &Instruction) -> bool {
    matches!(&instruction.op, Op::Broadcast { dims } if !keeps_innermost(dims, instruction.shape.dims()))
}
