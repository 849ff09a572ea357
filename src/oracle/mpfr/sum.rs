//! Sums of enclosures.

use std::cmp::Ordering;
use std::rc::Rc;

use rug::Float;
use rug::float::Round;

use super::Mpfr;
use crate::between::Between;
use crate::form::Form;

impl Mpfr {
    /// The sum in any order: NaN and infinities as IEEE has them, and -0 only if nothing but -0 is added.
    pub(super) fn sum(&self, terms: &[Rc<Between>]) -> Between {
        let infinite = |negative: bool| {
            terms
                .iter()
                .any(|t| matches!(&**t, Between::Exact(v) if v.is_infinite() && v.is_sign_negative() == negative))
        };
        if terms.iter().any(|t| t.is_nan()) || (infinite(true) && infinite(false)) {
            return Between::nan();
        }
        if terms.iter().any(|t| matches!(**t, Between::Unknown)) {
            return Between::Unknown;
        }
        for negative in [false, true] {
            if infinite(negative) {
                return Between::exact(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
            }
        }
        let ends: Vec<(&Float, &Float)> = terms.iter().filter_map(|t| t.ends()).collect();
        let down = Float::with_val_round(self.bits, Float::sum(ends.iter().map(|e| e.0)), Round::Down);
        let all_exact = terms.iter().all(|t| matches!(**t, Between::Exact(_)));
        if all_exact && down.1 == Ordering::Equal {
            if !down.0.is_zero() {
                return Between::Exact(down.0);
            }
            let all_negative = !ends.is_empty() && ends.iter().all(|(v, _)| v.is_zero() && v.is_sign_negative());
            return Between::exact(if all_negative { -0.0 } else { 0.0 });
        }
        let form = Form::sum(terms.iter().map(|term| term.form()));
        match form.as_ref().and_then(Form::as_rational) {
            Some(value) if !value.is_zero() => return Between::of_rational(value, self.bits),
            Some(_) => return Between::rest_zero(terms.iter().any(|t| !t.may_be_negative_zero())),
            None => {}
        }
        let up = Float::with_val_round(self.bits, Float::sum(ends.iter().map(|e| e.1)), Round::Up);
        self.with_form(Between::real(down.0, up.0), form)
    }
}
