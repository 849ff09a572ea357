//! Arrays of the last rung.

use std::rc::Rc;

use crate::between::Between;
use crate::column::{Column, Mover};

/// The numbers of an array: those that a tensor has as they came, an f64 each, so that the weights of a network take no
/// more room than that.
#[derive(Clone)]
pub(crate) enum Reals {
    /// Exactly these values.
    Plain(Column<f64>),
    /// Enclosures.
    Enclosed(Column<Rc<Between>>),
}

impl Reals {
    /// Elements.
    pub fn len(&self) -> usize {
        match self {
            Reals::Plain(values) => values.len(),
            Reals::Enclosed(values) => values.len(),
        }
    }

    /// The enclosure of one element.
    pub fn at(&self, element: usize) -> Rc<Between> {
        match self {
            Reals::Plain(values) => Rc::new(Between::exact(*values.at(element))),
            Reals::Enclosed(values) => Rc::clone(values.at(element)),
        }
    }

    fn enclosed(&self) -> Column<Rc<Between>> {
        match self {
            Reals::Plain(values) => values.map(|value| Rc::new(Between::exact(*value))),
            Reals::Enclosed(values) => values.clone(),
        }
    }

    /// Other numbers for the same runs.
    pub fn map(&self, mut function: impl FnMut(&Rc<Between>) -> Rc<Between>) -> Reals {
        Reals::Enclosed(match self {
            Reals::Plain(values) => values.map(|value| function(&Rc::new(Between::exact(*value)))),
            Reals::Enclosed(values) => values.map(function),
        })
    }

    /// The result of a data movement.
    pub fn rearrange(operands: &[&Reals], mover: &Mover) -> Reals {
        let plain = |reals: &&Reals| match reals {
            Reals::Plain(values) => Some(values.clone()),
            Reals::Enclosed(_) => None,
        };
        if let Some(plain) = operands.iter().map(plain).collect::<Option<Vec<_>>>() {
            return Reals::Plain(mover.apply(&plain.iter().collect::<Vec<_>>()));
        }
        let enclosed: Vec<Column<Rc<Between>>> = operands.iter().map(|reals| reals.enclosed()).collect();
        Reals::Enclosed(mover.apply(&enclosed.iter().collect::<Vec<_>>()))
    }

    /// The elements at these positions, in this order.
    pub fn pick(&self, positions: &[usize]) -> Reals {
        match self {
            Reals::Plain(values) => Reals::Plain(values.pick(positions)),
            Reals::Enclosed(values) => Reals::Enclosed(values.pick(positions)),
        }
    }

    /// Whether these are plain values, all of them finite.
    pub fn are_plain_and_finite(&self) -> bool {
        matches!(self, Reals::Plain(values) if values.values().iter().all(|value| value.is_finite()))
    }

    /// Whether an element is exactly zero.
    pub fn is_zero(&self, element: usize) -> bool {
        match self {
            Reals::Plain(values) => *values.at(element) == 0.0,
            Reals::Enclosed(values) => matches!(&**values.at(element), Between::Exact(value) if value.is_zero()),
        }
    }

    /// Whether every element is a number, for certain.
    pub fn all_numbers(&self) -> bool {
        match self {
            Reals::Plain(values) => values.values().iter().all(|value| !value.is_nan()),
            Reals::Enclosed(values) => values.values().iter().all(|value| value.ends().is_some()),
        }
    }

    /// The elements that are not exactly known, but may be this value.
    pub fn around(&self, value: f64) -> Vec<usize> {
        let Reals::Enclosed(values) = self else { return Vec::new() };
        let is_around = |x: &Between| matches!(x, Between::Real { lo, hi, .. } if *lo <= value && *hi >= value);
        (0..values.len()).filter(|at| is_around(values.at(*at))).collect()
    }
}
