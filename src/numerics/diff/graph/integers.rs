//! Integers and predicates made of others that floats have part in: compilers compute them in any exact way, so that all
//! that is said of them is what they are made of.

use crate::ir::{Binary, Class, Instruction, Op, Unary};
use crate::tensor::DType;

use super::super::expression::{ExpressionHead, ExpressionId};
use super::graph_builder::GraphBuilder;
use super::graph_value::Value;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// A remainder, choice, join or the like of integers, or a join of predicates, as what it is made of, wherever its
    /// elements lie. Sums and products stay what they are, and so do predicates that decide: which way is theirs to say.
    pub fn count(&mut self, instruction: &Instruction, operands: &[ExpressionId]) -> Option<ExpressionId> {
        if self.counts || !self.is_exact(instruction) {
            return None;
        }
        let counts = instruction.shape.dtype().is_some_and(DType::is_integer);
        let is_counted = |id: &ExpressionId| matches!(self.expressions.get(*id).0, ExpressionHead::Counts);
        let is_free = match &instruction.op {
            Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply) => false,
            Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Gather(_) | Op::Reverse { .. } => is_counted(&operands[0]),
            Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Clamp => counts,
            Op::Concatenate { .. } | Op::Pad { .. } | Op::DynamicUpdateSlice => true,
            Op::Scatter { .. } => true,
            Op::Reduce { .. } | Op::ReduceWindow { .. } => counts,
            _ => false,
        };
        if !is_free {
            return None;
        }
        match self.sources_below(instruction)[..] {
            [] => Some(self.integers),
            ref sources => Some(self.expressions.apply(ExpressionHead::Counts, sources.to_vec())),
        }
    }

    /// Expressions from which an integer or predicate derives: comparisons of floats, indices and the like. Empty for a
    /// float.
    pub fn sources(&self, instruction: &Instruction, value: &Value) -> Vec<ExpressionId> {
        match value.expressions[..] {
            [own] if !value.float && own != self.integers => match self.is_exact(instruction) {
                true => self.sources_below(instruction),
                false => vec![self.expressions.origin(own)],
            },
            _ => Vec::new(),
        }
    }

    fn sources_below(&self, instruction: &Instruction) -> Vec<ExpressionId> {
        let operands = instruction.operands.iter().map(|id| &self.values[*id]);
        let mut sources: Vec<ExpressionId> = operands.flat_map(|value| value.sources.iter().copied()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Predicates of integers alone are one expression, and so are those that others are made of; a `not` of them is told
    /// apart only where they decide, as choices by the two are opposite.
    pub fn negation(&mut self, instruction: &Instruction, operands: &mut [ExpressionId]) -> Option<ExpressionId> {
        if self.counts {
            return None;
        }
        let not = ExpressionHead::Unary(Unary::Not);
        if instruction.op == Op::Unary(Unary::Not) && instruction.shape.dtype() == Some(DType::Pred) {
            return Some(self.expressions.apply(not, operands.to_vec()));
        }
        let keeps = matches!(
            instruction.op,
            Op::OptimizationBarrier | Op::Copy | Op::Broadcast { .. } | Op::Reshape | Op::Transpose { .. }
        );
        if !keeps {
            let negated = self.expressions.find(&not, &[self.integers]);
            operands.iter_mut().filter(|id| Some(**id) == negated).for_each(|id| *id = self.integers);
        }
        None
    }

    /// Whether one array of integers or predicates is made of such alone, element by element or by moving and joining.
    fn is_exact(&self, instruction: &Instruction) -> bool {
        let is_exact = |dtype: Option<DType>| dtype.is_some_and(|dtype| dtype.is_integer() || dtype == DType::Pred);
        let operands = || instruction.operands.iter().map(|id| self.computation.instructions[*id].shape.dtype());
        let makes = matches!(instruction.op.class(), Class::Moves | Class::Converts | Class::Elementwise)
            || matches!(instruction.op, Op::Scatter { .. } | Op::Reduce { .. } | Op::ReduceWindow { .. });
        makes && is_exact(instruction.shape.dtype()) && operands().all(is_exact) && operands().count() > 0
    }
}
