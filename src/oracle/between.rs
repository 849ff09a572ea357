//! MPFR's knowledge of one value: its enclosure and its form.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use rug::float::{Round, prec_min};
use rug::{Float, Rational};

use super::form::{Form, LARGEST};

/// An enclosure with ends of any precision.
#[derive(Clone, Debug)]
pub(super) enum Between {
    /// Any value, NaN and the infinities included.
    Unknown,
    /// Exactly this value: a number, a zero with its sign, an infinity, or NaN.
    Exact(Float),
    /// A finite real number from `lo` to `hi`, an infinite end meaning that this side is unbounded.
    ///
    /// -0 counts as below +0: ends -0 and +0 stand for a zero of either sign, an end +0 on the left for no -0.
    Real { lo: Float, hi: Float, what: What },
}

/// Symbolic identity of a real number, beside its enclosure.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Nothing else is known, or has been asked.
    Anonymous,
    /// A number of its own, with a name.
    Atom(u64),
    /// A combination of others.
    Form(Rc<Form>),
}

/// Whether `a` lies below `b`, -0 below +0.
fn is_below(a: &Float, b: &Float) -> bool {
    a.total_cmp(b) == Ordering::Less
}

impl Between {
    /// Exactly this value, NaN and the infinities included.
    pub fn exact(value: f64) -> Between {
        Between::Exact(Float::with_val(f64::MANTISSA_DIGITS, value))
    }

    /// NaN, for certain.
    pub fn nan() -> Between {
        Between::exact(f64::NAN)
    }

    /// A finite real number between these ends, at least one of which is finite; exactly that number if they are one.
    pub fn real(lo: Float, hi: Float) -> Between {
        if is_below(&lo, &hi) { Between::Real { lo, hi, what: What::Anonymous } } else { Between::Exact(lo) }
    }

    /// The enclosure of a value that MPFR rounded down: it lies below the next number of that precision.
    pub fn from_down((lo, ternary): (Float, Ordering)) -> Between {
        if ternary == Ordering::Equal {
            return Between::Exact(lo);
        }
        let mut hi = lo.clone();
        hi.next_up();
        Between::Real { lo, hi, what: What::Anonymous }
    }

    /// A number that is known exactly, at `bits` of precision where that holds it.
    pub fn of_exact(value: Float, bits: u32) -> Between {
        let (shorter, ternary) = Float::with_val_round(bits, &value, Round::Down);
        match ternary {
            // Fewer bits make every later operation cheaper, and exactness is worth more bits than asked for up to a limit.
            Ordering::Equal => Between::Exact(shorter),
            _ if value.prec() <= LARGEST => Between::Exact(value),
            _ => Between::from_down((shorter, ternary)),
        }
    }

    /// A rational number that is not zero, exactly, or enclosed at `bits` of precision.
    pub fn of_rational(value: &Rational, bits: u32) -> Between {
        // Then the number is a float of some length: exact, it needs no form.
        if value.denom().is_power_of_two() {
            return Between::Exact(Float::with_val(value.numer().significant_bits().max(prec_min()), value));
        }
        match Between::from_down(Float::with_val_round(bits, value, Round::Down)) {
            Between::Real { lo, hi, .. } => {
                Between::Real { lo, hi, what: What::Form(Rc::new(Form::constant(value.clone()))) }
            }
            exact => exact,
        }
    }

    /// The zero that is left where terms cancel: +0 if they are not zeros themselves (IEEE 754-2019 6.3).
    pub fn rest_zero(are_not_zeros: bool) -> Between {
        let low = if are_not_zeros { 0.0 } else { -0.0 };
        Between::real(Float::with_val(prec_min(), low), Float::with_val(prec_min(), 0.0))
    }

    /// The value as a linear form; `None` for what is no finite number, or has no short form.
    pub fn form(&self) -> Option<Form> {
        self.shared_form().map(Cow::into_owned)
    }

    /// [`Between::form`], where it stands if it does.
    pub fn shared_form(&self) -> Option<Cow<'_, Form>> {
        match self {
            Between::Unknown | Between::Real { what: What::Anonymous, .. } => None,
            Between::Exact(value) => Form::of_float(value).map(Cow::Owned),
            Between::Real { what: What::Atom(name), .. } => Some(Cow::Owned(Form::atom(*name))),
            Between::Real { what: What::Form(form), .. } => Some(Cow::Borrowed(form)),
        }
    }

    /// Whether its form, if it has one, is a rational number.
    pub fn is_rational(&self) -> bool {
        match self {
            Between::Exact(value) => value.is_finite(),
            Between::Real { what: What::Form(form), .. } => form.as_rational().is_some(),
            _ => false,
        }
    }

    /// Whether its form, if it has one, has no atoms: a rational number, or a combination of cosines of parts of a turn.
    pub fn is_constant(&self) -> bool {
        match self {
            Between::Exact(value) => value.is_finite(),
            Between::Real { what: What::Form(form), .. } => form.is_constant(),
            _ => false,
        }
    }

    /// Whether it has a [`Between::form`], but for numbers of too many bits.
    pub fn has_form(&self) -> bool {
        match self {
            Between::Exact(value) => value.is_finite(),
            Between::Unknown | Between::Real { what: What::Anonymous, .. } => false,
            Between::Real { .. } => true,
        }
    }

    /// Calls with the name of each atom in its form.
    pub fn for_each_atom(&self, mut function: impl FnMut(u64)) {
        match self {
            Between::Real { what: What::Atom(name), .. } => function(*name),
            Between::Real { what: What::Form(form), .. } => form.for_each_atom(function),
            _ => {}
        }
    }

    /// The same, if nothing is known of what it is, with this name.
    pub fn with_form(self, form: Option<Form>, fresh: impl FnOnce() -> u64) -> Between {
        match self {
            Between::Real { lo, hi, what: What::Anonymous } => {
                let what = form.map_or_else(|| What::Atom(fresh()), |form| What::Form(Rc::new(form)));
                Between::Real { lo, hi, what }
            }
            other => other,
        }
    }

    /// The same, if it is a real number that is not known to be rational, as the number that a form is.
    pub fn known_as(self, form: Form) -> Between {
        match self {
            Between::Real { lo, hi, what } if !matches!(&what, What::Form(form) if form.as_rational().is_some()) => {
                Between::Real { lo, hi, what: What::Form(Rc::new(form)) }
            }
            other => other,
        }
    }

    /// The ends of a number; `None` for NaN and what is unknown.
    pub fn ends(&self) -> Option<(&Float, &Float)> {
        match self {
            Between::Exact(value) if !value.is_nan() => Some((value, value)),
            Between::Real { lo, hi, .. } => Some((lo, hi)),
            _ => None,
        }
    }

    /// Whether this is NaN, for certain.
    pub fn is_nan(&self) -> bool {
        matches!(self, Between::Exact(value) if value.is_nan())
    }

    /// Whether this is exactly an infinity.
    pub fn is_infinite(&self) -> bool {
        matches!(self, Between::Exact(value) if value.is_infinite())
    }

    /// Whether -0 is not excluded; so for NaN and what is unknown.
    pub fn may_be_negative_zero(&self) -> bool {
        self.ends().is_none_or(|(lo, hi)| *lo <= 0 && *hi >= 0 && lo.is_sign_negative())
    }

    /// Whether zero is not excluded; so for NaN and what is unknown.
    pub fn may_be_zero(&self) -> bool {
        self.ends().is_none_or(|(lo, hi)| *lo <= 0 && *hi >= 0)
    }

    /// The value with its sign changed, zero included.
    pub fn negate(&self) -> Between {
        match self {
            Between::Unknown => Between::Unknown,
            Between::Exact(value) => Between::Exact(-value.clone()),
            Between::Real { lo, hi, .. } => {
                let what = self.form().map_or(What::Anonymous, |form| What::Form(Rc::new(form.negate())));
                Between::Real { lo: -hi.clone(), hi: -lo.clone(), what }
            }
        }
    }

    /// The value with +0 in the place of a zero of either sign; `None` where that changes nothing.
    pub fn with_positive_zero(&self) -> Option<Between> {
        let (lo, hi) = self.ends()?;
        if !lo.is_zero() && !hi.is_zero() || lo.is_zero() && lo.is_sign_positive() {
            return None;
        }
        let positive = |end: &Float| if end.is_zero() { end.clone().abs() } else { end.clone() };
        match (Between::real(positive(lo), positive(hi)), self) {
            (Between::Real { lo, hi, .. }, Between::Real { what, .. }) => {
                Some(Between::Real { lo, hi, what: what.clone() })
            }
            (exact, _) => Some(exact),
        }
    }

    /// The value without its sign.
    pub fn magnitude(&self) -> Between {
        match self {
            Between::Unknown => Between::Unknown,
            Between::Exact(value) => Between::Exact(value.clone().abs()),
            Between::Real { lo, .. } if lo.is_sign_positive() => self.clone(),
            Between::Real { hi, .. } if hi.is_sign_negative() => self.negate(),
            Between::Real { lo, hi, .. } => {
                let low = -lo.clone();
                Between::real(Float::with_val(2, 0), if low > *hi { low } else { hi.clone() })
            }
        }
    }

    /// -1, 1, or a zero with its sign.
    pub fn sign(&self) -> Between {
        let of = |end: &Float| if end.is_zero() { end.to_f64() } else { 1f64.copysign(end.to_f64()) };
        match self.ends() {
            None => self.clone(),
            Some((lo, hi)) => Between::real(Float::with_val(2, of(lo)), Float::with_val(2, of(hi))),
        }
    }
}

/// The hull of enclosures, as it grows.
#[derive(Default)]
pub(super) struct Corner(Option<(Float, Float)>);

impl Corner {
    /// Takes in all from `lo` to `hi`; NaN adds nothing.
    pub fn add(&mut self, lo: Float, hi: Float) {
        if lo.is_nan() || hi.is_nan() {
            return;
        }
        self.0 = Some(match self.0.take() {
            None => (lo, hi),
            // Not Float::min: it would round to the precision of its left side.
            Some((low, high)) => {
                (if is_below(&lo, &low) { lo } else { low }, if is_below(&high, &hi) { hi } else { high })
            }
        });
    }

    /// The hull; unknown if nothing was taken in.
    pub fn between(self) -> Between {
        self.0.map_or(Between::Unknown, |(lo, hi)| Between::real(lo, hi))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f64) -> Float {
        Float::with_val(f64::MANTISSA_DIGITS, value)
    }

    fn real(lo: f64, hi: f64) -> Between {
        Between::real(float(lo), float(hi))
    }

    /// The ends, with the signs of zeros.
    #[track_caller]
    fn assert_ends(of: &Between, lo: f64, hi: f64) {
        let bits = |v: f64| v.to_bits();
        let ends = of.ends().map(|(lo, hi)| (bits(lo.to_f64()), bits(hi.to_f64())));
        assert_eq!(ends, Some((bits(lo), bits(hi))), "{:?}", of.ends());
    }

    #[test]
    fn a_range_of_one_number_is_that_number() {
        assert!(matches!(real(1.0, 1.0), Between::Exact(_)) && matches!(real(-0.0, -0.0), Between::Exact(_)));
        // The two zeros are two ends.
        assert!(matches!(real(-0.0, 0.0), Between::Real { .. }) && matches!(real(0.0, -0.0), Between::Exact(_)));
        assert!(real(-0.0, 0.0).may_be_zero() && real(-1.0, 0.0).may_be_zero() && !real(1.0, 2.0).may_be_zero());
        assert!(Between::Unknown.may_be_zero() && Between::nan().may_be_zero() && !real(-2.0, -1.0).may_be_zero());
    }

    #[test]
    fn hulls_grow_on_both_sides_of_zero() {
        let hull = |parts: &[(f64, f64)]| {
            let mut corner = Corner::default();
            parts.iter().for_each(|(lo, hi)| corner.add(float(*lo), float(*hi)));
            corner.between()
        };
        assert_ends(&hull(&[(0.0, 0.0), (-3.0, 2.0)]), -3.0, 2.0);
        assert_ends(&hull(&[(-3.0, 2.0), (0.0, 0.0)]), -3.0, 2.0);
        assert_ends(&hull(&[(0.0, 0.0), (-3.0, -2.0)]), -3.0, 0.0);
        assert_ends(&hull(&[(0.0, 0.0), (-0.0, -0.0)]), -0.0, 0.0);
        assert_ends(&hull(&[(f64::NAN, 9.0), (0.0, 0.0), (2.0, 3.0)]), 0.0, 3.0);
        assert!(matches!(hull(&[]), Between::Unknown) && matches!(hull(&[(0.0, 0.0)]), Between::Exact(_)));
    }

    #[test]
    fn magnitudes_fold_at_zero() {
        assert_ends(&real(1.0, 2.0).magnitude(), 1.0, 2.0);
        assert_ends(&real(-2.0, -1.0).magnitude(), 1.0, 2.0);
        assert_ends(&real(-2.0, 1.0).magnitude(), 0.0, 2.0);
        assert_ends(&real(-1.0, 2.0).magnitude(), 0.0, 2.0);
        assert_ends(&real(-0.0, 2.0).magnitude(), 0.0, 2.0);
        assert_ends(&real(0.0, 2.0).magnitude(), 0.0, 2.0);
        assert_ends(&real(-2.0, -0.0).magnitude(), 0.0, 2.0);
        assert_ends(&real(-2.0, 0.0).magnitude(), 0.0, 2.0);
        assert_ends(&Between::exact(-0.0).magnitude(), 0.0, 0.0);
        assert!(matches!(Between::Unknown.magnitude(), Between::Unknown) && Between::nan().magnitude().is_nan());
    }

    #[test]
    fn signs_are_those_of_the_ends() {
        assert_ends(&real(-3.0, 4.0).sign(), -1.0, 1.0);
        assert_ends(&real(2.0, 4.0).sign(), 1.0, 1.0);
        assert_ends(&real(-0.0, 4.0).sign(), -0.0, 1.0);
        assert_ends(&Between::exact(-0.0).sign(), -0.0, -0.0);
        assert!(matches!(Between::Unknown.sign(), Between::Unknown) && Between::nan().sign().is_nan());
    }

    #[test]
    fn exact_numbers_stay_so_while_they_are_short() {
        let long = Float::with_val(200, 1) + Float::with_val(200, Float::i_exp(1, -150));
        assert!(matches!(Between::of_exact(long.clone(), 53), Between::Exact(value) if value == long));
        let Between::Exact(short) = Between::of_exact(Float::with_val(200, 3), 24) else { panic!("3 is a number") };
        assert_eq!(short.prec(), 24);
        let longest =
            Float::with_val(LARGEST + 1, 1) + Float::with_val(LARGEST + 1, Float::i_exp(1, -(LARGEST as i32)));
        assert_ends(&Between::of_exact(longest, 53), 1.0, 1.0 + f64::EPSILON);
    }

    #[test]
    fn hulls_keep_both_ends_whole() {
        let mut corner = Corner::default();
        // At two bits the ends would round to others.
        corner.add(Float::with_val(2, 1), Float::with_val(2, 1));
        corner.add(float(1.0 - f64::EPSILON), float(1.0 + f64::EPSILON));
        corner.add(float(f64::NAN), float(9.0));
        corner.add(float(-9.0), float(f64::NAN));
        assert_ends(&corner.between(), 1.0 - f64::EPSILON, 1.0 + f64::EPSILON);
        let mut zeros = Corner::default();
        zeros.add(float(0.0), float(-0.0));
        zeros.add(float(-0.0), float(0.0));
        assert_ends(&zeros.between(), -0.0, 0.0);
        assert!(matches!(Corner::default().between(), Between::Unknown));
    }
}
