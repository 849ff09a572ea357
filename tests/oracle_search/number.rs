//! Numbers of the judge: NaN, infinities and signed zeros in the open, and nonzero reals as exact polynomials.
//!
//! A real is a sum of rational multiples of monomials over *atoms*: reals that have no rational value, each known by
//! the function and the exact arguments that made it. So what cancels exactly does so here whatever the precision, and
//! an enclosure by MPFR, outward rounded, tells the sign of what is left.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use rug::float::Round;
use rug::{Float, Integer, Rational};

/// The value of an element.
#[derive(Clone, Debug)]
pub enum Num {
    Nan(Nan),
    Inf {
        neg: bool,
    },
    /// `None`: a zero whose sign depends on what is not known.
    Zero {
        neg: Option<bool>,
    },
    Real(Rc<Real>),
    /// Nothing is known, not even whether it is a number; and why.
    Unknown(&'static str),
}

/// The bits of a NaN, as far as they have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nan {
    pub neg: Option<bool>,
    /// The fraction field; `None` after a conversion between formats.
    pub payload: Option<u64>,
}

/// A real number.
#[derive(Debug)]
pub struct Real {
    pub poly: Poly,
    pub range: Range,
    /// Whether it is proven not to be zero.
    pub nonzero: bool,
}

/// Atoms with exponents, ascending.
type Monomial = Vec<(u32, i32)>;
/// Monomials with nonzero coefficients, ascending.
pub type Poly = Vec<(Monomial, Rational)>;

/// A real lies between the two; an infinite end stands for what is beyond MPFR's range.
#[derive(Clone, Debug)]
pub struct Range {
    pub lo: Float,
    pub hi: Float,
}

/// The function that made an atom: two of one name and one argument are one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Made {
    Abs,
    Arctangent,
    Cbrt,
    Cosine,
    Erf,
    Exp,
    ExpMinusOne,
    Larger,
    Log,
    LogPlusOne,
    Logistic,
    Pi,
    Product,
    Reciprocal,
    Sine,
    Smaller,
    Sqrt,
    Sum,
    Tanh,
}

/// More monomials than this become an atom.
pub const TERMS: usize = 24;
/// Rationals of more bits become an atom.
const RATIONAL_BITS: u32 = 1 << 15;

/// All that was computed at one precision.
pub struct World {
    pub bits: u32,
    atoms: Vec<Atom>,
    known: HashMap<(Made, Vec<Poly>), u32>,
}

/// A real without a rational value.
#[derive(Clone)]
struct Atom {
    made: Made,
    arguments: Vec<Poly>,
    range: Range,
    nonzero: bool,
}

pub const NAN: Num = Num::Nan(Nan { neg: Some(false), payload: None });

impl Num {
    pub fn zero(neg: bool) -> Num {
        Num::Zero { neg: Some(neg) }
    }

    /// Whether it is negative (a zero or infinity of negative sign is), as far as that is known.
    pub fn is_negative(&self) -> Option<bool> {
        match self {
            Num::Inf { neg } => Some(*neg),
            Num::Zero { neg } => *neg,
            Num::Real(real) => real.is_negative(),
            Num::Nan(_) | Num::Unknown(_) => None,
        }
    }

    pub fn is_known_nonzero(&self) -> bool {
        matches!(self, Num::Real(real) if real.nonzero)
    }
}

impl Real {
    /// The value, if it is rational.
    pub fn rational(&self) -> Option<&Rational> {
        rational(&self.poly)
    }

    /// The sign of a real that is not zero.
    pub fn is_negative(&self) -> Option<bool> {
        if self.range.lo > 0 || self.nonzero && self.range.lo.is_zero() {
            Some(false)
        } else if self.range.hi < 0 || self.nonzero && self.range.hi.is_zero() {
            Some(true)
        } else {
            None
        }
    }
}

impl Range {
    pub fn new(lo: Float, hi: Float) -> Range {
        debug_assert!(lo <= hi, "{lo} {hi}");
        Range { lo, hi }
    }

    pub fn negated(self) -> Range {
        Range { lo: -self.hi, hi: -self.lo }
    }

    fn excludes_zero(&self) -> bool {
        self.lo > 0 || self.hi < 0
    }

    fn plus(&self, other: &Range, bits: u32) -> Range {
        Range::new(down(bits, &self.lo + &other.lo), up(bits, &self.hi + &other.hi))
    }

    pub fn times(&self, other: &Range, bits: u32) -> Range {
        let (mut lo, mut hi) = (Float::with_val(bits, f64::INFINITY), Float::with_val(bits, f64::NEG_INFINITY));
        for a in [&self.lo, &self.hi] {
            for b in [&other.lo, &other.hi] {
                // An infinite end is a real beyond the range: zero times it is zero.
                let is_zero = a.is_zero() || b.is_zero();
                let (below, above) = match is_zero {
                    true => (Float::new(bits), Float::new(bits)),
                    false => (down(bits, a * b), up(bits, a * b)),
                };
                lo = lo.min(&below);
                hi = hi.max(&above);
            }
        }
        Range::new(lo, hi)
    }

    /// One over a real that is not zero.
    pub fn inverted(&self, bits: u32) -> Range {
        if self.hi <= 0 {
            return self.clone().negated().inverted(bits).negated();
        }
        if self.lo < 0 {
            let infinite = |v: f64| Float::with_val(bits, v);
            return Range::new(infinite(f64::NEG_INFINITY), infinite(f64::INFINITY));
        }
        // A lower end may be a zero of either sign, whose inverse here is +inf.
        let hi = match self.lo.is_zero() {
            true => Float::with_val(bits, f64::INFINITY),
            false => up(bits, self.lo.recip_ref()),
        };
        Range::new(down(bits, self.hi.recip_ref()), hi)
    }

    pub fn hull(&self, other: &Range) -> Range {
        let lo = if self.lo < other.lo { &self.lo } else { &other.lo };
        let hi = if self.hi > other.hi { &self.hi } else { &other.hi };
        Range::new(lo.clone(), hi.clone())
    }
}

pub fn down<T>(bits: u32, value: T) -> Float
where
    Float: rug::ops::AssignRound<T, Round = Round, Ordering = Ordering>,
{
    Float::with_val_round(bits, value, Round::Down).0
}

pub fn up<T>(bits: u32, value: T) -> Float
where
    Float: rug::ops::AssignRound<T, Round = Round, Ordering = Ordering>,
{
    Float::with_val_round(bits, value, Round::Up).0
}

/// The value of a polynomial without atoms.
fn rational(poly: &Poly) -> Option<&Rational> {
    match poly.as_slice() {
        [(monomial, value)] if monomial.is_empty() => Some(value),
        _ => None,
    }
}

pub fn sum(a: &Poly, b: &Poly) -> Poly {
    let mut terms = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return terms,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((x, _)), Some((y, _))) => x.cmp(y),
        };
        match order {
            Ordering::Less => terms.extend(a.next().cloned()),
            Ordering::Greater => terms.extend(b.next().cloned()),
            Ordering::Equal => {
                if let (Some((monomial, x)), Some((_, y))) = (a.next(), b.next()) {
                    let total = Rational::from(x + y);
                    if total != 0 {
                        terms.push((monomial.clone(), total));
                    }
                }
            }
        }
    }
}

fn product_of_monomials(a: &Monomial, b: &Monomial) -> Monomial {
    let mut all: Monomial = Vec::with_capacity(a.len() + b.len());
    for (atom, exponent) in a.iter().chain(b) {
        match all.iter_mut().find(|(known, _)| known == atom) {
            Some((_, total)) => *total += exponent,
            None => all.push((*atom, *exponent)),
        }
    }
    all.retain(|(_, exponent)| *exponent != 0);
    all.sort_unstable();
    all
}

pub fn product(a: &Poly, b: &Poly) -> Poly {
    let mut terms: Poly = Vec::new();
    for (x, p) in a {
        let mut row: Poly = b.iter().map(|(y, q)| (product_of_monomials(x, y), Rational::from(p * q))).collect();
        row.sort_by(|a, b| a.0.cmp(&b.0));
        terms = sum(&terms, &row);
    }
    terms
}

impl World {
    pub fn new(bits: u32) -> World {
        World { bits, atoms: Vec::new(), known: HashMap::new() }
    }

    /// A rational; zero is +0.
    pub fn number(&mut self, value: Rational) -> Num {
        if value == 0 { Num::zero(false) } else { self.real(vec![(Vec::new(), value)], true) }
    }

    pub fn integer(&mut self, value: i128) -> Num {
        self.number(Rational::from(Integer::from(value)))
    }

    /// The number that a polynomial stands for; `nonzero` if that is known of it. The zero polynomial is +0.
    pub fn real(&mut self, poly: Poly, nonzero: bool) -> Num {
        if poly.is_empty() {
            return Num::zero(false);
        }
        let range = self.enclose(&poly);
        let nonzero = nonzero || range.excludes_zero() || rational(&poly).is_some();
        let too_long = rational(&poly)
            .is_some_and(|r| r.numer().significant_bits() + r.denom().significant_bits() > RATIONAL_BITS);
        if poly.len() > TERMS || too_long {
            return self.atom(Made::Sum, vec![poly], nonzero, |_, _| range);
        }
        Num::Real(Rc::new(Real { poly, range, nonzero }))
    }

    /// The value of `made` for exact arguments; `range` encloses it, when it is asked for.
    pub fn atom(
        &mut self,
        made: Made,
        arguments: Vec<Poly>,
        nonzero: bool,
        range: impl FnOnce(&World, &[Poly]) -> Range,
    ) -> Num {
        let key = (made, arguments);
        let id = match self.known.get(&key) {
            Some(id) => *id,
            None => {
                let range = range(self, &key.1);
                let id = self.atoms.len() as u32;
                let nonzero = nonzero || range.excludes_zero();
                self.atoms.push(Atom { made, arguments: key.1.clone(), range, nonzero });
                self.known.insert(key, id);
                id
            }
        };
        let Atom { range, nonzero, .. } = self.atoms[id as usize].clone();
        Num::Real(Rc::new(Real { poly: vec![(vec![(id, 1)], Rational::from(1))], range, nonzero }))
    }

    /// The argument of exp, of a product of its values.
    pub fn exponent(&mut self, poly: &Poly) -> Option<Num> {
        let [(monomial, coefficient)] = poly.as_slice() else { return None };
        if monomial.is_empty() || *coefficient != 1 {
            return None;
        }
        let mut total = Poly::new();
        for (atom, exponent) in monomial {
            let Atom { made: Made::Exp, arguments, .. } = &self.atoms[*atom as usize] else { return None };
            let scaled = arguments[0].iter().map(|(m, c)| (m.clone(), Rational::from(c * *exponent))).collect();
            total = sum(&total, &scaled);
        }
        Some(self.real(total, false))
    }

    /// An enclosure of a rational; exact if it is a binary fraction.
    pub fn enclose_rational(&self, value: &Rational) -> Range {
        if value.denom().is_power_of_two() {
            let exact = Float::with_val(value.numer().significant_bits().max(2), value);
            return Range::new(exact.clone(), exact);
        }
        let bits = self.bits + 64;
        Range::new(down(bits, value), up(bits, value))
    }

    pub fn enclose(&self, poly: &Poly) -> Range {
        if let Some(value) = rational(poly) {
            return self.enclose_rational(value);
        }
        let bits = self.bits;
        let mut total: Option<Range> = None;
        for (monomial, coefficient) in poly {
            let mut term = Range::new(down(bits, coefficient), up(bits, coefficient));
            for (atom, exponent) in monomial {
                let Atom { range, .. } = &self.atoms[*atom as usize];
                let range = if *exponent < 0 { range.inverted(bits) } else { range.clone() };
                for _ in 0..exponent.unsigned_abs() {
                    term = term.times(&range, bits);
                }
            }
            total = Some(total.map_or(term.clone(), |total| total.plus(&term, bits)));
        }
        total.unwrap_or_else(|| Range::new(Float::new(bits), Float::new(bits)))
    }
}
