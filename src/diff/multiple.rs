//! Sums of multiples of one value: compilers take one multiple of it.

use crate::ir::{Binary, Instruction, ValueId};

use super::build::Builder;
use super::change::number;
use super::expression::{ExpressionId, Expressions, Head};
use super::factors::Scale;
use super::vertex::Value;

impl<'p, 'e> Builder<'p, 'e> {
    /// A sum or difference of two multiples of one value, as one multiple of it; `None` where it is none. As `form`, of which
    /// multiples, since each rounds.
    pub fn sum_of_multiples(
        &mut self,
        binary: Binary,
        instruction: &Instruction,
        value: &mut Value,
    ) -> Option<ExpressionId> {
        let &[left, right] = &instruction.operands[..] else { return None };
        let [(of, a), (other, b)] = [self.multiple(left)?, self.multiple(right)?];
        let by = if binary == Binary::Add { a + b } else { a - b };
        // What is nearly the value itself stays a sum, as that would round nothing.
        if of != other || a.abs() == 1.0 && b.abs() == 1.0 || !by.is_normal() || Expressions::is_about_one(by) {
            return None;
        }
        value.form = Some(format!("{} of multiples by {} and {}", binary.name(), told(a), told(b)));
        for step in [left, right].map(|id| self.values[id].expression()).into_iter().filter(|step| *step != of) {
            self.expressions.absorb(step);
        }
        value.scale = Some(Scale::quotient(of, by));
        let by = self.expressions.constant(by);
        Some(self.expressions.apply(Head::Binary(Binary::Multiply), vec![of, by]))
    }

    /// A value as a multiple of another one. In a loop, expressions tell of roundings between.
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

/// Three digits: how a factor was computed is told of where it is.
fn told(factor: f64) -> String {
    number(format!("{factor:.2e}").parse().unwrap_or(factor))
}
