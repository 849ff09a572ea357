//! Values while a program runs: floats held wide, in f32 or f64.

use std::rc::Rc;

use crate::tensor::{DType, Data, Tensor};

use super::scalar::Scalar;

/// The value of one instruction, row-major. Elements are shared until someone changes them.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A float type up to f32, its values held exactly in f32.
    Float(DType, Rc<Vec<f32>>),
    /// f64.
    Double(Rc<Vec<f64>>),
    /// Any integer type, brought into its range; u64 wraps.
    Integer(DType, Rc<Vec<i64>>),
    Pred(Rc<Vec<bool>>),
    Tuple(Vec<Value>),
}

impl Value {
    pub fn float(dtype: DType, values: Vec<f32>) -> Value {
        Value::Float(dtype, Rc::new(values))
    }

    pub fn double(values: Vec<f64>) -> Value {
        Value::Double(Rc::new(values))
    }

    pub fn integer(dtype: DType, values: Vec<i64>) -> Value {
        Value::Integer(dtype, Rc::new(values))
    }

    pub fn pred(values: Vec<bool>) -> Value {
        Value::Pred(Rc::new(values))
    }

    pub fn of_tensor(tensor: &Tensor) -> Value {
        match (tensor.dtype(), tensor.data()) {
            (_, Data::Pred(values)) => Value::pred(values.clone()),
            (_, Data::F64(values)) => Value::double(values.clone()),
            (dtype, data) if dtype.is_float() => Value::float(dtype, data.to_f32s()),
            (dtype, data) => Value::integer(dtype, data.to_i64s()),
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

    /// Elements of one type; each must be of its kind.
    pub fn of_scalars(dtype: DType, scalars: &[Scalar]) -> Value {
        match dtype {
            DType::Pred => Value::pred(scalars.iter().map(|s| matches!(s, Scalar::Pred(true))).collect()),
            DType::F64 => Value::double(
                scalars.iter().filter_map(|s| if let Scalar::Double(v) = s { Some(*v) } else { None }).collect(),
            ),
            _ if dtype.is_float() => Value::float(
                dtype,
                scalars.iter().filter_map(|s| if let Scalar::Float(v) = s { Some(*v) } else { None }).collect(),
            ),
            _ => Value::integer(
                dtype,
                scalars.iter().filter_map(|s| if let Scalar::Integer(v) = s { Some(*v) } else { None }).collect(),
            ),
        }
    }

    /// The value as a tensor; `None` for a tuple.
    pub fn into_tensor(self, dims: &[usize]) -> Option<Tensor> {
        let data = match self {
            Value::Float(dtype, values) => Data::from_f32s(dtype, Rc::unwrap_or_clone(values))?,
            Value::Double(values) => Data::F64(Rc::unwrap_or_clone(values)),
            Value::Integer(dtype, values) => Data::from_i64s(dtype, &values)?,
            Value::Pred(values) => Data::Pred(Rc::unwrap_or_clone(values)),
            Value::Tuple(_) => return None,
        };
        Some(Tensor::new(dims, data))
    }

    /// The element type; `None` for a tuple.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Value::Float(dtype, _) | Value::Integer(dtype, _) => Some(*dtype),
            Value::Double(_) => Some(DType::F64),
            Value::Pred(_) => Some(DType::Pred),
            Value::Tuple(_) => None,
        }
    }

    /// The number of elements; of parts, for a tuple.
    pub fn len(&self) -> usize {
        match self {
            Value::Float(_, values) => values.len(),
            Value::Double(values) => values.len(),
            Value::Integer(_, values) => values.len(),
            Value::Pred(values) => values.len(),
            Value::Tuple(parts) => parts.len(),
        }
    }

    /// f32-held floats; empty for anything else, which shape checking rules out.
    pub fn f32s(&self) -> &[f32] {
        match self {
            Value::Float(_, values) => values,
            _ => &[],
        }
    }

    /// f64 floats; empty for anything else.
    pub fn f64s(&self) -> &[f64] {
        match self {
            Value::Double(values) => values,
            _ => &[],
        }
    }

    /// Integers; empty for anything else.
    pub fn integers(&self) -> &[i64] {
        match self {
            Value::Integer(_, values) => values,
            _ => &[],
        }
    }

    /// Predicates; empty for anything else.
    pub fn preds(&self) -> &[bool] {
        match self {
            Value::Pred(values) => values,
            _ => &[],
        }
    }

    /// Element `at` alone; `None` where there is none.
    pub fn scalar(&self, at: usize) -> Option<Scalar> {
        match self {
            Value::Float(_, values) => values.get(at).map(|v| Scalar::Float(*v)),
            Value::Double(values) => values.get(at).map(|v| Scalar::Double(*v)),
            Value::Integer(_, values) => values.get(at).map(|v| Scalar::Integer(*v)),
            Value::Pred(values) => values.get(at).map(|v| Scalar::Pred(*v)),
            Value::Tuple(_) => None,
        }
    }

    /// The elements at these positions, in this order.
    pub fn pick(&self, positions: impl Iterator<Item = usize>) -> Value {
        match self {
            Value::Float(dtype, values) => Value::float(*dtype, positions.map(|at| values[at]).collect()),
            Value::Double(values) => Value::double(positions.map(|at| values[at]).collect()),
            Value::Integer(dtype, values) => Value::integer(*dtype, positions.map(|at| values[at]).collect()),
            Value::Pred(values) => Value::pred(positions.map(|at| values[at]).collect()),
            Value::Tuple(parts) => Value::Tuple(parts.clone()),
        }
    }
}
