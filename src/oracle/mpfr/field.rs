//! Add, subtract, multiply and divide, and functions that are monotone, by the ends of what they take.

use std::cmp::Ordering;

use rug::Float;
use rug::float::Round;

use super::Mpfr;
use crate::arithmetic::Field;
use crate::between::{Between, Corner};
use crate::form::Form;

impl Mpfr {
    /// A function that increases (or, with `falls`, decreases) wherever the enclosure reaches.
    pub(super) fn monotone(
        &self,
        x: &Between,
        falls: bool,
        function: impl Fn(&Float, Round) -> (Float, Ordering),
    ) -> Between {
        match x {
            Between::Unknown => Between::Unknown,
            Between::Exact(value) => Between::from_down(function(value, Round::Down)),
            Between::Real { lo, hi, .. } => {
                let (low_end, high_end) = if falls { (hi, lo) } else { (lo, hi) };
                Between::real(function(low_end, Round::Down).0, function(high_end, Round::Up).0)
            }
        }
    }

    pub(super) fn binary(&self, operation: Field, x: &Between, y: &Between) -> Between {
        if x.is_nan() || y.is_nan() {
            return Between::nan();
        }
        let (Some(_), Some(_)) = (x.ends(), y.ends()) else { return Between::Unknown };
        if let (Between::Exact(a), Between::Exact(b)) = (x, y) {
            let rounded = |round| match operation {
                Field::Add => Float::with_val_round(self.bits, a + b, round),
                Field::Subtract => Float::with_val_round(self.bits, a - b, round),
                Field::Multiply => Float::with_val_round(self.bits, a * b, round),
                Field::Divide => Float::with_val_round(self.bits, a / b, round),
            };
            let (value, ternary) = rounded(Round::Nearest);
            if ternary == Ordering::Equal {
                // IEEE decides infinities, NaN and the sign of a zero.
                return Between::Exact(value);
            }
        }
        // A form takes longer to write down than most results do: only where the result may have one.
        let may_have_form = match operation {
            Field::Add | Field::Subtract => true,
            Field::Multiply => x.is_constant() || y.is_constant(),
            Field::Divide => !y.may_be_zero() && (y.is_rational() || !x.is_rational()),
        };
        let forms = if may_have_form { x.form().zip(y.form()) } else { None };
        let form = forms.and_then(|(a, b)| match operation {
            Field::Add => a.add(&b),
            Field::Subtract => a.subtract(&b),
            Field::Multiply => a.multiply(&b),
            Field::Divide => a.divide(&b),
        });
        match form.as_ref().and_then(Form::as_rational) {
            Some(value) if !value.is_zero() => return Between::of_rational(value, self.bits),
            Some(_) if matches!(operation, Field::Add | Field::Subtract) => {
                return Between::rest_zero(!x.may_be_zero());
            }
            // A factor is zero, or the dividend: a form does not have its sign.
            _ => {}
        }
        let value = match operation {
            Field::Add => self.add(x, y),
            Field::Subtract => self.add(x, &y.negate()),
            Field::Multiply => self.mul(x, y),
            Field::Divide => self.div(x, y),
        };
        self.with_form(value, form.filter(|form| form.as_rational().is_none()))
    }

    fn add(&self, x: &Between, y: &Between) -> Between {
        // An infinity prevails over a finite number; two of them are exact both, which [`Mpfr::binary`] has answered.
        if let Some(infinity) = [x, y].into_iter().find(|v| v.is_infinite()) {
            return infinity.clone();
        }
        let (Some((x_lo, x_hi)), Some((y_lo, y_hi))) = (x.ends(), y.ends()) else { return Between::Unknown };
        let down = Float::with_val_round(self.bits, x_lo + y_lo, Round::Down);
        let up = Float::with_val_round(self.bits, x_hi + y_hi, Round::Up);
        Between::real(down.0, up.0)
    }

    pub(super) fn mul(&self, x: &Between, y: &Between) -> Between {
        if [(x, y), (y, x)].into_iter().any(|(a, b)| a.is_infinite() && b.may_be_zero()) {
            return Between::Unknown;
        }
        // An unbounded end stands for finite numbers without a limit, whose product with zero is zero.
        let product = |a: &Float, b: &Float, round| {
            if a.is_zero() || b.is_zero() {
                let negative = a.is_sign_negative() != b.is_sign_negative();
                return Float::with_val(self.bits, if negative { -0.0 } else { 0.0 });
            }
            Float::with_val_round(self.bits, a * b, round).0
        };
        self.corners(x, y, product)
    }

    fn div(&self, x: &Between, y: &Between) -> Between {
        let zero = matches!(y, Between::Exact(y) if y.is_zero());
        if y.may_be_zero() && (!zero || x.may_be_zero()) {
            return Between::Unknown;
        }
        // Where both ends are unbounded the other corners hold the limits.
        self.corners(x, y, |a, b, round| Float::with_val_round(self.bits, a / b, round).0)
    }

    /// The hull of `combine` over all pairs of ends, for an operation that is monotone in each operand over the box.
    pub(super) fn corners(
        &self,
        x: &Between,
        y: &Between,
        combine: impl Fn(&Float, &Float, Round) -> Float,
    ) -> Between {
        let (Some((x_lo, x_hi)), Some((y_lo, y_hi))) = (x.ends(), y.ends()) else { return Between::Unknown };
        let mut hull = Corner::default();
        for (a, b) in [(x_lo, y_lo), (x_lo, y_hi), (x_hi, y_lo), (x_hi, y_hi)] {
            hull.add(combine(a, b, Round::Down), combine(a, b, Round::Up));
        }
        hull.between()
    }
}
