//! Places of negations where they decide the sign of a zero.

use crate::ir::{Binary, Instruction, Op};

use super::graph_builder::GraphBuilder;
use super::graph_value::Value;
use super::roles::ValueRole;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// Whether numbers were negated before an operation, and not after it, where that may give zero another sign: of a sum,
    /// or where zeros are put beside them. `None` of other operations.
    pub fn negated_before(&self, instruction: &Instruction, value: &Value) -> Option<bool> {
        let is_zero =
            |slot: usize| instruction.operands.get(slot).is_some_and(|id| self.values[*id].scalar == Some(0.0));
        let keeps_zeros = match &instruction.op {
            Op::Binary(_) | Op::Reduce { .. } | Op::ReduceWindow { .. } if value.role != ValueRole::Computes => true,
            Op::Binary(Binary::Add | Binary::Subtract) | Op::Dot { .. } | Op::Scatter { .. } => false,
            Op::Reduce { .. } | Op::ReduceWindow { .. } => false,
            Op::Select => !is_zero(1) && !is_zero(2),
            Op::Pad { .. } => !is_zero(1),
            _ => true,
        };
        let [id] = value.expressions[..] else { return None };
        (value.float && value.scalar.is_none() && !keeps_zeros).then(|| self.expressions.split_sign(id).0)
    }
}
