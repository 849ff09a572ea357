//! Costs of a term's operations. An operation that is invariant in the loops around it costs nothing there.

use super::super::along::{Along, Dims};
use super::super::known::{known_number, negated_by};
use super::super::sum_weight::weight;
use super::super::unroll::{is_small, is_unrolled};
use super::Term;
use crate::ir::{Binary, Op, ValueId};

impl Term<'_> {
    /// Whether LLVM unrolls a loop over so many elements before it vectorizes.
    pub fn is_unrolled(&self, count: usize) -> bool {
        self.unrolls(count, self.instructions)
    }

    pub(super) fn unrolls(&self, count: usize, instructions: usize) -> bool {
        if self.calls { is_small(count, instructions) } else { is_unrolled(count, instructions) }
    }

    /// The number of instructions of an operation before LLVM vectorizes, and its cost in multiplications.
    pub(super) fn weight(&self, id: ValueId, along: &Along) -> (usize, usize) {
        match self.computation.instructions[id].op {
            // A loop whose choice does not change is parted in two (`SimpleLoopUnswitch`).
            Op::Select if self.stays(self.computation.instructions[id].operands[0], along) => (0, 0),
            _ if self.negates_what_stays(id, along) => (0, 0),
            _ => weight(self.computation, id),
        }
    }

    /// Whether a value is invariant in both loops, as far as broadcasts tell.
    fn stays(&self, id: ValueId, along: &Along) -> bool {
        let instruction = &self.computation.instructions[id];
        let changes = |along: &Dims| along.iter().any(|(dim, _)| *dim == self.innermost || Some(*dim) == self.around);
        match &instruction.op {
            Op::Broadcast { dims } => !dims.iter().any(|d| changes(&along[*d])),
            _ => instruction.shape.dims().is_empty(),
        }
    }

    /// Whether a value negates a product with an invariant factor. LLVM negates that factor instead, outside of the
    /// loops (`hoistFNegAboveFMulFDiv`).
    fn negates_what_stays(&self, id: ValueId, along: &Along) -> bool {
        let Some(product) = negated_by(self.computation, id) else { return false };
        let product = &self.computation.instructions[product];
        let stays = |factor: &ValueId| {
            known_number(self.computation, *factor, self.fusion).is_some() || self.stays(*factor, along)
        };
        product.op == Op::Binary(Binary::Multiply)
            && product.fusion() == self.fusion
            && product.shape.dims().len() == along.len()
            && product.operands.iter().any(stays)
    }
}
