//! Values of the oracle: elements with their identity, arrays of them, tuples.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::ir::Binary;

use super::arithmetic::Arithmetic;
use super::column::{Column, Mover};
use super::order::{Classes, Identity};

/// One float element: its enclosure, and what it is up to equality of expressions.
#[derive(Clone, Debug)]
pub(super) struct Element<N> {
    pub number: N,
    pub identity: Identity,
}

/// The value of one instruction. `None` stands for an integer or predicate that the precision does not decide.
pub(super) enum Value<A: Arithmetic> {
    Float(FloatArray<A>),
    /// Integers and predicates (0 and 1).
    Integer(Rc<Vec<Option<i64>>>),
    Tuple(Vec<Value<A>>),
}

/// Float elements in row-major order. A clone shares everything.
pub(super) struct FloatArray<A: Arithmetic> {
    pub len: usize,
    pub numbers: A::Numbers,
    pub identities: Identities<A>,
    /// The exact values rounded to f64, where a dot certified them directly.
    pub rounded: Option<Rc<Vec<f64>>>,
}

/// What the elements of an array are.
pub(super) enum Identities<A: Arithmetic> {
    Known {
        classes: Column<u64>,
        keys: Column<f64>,
    },
    /// Those of an operation on two arrays whose elements all differ, worked out only where they are asked for.
    Deferred(Rc<Deferred<A>>),
}

/// An operation on two arrays.
pub(super) struct Deferred<A: Arithmetic> {
    pub binary: Binary,
    pub left_is_parameter: bool,
    pub x: FloatArray<A>,
    pub y: FloatArray<A>,
    /// The classes of elements that the operation leaves no relation to its operands, one each.
    pub fresh: u64,
}

impl<A: Arithmetic> Clone for Value<A> {
    fn clone(&self) -> Value<A> {
        match self {
            Value::Float(array) => Value::Float(array.clone()),
            Value::Integer(values) => Value::Integer(Rc::clone(values)),
            Value::Tuple(parts) => Value::Tuple(parts.clone()),
        }
    }
}

impl<A: Arithmetic> Clone for FloatArray<A> {
    fn clone(&self) -> FloatArray<A> {
        let FloatArray { len, numbers, identities, rounded } = self;
        FloatArray { len: *len, numbers: numbers.clone(), identities: identities.clone(), rounded: rounded.clone() }
    }
}

impl<A: Arithmetic> Clone for Identities<A> {
    fn clone(&self) -> Identities<A> {
        match self {
            Identities::Known { classes, keys } => Identities::Known { classes: classes.clone(), keys: keys.clone() },
            Identities::Deferred(deferred) => Identities::Deferred(Rc::clone(deferred)),
        }
    }
}

impl<A: Arithmetic> Value<A> {
    pub fn integer(values: Vec<Option<i64>>) -> Value<A> {
        Value::Integer(Rc::new(values))
    }

    /// The array of a float value; shape checking makes sure that it is one.
    ///
    /// # Panics
    /// If it is none.
    pub fn floats(&self) -> &FloatArray<A> {
        match self {
            Value::Float(array) => array,
            _ => unreachable!("shape checking gives floats to operations on floats"),
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
        self.fresh(self.arithmetic.unknown())
    }

    /// An element known by its enclosure alone.
    pub fn fresh(&mut self, number: A::Number) -> Element<A::Number> {
        let identity = if self.arithmetic.is_nan(&number) {
            Identity::exact(f64::NAN)
        } else {
            Identity { class: self.classes.fresh(1), key: 0.0 }
        };
        Element { number, identity }
    }

    /// Elements known by their enclosures alone.
    pub fn fresh_all(&mut self, numbers: Vec<A::Number>) -> FloatArray<A> {
        let len = numbers.len();
        let numbers = self.arithmetic.collect(numbers);
        self.fresh_numbers(numbers, len)
    }

    /// [`World::fresh_all`] of numbers in an array already.
    pub fn fresh_numbers(&mut self, numbers: A::Numbers, len: usize) -> FloatArray<A> {
        let first = self.classes.fresh(len as u64);
        let classes = Column::new((first..first + len as u64).collect());
        FloatArray {
            len,
            numbers,
            identities: Identities::Known { classes, keys: Column::same(0.0, len) },
            rounded: None,
        }
    }

    /// Exactly known elements.
    pub fn exacts(&self, values: Vec<f64>) -> FloatArray<A> {
        let keys = Column::new(values);
        let (len, numbers) = (keys.len(), self.arithmetic.exacts(&keys));
        FloatArray {
            len,
            numbers,
            identities: Identities::Known { classes: Column::same(0, len), keys },
            rounded: None,
        }
    }

    pub fn collect(&self, elements: Vec<Element<A::Number>>) -> FloatArray<A> {
        let len = elements.len();
        let classes = Column::new(elements.iter().map(|e| e.identity.class).collect());
        let keys = Column::new(elements.iter().map(|e| e.identity.key).collect());
        let numbers = self.arithmetic.collect(elements.into_iter().map(|e| e.number).collect());
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
    }

    pub fn number(&self, array: &FloatArray<A>, at: usize) -> A::Number {
        self.arithmetic.at(&array.numbers, at)
    }

    pub fn element(&mut self, array: &FloatArray<A>, at: usize) -> Element<A::Number> {
        Element { number: self.number(array, at), identity: self.identity(array, at) }
    }

    pub fn elements(&mut self, array: &FloatArray<A>) -> Vec<Element<A::Number>> {
        (0..array.len).map(|at| self.element(array, at)).collect()
    }

    pub fn identity(&mut self, array: &FloatArray<A>, at: usize) -> Identity {
        match &array.identities {
            Identities::Known { classes, keys } => Identity { class: *classes.at(at), key: *keys.at(at) },
            Identities::Deferred(deferred) => {
                let number = self.number(array, at);
                let (x, y) = (self.element(&deferred.x, at), self.element(&deferred.y, at));
                let known = self.binary_identity(deferred.binary, &x, &y, deferred.left_is_parameter, &number);
                known.unwrap_or(Identity { class: deferred.fresh + at as u64, key: 0.0 })
            }
        }
    }

    /// The classes and keys of all elements.
    pub fn identities(&mut self, array: &FloatArray<A>) -> (Column<u64>, Column<f64>) {
        if let Identities::Known { classes, keys } = &array.identities {
            return (classes.clone(), keys.clone());
        }
        let all: Vec<Identity> = (0..array.len).map(|at| self.identity(array, at)).collect();
        (Column::new(all.iter().map(|i| i.class).collect()), Column::new(all.iter().map(|i| i.key).collect()))
    }

    pub fn moved(&mut self, operands: &[&FloatArray<A>], mover: &Mover) -> Option<FloatArray<A>> {
        let numbers: Vec<&A::Numbers> = operands.iter().map(|o| &o.numbers).collect();
        let identities: Vec<(Column<u64>, Column<f64>)> = operands.iter().map(|o| self.identities(o)).collect();
        let classes = mover.apply(&identities.iter().map(|i| &i.0).collect::<Vec<_>>())?;
        let keys = mover.apply(&identities.iter().map(|i| &i.1).collect::<Vec<_>>())?;
        let numbers = self.arithmetic.moved(&numbers, mover)?;
        let len = classes.len();
        Some(FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None })
    }

    /// The elements at these positions, in this order.
    pub fn picked(&mut self, array: &FloatArray<A>, positions: &[usize]) -> FloatArray<A> {
        let (classes, keys) = self.identities(array);
        let len = positions.len();
        let classes = match classes.values() {
            [class] => Column::same(*class, len),
            _ => Column::new(positions.iter().map(|at| *classes.at(*at)).collect()),
        };
        let keys = Column::new(positions.iter().map(|at| *keys.at(*at)).collect());
        let numbers = self.arithmetic.picked(&array.numbers, positions);
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
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

    /// How two elements of arrays compare. Identities are worked out only if the enclosures do not tell.
    pub fn compare_at(&mut self, x: (&FloatArray<A>, usize), y: (&FloatArray<A>, usize)) -> Comparison {
        let (a, b) = (self.number(x.0, x.1), self.number(y.0, y.1));
        if self.arithmetic.is_nan(&a) || self.arithmetic.is_nan(&b) {
            return Comparison::Unordered;
        }
        if let Some(ordering) = self.arithmetic.compare(&a, &b) {
            return Comparison::Is(ordering);
        }
        let (a, b) = (self.identity(x.0, x.1), self.identity(y.0, y.1));
        let ordering = if a.class == b.class { a.key.partial_cmp(&b.key) } else { None };
        ordering.map_or(Comparison::Open, Comparison::Is)
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
        let infinity = |e: &Element<A::Number>| self.arithmetic.as_exact(&e.number).filter(|v| v.is_infinite());
        // Between an infinity and a number there is no enclosure of finite numbers.
        if self.is_nan(x) || self.is_nan(y) || infinity(x) != infinity(y) {
            return self.unknown();
        }
        let hull = self.arithmetic.hull(&x.number, &y.number);
        self.fresh(hull)
    }
}
