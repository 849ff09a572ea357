//! Values of the oracle: elements with their identity, arrays of them, tuples.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::tensor::DType;

use super::arithmetic::{Arithmetic, Field};
use super::column::{Column, Mover};
use super::order::{Classes, Identity};

/// One float element: its enclosure, and what it is up to equality of expressions.
#[derive(Clone, Debug)]
pub(super) struct Element<N> {
    /// The enclosure of its value.
    pub number: N,
    /// What expression it is, for ties and comparisons that enclosures leave open.
    pub identity: Identity,
}

/// The value of one instruction.
pub(super) enum Value<A: Arithmetic> {
    /// An array of floats.
    Float(FloatArray<A>),
    /// An array of integers or predicates.
    Integer(Integers),
    /// The parts of a tuple.
    Tuple(Vec<Value<A>>),
}

/// Integers or predicates (0 and 1) of one type. `None` stands for one that the precision does not decide; a u64 of 2^63
/// or more is held as its bits ([`Integers::number`] gives the number).
#[derive(Clone, Debug)]
pub(super) struct Integers {
    /// The type of all elements.
    pub dtype: DType,
    /// The elements, row-major.
    pub values: Rc<Vec<Option<i64>>>,
}

impl Integers {
    /// The number that element `at` is.
    pub fn number(&self, at: usize) -> Option<i128> {
        let value = self.values[at]?;
        Some(if self.dtype == DType::U64 { i128::from(value as u64) } else { i128::from(value) })
    }

    /// How two elements compare, of this array and of one of the same type.
    pub fn compare(&self, at: usize, other: &Integers, other_at: usize) -> Comparison {
        match (self.number(at), other.number(other_at)) {
            (Some(a), Some(b)) => Comparison::Is(a.cmp(&b)),
            _ => Comparison::Open,
        }
    }
}

/// Float elements in row-major order. A clone shares everything.
pub(super) struct FloatArray<A: Arithmetic> {
    /// How many elements there are.
    pub len: usize,
    /// Their enclosures.
    pub numbers: A::Numbers,
    /// What expressions they are.
    pub identities: Identities<A>,
    /// The exact values rounded to f64, where a dot certified them directly.
    pub rounded: Option<Rc<Vec<f64>>>,
}

/// What the elements of an array are.
pub(super) enum Identities<A: Arithmetic> {
    /// [`Identity::class`] and [`Identity::key`] of each element.
    Known { classes: Column<u64>, keys: Column<f64> },
    /// Those of an operation on two arrays whose elements all differ, worked out only where they are asked for.
    Deferred(Rc<Deferred<A>>),
}

/// An operation on two arrays, kept for the identities of its results.
pub(super) struct Deferred<A: Arithmetic> {
    /// Which operation.
    pub operation: Field,
    /// Whether results are functions of the right operand with the left one as parameter, rather than the other way
    /// round.
    pub left_is_parameter: bool,
    /// The left operand.
    pub x: FloatArray<A>,
    /// The right operand.
    pub y: FloatArray<A>,
    /// The first of the classes for results that have no relation to their operands: one an element.
    pub fresh: u64,
}

impl<A: Arithmetic> Clone for Value<A> {
    fn clone(&self) -> Value<A> {
        match self {
            Value::Float(array) => Value::Float(array.clone()),
            Value::Integer(integers) => Value::Integer(integers.clone()),
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
    /// Integers of a type.
    pub fn integer(dtype: DType, values: Vec<Option<i64>>) -> Value<A> {
        Value::Integer(Integers { dtype, values: Rc::new(values) })
    }

    /// Predicates.
    pub fn predicate(values: Vec<Option<bool>>) -> Value<A> {
        Value::integer(DType::Pred, values.into_iter().map(|v| v.map(i64::from)).collect())
    }

    /// The parts of a tuple; an array is its own only part.
    pub fn into_parts(self) -> Vec<Value<A>> {
        match self {
            Value::Tuple(parts) => parts,
            array => vec![array],
        }
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

    /// The array of an integer or predicate value; shape checking makes sure that it is one.
    ///
    /// # Panics
    /// If it is none.
    pub fn integers(&self) -> &Integers {
        match self {
            Value::Integer(integers) => integers,
            _ => unreachable!("shape checking gives integers to operations on integers"),
        }
    }
}

/// How two elements compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// For certain.
    Is(Ordering),
    /// One of them is NaN.
    Unordered,
    /// Not decided at this precision.
    Open,
}

/// Arithmetic together with the classes of identities.
pub(super) struct World<A: Arithmetic> {
    /// The arithmetic of the pass.
    pub arithmetic: A,
    /// All classes of identities that the pass has made.
    pub classes: Classes,
}

impl<A: Arithmetic> World<A> {
    /// An element that is exactly this value, NaN and the infinities included.
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

    /// An array of these elements.
    pub fn collect(&self, elements: Vec<Element<A::Number>>) -> FloatArray<A> {
        let len = elements.len();
        let classes = Column::new(elements.iter().map(|e| e.identity.class).collect());
        let keys = Column::new(elements.iter().map(|e| e.identity.key).collect());
        let numbers = self.arithmetic.collect(elements.into_iter().map(|e| e.number).collect());
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
    }

    /// The enclosure of one element.
    pub fn number(&self, array: &FloatArray<A>, at: usize) -> A::Number {
        self.arithmetic.at(&array.numbers, at)
    }

    /// One element with its identity.
    pub fn element(&mut self, array: &FloatArray<A>, at: usize) -> Element<A::Number> {
        Element { number: self.number(array, at), identity: self.identity(array, at) }
    }

    /// All elements with their identities.
    pub fn elements(&mut self, array: &FloatArray<A>) -> Vec<Element<A::Number>> {
        (0..array.len).map(|at| self.element(array, at)).collect()
    }

    /// The identity of one element, worked out if it was deferred.
    pub fn identity(&mut self, array: &FloatArray<A>, at: usize) -> Identity {
        match &array.identities {
            Identities::Known { classes, keys } => Identity { class: *classes.at(at), key: *keys.at(at) },
            Identities::Deferred(deferred) => {
                let number = self.number(array, at);
                let (x, y) = (self.element(&deferred.x, at), self.element(&deferred.y, at));
                let known = self.binary_identity(deferred.operation, &x, &y, deferred.left_is_parameter, &number);
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

    /// The result of a data movement: elements keep their enclosures and identities.
    pub fn rearrange(&mut self, operands: &[&FloatArray<A>], mover: &Mover) -> FloatArray<A> {
        let numbers: Vec<&A::Numbers> = operands.iter().map(|o| &o.numbers).collect();
        let identities: Vec<(Column<u64>, Column<f64>)> = operands.iter().map(|o| self.identities(o)).collect();
        let classes = mover.apply(&identities.iter().map(|i| &i.0).collect::<Vec<_>>());
        let keys = mover.apply(&identities.iter().map(|i| &i.1).collect::<Vec<_>>());
        let numbers = self.arithmetic.rearrange(&numbers, mover);
        let len = classes.len();
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
    }

    /// The elements at these positions, in this order.
    pub fn pick(&mut self, array: &FloatArray<A>, positions: &[usize]) -> FloatArray<A> {
        let (classes, keys) = self.identities(array);
        let len = positions.len();
        let classes = match classes.values() {
            [class] => Column::same(*class, len),
            _ => Column::new(positions.iter().map(|at| *classes.at(*at)).collect()),
        };
        let keys = Column::new(positions.iter().map(|at| *keys.at(*at)).collect());
        let numbers = self.arithmetic.pick(&array.numbers, positions);
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
    }

    /// Whether an element is NaN, for certain.
    pub fn is_nan(&self, x: &Element<A::Number>) -> bool {
        self.arithmetic.is_nan(&x.number)
    }

    /// The value, where it is known exactly and f64 holds it; a NaN with its sign and payload.
    pub fn exact_value(&self, x: &Element<A::Number>) -> Option<f64> {
        match (self.is_nan(x), x.identity) {
            (true, Identity { class: 0, key }) => Some(key),
            (true, _) => Some(f64::NAN),
            _ => self.arithmetic.as_exact(&x.number),
        }
    }

    /// How two elements compare, by their enclosures and, where these leave it open, by their identities.
    pub fn compare(&self, x: &Element<A::Number>, y: &Element<A::Number>) -> Comparison {
        self.compare_numbers(&x.number, &y.number, || (x.identity, y.identity))
    }

    /// How two elements of arrays compare. Identities are worked out only if the enclosures do not tell.
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

    /// How two numbers compare, by their enclosures or else by their identities.
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
        x.compare(&y).map_or(Comparison::Open, Comparison::Is)
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

    /// Whether zero is among what a number may be.
    pub fn may_be_zero(&self, x: &A::Number) -> bool {
        let (lo, hi) = self.arithmetic.bounds(x);
        lo <= 0.0 && hi >= 0.0
    }

    /// The larger (or smaller) of two elements; a NaN wins. Where it is open, the hull of both.
    pub fn extreme(&mut self, x: &Element<A::Number>, y: &Element<A::Number>, largest: bool) -> Element<A::Number> {
        match self.compare(x, y) {
            Comparison::Unordered => self.exact(f64::NAN),
            Comparison::Is(Ordering::Equal) => self.of_equals(x, y, largest),
            Comparison::Is(ordering) if (ordering == Ordering::Greater) == largest => x.clone(),
            Comparison::Is(_) => y.clone(),
            Comparison::Open => self.either(x, y),
        }
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
}
