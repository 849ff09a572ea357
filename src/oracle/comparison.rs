//! Comparison of elements, and the larger of two.

use std::cmp::Ordering;

use super::arithmetic::Arithmetic;
use super::elements::{Element, FloatArray, Integers, World};
use super::order::Identity;

/// Result of a comparison of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// For certain.
    Is(Ordering),
    /// One of them is NaN.
    Unordered,
    /// Not decided at this precision.
    Open,
}

impl Integers {
    /// Compares an element of this array with one of an array of the same type.
    pub fn compare(&self, at: usize, other: &Integers, other_at: usize) -> Comparison {
        match (self.number(at), other.number(other_at)) {
            (Some(a), Some(b)) => Comparison::Is(a.cmp(&b)),
            _ => Comparison::Open,
        }
    }
}

impl<A: Arithmetic> World<A> {
    /// Compares two elements by their enclosures or, if these leave the order open, by their identities.
    pub fn compare(&self, x: &Element<A::Number>, y: &Element<A::Number>) -> Comparison {
        self.compare_numbers(&x.number, &y.number, || (x.identity, y.identity))
    }

    /// Compares two elements of arrays. Identities are computed only if the enclosures leave the order open.
    pub fn compare_at(&mut self, x: (&FloatArray<A>, usize), y: (&FloatArray<A>, usize)) -> Comparison {
        let (a, b) = (self.number(x.0, x.1), self.number(y.0, y.1));
        match self.compare_numbers(&a, &b, || (Identity::fresh(0), Identity::fresh(1))) {
            Comparison::Open => {
                let identities = (self.identity(x.0, x.1), self.identity(y.0, y.1));
                self.compare_numbers(&a, &b, || identities)
            }
            decided => decided,
        }
    }

    /// Compares two numbers by their enclosures or else by their identities.
    fn compare_numbers(
        &self,
        x: &A::Number,
        y: &A::Number,
        identities: impl FnOnce() -> (Identity, Identity),
    ) -> Comparison {
        if self.arithmetic.is_nan(x) || self.arithmetic.is_nan(y) {
            return Comparison::Unordered;
        }
        // What is unknown may be NaN, which no identity orders, or an infinity, which absorbs what identities tell apart.
        if !self.arithmetic.is_number(x) || !self.arithmetic.is_number(y) {
            return Comparison::Open;
        }
        if let Some(ordering) = self.arithmetic.compare(x, y) {
            return Comparison::Is(ordering);
        }
        let (x, y) = identities();
        self.classes.compare(&x, &y).map_or(Comparison::Open, Comparison::Is)
    }

    /// IEEE 754-2019 totalOrder (5.10). Between two zeros the signs decide, which enclosures may leave open; a NaN stands
    /// beyond the infinity of its sign.
    pub fn total_compare(&self, x: &Element<A::Number>, y: &Element<A::Number>) -> Comparison {
        match (self.exact_value(x), self.exact_value(y)) {
            (Some(a), Some(b)) => Comparison::Is(a.total_cmp(&b)),
            (Some(nan), None) if nan.is_nan() && self.arithmetic.is_number(&y.number) => {
                Comparison::Is(if nan.is_sign_negative() { Ordering::Less } else { Ordering::Greater })
            }
            (None, Some(nan)) if nan.is_nan() && self.arithmetic.is_number(&x.number) => {
                Comparison::Is(if nan.is_sign_negative() { Ordering::Greater } else { Ordering::Less })
            }
            _ => match self.compare(x, y) {
                Comparison::Unordered => Comparison::Open,
                Comparison::Is(Ordering::Equal) if self.may_be_zero(&x.number) => Comparison::Open,
                decided => decided,
            },
        }
    }

    /// Whether a number may be zero.
    pub fn may_be_zero(&self, x: &A::Number) -> bool {
        let (lo, hi) = self.arithmetic.bounds(x);
        lo <= 0.0 && hi >= 0.0
    }

    /// The larger (or smaller) of two elements; a NaN wins. If the order is open, the hull of both.
    pub fn extreme(&mut self, x: &Element<A::Number>, y: &Element<A::Number>, largest: bool) -> Element<A::Number> {
        match self.compare(x, y) {
            Comparison::Unordered => self.exact(f64::NAN),
            Comparison::Is(Ordering::Equal) => self.of_equals(x, y, largest),
            Comparison::Is(ordering) if (ordering == Ordering::Greater) == largest => x.clone(),
            Comparison::Is(_) => y.clone(),
            Comparison::Open => self.either(x, y),
        }
    }

    /// An element that is one of two, it is not known which.
    pub fn either(&mut self, x: &Element<A::Number>, y: &Element<A::Number>) -> Element<A::Number> {
        if x.identity.is(&y.identity) {
            return x.clone();
        }
        let infinity = |e: &Element<A::Number>| self.arithmetic.as_exact(&e.number).filter(|v| v.is_infinite());
        let are_numbers = self.arithmetic.is_number(&x.number) && self.arithmetic.is_number(&y.number);
        // Between an infinity and a number there is no enclosure of finite numbers.
        if !are_numbers || infinity(x) != infinity(y) {
            return self.unknown();
        }
        let hull = self.arithmetic.hull(&x.number, &y.number);
        self.fresh(hull)
    }

    /// One of two equal elements: of -0 and +0 the one that IEEE 754-2019 maximum (or minimum) takes.
    fn of_equals(&mut self, x: &Element<A::Number>, y: &Element<A::Number>, largest: bool) -> Element<A::Number> {
        if !self.may_be_zero(&x.number) {
            return x.clone();
        }
        // The zero that beats any other.
        let prevails = |e: &Element<A::Number>| {
            let value = self.arithmetic.as_exact(&e.number);
            value.is_some_and(|v| v == 0.0 && v.is_sign_positive() == largest)
        };
        match (prevails(x), prevails(y), x.identity.is(&y.identity)) {
            (true, ..) | (_, _, true) => x.clone(),
            (_, true, _) => y.clone(),
            _ if self.arithmetic.as_exact(&x.number).is_some() && self.arithmetic.as_exact(&y.number).is_some() => {
                x.clone()
            }
            _ => self.either(x, y),
        }
    }
}
