//! Value of an element over the real numbers: a number times a product of atoms.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use crate::analysis::Precision;
use crate::num::F32;
use crate::tensor::DType;

use super::element_function::ElementFunction;
pub use super::element_print::{Print, Prints, Taken, absorb, print_of_key};

/// The roundings that a number has passed since it was made: their place in [`Algebra::ways`].
pub type RoundingsId = u32;

/// Not rounded at all: integers, constants, and what arithmetic in f64 makes.
pub const WHOLE: RoundingsId = 0;

/// One element of a value, as a number times a product, with the roundings since an operation made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// The sum of the fingerprints of the factors, a divisor's with the other sign; 0 where `by` is all there is.
    pub product: Print,
    /// The number. A predicate that is not known is negated by -1.
    pub by: f64,
    /// The roundings.
    pub way: RoundingsId,
}

impl Element {
    /// A number that no argument decides.
    pub const fn number(by: f64) -> Element {
        Element { product: 0, by, way: WHOLE }
    }

    /// An element that nothing else is equal to.
    pub const fn atom(product: Print) -> Element {
        Element { product, by: 1.0, way: WHOLE }
    }

    /// The number, where no argument decides it.
    pub fn constant(self) -> Option<f64> {
        (self.product == 0).then_some(self.by)
    }

    /// The integer, where no argument decides it.
    pub fn integer(self) -> Option<i64> {
        self.constant().filter(|by| by.fract() == 0.0).map(|by| by as i64)
    }

    /// The opposite.
    pub fn negate(self) -> Element {
        Element { by: -self.by, ..self }
    }

    /// Fingerprint of the element, without its roundings. An integer counts exactly. The number of a float counts as
    /// bf16 holds it, so that a compiler's merging of constants is followed.
    pub fn print(self, float: bool) -> Print {
        if self.by == 1.0 { self.product } else { absorb(self.product, bits(self.by, float).into()) }
    }

    /// The same of the element or its opposite.
    pub fn magnitude_print(self, float: bool) -> Print {
        Element { by: self.by.abs(), ..self }.print(float)
    }

    /// Fingerprint of the magnitude, in which numbers that differ by a power of two count as one: such a scaling rounds
    /// nothing.
    pub fn mantissa_print(self) -> Print {
        let bits = self.by.abs().to_bits();
        let mantissa = if self.by.is_normal() { bits << 12 >> 12 | 1023 << 52 } else { bits };
        Element { by: f64::from_bits(mantissa), ..self }.print(true)
    }

    /// Exactly this, as an operand: its print and roundings, a number to the last bit.
    pub fn exactly(self, float: bool) -> Print {
        let what = match self.constant() {
            Some(by) => absorb(NUMBER, (by + 0.0).to_bits().into()),
            None => self.print(float),
        };
        absorb(what, self.way.into())
    }
}

const NUMBER: Print = 0x6e75_6d62_6572;

/// Bits by which a number is distinguished.
fn bits(by: f64, float: bool) -> u64 {
    let exact = (by + 0.0).to_bits();
    if !float || !by.is_finite() {
        return exact;
    }
    // bf16 has seven fraction bits. What is nearly one is no factor that vanishes.
    let rounded = (exact + (1 << 44)) >> 45 << 45;
    if f64::from_bits(rounded).abs() == 1.0 { f64::from(by as f32).to_bits() } else { rounded }
}

/// Rules that combine elements, with the sums, maxima and masks made so far.
#[derive(Debug)]
pub struct Algebra {
    /// The sum of the terms of what is a sum.
    sums: Prints<Print>,
    /// The sum of the prints of what is a maximum.
    maxima: Prints<Print>,
    /// The integer that is all of a sum.
    single: Prints<Element>,
    /// The predicate of what is one where it holds and zero where not.
    masks: Prints<Element>,
    /// Fingerprints of elements that are positive, +0 or NaN.
    positive: HashSet<Print, BuildHasherDefault<Taken>>,
    ways: Vec<Vec<Precision>>,
}

impl Default for Algebra {
    fn default() -> Self {
        Algebra {
            sums: Prints::default(),
            maxima: Prints::default(),
            single: Prints::default(),
            masks: Prints::default(),
            positive: HashSet::default(),
            ways: vec![Vec::new()],
        }
    }
}

impl Algebra {
    /// The product of two.
    pub fn multiply(a: Element, b: Element) -> Element {
        let product = a.product.wrapping_add(b.product);
        Algebra::factor(product, [a, b], a.by * b.by, true)
    }

    /// The quotient of two.
    pub fn divide(a: Element, b: Element) -> Element {
        let product = a.product.wrapping_sub(b.product);
        Algebra::factor(product, [a, b], a.by / b.by, false)
    }

    fn factor(product: Print, [a, b]: [Element; 2], by: f64, commutes: bool) -> Element {
        // A number by itself, a zero or an infinity as a factor: NaN may come of it.
        let vanishes = product == 0 && (a.product, b.product) != (0, 0);
        let is_odd = product != 0 && !by.is_normal();
        if vanishes || is_odd {
            let (x, y) = (a.print(true), b.print(true));
            let (x, y) = if commutes { (x.min(y), x.max(y)) } else { (x, y) };
            return Element::atom(absorb(absorb(ElementFunction::OddProduct.print(), x), y));
        }
        // What is nearly one is no factor.
        let by = if (by as f32).abs() == 1.0 { by.signum() } else { by };
        Element { product, by, way: WHOLE }
    }

    /// The fingerprint of a term of a sum; of what is a sum itself, that of its terms.
    pub fn term(&mut self, of: Element, float: bool) -> Print {
        // Integers are added exactly, constants among them together.
        if !float && of.by.fract() == 0.0 {
            let own = match self.sums.get(&of.product) {
                _ if of.product == 0 => TERM,
                Some(terms) => *terms,
                None => absorb(TERM, of.product),
            };
            self.single.insert(own, Element { by: 1.0, ..of });
            return own.wrapping_mul(of.by as i128 as Print);
        }
        let positive = match self.sums.get(&of.product) {
            Some(terms) if of.by.abs() == 1.0 => *terms,
            _ => absorb(TERM, of.magnitude_print(float)),
        };
        if of.by < 0.0 { positive.wrapping_neg() } else { positive }
    }

    /// The sum of terms.
    pub fn sum(&mut self, terms: Print) -> Element {
        if let Some(one) = self.single.get(&terms) {
            return *one;
        }
        let opposite = terms.wrapping_neg();
        let (least, by) = if opposite < terms { (opposite, -1.0) } else { (terms, 1.0) };
        let product = absorb(ElementFunction::Sum.print(), least);
        self.sums.insert(product, least);
        Element { product, by, way: WHOLE }
    }

    /// One where a predicate holds, zero where not.
    pub fn mask(&mut self, predicate: Element) -> Element {
        let product = absorb(ElementFunction::Mask.print(), predicate.print(false));
        self.masks.insert(product, predicate);
        Element::atom(product)
    }

    /// The predicate that this is the mask of.
    pub fn masks(&self, of: Element) -> Option<Element> {
        self.masks.get(&of.product).copied().filter(|_| of.by == 1.0)
    }

    /// Whether a number is positive, +0 or NaN.
    pub fn is_positive(&self, of: Element) -> bool {
        match of.product {
            0 => of.by > 0.0,
            _ => self.positive.contains(&Algebra::with_sign(of)),
        }
    }

    fn with_sign(of: Element) -> Print {
        if of.by < 0.0 { !of.product } else { of.product }
    }

    /// Says that it is.
    pub fn note_positive(&mut self, of: Element) {
        if of.product != 0 {
            self.positive.insert(Algebra::with_sign(of));
        }
    }

    /// The print by which one has part in a maximum.
    pub fn candidate(&self, of: Element, float: bool) -> Print {
        match self.maxima.get(&of.product) {
            Some(candidates) if of.by == 1.0 => *candidates,
            _ => absorb(CANDIDATE, of.print(float)),
        }
    }

    /// The maximum of candidates.
    pub fn maximum(&mut self, candidates: Print) -> Element {
        let product = absorb(ElementFunction::Maximum.print(), candidates);
        self.maxima.insert(product, candidates);
        Element::atom(product)
    }

    /// The roundings that a way is.
    pub fn roundings(&self, way: RoundingsId) -> &[Precision] {
        &self.ways[way as usize]
    }

    fn way(&mut self, roundings: Vec<Precision>) -> RoundingsId {
        let at = self.ways.iter().position(|way| *way == roundings).unwrap_or_else(|| {
            self.ways.push(roundings);
            self.ways.len() - 1
        });
        at as RoundingsId
    }

    /// A way that goes on to a format: nothing happens where the numbers belong to it already.
    pub fn round(&mut self, way: RoundingsId, to: Precision) -> RoundingsId {
        let roundings = self.roundings(way);
        if roundings.last().is_some_and(|last| last.within(to)) {
            return way;
        }
        let on = [roundings, &[to]].concat();
        self.way(on)
    }

    /// A way without its last rounding below f32, if there was another before it.
    pub fn before_last(&mut self, way: RoundingsId) -> (RoundingsId, Option<Precision>) {
        match *self.roundings(way) {
            [ref before @ .., last] if last.narrows() && !before.is_empty() => {
                let before = before.to_vec();
                (self.way(before), Some(last))
            }
            [last] if last.narrows() => (way, Some(last)),
            _ => (way, None),
        }
    }

    /// Roundings of an operation with this result type: floats up to f32 are rounded to f32, then to their own type.
    pub fn of_operation(&mut self, dtype: DType) -> RoundingsId {
        match Precision::of_dtype(dtype) {
            Some(own) if dtype != DType::F64 => {
                let f32s = self.round(WHOLE, Precision::of(&F32));
                self.round(f32s, own)
            }
            _ => WHOLE,
        }
    }

    /// Roundings of an argument of this type.
    pub fn of_argument(&mut self, dtype: DType) -> RoundingsId {
        Precision::of_dtype(dtype).map_or(WHOLE, |own| self.round(WHOLE, own))
    }
}

const TERM: Print = 0x9d39_247e_3377_6d41_2af7_3980_05aa_a5c7;
const CANDIDATE: Print = 0x6361_6e64;
