//! Quotients of quotients and of multiples: compilers take one quotient, of products.

use crate::ir::{Binary, Instruction, ValueId};

use super::super::super::expression::{ExpressionHead, ExpressionId, Expressions};
use super::super::super::expression::{NumberScale, is_nearly_one};
use super::super::graph_builder::GraphBuilder;
use super::super::graph_value::Value;
use super::super::rounding_form::{Divisor, RoundingForm};

/// A value as a number times a numerator by a denominator.
struct ScaledQuotient {
    number: f64,
    numerator: Option<ExpressionId>,
    denominator: Option<ExpressionId>,
}

impl ScaledQuotient {
    fn is_plain(&self) -> bool {
        self.number.abs() == 1.0 && self.denominator.is_none()
    }

    /// Whether it is a value times a power of two, which rounds nothing: of a product it does not matter which factor has it.
    fn is_scaled(&self) -> bool {
        self.number.to_bits() << 12 == 0 && self.numerator.is_some()
    }
}

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// A quotient, or a product with a reciprocal, as one quotient times a number; `None` where that says nothing new. Its
    /// `form` says what kind of values the dividend and the divisor are, since each step rounds.
    pub fn quotient(&mut self, binary: Binary, instruction: &Instruction, value: &mut Value) -> Option<ExpressionId> {
        let &[left, right] = &instruction.operands[..] else { return None };
        // A product with a mask is a choice.
        let is_mask =
            |id: ValueId| *self.expressions.get(self.values[id].expression()).0 == ExpressionHead::FromPredicates;
        if binary == Binary::Multiply && (is_mask(left) || is_mask(right)) {
            return None;
        }
        let [a, b] = [left, right].map(|id| self.ratio(id));
        let is_reciprocal = |ratio: &ScaledQuotient| ratio.numerator.is_none() && ratio.denominator.is_some();
        let is_scaled = [&a, &b].into_iter().all(ScaledQuotient::is_scaled) && a.number.abs() * b.number.abs() != 1.0;
        if a.is_plain() && b.is_plain()
            || binary == Binary::Multiply && !is_reciprocal(&a) && !is_reciprocal(&b) && !is_scaled
        {
            return None;
        }
        let (numerators, denominators, number) = match binary {
            Binary::Divide => ([a.numerator, b.denominator], [a.denominator, b.numerator], a.number / b.number),
            _ => ([a.numerator, b.numerator], [a.denominator, b.denominator], a.number * b.number),
        };
        if !number.is_normal() {
            return None;
        }
        let [numerator, denominator] = [numerators, denominators].map(|factors| match factors {
            [Some(a), Some(b)] => Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![a, b])),
            [a, b] => a.or(b),
        });
        let inverse = denominator.map(|of| self.expressions.apply(ExpressionHead::Reciprocal, vec![of]));
        let of = match (numerator, inverse) {
            (Some(a), Some(b)) => self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![a, b]),
            (a, b) => a.or(b)?,
        };
        if binary == Binary::Divide {
            let of_quotient = a.denominator.is_some();
            let divisor = match (b.denominator, b.number.to_bits() << 12) {
                (Some(_), _) => Divisor::Quotient,
                (None, 0) => Divisor::Plain,
                (None, _) => Divisor::Multiple,
            };
            value.form = Some(match (of_quotient, divisor) {
                (false, Divisor::Plain) => RoundingForm::Binary(Binary::Divide),
                _ => RoundingForm::Quotient { of_quotient, divisor },
            });
        }
        for (id, ratio) in [(left, &a), (right, &b)].into_iter().filter(|(id, _)| self.values[*id].scalar.is_none()) {
            let is_part = ratio.number.abs() == 1.0 && (ratio.numerator.is_none() || ratio.denominator.is_none());
            if !is_part {
                self.expressions.absorb(self.values[id].expression());
            }
        }
        // Numbers that undo each other: the quotient itself, of multiples.
        if is_nearly_one(number.abs()) {
            let rounds = [&a, &b].into_iter().any(|ratio| ratio.number.to_bits() << 12 != 0);
            if binary == Binary::Multiply && rounds {
                value.form = Some(RoundingForm::ProductOfMultiples);
            }
            return Some(if number < 0.0 { self.expressions.negate(of) } else { of });
        }
        value.scale = Some(NumberScale::quotient(of, number));
        let number = self.expressions.constant(number);
        Some(self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), vec![of, number]))
    }

    /// A square or cube, as the product that compilers write. In a loop, expressions tell what is done.
    pub fn power(&mut self, instruction: &Instruction) -> Option<ExpressionId> {
        let &[base, exponent] = &instruction.operands[..] else { return None };
        let exponent = self.values[exponent].scalar.filter(|_| !self.is_region())?;
        let base = self.values[base].with_sign();
        let product =
            |e: &mut Expressions, by: ExpressionId| e.apply(ExpressionHead::Binary(Binary::Multiply), vec![base, by]);
        let square = product(self.expressions, base);
        let power = match exponent.abs() {
            2.0 => square,
            3.0 => product(self.expressions, square),
            _ => return None,
        };
        Some(if exponent < 0.0 { self.expressions.apply(ExpressionHead::Reciprocal, vec![power]) } else { power })
    }

    /// A value as a ratio. In a loop, expressions record the roundings between, so numbers stay in place.
    fn ratio(&self, id: ValueId) -> ScaledQuotient {
        let value = &self.values[id];
        if let Some(number) = value.scalar.filter(|number| number.is_normal()) {
            return ScaledQuotient { number, numerator: None, denominator: None };
        }
        let scale = value.scale.as_ref().filter(|scale| !scale.adds() && self.arguments.is_none());
        let (negated, of) = self.expressions.split_sign(value.with_sign());
        let (of, number) = scale.map_or((of, if negated { -1.0 } else { 1.0 }), |scale| (scale.of, scale.by));
        let divisor = |id: ExpressionId| match self.expressions.get(id) {
            (ExpressionHead::Reciprocal, &[of]) => Some(of),
            _ => None,
        };
        let (numerator, denominator) = match self.expressions.get(of) {
            (ExpressionHead::Reciprocal, &[of]) => (None, Some(of)),
            (ExpressionHead::Binary(Binary::Multiply), &[x, y]) => match (divisor(x), divisor(y)) {
                (None, Some(by)) => (Some(x), Some(by)),
                (Some(by), None) => (Some(y), Some(by)),
                _ => (Some(of), None),
            },
            _ => (Some(of), None),
        };
        ScaledQuotient { number, numerator, denominator }
    }
}
