//! Dots that XLA's algebraic simplifier takes apart or puts together, whatever the flag says (FACTS 9.1).

use std::collections::HashSet;

use crate::analysis::Reducer;
use crate::ir::{Binary, Computation, DotDims, Instruction, Op, ValueId};
use crate::num::Format;
use crate::tensor::DType;

use super::Maker;

impl Maker<'_> {
    /// The value behind conversions and copies.
    fn behind(&self, mut id: ValueId) -> ValueId {
        while let (Op::Convert | Op::Copy, [operand]) = (&self.instruction(id).op, &self.instruction(id).operands[..]) {
            id = *operand;
        }
        id
    }

    /// The coarsest format that a value of this type is rounded to: its own, or that of a conversion of it.
    pub(super) fn coarsest(&self, id: ValueId, dtype: DType) -> Option<&'static Format> {
        let entry = self.analysis.program.entry();
        let converts =
            entry.instructions.iter().filter(|user| user.op == Op::Convert && self.behind(user.operands[0]) == id);
        let formats = converts.filter_map(|user| user.shape.dtype()?.format()).chain(dtype.format());
        formats.max_by(|one, other| one.unit_roundoff().total_cmp(&other.unit_roundoff()))
    }

    /// The number of dots that a compiler may make of one: of a concatenation along the contracting dims and a constant, one for each
    /// piece, rounded to the result's type and added in it (XLA's `OptimizeDotOfConcat`). Otherwise 1.
    pub(super) fn pieces(&self, instruction: &Instruction, dims: &DotDims) -> usize {
        let entry = self.analysis.program.entry();
        let of = |side: usize, contracting: &[usize]| {
            let operand = self.instruction(self.behind(instruction.operands[side]));
            match operand.op {
                Op::Concatenate { dim }
                    if contracting.contains(&dim) && is_of_constants(entry, instruction.operands[1 - side]) =>
                {
                    operand.operands.len()
                }
                _ => 1,
            }
        };
        if self.algebra { of(0, &dims.lhs_contracting).max(of(1, &dims.rhs_contracting)) } else { 1 }
    }

    /// Whether a conversion is one of a dot whose batches a compiler may sum in one dot: then none of them is rounded.
    pub(super) fn is_of_joined_dots(&self, conversion: ValueId) -> bool {
        let dot = self.behind(conversion);
        matches!(&self.instruction(dot).op, Op::Dot { dims, .. } if self.joined_batches(dot, dims) > 1)
    }

    /// The number of a dot's batches that a compiler may sum in one dot: the places of the batch dims that a sum of the results is over,
    /// which are contracting dims then. Otherwise 1.
    pub(super) fn joined_batches(&self, id: ValueId, dims: &DotDims) -> usize {
        let batches = dims.lhs_batch.len();
        let shape = &self.instruction(id).shape;
        let of = |user: &Instruction| match &user.op {
            Op::Reduce { dims, to_apply } if self.behind(user.operands[0]) == id => {
                let adds = self.analysis.regions.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add));
                let joined = dims.iter().filter(|dim| **dim < batches);
                if adds { joined.map(|dim| shape.dims()[*dim]).product() } else { 1 }
            }
            _ => 1,
        };
        let entry = self.analysis.program.entry();
        if self.algebra && batches > 0 { entry.instructions.iter().map(of).max().unwrap_or(1) } else { 1 }
    }
}

/// Whether a value depends on no argument, so that a compiler computes it.
fn is_of_constants(entry: &Computation, id: ValueId) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        let instruction = &entry.instructions[id];
        if matches!(instruction.op, Op::Parameter(_) | Op::Opaque(_)) {
            return false;
        }
        open.extend(instruction.operands.iter().filter(|operand| seen.insert(**operand)));
    }
    true
}
