//! Sums of multiples of one value: compilers take one multiple of it.

use crate::ir::{Binary, Instruction, ValueId};

use super::super::super::expression::{ExpressionHead, ExpressionId, Expressions};
use super::super::super::expression::{NumberBits, NumberScale, is_nearly_one};
use super::super::graph_builder::GraphBuilder;
use super::super::graph_value::Value;
use super::super::roles::ValueRole;
use super::super::rounding_form::RoundingForm;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// The normal form of an operation that compilers merge with its operands or take apart; `None` for any other.
    pub fn put_together(
        &mut self,
        binary: Binary,
        instruction: &Instruction,
        value: &mut Value,
    ) -> Option<ExpressionId> {
        match binary {
            Binary::Multiply | Binary::Divide if self.factor(binary, instruction).is_none() => {
                self.quotient(binary, instruction, value)
            }
            Binary::Add | Binary::Subtract => self
                .sum_of_multiples(binary, instruction, value)
                .or_else(|| self.sum_of_halves(binary, instruction, value)),
            Binary::Power => self.power(instruction),
            _ => None,
        }
    }

    /// A sum or difference of two multiples of one value, as one multiple of it; `None` for any other. The value's
    /// `form` names both multiples, since each rounds.
    fn sum_of_multiples(
        &mut self,
        binary: Binary,
        instruction: &Instruction,
        value: &mut Value,
    ) -> Option<ExpressionId> {
        let &[left, right] = &instruction.operands[..] else { return None };
        let [(of, a), (other, b)] = [self.multiple(left)?, self.multiple(right)?];
        let by = if binary == Binary::Add { a + b } else { a - b };
        if of != other || !by.is_normal() {
            return None;
        }
        // Twice a value rounds nothing, whichever way.
        if a.abs() == 1.0 && b.abs() == 1.0 {
            value.form = Some(RoundingForm::Scaled(vec![(Binary::Multiply, NumberBits::of(by))]));
            value.scale = Some(NumberScale::quotient(of, by));
            let by = self.expressions.constant(by);
            return Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![of, by]));
        }
        let form =
            RoundingForm::OfMultiples { binary, factors: [a, b].map(|factor| NumberBits::of(to_three_digits(factor))) };
        for step in [left, right].map(|id| self.values[id].expression()).into_iter().filter(|step| *step != of) {
            self.expressions.absorb(step);
        }
        if is_nearly_one(by.abs()) {
            return Some(self.again(of, by < 0.0, Some(form), value));
        }
        value.form = Some(form);
        value.scale = Some(NumberScale::quotient(of, by));
        let by = self.expressions.constant(by);
        Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![of, by]))
    }

    /// A sum or difference of two values times one power of two, as their sum times it: no product rounds.
    fn sum_of_halves(&mut self, binary: Binary, instruction: &Instruction, value: &mut Value) -> Option<ExpressionId> {
        let &[left, right] = &instruction.operands[..] else { return None };
        let [(x, a), (y, b)] = [self.multiple(left)?, self.multiple(right)?];
        if self.is_region() || a.abs() != b.abs() || a.to_bits() << 12 != 0 {
            return None;
        }
        let by = a.abs();
        if by == 1.0 {
            return None;
        }
        let signed = |e: &mut Expressions, negated: bool, id| if negated { e.negate(id) } else { id };
        let (x, y) = (signed(self.expressions, a < 0.0, x), signed(self.expressions, b < 0.0, y));
        let sum = self.expressions.apply(ExpressionHead::Binary(binary), vec![x, y]);
        for id in [left, right] {
            if self.is_step(id) {
                self.expressions.absorb(self.values[id].expression());
            }
        }
        value.scale = Some(NumberScale::quotient(sum, by));
        value.form = Some(RoundingForm::Scaled(vec![(Binary::Multiply, NumberBits::of(by))]));
        let by = self.expressions.constant(by);
        Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![sum, by]))
    }

    /// Whether a value is computed for one reader alone, moved on the way to it or not.
    fn is_step(&self, id: ValueId) -> bool {
        self.uses[id] == 1
            && match self.values[id].role {
                ValueRole::Computes => true,
                ValueRole::Moves { from, .. } => self.is_step(self.computation.instructions[id].operands[from]),
                _ => false,
            }
    }

    /// Whether a value is a sum times a power of two, whichever is done first: that is no product to be rounded.
    pub fn is_scaled_sum(&self, id: ValueId) -> bool {
        let scale = self.values[id].scale.as_ref().filter(|scale| !scale.adds() && !scale.rounds());
        let of = scale.map(|scale| self.expressions.get(self.expressions.without_sign(scale.of)).0);
        matches!(of, Some(ExpressionHead::Binary(Binary::Add | Binary::Subtract)))
    }

    /// A value as a multiple of another one; `None` in a loop, where expressions record the roundings between.
    fn multiple(&self, id: ValueId) -> Option<(ExpressionId, f64)> {
        let value = &self.values[id];
        if value.scalar.is_some() || self.arguments.is_some() {
            return None;
        }
        let scale = value.scale.as_ref().filter(|scale| !scale.adds());
        let (negated, of) = self.expressions.split_sign(value.with_sign());
        Some(scale.map_or((of, if negated { -1.0 } else { 1.0 }), |scale| (scale.of, scale.by)))
    }
}

/// A factor with three digits: the change of its own computation is reported at that value.
fn to_three_digits(factor: f64) -> f64 {
    format!("{factor:.2e}").parse().unwrap_or(factor)
}
