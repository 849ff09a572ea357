//! Sums of products as terms of a sum: each product joins the sum on its own.

use std::collections::HashMap;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::emission::Emission;
use super::fusion::Contractions;
use super::inner::Inner;
use super::innermost::spreads;
use super::signs::{Signs, Term};

/// For each value of a computation, its role in such a term. The additions of a sum may be reordered (`reassoc`), so
/// LLVM turns fma(a, b, cd) + s into fma(a, b, fma(c, d, s)) if the sum and the product cd have no other user
/// (`visitFADDForFMACombine`). `uses` counts the reads of each value, and one more for the root; `sums` says which
/// regions add.
pub fn find_inner_products(
    computation: &Computation,
    (contractions, uses): (&Contractions, &[usize]),
    sums: impl Fn(ComputationId) -> bool,
) -> Vec<Option<Inner>> {
    let mut found = vec![None; computation.instructions.len()];
    let mut emissions: HashMap<Fusion, Emission> = HashMap::new();
    for (id, sum) in computation.instructions.iter().enumerate() {
        let (Op::Reduce { dims, to_apply }, Some(fusion)) = (&sum.op, sum.fusion()) else { continue };
        if sum.operands.len() != 2
            || !fusion.is_compiled()
            || sum.shape.dtype() != Some(DType::F32)
            || !sums(*to_apply)
            || !contractions.products.contains(&true)
        {
            continue;
        }
        let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion)));
        let mut search = Search { computation, contractions, uses, fusion, emission };
        let Some(term) = search.term(sum.operands[0], dims) else { continue };
        if !term.iter().any(|(value, inner)| *inner == Inner::Product && emission.parts(*value, id)) {
            term.into_iter().for_each(|(value, inner)| found[value] = Some(inner));
        }
    }
    found
}

struct Search<'c, 'e> {
    computation: &'c Computation,
    contractions: &'c Contractions,
    uses: &'c [usize],
    fusion: Fusion,
    emission: &'e mut Emission<'c>,
}

impl<'c> Search<'c, '_> {
    /// An instruction of the fusion, of f32, that is read once.
    fn own(&self, id: ValueId) -> Option<&'c Instruction> {
        let instruction = &self.computation.instructions[id];
        let own = self.uses[id] == 1 && instruction.fusion() == Some(self.fusion);
        Some(instruction).filter(|instruction| own && instruction.shape.dtype() == Some(DType::F32))
    }

    fn term(&mut self, mut id: ValueId, dims: &[usize]) -> Option<Vec<(ValueId, Inner)>> {
        let mut term = Vec::new();
        while let Op::Unary(Unary::Negate) | Op::Reshape | Op::Copy = self.own(id)?.op {
            term.push((id, Inner::Moved));
            id = self.computation.instructions[id].operands[0];
        }
        while let (Op::Binary(Binary::Add), &[left, right]) = (&self.own(id)?.op, &self.own(id)?.operands[..]) {
            let operands = [left, right];
            if self.contractions.left_first.contains_key(&id) {
                return None;
            }
            let is_exact = |position: &usize| self.contractions.is_exact_for(id, *position, operands[*position]);
            let inner = 1 - [0, 1].into_iter().find(is_exact)?;
            let keeps = |id: ValueId| !spreads(&self.computation.instructions[id]);
            let alike = |id: ValueId, _| self.uses[id];
            let terms =
                operands.map(|operand| Term::new(self.computation, [operand, id], (&alike, &keeps, &|_| false)));
            let exchanges = self.emission.exchanges(id, operands);
            if !Signs::new(false, terms).adds(|| exchanges.values().next().is_some_and(|exchanges| *exchanges)) {
                return None;
            }
            term.push((id, Inner::Sum(inner)));
            id = operands[inner];
        }
        if !term.iter().any(|(_, inner)| matches!(inner, Inner::Sum(_))) {
            return None;
        }
        while let Op::Copy
        | Op::Reshape
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Reverse { .. }
        | Op::Unary(Unary::Negate) = self.own(id)?.op
        {
            id = self.computation.instructions[id].operands[0];
        }
        let extents = self.computation.instructions[id].shape.dims();
        let innermost = dims.iter().copied().filter(|dim| extents.get(*dim).is_some_and(|extent| *extent > 1)).max();
        let varies = innermost.is_none_or(|dim| self.varies(id, dim));
        term.push((id, Inner::Product));
        Some(term).filter(|_| varies && self.is_plain_product(id))
    }

    /// Whether a value is a product, but not one of two magnitudes.
    fn is_plain_product(&self, id: ValueId) -> bool {
        let Some(Instruction { op: Op::Binary(Binary::Multiply), operands, .. }) = self.own(id) else { return false };
        let is_magnitude = |factor: &ValueId| {
            self.computation.instructions[*factor].op == Op::Unary(Unary::Abs) && operands[0] != operands[1]
        };
        !operands.iter().all(is_magnitude)
    }

    /// Whether a value varies along a dim, as far as broadcasts tell. Otherwise it is computed before the loop.
    fn varies(&self, id: ValueId, dim: usize) -> bool {
        let Instruction { op, operands, .. } = &self.computation.instructions[id];
        match op {
            Op::Constant(_) => false,
            Op::Broadcast { dims } => dims.contains(&dim),
            Op::Binary(_) | Op::Unary(_) => operands.iter().any(|operand| self.varies(*operand, dim)),
            _ => true,
        }
    }
}
