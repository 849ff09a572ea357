//! Names of results: one for what a function makes of one number, and of its negative where the function is odd or even.
//!
//! A number has a form up to equality, so that equal forms are equal arguments. Of an argument and its negative the one whose
//! leading coefficient is positive has the name, and the other's result is a form of it: what cancels then is exactly zero.

use std::collections::HashMap;

use rug::{Integer, Rational};

use crate::ir::Unary;

use super::super::arithmetic::Bivariate;
use super::super::between::Between;
use super::super::form::{Form, Key};

/// Names that are kept at most: about 40 MiB. Beyond it the earlier ones are forgotten, and what they would cancel stays open.
const MOST_NAMES: usize = 1 << 18;

/// The relation of a function's result at `-x` to the one at `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    /// `f(-x) = -f(x)`.
    Odd,
    /// `f(-x) = f(x)`.
    Even,
    /// `f(-x) = 1 - f(x)`.
    AboutHalf,
}

/// A function of one number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Named {
    Unary(Unary),
    /// Of two, with the form of the operand whose sign is left alone.
    Beside(Bivariate, Key),
}

impl Symmetry {
    /// The symmetry of a function of one number.
    pub fn of(unary: Unary) -> Option<Symmetry> {
        match unary {
            Unary::Cbrt | Unary::Erf | Unary::Sine | Unary::Tan | Unary::Tanh => Some(Symmetry::Odd),
            Unary::Cosine => Some(Symmetry::Even),
            Unary::Logistic => Some(Symmetry::AboutHalf),
            _ => None,
        }
    }

    /// The symmetry of a function of two in its first operand. An angle jumps where that is zero and the other one is not positive; a
    /// power has one where the exponent is an integer.
    pub fn of_first(function: Bivariate, x: &Between, y: &Between) -> Option<Symmetry> {
        match function {
            Bivariate::Atan2 => {
                let is_right = y.ends().is_some_and(|(lo, _)| *lo > 0);
                (is_right || !x.may_be_zero()).then_some(Symmetry::Odd)
            }
            Bivariate::Power => {
                let exponent = y.form()?.as_rational().filter(|exponent| exponent.is_integer())?.numer().clone();
                Some(if exponent.is_even() { Symmetry::Even } else { Symmetry::Odd })
            }
        }
    }

    /// The form of the result at the negative, of that at the number itself.
    fn mirror(self, form: Form) -> Option<Form> {
        match self {
            Symmetry::Odd => Some(form.negate()),
            Symmetry::Even => Some(form),
            Symmetry::AboutHalf => form.negate().add(&Form::constant(Rational::from(Integer::from(1)))),
        }
    }
}

/// The names so far.
#[derive(Default)]
pub(super) struct Names(HashMap<(Named, Key), u64>);

impl Names {
    /// The form of a function's result at a number; `fresh` names it where it has no name.
    pub fn form(
        &mut self,
        function: Named,
        symmetry: Symmetry,
        x: &Between,
        fresh: impl FnOnce() -> u64,
    ) -> Option<Form> {
        let form = x.shared_form()?;
        let is_mirrored = form.is_led_by_negative();
        let key = if is_mirrored { form.negate().key() } else { form.key() };
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        let named = Form::atom(*self.0.entry((function, key)).or_insert_with(fresh));
        if is_mirrored { symmetry.mirror(named) } else { Some(named) }
    }
}
