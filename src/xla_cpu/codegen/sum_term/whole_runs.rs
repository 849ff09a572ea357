//! Terms over rows that are read as runs of memory: the operations that LLVM computes on whole runs before it splits
//! them into columns.

use crate::ir::{Op, ValueId};

use super::super::along::Along;
use super::super::sum_weight::without_sign;
use super::Term;

impl Term<'_> {
    /// Whether every read of the term is a run of memory over rows.
    pub fn reads_runs(&self) -> bool {
        self.reads.iter().all(|along| self.is_run(along))
    }

    /// Whether the term is computed on whole runs, by multiplications and additions that each have an operand without
    /// another user (`foldVectorBinop`), or two equal operands. Without AVX-512 additions are not followed.
    pub fn is_of_runs(&self) -> bool {
        let is_whole = |id: &ValueId| {
            let operands = &self.computation.instructions[*id].operands;
            operands[0] == operands[1] || operands.iter().any(|operand| self.alone(*operand).is_some())
        };
        let is_plain = self.is_plain;
        is_plain && self.spread == 0 && self.reads_runs() && self.operations.iter().all(is_whole)
    }

    /// Whether the product `id` has a factor that is read from memory and has no other user.
    pub fn has_factor_alone(&self, id: ValueId) -> bool {
        let all = &self.computation.instructions;
        let product = &all[without_sign(self.computation, self.fusion, id)];
        let is_read = |factor: ValueId| all[factor].fusion() != self.fusion;
        product.operands.iter().any(|factor| self.alone(*factor).is_some_and(is_read))
    }

    /// The value that `id` moves, if a single operation uses it.
    fn alone(&self, mut id: ValueId) -> Option<ValueId> {
        loop {
            let instruction = &self.computation.instructions[id];
            if self.shared.contains(&id) {
                return None;
            }
            if instruction.fusion() != self.fusion || !moves(&instruction.op) {
                return Some(id);
            }
            id = instruction.operands[0];
        }
    }

    /// Whether the elements of a read are contiguous in memory, row after row.
    pub fn is_run(&self, along: &Along) -> bool {
        let mut dims = along.iter().flatten().rev().map(|(dim, _)| *dim);
        dims.next() == Some(self.innermost) && dims.next() == self.around && self.around.is_some()
    }
}

/// Whether an operation only moves elements.
fn moves(op: &Op) -> bool {
    matches!(op, Op::Reshape | Op::Copy | Op::Slice { .. } | Op::Transpose { .. } | Op::Broadcast { .. })
}
