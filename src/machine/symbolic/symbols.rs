//! Arrays of symbols, and their way to and from the machine's values.

use std::sync::Arc;

use crate::tensor::DType;

use super::super::number::Scalar;
use super::super::value::Value;
use super::symbol::{Number, Symbol};

/// Symbols of the value of one instruction, row-major.
#[derive(Clone, Debug)]
pub enum Symbols {
    /// One symbol an element.
    Array(Array),
    /// Several values as one.
    Tuple(Vec<Symbols>),
}

/// Elements of one array.
#[derive(Clone, Debug)]
pub struct Array {
    pub elements: Arc<Vec<Symbol>>,
    /// Whether no argument decides any of them.
    pub known: bool,
    /// Whether these are products in flight, which are not rounded yet.
    pub exact: bool,
    /// Whether each of these is several products, which join a sum one after the other.
    pub several: bool,
}

impl Array {
    pub fn new(elements: Vec<Symbol>) -> Array {
        let known = elements.iter().all(|symbol| symbol.is_known());
        Array { elements: Arc::new(elements), known, exact: false, several: false }
    }

    /// The same elements elsewhere, or fewer of them.
    pub fn with_elements(&self, elements: Vec<Symbol>) -> Array {
        Array { exact: self.exact, several: self.several, ..Array::new(elements) }
    }

    /// The elements as the machine holds them, where all are known and none is in flight.
    pub fn value(&self, dtype: DType) -> Option<Value> {
        if !self.known || self.exact {
            return None;
        }
        let scalar = |symbol: &Symbol| symbol.number().map(|number| scalar(number, dtype));
        let scalars: Option<Vec<Scalar>> = self.elements.iter().map(scalar).collect();
        scalars.map(|scalars| Value::of_scalars(dtype, &scalars))
    }
}

fn scalar(number: Number, dtype: DType) -> Scalar {
    match (number, dtype) {
        (Number::Integer(v), DType::Pred) => Scalar::Pred(v != 0),
        (Number::Integer(v), _) => Scalar::Integer(v),
        // A widening conversion leaves the number as it is.
        (Number::Float(v), DType::F64) => Scalar::Double(f64::from(v)),
        (Number::Float(v), _) => Scalar::Float(v),
        (Number::Double(v), _) => Scalar::Double(v),
    }
}

impl Symbols {
    pub fn array(elements: Vec<Symbol>) -> Symbols {
        Symbols::Array(Array::new(elements))
    }

    /// Symbols of a value that the machine computed.
    pub fn of_value(value: &Value) -> Symbols {
        if let Value::Tuple(parts) = value {
            return Symbols::Tuple(parts.iter().map(Symbols::of_value).collect());
        }
        let number = |scalar: Scalar| match scalar {
            Scalar::Float(v) => Number::Float(v),
            Scalar::Double(v) => Number::Double(v),
            Scalar::Integer(v) => Number::Integer(v),
            Scalar::Pred(v) => Number::Integer(i64::from(v)),
        };
        Symbols::array((0..value.len()).filter_map(|at| value.scalar(at)).map(|s| Symbol::of(number(s))).collect())
    }

    /// The array that this is.
    ///
    /// # Panics
    /// For a tuple, which shape checking rules out where arrays are taken.
    pub fn as_array(&self) -> &Array {
        match self {
            Symbols::Array(array) => array,
            Symbols::Tuple(_) => unreachable!("shape checking gives arrays to operations on elements"),
        }
    }

    /// All arrays in it.
    pub fn arrays(&self) -> Vec<&Array> {
        match self {
            Symbols::Array(array) => vec![array],
            Symbols::Tuple(parts) => parts.iter().flat_map(Symbols::arrays).collect(),
        }
    }

    /// The parts of a tuple; an array is its own only part.
    pub fn into_parts(self) -> Vec<Symbols> {
        match self {
            Symbols::Tuple(parts) => parts,
            array => vec![array],
        }
    }

    /// The value that has these parts: a tuple, or the only one.
    pub fn from_parts(mut parts: Vec<Symbols>) -> Symbols {
        if parts.len() == 1 { parts.remove(0) } else { Symbols::Tuple(parts) }
    }
}
