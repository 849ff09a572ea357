//! Linear forms: combinations of numbers of which nothing more is known than an enclosure.
//!
//! A number that a function makes is an atom. Sums, differences and rational multiples of atoms are known as such, as
//! long as they stay short. So a sum that cancels is exactly zero: a value less itself, or a constant row less its
//! mean.
//! No enclosure shows that. A form without atoms is a rational number: equal quotients tie.
//!
//! Of cosines of rational parts of a turn, which Fourier transforms multiply with, more is known: their products are
//! sums of such cosines, and it is known whether a combination of them is rational ([`turn`](super::turn)). They may be
//! a factor of an atom. A form of cosines alone that is a rational number is held as that number.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::BTreeMap;

use rug::float::Round;
use rug::{Float, Integer, Rational};

use super::turn::{Cosine, Turn, rational};

/// The most bits of a coefficient, numerator and denominator together. Sums of quotients grow by their denominators;
/// beyond this, an enclosure has to do.
pub(super) const LARGEST: u32 = 4096;
/// The most atoms in a form.
pub(super) const MOST_TERMS: usize = 32;
/// The most terms with cosines: a transform of a few thousand elements has as many.
const MOST_COSINES: usize = 4096;

/// The factor of a coefficient: an atom, a cosine, or the product of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Monomial {
    atom: Option<u64>,
    cosine: Option<Turn>,
}

impl Monomial {
    const ONE: Monomial = Monomial { atom: None, cosine: None };
}

/// All that a form is, to be looked up by: equal for equal forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(Box<[(Monomial, Rational)]>);

/// A number: `constant + sum of coefficient * monomial`. No coefficient is zero, and no monomial one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    constant: Rational,
    terms: BTreeMap<Monomial, Rational>,
}

impl Form {
    /// The form of a rational number.
    pub fn constant(constant: Rational) -> Form {
        Form { constant, terms: BTreeMap::new() }
    }

    /// The form of the atom with this name.
    pub fn atom(name: u64) -> Form {
        let atom = Monomial { atom: Some(name), cosine: None };
        Form { constant: Rational::new(), terms: BTreeMap::from([(atom, Rational::from(1))]) }
    }

    /// A multiple of the cosine of a part of a turn.
    pub fn cosine(turn: Turn, factor: i32) -> Form {
        let cosine = Monomial { atom: None, cosine: Some(turn) };
        let mut form = Form::default();
        form.put(cosine, Rational::from(factor));
        form
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

    /// Whether it has no atoms.
    pub fn is_constant(&self) -> bool {
        self.terms.keys().all(|monomial| monomial.atom.is_none())
    }

    /// Calls with the name of each atom in it.
    pub fn for_each_atom(&self, function: impl FnMut(u64)) {
        self.terms.keys().filter_map(|monomial| monomial.atom).for_each(function);
    }

    /// Adds a multiple of a monomial.
    fn put(&mut self, monomial: Monomial, coefficient: Rational) {
        if monomial == Monomial::ONE {
            self.constant += coefficient;
            return;
        }
        let own = self.terms.entry(monomial).or_default();
        *own += coefficient;
        if own.is_zero() {
            self.terms.remove(&monomial);
        }
    }

    /// The form, if it is short.
    fn short(self) -> Option<Form> {
        let all = self.is_few() && is_short(&self.constant) && self.terms.values().all(is_short);
        all.then_some(self)
    }

    /// Whether it has few enough terms.
    fn is_few(&self) -> bool {
        let atoms = || self.terms.range(Monomial { atom: Some(0), cosine: None }..);
        let plain = || atoms().filter(|(monomial, _)| monomial.cosine.is_none()).count();
        self.terms.len() <= MOST_TERMS || self.terms.len() <= MOST_COSINES && plain() <= MOST_TERMS
    }

    /// The same number, where all cosines beside one atom, or beside none, are a rational number: with that in their place.
    fn settled(mut self) -> Form {
        if self.terms.keys().all(|monomial| monomial.cosine.is_none()) {
            return self;
        }
        let mut atoms: Vec<Option<u64>> = self.terms.keys().map(|monomial| monomial.atom).collect();
        atoms.dedup();
        for atom in atoms {
            let first = Monomial { atom, cosine: None };
            let own = self.terms.range(first..).take_while(|(monomial, _)| monomial.atom == atom);
            let cosines = own.filter_map(|(monomial, coefficient)| Some((monomial.cosine?, coefficient)));
            let Some(value) = rational(cosines) else { continue };
            self.terms.retain(|monomial, _| monomial.atom != atom || monomial.cosine.is_none());
            self.put(first, value);
        }
        self
    }

    /// The sum of this and a multiple of another.
    fn plus(mut self, other: &Form, factor: i32) -> Option<Form> {
        self.constant += Rational::from(&other.constant * factor);
        for (monomial, coefficient) in &other.terms {
            self.put(*monomial, Rational::from(coefficient * factor));
        }
        self.settled().short()
    }

    /// The sum; `None` if it is not short.
    pub fn add(self, other: &Form) -> Option<Form> {
        self.plus(other, 1)
    }

    /// The sum of some forms; `None` where one is missing, or something on the way is not short.
    pub fn sum(mut forms: impl Iterator<Item = Option<Form>>) -> Option<Form> {
        let one = Rational::from(1);
        let sum = forms.try_fold(Form::default(), |mut sum, form| {
            sum.add_multiple(&form?, &one)?;
            Some(sum)
        });
        sum.map(Form::settled)
    }

    /// The sum of products; `None` where a product has two atoms, or something on the way is not short.
    pub fn of_products<F: Borrow<Form>>(products: impl Iterator<Item = (F, F)>) -> Option<Form> {
        let (mut sum, mut products) = (Form::default(), products.peekable());
        while let Some((x, y)) = products.next() {
            let x = x.borrow();
            if x.as_rational().is_some_and(Rational::is_zero) {
                continue;
            }
            // Neighbours with a factor in common, as a transform of equal elements has, are one product.
            let Some((_, other)) = products.next_if(|(next, _)| next.borrow() == x) else {
                sum.add_product(x, y.borrow())?;
                continue;
            };
            let (mut of_run, one) = (y.borrow().clone(), Rational::from(1));
            of_run.add_multiple(other.borrow(), &one)?;
            while let Some((_, other)) = products.next_if(|(next, _)| next.borrow() == x) {
                of_run.add_multiple(other.borrow(), &one)?;
            }
            sum.add_product(x, &of_run.settled())?;
        }
        Some(sum.settled())
    }

    /// Adds a product; `None` where it has two atoms, or something on the way is not short.
    fn add_product(&mut self, x: &Form, y: &Form) -> Option<()> {
        match (x.as_rational(), y.as_rational()) {
            (Some(factor), _) => self.add_multiple(y, factor),
            (_, Some(factor)) => self.add_multiple(x, factor),
            _ => self.add_multiple(&x.times_constant(y)?, &Rational::from(1)),
        }
    }

    /// Adds a multiple of a short form to a short one; `None` where either the multiple or the sum is not short.
    fn add_multiple(&mut self, other: &Form, factor: &Rational) -> Option<()> {
        if factor.is_zero() {
            return Some(());
        }
        let add = |own: &mut Rational, more: &Rational| {
            let multiple = Rational::from(more * factor);
            let is_enough = is_short(&multiple);
            *own += multiple;
            (is_enough && is_short(own)).then_some(())
        };
        if !other.constant.is_zero() {
            add(&mut self.constant, &other.constant)?;
        }
        for (monomial, coefficient) in &other.terms {
            let own = self.terms.entry(*monomial).or_default();
            add(own, coefficient)?;
            if own.is_zero() {
                self.terms.remove(monomial);
            }
        }
        self.is_few().then_some(())
    }

    /// The difference; `None` if it is not short.
    pub fn subtract(self, other: &Form) -> Option<Form> {
        self.plus(other, -1)
    }

    /// The product, if a factor has no atoms and the product is short.
    pub fn multiply(&self, other: &Form) -> Option<Form> {
        match (self.as_rational(), other.as_rational()) {
            (Some(factor), _) => other.times(factor),
            (_, Some(factor)) => self.times(factor),
            _ => self.times_constant(other).map(Form::settled),
        }
    }

    /// The product with a rational number; `None` if it is not short.
    fn times(&self, factor: &Rational) -> Option<Form> {
        if factor.is_zero() {
            return Some(Form::default());
        }
        let scaled = |value: &Rational| Rational::from(value * factor);
        let terms = self.terms.iter().map(|(monomial, coefficient)| (*monomial, scaled(coefficient))).collect();
        Form { constant: scaled(&self.constant), terms }.short()
    }

    /// The product, if a factor has no atoms and the product is short, its cosines as they come.
    fn times_constant(&self, other: &Form) -> Option<Form> {
        let is_small = self.terms.len().saturating_mul(other.terms.len()) <= MOST_COSINES;
        if !is_small || !self.is_constant() && !other.is_constant() {
            return None;
        }
        let mut product = Form::default();
        for (x, a) in self.all() {
            for (y, b) in other.all() {
                let atom = x.atom.or(y.atom);
                let coefficient = Rational::from(a * b);
                let (Some(t), Some(u)) = (x.cosine, y.cosine) else {
                    product.put(Monomial { atom, cosine: x.cosine.or(y.cosine) }, coefficient);
                    continue;
                };
                for cosine in t.twice_product(u)? {
                    let (cosine, factor) = match cosine {
                        Cosine::Halves(halves) => (None, Rational::from((halves, 4))),
                        Cosine::Of { turn, is_negative } => {
                            (Some(turn), Rational::from((if is_negative { -1 } else { 1 }, 2)))
                        }
                    };
                    product.put(Monomial { atom, cosine }, factor * &coefficient);
                }
            }
        }
        product.short()
    }

    /// All monomials with their coefficients, the constant as one of them.
    fn all(&self) -> impl Iterator<Item = (Monomial, &Rational)> {
        let constant = (Monomial::ONE, &self.constant);
        std::iter::once(constant).chain(self.terms.iter().map(|(monomial, coefficient)| (*monomial, coefficient)))
    }

    /// The quotient, if the divisor is rational, or a rational multiple of this, and the quotient is short. The divisor
    /// is not zero.
    pub fn divide(&self, divisor: &Form) -> Option<Form> {
        if let Some(divisor) = divisor.as_rational() {
            return if divisor.is_zero() { None } else { self.times(&Rational::from(divisor.recip_ref())) };
        }
        let (monomial, coefficient) = divisor.terms.first_key_value()?;
        let factor = Rational::from(self.terms.get(monomial)? / coefficient);
        (divisor.times(&factor)? == *self).then(|| Form::constant(factor))
    }

    /// The key to look it up by.
    pub fn key(&self) -> Key {
        Key(self.all().map(|(monomial, coefficient)| (monomial, coefficient.clone())).collect())
    }

    /// Whether the coefficient of its first monomial, or the constant of a form without one, is negative.
    pub fn is_led_by_negative(&self) -> bool {
        *self.terms.values().next().unwrap_or(&self.constant) < 0
    }

    /// The form with all signs changed.
    pub fn negate(&self) -> Form {
        let terms =
            self.terms.iter().map(|(monomial, coefficient)| (*monomial, Rational::from(-coefficient))).collect();
        Form { constant: Rational::from(-&self.constant), terms }
    }
}

fn is_short(value: &Rational) -> bool {
    size(value) <= LARGEST
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
