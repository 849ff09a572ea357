//! Values while a program runs: floats held wide, in f32 or f64.

use std::ops::Range;

use crate::ir::Shape;
use crate::tensor::{DType, Data, Tensor};

use super::elements::Elements;
use super::number::Scalar;
use super::products::Products;
use super::vector::{in_chunks, in_rows};

/// The f32 with a bf16's code in its top half.
#[inline(always)]
fn bf16_value(code: u16) -> f32 {
    f32::from_bits(u32::from(code) << 16)
}

/// The value of one instruction, row-major.
#[derive(Clone, Debug)]
pub enum Value {
    /// A float type up to f32, its values held exactly in f32.
    Float(DType, Elements<f32>),
    /// f64.
    Double(Elements<f64>),
    /// Any integer type, brought into its range; u64 wraps.
    Integer(DType, Elements<i64>),
    /// pred.
    Pred(Elements<bool>),
    /// f32 products in flight.
    Products(Products),
    /// A tuple of values.
    Tuple(Vec<Value>),
}

impl Value {
    /// An array of a float type up to f32, which holds these values exactly.
    pub fn float(dtype: DType, values: Vec<f32>) -> Value {
        Value::Float(dtype, Elements::from(values))
    }

    /// An array of f64.
    pub fn double(values: Vec<f64>) -> Value {
        Value::Double(Elements::from(values))
    }

    /// An array of an integer type, in whose range the values are.
    pub fn integer(dtype: DType, values: Vec<i64>) -> Value {
        Value::Integer(dtype, Elements::from(values))
    }

    /// An array of pred.
    pub fn pred(values: Vec<bool>) -> Value {
        Value::Pred(Elements::from(values))
    }

    /// The value of a tensor.
    pub fn of_tensor(tensor: &Tensor) -> Value {
        match (tensor.dtype(), tensor.data()) {
            (_, Data::Pred(values)) => Value::pred(values.clone()),
            (_, Data::F64(values)) => Value::double(values.clone()),
            (dtype, Data::BF16(values)) => {
                let mut wide = vec![0.0; values.len()];
                in_chunks(&mut wide, |at, chunk| {
                    let codes = &values[at..at + chunk.len()];
                    chunk.iter_mut().zip(codes).for_each(|(v, code)| *v = bf16_value(code.to_bits()));
                });
                Value::float(dtype, wide)
            }
            (dtype, data) if dtype.is_float() => Value::float(dtype, data.to_f32s()),
            (dtype, data) => Value::integer(dtype, data.to_i64s()),
        }
    }

    /// Arrays of a shape that has no elements.
    pub fn empty(shape: &Shape) -> Value {
        match shape {
            Shape::Array { dtype, .. } => Value::of_scalars(*dtype, &[]),
            Shape::Tuple(parts) => Value::Tuple(parts.iter().map(Value::empty).collect()),
        }
    }

    /// One element of a type.
    pub fn of_scalar(dtype: DType, scalar: Scalar) -> Value {
        match scalar {
            Scalar::Float(v) => Value::float(dtype, vec![v]),
            Scalar::Double(v) => Value::double(vec![v]),
            Scalar::Integer(v) => Value::integer(dtype, vec![v]),
            Scalar::Pred(v) => Value::pred(vec![v]),
        }
    }

    /// Elements of one type.
    ///
    /// # Panics
    /// If a scalar is of another kind, which shape checking rules out.
    pub fn of_scalars(dtype: DType, scalars: &[Scalar]) -> Value {
        macro_rules! all {
            ($kind:ident) => {{
                let one = |scalar: &Scalar| match scalar {
                    Scalar::$kind(v) => *v,
                    other => unreachable!("shape checking gives scalars of {dtype} where {other:?} is given"),
                };
                scalars.iter().map(one).collect()
            }};
        }
        match dtype {
            DType::Pred => Value::pred(all!(Pred)),
            DType::F64 => Value::double(all!(Double)),
            float if float.is_float() => Value::float(float, all!(Float)),
            integer => Value::integer(integer, all!(Integer)),
        }
    }

    /// The value as a tensor; `None` for a tuple.
    pub fn into_tensor(self, dims: &[usize]) -> Option<Tensor> {
        let data = match self {
            Value::Integer(DType::S32, values) => {
                let values: &[i64] = &values;
                let mut narrow = vec![0; values.len()];
                in_chunks(&mut narrow, |at, chunk| {
                    chunk.iter_mut().zip(&values[at..]).for_each(|(n, v)| *n = *v as i32);
                });
                Data::S32(narrow)
            }
            Value::Float(dtype, values) => Data::from_f32s(dtype, values.into_vec())?,
            Value::Double(values) => Data::F64(values.into_vec()),
            Value::Integer(dtype, values) => Data::from_i64s(dtype, &values)?,
            Value::Pred(values) => Data::Pred(values.into_vec()),
            Value::Products(products) => Data::F64(products.in_f64()),
            Value::Tuple(_) => return None,
        };
        Some(Tensor::new(dims, data))
    }

    /// The value as a chip without f64 hands it out: f64 as the sum of a pair of f32, the number rounded and what that rounding
    /// loses, rounded. What is such a sum already stays (FACTS 9.3).
    pub fn in_pairs(self) -> Value {
        let sum = |whole: f64| {
            let leading = whole as f32;
            let rest = if leading.is_finite() { (whole - f64::from(leading)) as f32 } else { 0.0 };
            f64::from(leading) + f64::from(rest)
        };
        match self {
            Value::Double(values) => Value::double(values.iter().map(|whole| sum(*whole)).collect()),
            Value::Tuple(parts) => Value::Tuple(parts.into_iter().map(Value::in_pairs).collect()),
            other => other,
        }
    }

    /// The products in flight that a function makes of several arrays, list by list, if one of them holds products and the
    /// others numbers: a number is a product with one.
    pub fn joint_products(values: &[&Value], function: impl Fn(&[&[f64]]) -> Vec<f64>) -> Option<Value> {
        if !values.iter().any(|value| matches!(value, Value::Products(_))) {
            return None;
        }
        let of_value = |value: &&Value| match value {
            Value::Products(products) => Some(products.clone()),
            Value::Float(_, numbers) => Some(Products::new(numbers.iter().copied().map(f64::from).collect())),
            _ => None,
        };
        let all: Vec<Products> = values.iter().map(of_value).collect::<Option<_>>()?;
        Some(Value::Products(Products::joint(&all, function)))
    }

    /// The element type; `None` for a tuple.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Value::Float(dtype, _) | Value::Integer(dtype, _) => Some(*dtype),
            Value::Double(_) => Some(DType::F64),
            Value::Pred(_) => Some(DType::Pred),
            Value::Products(_) => Some(DType::F32),
            Value::Tuple(_) => None,
        }
    }

    /// The element type of an array; panics as [`Value::f32s`].
    pub fn element_type(&self) -> DType {
        self.dtype().unwrap_or_else(|| self.is_none_of("an array"))
    }

    /// The number of elements; of parts, for a tuple.
    pub fn len(&self) -> usize {
        match self {
            Value::Float(_, values) => values.len(),
            Value::Double(values) => values.len(),
            Value::Integer(_, values) => values.len(),
            Value::Pred(values) => values.len(),
            Value::Products(products) => products.len(),
            Value::Tuple(parts) => parts.len(),
        }
    }

    /// Whether there is no element, or no part.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Floats up to f32.
    ///
    /// # Panics
    /// For anything else, which shape checking rules out.
    pub fn f32s(&self) -> &[f32] {
        match self {
            Value::Float(_, values) => values,
            other => other.is_none_of("floats up to f32"),
        }
    }

    /// f64 floats; panics as [`Value::f32s`].
    pub fn f64s(&self) -> &[f64] {
        match self {
            Value::Double(values) => values,
            other => other.is_none_of("f64"),
        }
    }

    /// Integers; panics as [`Value::f32s`].
    pub fn integers(&self) -> &[i64] {
        match self {
            Value::Integer(_, values) => values,
            other => other.is_none_of("integers"),
        }
    }

    /// Integers as start indices; panics as [`Value::f32s`].
    pub fn starts(&self) -> impl Iterator<Item = i64> {
        let dtype = self.element_type();
        self.integers().iter().map(move |bits| dtype.start_of(*bits))
    }

    /// Predicates; panics as [`Value::f32s`].
    pub fn preds(&self) -> &[bool] {
        match self {
            Value::Pred(values) => values,
            other => other.is_none_of("predicates"),
        }
    }

    #[cold]
    fn is_none_of(&self, wanted: &str) -> ! {
        match self.dtype() {
            Some(dtype) => unreachable!("shape checking gives {wanted} where {dtype} is given"),
            None => unreachable!("shape checking gives {wanted} where a tuple is given"),
        }
    }

    /// The value that has these parts: a tuple, or the only one.
    pub fn from_parts(mut parts: Vec<Value>) -> Value {
        if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
    }

    /// The parts of a tuple; an array is its own only part.
    pub fn into_parts(self) -> Vec<Value> {
        match self {
            Value::Tuple(parts) => parts,
            array => vec![array],
        }
    }

    /// Element `at` alone; `None` where there is none.
    pub fn scalar(&self, at: usize) -> Option<Scalar> {
        match self {
            Value::Float(_, values) => values.get(at).map(|v| Scalar::Float(*v)),
            Value::Double(values) => values.get(at).map(|v| Scalar::Double(*v)),
            Value::Integer(_, values) => values.get(at).map(|v| Scalar::Integer(*v)),
            Value::Pred(values) => values.get(at).map(|v| Scalar::Pred(*v)),
            Value::Products(products) => products.element(at).map(Scalar::Float),
            Value::Tuple(_) => None,
        }
    }

    /// The elements at `range`, shared; a tuple stays as it is.
    pub fn stretch(self, range: Range<usize>) -> Value {
        match self {
            Value::Float(dtype, values) => Value::Float(dtype, values.stretch(range)),
            Value::Double(values) => Value::Double(values.stretch(range)),
            Value::Integer(dtype, values) => Value::Integer(dtype, values.stretch(range)),
            Value::Pred(values) => Value::Pred(values.stretch(range)),
            Value::Products(products) => Value::Products(products.by_list(|list| list.stretch(range.clone()))),
            tuple @ Value::Tuple(_) => tuple,
        }
    }

    /// Whether both are of one type and have the same bits.
    pub fn has_bits_of(&self, other: &Value) -> bool {
        fn same<T>(a: &[T], b: &[T], bits: impl Fn(&T, &T) -> bool) -> bool {
            std::ptr::eq(a, b) || a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a, b))
        }
        match (self, other) {
            (Value::Float(dtype, a), Value::Float(other, b)) => {
                dtype == other && same(a, b, |a, b| a.to_bits() == b.to_bits())
            }
            (Value::Double(a), Value::Double(b)) => same(a, b, |a, b| a.to_bits() == b.to_bits()),
            (Value::Integer(dtype, a), Value::Integer(other, b)) => dtype == other && same(a, b, |a, b| a == b),
            (Value::Pred(a), Value::Pred(b)) => same(a, b, |a, b| a == b),
            (Value::Products(a), Value::Products(b)) => a.has_bits_of(b),
            (Value::Tuple(a), Value::Tuple(b)) => same(a, b, Value::has_bits_of),
            _ => false,
        }
    }

    /// The elements at these positions, in this order.
    pub fn pick(&self, positions: impl Iterator<Item = usize>) -> Value {
        match self {
            Value::Float(dtype, values) => Value::float(*dtype, positions.map(|at| values[at]).collect()),
            Value::Double(values) => Value::double(positions.map(|at| values[at]).collect()),
            Value::Integer(dtype, values) => Value::integer(*dtype, positions.map(|at| values[at]).collect()),
            Value::Pred(values) => Value::pred(positions.map(|at| values[at]).collect()),
            Value::Products(products) => {
                let positions: Vec<usize> = positions.collect();
                let pick = |list: &Elements<f64>| positions.iter().map(|at| list[*at]).collect::<Vec<f64>>();
                Value::Products(products.by_list(|list| Elements::from(pick(list))))
            }
            Value::Tuple(parts) => Value::Tuple(parts.clone()),
        }
    }

    /// Rows put into their orders; a value of one row is that row for every order.
    pub fn pick_in_rows(&self, orders: &[Vec<u32>]) -> Value {
        fn pick<T: Copy + Default + Send + Sync>(values: &[T], orders: &[Vec<u32>]) -> Vec<T> {
            let width = orders.first().map_or(0, Vec::len);
            let mut picked = vec![T::default(); width * orders.len()];
            in_rows(&mut picked, width, 1, |row, picked| {
                let start = row * width % values.len();
                let values = &values[start..start + width];
                picked.iter_mut().zip(&orders[row]).for_each(|(p, at)| *p = values[*at as usize]);
            });
            picked
        }
        match self {
            Value::Float(dtype, values) => Value::float(*dtype, pick(values, orders)),
            Value::Double(values) => Value::double(pick(values, orders)),
            Value::Integer(dtype, values) => Value::integer(*dtype, pick(values, orders)),
            Value::Pred(values) => Value::pred(pick(values, orders)),
            Value::Products(products) => Value::Products(products.by_list(|list| Elements::from(pick(list, orders)))),
            Value::Tuple(parts) => Value::Tuple(parts.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros of both signs are other bits in every type of floats, and a NaN has its own.
    #[test]
    fn bits_are_compared_and_not_numbers() {
        let doubles = |values: [f64; 2]| Value::double(values.to_vec());
        let floats = |values: [f64; 2]| Value::float(DType::F32, values.map(|value| value as f32).to_vec());
        for of in [&doubles as &dyn Fn([f64; 2]) -> Value, &floats] {
            let one = of([0.0, f64::NAN]);
            assert!(one.has_bits_of(&of([0.0, f64::NAN])));
            for other in [[-0.0, f64::NAN], [0.0, -f64::NAN], [0.0, 1.0]] {
                assert!(!one.has_bits_of(&of(other)), "{other:?}");
            }
        }
        assert!(!doubles([0.0, 1.0]).has_bits_of(&floats([0.0, 1.0])));
    }
}
