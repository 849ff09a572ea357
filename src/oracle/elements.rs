//! Values of the oracle: elements with their identity, arrays of them, tuples.

use std::cmp::Ordering;
use std::rc::Rc;

use super::arithmetic::Arithmetic;
use super::order::{Classes, Identity};

/// One float element: its enclosure, and what it is up to equality of expressions.
#[derive(Clone, Debug)]
pub(super) struct Element<N> {
    pub number: N,
    pub identity: Identity,
}

/// The value of one instruction. `None` stands for an integer or predicate that the precision does not decide.
#[derive(Clone)]
pub(super) enum Value<N> {
    Float(Rc<FloatArray<N>>),
    /// Integers and predicates (0 and 1).
    Integer(Rc<Vec<Option<i64>>>),
    Tuple(Vec<Value<N>>),
}

pub(super) struct FloatArray<N> {
    pub elements: Vec<Element<N>>,
    /// The exact values rounded to f64, where a dot certified them directly.
    pub rounded: Option<Vec<f64>>,
}

impl<N> Value<N> {
    pub fn float(elements: Vec<Element<N>>) -> Value<N> {
        Value::Float(Rc::new(FloatArray { elements, rounded: None }))
    }

    pub fn integer(values: Vec<Option<i64>>) -> Value<N> {
        Value::Integer(Rc::new(values))
    }

    /// The elements of a float array; shape checking makes sure that it is one.
    pub fn floats(&self) -> &[Element<N>] {
        match self {
            Value::Float(array) => &array.elements,
            _ => &[],
        }
    }

    pub fn integers(&self) -> &[Option<i64>] {
        match self {
            Value::Integer(values) => values,
            _ => &[],
        }
    }
}

/// How two elements compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Is(Ordering),
    /// One of them is NaN.
    Unordered,
    /// Not decided at this precision.
    Open,
}

/// Arithmetic together with the classes of identities.
pub(super) struct World<A: Arithmetic> {
    pub arithmetic: A,
    pub classes: Classes,
}

impl<A: Arithmetic> World<A> {
    pub fn exact(&self, value: f64) -> Element<A::Number> {
        Element { number: self.arithmetic.exact(value), identity: Identity::exact(value) }
    }

    /// An element that nothing is known of.
    pub fn unknown(&mut self) -> Element<A::Number> {
        Element { number: self.arithmetic.unknown(), identity: self.classes.fresh() }
    }

    /// An element known by its enclosure alone.
    pub fn fresh(&mut self, number: A::Number) -> Element<A::Number> {
        let identity = if self.arithmetic.is_nan(&number) { Identity::exact(f64::NAN) } else { self.classes.fresh() };
        Element { number, identity }
    }

    pub fn is_nan(&self, x: &Element<A::Number>) -> bool {
        self.arithmetic.is_nan(&x.number)
    }

    pub fn compare(&self, x: &Element<A::Number>, y: &Element<A::Number>) -> Comparison {
        if self.is_nan(x) || self.is_nan(y) {
            return Comparison::Unordered;
        }
        if x.identity.class == y.identity.class
            && let Some(ordering) = x.identity.key.partial_cmp(&y.identity.key)
        {
            return Comparison::Is(ordering);
        }
        self.arithmetic.compare(&x.number, &y.number).map_or(Comparison::Open, Comparison::Is)
    }

    /// IEEE totalOrder. Numbers that are known only as reals have no sign of zero and no NaN payload to order by.
    pub fn total_compare(&self, x: &Element<A::Number>, y: &Element<A::Number>) -> Comparison {
        match (self.arithmetic.as_exact(&x.number), self.arithmetic.as_exact(&y.number)) {
            (Some(a), Some(b)) => Comparison::Is(a.total_cmp(&b)),
            (Some(nan), None) if nan.is_nan() => {
                Comparison::Is(if nan.is_sign_negative() { Ordering::Less } else { Ordering::Greater })
            }
            (None, Some(nan)) if nan.is_nan() => {
                Comparison::Is(if nan.is_sign_negative() { Ordering::Greater } else { Ordering::Less })
            }
            _ => self.compare(x, y),
        }
    }

    /// The larger (or smaller) of two elements; a NaN wins. Where it is open, the hull of both.
    pub fn extreme(&mut self, x: &Element<A::Number>, y: &Element<A::Number>, largest: bool) -> Element<A::Number> {
        match self.compare(x, y) {
            Comparison::Unordered if self.is_nan(x) => x.clone(),
            Comparison::Unordered => y.clone(),
            Comparison::Is(Ordering::Equal) => self.of_equals(x, y, largest),
            Comparison::Is(ordering) if (ordering == Ordering::Greater) == largest => x.clone(),
            Comparison::Is(_) => y.clone(),
            Comparison::Open => self.either(x, y),
        }
    }

    /// One of two equal elements: of -0 and +0 the one that IEEE 754-2019 maximum (or minimum) takes.
    fn of_equals(&self, x: &Element<A::Number>, y: &Element<A::Number>, largest: bool) -> Element<A::Number> {
        let negative_zero = |e: &Element<A::Number>| {
            self.arithmetic.as_exact(&e.number).is_some_and(|v| v == 0.0 && v.is_sign_negative())
        };
        if negative_zero(x) == largest { y.clone() } else { x.clone() }
    }

    /// An element that is one of two, it is not known which.
    pub fn either(&mut self, x: &Element<A::Number>, y: &Element<A::Number>) -> Element<A::Number> {
        if self.is_nan(x) || self.is_nan(y) {
            return self.unknown();
        }
        let hull = self.arithmetic.hull(&x.number, &y.number);
        self.fresh(hull)
    }
}
