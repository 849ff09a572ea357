//! Linear forms: rational combinations of numbers of which nothing more is known than an enclosure.
//!
//! A number that a function makes is an atom. Sums, differences and rational multiples of atoms are known as such, as
//! long as they stay short, and so what cancels is exactly zero: a value less itself, or a constant row less its mean.
//! No enclosure shows that. A form without atoms is a rational number: equal quotients tie.

use std::collections::BTreeMap;

use rug::float::Round;
use rug::{Float, Integer, Rational};

/// The most bits of a coefficient, numerator and denominator together. Sums of quotients grow by their denominators;
/// beyond this, an enclosure has to do.
pub(super) const LARGEST: u32 = 4096;
/// The most atoms in a form.
pub(super) const MOST_TERMS: usize = 32;

/// A number: `constant + sum of coefficient * atom`. No coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    constant: Rational,
    terms: BTreeMap<u64, Rational>,
}

impl Form {
    /// The form of a rational number.
    pub fn constant(constant: Rational) -> Form {
        Form { constant, terms: BTreeMap::new() }
    }

    /// The form of the atom with this name.
    pub fn atom(name: u64) -> Form {
        Form { constant: Rational::new(), terms: BTreeMap::from([(name, Rational::from(1))]) }
    }

    /// A finite number; `None` where it takes too many bits.
    pub fn of_float(value: &Float) -> Option<Form> {
        let reach = value.get_exp().unwrap_or(0).unsigned_abs().saturating_add(value.prec());
        if reach > LARGEST { None } else { value.to_rational().map(Form::constant) }
    }

    /// The number, if it is known to be rational.
    pub fn as_rational(&self) -> Option<&Rational> {
        self.terms.is_empty().then_some(&self.constant)
    }

    /// Calls with the name of each atom in it.
    pub fn for_each_atom(&self, function: impl FnMut(u64)) {
        self.terms.keys().copied().for_each(function);
    }

    /// The form, if it is short.
    fn short(self) -> Option<Form> {
        let is_short = |value: &Rational| size(value) <= LARGEST;
        let all = self.terms.len() <= MOST_TERMS && is_short(&self.constant) && self.terms.values().all(is_short);
        all.then_some(self)
    }

    /// The sum of this and a multiple of another.
    fn plus(mut self, other: &Form, factor: i32) -> Option<Form> {
        self.constant += Rational::from(&other.constant * factor);
        for (atom, coefficient) in &other.terms {
            let own = self.terms.entry(*atom).or_default();
            *own += Rational::from(coefficient * factor);
            if own.is_zero() {
                self.terms.remove(atom);
            }
        }
        self.short()
    }

    /// The product with a rational number; `None` if it is not short.
    fn times(&self, factor: &Rational) -> Option<Form> {
        if factor.is_zero() {
            return Some(Form::default());
        }
        let scaled = |value: &Rational| Rational::from(value * factor);
        let terms = self.terms.iter().map(|(atom, coefficient)| (*atom, scaled(coefficient))).collect();
        Form { constant: scaled(&self.constant), terms }.short()
    }

    /// The sum; `None` if it is not short.
    pub fn add(self, other: &Form) -> Option<Form> {
        self.plus(other, 1)
    }

    /// The sum of products; `None` where a product has no rational factor, or something on the way is not short.
    pub fn of_products<'a>(products: impl Iterator<Item = (&'a Form, &'a Form)>) -> Option<Form> {
        let mut sum = Form::default();
        for (x, y) in products {
            match (x.as_rational(), y.as_rational()) {
                (Some(factor), _) => sum.add_multiple(y, factor)?,
                (_, Some(factor)) => sum.add_multiple(x, factor)?,
                _ => return None,
            }
        }
        Some(sum)
    }

    /// Adds a multiple of a short form to a short one; `None` where either the multiple or the sum is not short.
    fn add_multiple(&mut self, other: &Form, factor: &Rational) -> Option<()> {
        if factor.is_zero() {
            return Some(());
        }
        let add = |own: &mut Rational, more: &Rational| {
            let multiple = Rational::from(more * factor);
            let is_short = size(&multiple) <= LARGEST;
            *own += multiple;
            (is_short && size(own) <= LARGEST).then_some(())
        };
        add(&mut self.constant, &other.constant)?;
        for (atom, coefficient) in &other.terms {
            let own = self.terms.entry(*atom).or_default();
            add(own, coefficient)?;
            if own.is_zero() {
                self.terms.remove(atom);
            }
        }
        (self.terms.len() <= MOST_TERMS).then_some(())
    }

    /// The difference; `None` if it is not short.
    pub fn subtract(self, other: &Form) -> Option<Form> {
        self.plus(other, -1)
    }

    /// The product, if a factor is rational and the product short.
    pub fn multiply(&self, other: &Form) -> Option<Form> {
        match (self.as_rational(), other.as_rational()) {
            (Some(factor), _) => other.times(factor),
            (_, Some(factor)) => self.times(factor),
            _ => None,
        }
    }

    /// The quotient, if the divisor is rational, or a rational multiple of this, and the quotient is short. The divisor
    /// is not zero.
    pub fn divide(&self, divisor: &Form) -> Option<Form> {
        if let Some(divisor) = divisor.as_rational() {
            return if divisor.is_zero() { None } else { self.times(&Rational::from(divisor.recip_ref())) };
        }
        let (atom, coefficient) = divisor.terms.first_key_value()?;
        let factor = Rational::from(self.terms.get(atom)? / coefficient);
        (divisor.times(&factor)? == *self).then(|| Form::constant(factor))
    }

    /// The form with all signs changed.
    pub fn negate(&self) -> Form {
        let terms = self.terms.iter().map(|(atom, coefficient)| (*atom, Rational::from(-coefficient))).collect();
        Form { constant: Rational::from(-&self.constant), terms }
    }
}

/// Bits of numerator and denominator together.
fn size(value: &Rational) -> u32 {
    value.numer().significant_bits().saturating_add(value.denom().significant_bits())
}

/// The square root, if it is rational.
pub(super) fn root(value: &Rational) -> Option<Rational> {
    let squares = *value > 0 && value.numer().is_perfect_square() && value.denom().is_perfect_square();
    squares.then(|| Rational::from((value.numer().clone().sqrt(), value.denom().clone().sqrt())))
}

/// The value of a number without its fraction, saturated.
pub(super) fn saturate(value: &Float) -> i128 {
    let beyond = if value.is_sign_negative() { i128::MIN } else { i128::MAX };
    // An integer of more bits is not worth making.
    if value.get_exp().is_some_and(|exponent| exponent > i128::BITS as i32) {
        return beyond;
    }
    let integer = |(integer, _): (Integer, _)| integer.to_i128().unwrap_or(beyond);
    value.to_integer_round(Round::Zero).map_or(beyond, integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(numerator: i32, denominator: i32) -> Form {
        Form::constant(Rational::from((numerator, denominator)))
    }

    /// `constant + coefficient * atom 1`.
    fn form(constant: i32, coefficient: i32) -> Form {
        Form::atom(1).multiply(&number(coefficient, 1)).unwrap().add(&number(constant, 1)).unwrap()
    }

    #[test]
    fn atoms_are_told_apart() {
        let (a, b) = (Form::atom(1), Form::atom(2));
        let both = a.clone().add(&b).unwrap();
        assert_eq!(both.clone().subtract(&b), Some(a.clone()));
        assert_eq!(both.clone().add(&both).unwrap().divide(&both), Some(number(2, 1)));
        assert_eq!((both.divide(&a), a.divide(&both), a.multiply(&b)), (None, None, None));
    }

    #[test]
    fn forms_stay_short() {
        let mut sum = Form::default();
        for atom in 0..MOST_TERMS as u64 {
            sum = sum.add(&Form::atom(atom)).unwrap();
        }
        assert_eq!(sum.add(&Form::atom(99)), None);
        let huge = Rational::from(Integer::from(1) << LARGEST);
        assert_eq!(Form::atom(0).multiply(&Form::constant(huge)), None);
    }

    /// As the sum of the products one by one, short or not.
    #[test]
    fn sums_of_products_are_those_of_their_terms() {
        let wide = Rational::from(Integer::from(1) << (LARGEST / 2));
        let factors = [number(2, 3), number(0, 1), number(-2, 3), Form::constant(wide), number(5, 7)];
        let others = [form(3, 2), form(7, 1), form(1, 2), Form::atom(9), number(1, 3)];
        let all = || factors.iter().flat_map(|x| others.iter().map(move |y| (x, y)));
        let mut short = 0;
        for (a, b) in all() {
            for (c, d) in all() {
                let products = [(a, b), (d, c)];
                let one_by_one = a.multiply(b).zip(d.multiply(c)).and_then(|(x, y)| x.add(&y));
                assert_eq!(Form::of_products(products.into_iter()), one_by_one, "{products:?}");
                short += usize::from(one_by_one.is_some());
            }
        }
        assert!(short > 100, "{short}");
        let atoms: Vec<Form> = (0..=MOST_TERMS as u64).map(Form::atom).collect();
        let one = number(1, 1);
        assert_eq!(Form::of_products(atoms.iter().map(|atom| (atom, &one))), None);
        assert!(Form::of_products(atoms[1..].iter().map(|atom| (atom, &one))).is_some());
        assert_eq!(Form::of_products([(&atoms[0], &atoms[1])].into_iter()), None);
    }

    #[test]
    fn what_cancels_is_gone() {
        let x = form(3, 2);
        assert_eq!(x.clone().subtract(&x).unwrap().as_rational(), Some(&Rational::new()));
        assert_eq!(x.clone().add(&x.negate()).unwrap(), number(0, 1));
        assert_eq!(x.negate(), form(-3, -2));
        assert_eq!(x.clone().subtract(&form(1, 5)).unwrap(), form(2, -3));
        assert_eq!(x.as_rational(), None);
    }

    #[test]
    fn products_need_a_rational_factor() {
        let x = form(3, 2);
        assert_eq!(x.multiply(&number(2, 1)), Some(form(6, 4)));
        assert_eq!(number(2, 1).multiply(&x), Some(form(6, 4)));
        assert_eq!(x.multiply(&number(0, 1)), Some(number(0, 1)));
        assert_eq!(x.multiply(&x), None);
    }

    #[test]
    fn quotients_of_multiples_are_rational() {
        let x = form(3, 2);
        assert_eq!(x.divide(&number(2, 1)), x.multiply(&number(1, 2)));
        assert_eq!(form(9, 6).divide(&x), Some(number(3, 1)));
        assert_eq!(x.divide(&form(9, 6)), Some(number(1, 3)));
        assert_eq!(form(9, 5).divide(&x), None);
        assert_eq!((x.divide(&number(0, 1)), number(1, 1).divide(&x)), (None, None));
    }

    #[test]
    fn roots_of_squares_are_rational() {
        assert_eq!(root(&Rational::from((9, 4))), Some(Rational::from((3, 2))));
        for (numerator, denominator) in [(8, 4), (9, 5), (2, 9), (-9, 4), (0, 1)] {
            assert_eq!(root(&Rational::from((numerator, denominator))), None, "{numerator} / {denominator}");
        }
    }

    #[test]
    fn numbers_of_too_many_bits_have_no_form() {
        let power = |exponent: i32| Float::with_val(53, Float::i_exp(1, exponent));
        // Reach and precision together: 2^4042 has the exponent 4043.
        assert!(Form::of_float(&power(4042)).is_some() && Form::of_float(&power(4043)).is_none());
        assert!(Form::of_float(&power(-4044)).is_some() && Form::of_float(&power(-4045)).is_none());
        assert!(Form::of_float(&Float::with_val(53, f64::NAN)).is_none());
    }

    #[test]
    fn integers_saturate() {
        let of = |value: f64| saturate(&Float::with_val(53, value));
        assert_eq!((of(2.9), of(-2.9), of(-0.0), of(1e30)), (2, -2, 0, 1e30 as i128));
        assert_eq!((of(2f64.powi(126)), of(2f64.powi(127)), of(-(2f64.powi(127)))), (1 << 126, i128::MAX, i128::MIN));
        assert_eq!((of(1e300), of(-1e300), of(f64::INFINITY)), (i128::MAX, i128::MIN, i128::MAX));
    }
}
