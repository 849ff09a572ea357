//! Numbers that undo each other: a value that is the one it was made of, up to rounding.

use crate::ir::Instruction;

use super::super::super::expression::{ExpressionId, NumberScale};
use super::super::graph_builder::GraphBuilder;
use super::super::graph_value::Value;
use super::super::rounding_form::RoundingForm;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// The expression of a value that numbers scale and scale back: the value itself. The steps are recorded if they
    /// round.
    pub fn undone(&mut self, scale: &NumberScale, instruction: &Instruction, value: &mut Value) -> ExpressionId {
        let steps = RoundingForm::Scaled(scale.steps());
        let of = self.expressions.without_sign(scale.of);
        for id in instruction.operands.iter().filter(|id| self.uses[**id] == 1 && self.values[**id].scalar.is_none()) {
            let step = self.values[*id].expression();
            if step != of {
                self.expressions.absorb(step);
            }
        }
        self.again(scale.of, scale.by < 0.0, Some(steps).filter(|_| scale.rounds()), value)
    }

    /// A value again, or its negative, by these steps.
    pub fn again(
        &mut self,
        of: ExpressionId,
        negated: bool,
        steps: Option<RoundingForm>,
        value: &mut Value,
    ) -> ExpressionId {
        (value.form, value.undone) = (None, steps);
        if negated { self.expressions.negate(of) } else { of }
    }
}
