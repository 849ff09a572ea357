//! What operations of a term weigh: what does not change in the loops around it weighs nothing there.

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

    /// How many instructions an operation is before LLVM vectorizes, and what it costs; one multiplication costs 1.
    pub(super) fn weight(&self, id: ValueId, along: &Along) -> (usize, usize) {
        match self.computation.instructions[id].op {
            // A loop whose choice does not change is parted in two (`SimpleLoopUnswitch`).
            Op::Select if self.stays(self.computation.instructions[id].operands[0], along) => (0, 0),
            _ if self.negates_what_stays(id, along) => (0, 0),
            _ => weight(self.computation, id),
        }
    }

    /// Whether a value is the same in both loops, as far as broadcasts tell.
    fn stays(&self, id: ValueId, along: &Along) -> bool {
        let instruction = &self.computation.instructions[id];
        let changes = |along: &Dims| along.iter().any(|(dim, _)| *dim == self.innermost || Some(*dim) == self.around);
        match &instruction.op {
            Op::Broadcast { dims } => !dims.iter().any(|d| changes(&along[*d])),
            _ => instruction.shape.dims().is_empty(),
        }
    }

    /// Whether a value is the opposite of a product with a factor that does not change: LLVM negates that, outside of the loops
    /// (`hoistFNegAboveFMulFDiv`).
    fn negates_what_stays(&self, id: ValueId, along: &Along) -> bool {
        let Some(product) = negated_by(self.computation, id) else { return false };
        let product = &self.computation.instructions[product];
        let stays = |factor: &ValueId| {
            known_number(self.computation, *factor, self.fusion).is_some() || self.stays(*factor, along)
        };
        product.op == Op::Binary(Binary::Multiply)
            && product.fusion == self.fusion
            && product.shape.dims().len() == along.len()
            && product.operands.iter().any(stays)
    }
}
