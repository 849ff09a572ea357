//! The dim of each value of a fusion along which the innermost loop goes: that of the result, as far as it is moved.

use std::collections::HashMap;

use crate::ir::{Computation, Fusion, Instruction, Op, ValueId};

use super::codegen::Codegen;
use super::kernel_functions::{has_functions, hero, results_of};

/// These dims, `None` where several readers disagree. What is summed or gathered has loops of its own.
pub struct Innermost(HashMap<ValueId, Option<usize>>);

/// The dim along which the innermost loop over a result goes, if it has more than one element; of a concatenate that is taken apart
/// each operand has a loop of its own.
pub fn of_result(computation: &Computation, hero: Option<ValueId>, result: ValueId) -> Option<usize> {
    let Instruction { shape, minor, .. } = &computation.instructions[result];
    let last = |dims: &[usize]| dims.iter().rposition(|extent| *extent > 1);
    let part = hero.map(|hero| computation.instructions[hero].operands[0]);
    let part = part.map(|part| computation.instructions[part].shape.dims());
    match part.filter(|part| part.len() == shape.dims().len()) {
        Some(part) => last(part),
        None => minor.or_else(|| last(shape.dims())),
    }
}

impl Innermost {
    /// Of a fusion.
    pub fn new(computation: &Computation, fusion: Option<Fusion>, codegen: &Codegen) -> Innermost {
        let instructions = &computation.instructions;
        let results = results_of(computation, fusion);
        let hero = if has_functions(fusion, codegen) { hero(computation, fusion, &results) } else { None };
        let mut found: HashMap<ValueId, Option<usize>> = HashMap::new();
        for result in results {
            found.insert(result, of_result(computation, hero, result));
        }
        for id in (0..instructions.len()).rev().filter(|id| instructions[*id].fusion == fusion) {
            let instruction = &instructions[id];
            let inner = found.get(&id).copied().flatten();
            for operand in &instruction.operands {
                let from = instructions[*operand].shape.dims();
                let before = match instruction.op {
                    Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Gather(_) => None,
                    _ => {
                        inner.and_then(|inner| dim_before(&instruction.op, Some(inner), instruction.shape.dims(), from))
                    }
                };
                let before = before.filter(|dim| from.get(*dim).is_some_and(|extent| *extent > 1));
                let known = found.entry(*operand).or_insert(before);
                *known = known.filter(|known| Some(*known) == before);
            }
        }
        Innermost(found)
    }

    /// Whether a broadcast along these dims changes in the innermost loop.
    pub fn keeps(&self, broadcast: ValueId, along: &[usize], dims: &[usize]) -> bool {
        match self.0.get(&broadcast) {
            Some(Some(inner)) => along.contains(inner),
            _ => keeps_innermost(along, dims),
        }
    }
}

/// The last dim of more than one element along which a term is summed.
fn summed(op: &Op, term: &[usize]) -> Option<usize> {
    let Op::Reduce { dims, .. } = op else { return None };
    dims.iter().copied().filter(|dim| term[*dim] > 1).max()
}

/// Whether it is a reduction of more than one element each.
pub fn is_loop(computation: &Computation, id: ValueId) -> bool {
    let Instruction { op, operands, .. } = &computation.instructions[id];
    operands.first().is_some_and(|first| summed(op, computation.instructions[*first].shape.dims()).is_some())
}

/// The dim of an operand along which the innermost loop goes, where it goes along `inner` of the result; `None` for none.
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
