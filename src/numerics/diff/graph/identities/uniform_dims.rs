//! Arrays that are one value over and over: a sum of it is a multiple of it, as compilers write it.

use crate::ir::{Binary, Class, Instruction, Op};

use super::super::super::expression::{ExpressionHead, ExpressionId};
use super::super::super::expression::{NumberBits, NumberScale};
use super::super::graph_builder::GraphBuilder;
use super::super::graph_value::Value;
use super::super::rounding_form::RoundingForm;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// Along which dims all elements are the same.
    pub fn spread(&self, instruction: &Instruction, value: &Value) -> Vec<bool> {
        let rank = instruction.shape.dims().len();
        let of = |slot: usize| self.values[instruction.operands[slot]].spread.as_slice();
        match &instruction.op {
            _ if value.scalar.is_some() => vec![true; rank],
            Op::Broadcast { dims } => {
                let from = |dim: usize| dims.iter().position(|at| *at == dim);
                (0..rank).map(|dim| from(dim).is_none_or(|at| of(0).get(at) == Some(&true))).collect()
            }
            Op::Transpose { permutation } => permutation.iter().map(|from| of(0).get(*from) == Some(&true)).collect(),
            Op::Reshape => {
                let before = self.computation.instructions[instruction.operands[0]].shape.dims();
                // Dims of one element come and go.
                let mut wide = before.iter().zip(of(0)).filter(|(extent, _)| **extent != 1);
                let extents = || instruction.shape.dims().iter().filter(|extent| **extent != 1);
                if !extents().eq(before.iter().filter(|extent| **extent != 1)) {
                    return vec![false; rank];
                }
                let of_dim = |extent: &usize| *extent == 1 || wide.next().is_some_and(|(_, spread)| *spread);
                instruction.shape.dims().iter().map(of_dim).collect()
            }
            op if matches!(op.class(), Class::Elementwise | Class::Converts)
                || matches!(op, Op::Copy | Op::OptimizationBarrier) =>
            {
                let is_spread =
                    |dim: usize| (0..instruction.operands.len()).all(|slot| of(slot).get(dim) == Some(&true));
                (0..rank).map(is_spread).collect()
            }
            _ => vec![false; rank],
        }
    }

    /// A sum of one value over and over, as the multiple of it that it is; `None` of other sums. Each of its steps rounds, a
    /// product once: their forms differ.
    pub fn sum_of_equals(
        &mut self,
        instruction: &Instruction,
        operand: ExpressionId,
        value: &mut Value,
    ) -> Option<ExpressionId> {
        let of = &self.values[instruction.operands[0]];
        let Op::Reduce { dims, .. } = &instruction.op else { return None };
        if !of.float || !dims.iter().all(|dim| of.spread.get(*dim) == Some(&true)) {
            return None;
        }
        let extents = self.computation.instructions[instruction.operands[0]].shape.dims();
        let count = dims.iter().map(|dim| extents[*dim] as f64).product::<f64>();
        let scale = of.scale.clone().filter(|scale| !scale.adds() && self.arguments.is_none());
        let (negated, own) = self.expressions.split_sign(operand);
        let (of, by) = scale.map_or((own, if negated { -count } else { count }), |scale| (scale.of, scale.by * count));
        if !by.is_normal() {
            return None;
        }
        if of != own {
            self.expressions.absorb(own);
        }
        value.form = Some(RoundingForm::OfEquals(NumberBits::of(count)));
        value.scale = Some(NumberScale::quotient(of, by));
        let by = self.expressions.constant(by);
        Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![of, by]))
    }
}
