//! Values of the oracle: elements with their identity, arrays of them, tuples.

use std::cell::RefCell;
use std::rc::Rc;

use crate::tensor::DType;

use super::arithmetic::{Arithmetic, Field};
use super::column::{Column, Mover};
use super::dot::{Lie, first_twins};
use super::order::{Classes, Identity};
use super::store;

/// One float element: its enclosure, and its identity up to equality of expressions.
#[derive(Clone, Debug)]
pub(super) struct Element<N> {
    /// The enclosure of its value.
    pub number: N,
    /// Identity of its expression, for ties and comparisons that enclosures leave open.
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
        Some(self.dtype.integer_of(value))
    }

    /// The start index that element `at` is, if it is known.
    pub fn start(&self, at: usize) -> Option<i64> {
        self.values[at].map(|bits| self.dtype.start_of(bits))
    }

    /// All of them as start indices, where they are known.
    pub fn starts(&self) -> Option<Vec<i64>> {
        (0..self.values.len()).map(|at| self.start(at)).collect()
    }
}

/// Float elements in row-major order. A clone shares everything.
pub(super) struct FloatArray<A: Arithmetic> {
    /// The number of elements.
    pub len: usize,
    /// Their enclosures.
    pub numbers: A::Numbers,
    /// Identities of their expressions.
    pub identities: Identities<A>,
    /// The exact values rounded to f64, where a dot certified them directly.
    pub rounded: Option<Rc<Vec<f64>>>,
}

/// Identities of the elements of an array.
pub(super) enum Identities<A: Arithmetic> {
    /// [`Identity::class`] and [`Identity::key`] of each element.
    Known { classes: Column<u64>, keys: Column<f64> },
    /// The identities of an operation on two arrays whose elements all differ, computed on demand.
    Deferred(Rc<Deferred<A>>),
}

/// An operation on two arrays, kept for the identities of its results.
pub(super) struct Deferred<A: Arithmetic> {
    /// The operation.
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
    /// The number of deferred operations on the way to an operand.
    pub depth: usize,
    /// The identities computed so far, kept only if operands are deferred too. Without them each identity would be
    /// computed again, recursively.
    pub known: RefCell<Vec<Option<Identity>>>,
}

impl<A: Arithmetic> Deferred<A> {
    fn recall(&self, at: usize) -> Option<Identity> {
        self.known.borrow().get(at).copied().flatten()
    }

    fn keep(&self, at: usize, identity: Identity) {
        // Operands that are known give an identity in one step: to keep it costs more than to make it again.
        if self.depth == 0 {
            return;
        }
        let mut known = self.known.borrow_mut();
        known.resize(self.x.len, None);
        known[at] = Some(identity);
    }
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

impl<A: Arithmetic> FloatArray<A> {
    /// The number of deferred operations on the way to it, its own included.
    pub fn depth(&self) -> usize {
        match &self.identities {
            Identities::Known { .. } => 0,
            Identities::Deferred(deferred) => deferred.depth + 1,
        }
    }
}

impl<A: Arithmetic> FloatArray<A> {
    /// For each of `count` vectors of `len` elements from `start` on, the first vector that certainly has the same
    /// elements. Deferred identities are not computed: each vector then counts as different from all others.
    pub fn first_twins(&self, start: usize, count: usize, len: usize, lie: Lie) -> Vec<usize> {
        match &self.identities {
            Identities::Known { classes, keys } => {
                first_twins(count, len, lie, |at| [*classes.at(start + at), keys.at(start + at).to_bits()])
            }
            // Twins only save work: to make all identities for them would cost more than they spare.
            Identities::Deferred(_) => (0..count).collect(),
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

    /// The value that has these parts: a tuple, or the only one.
    pub fn from_parts(mut parts: Vec<Value<A>>) -> Value<A> {
        if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
    }

    /// The parts of a tuple; an array is its own only part.
    pub fn into_parts(self) -> Vec<Value<A>> {
        match self {
            Value::Tuple(parts) => parts,
            array => vec![array],
        }
    }

    /// The array of a float value; shape checking ensures that the value is one.
    ///
    /// # Panics
    /// If the value is not of this kind.
    pub fn floats(&self) -> &FloatArray<A> {
        match self {
            Value::Float(array) => array,
            _ => unreachable!("shape checking gives floats to operations on floats"),
        }
    }

    /// The array of an integer or predicate value; shape checking makes sure that it is one.
    ///
    /// # Panics
    /// If the value is not of this kind.
    pub fn integers(&self) -> &Integers {
        match self {
            Value::Integer(integers) => integers,
            _ => unreachable!("shape checking gives integers to operations on integers"),
        }
    }
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
        let mut classes = store::classes(len);
        classes.extend(first..first + len as u64);
        let classes = Column::new(classes);
        FloatArray {
            len,
            numbers,
            identities: Identities::Known { classes, keys: Column::same(0.0, len) },
            rounded: None,
        }
    }

    /// Exactly known elements.
    pub fn exacts(&self, values: Vec<f64>) -> FloatArray<A> {
        self.exact_column(Column::new(values))
    }

    /// Exactly known elements of a column.
    pub fn exact_column(&self, keys: Column<f64>) -> FloatArray<A> {
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
                if let Some(identity) = deferred.recall(at) {
                    return identity;
                }
                let number = self.number(array, at);
                let (x, y) = (self.element(&deferred.x, at), self.element(&deferred.y, at));
                let known = self.binary_identity(deferred.operation, &x, &y, deferred.left_is_parameter, &number);
                let identity = known.unwrap_or(Identity { class: deferred.fresh + at as u64, key: 0.0 });
                deferred.keep(at, identity);
                identity
            }
        }
    }

    /// The array with its identities worked out.
    pub fn with_identities(&mut self, array: &FloatArray<A>) -> FloatArray<A> {
        let (classes, keys) = self.identities(array);
        FloatArray { identities: Identities::Known { classes, keys }, ..array.clone() }
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
}
