//! Values while a program runs: floats held wide, in f32 or f64.

use std::rc::Rc;

use crate::tensor::{DType, Data, Tensor};

/// The value of one instruction, row-major.
#[derive(Clone)]
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

    /// f32-held floats; empty for anything else, which shape checking rules out.
    pub fn f32s(&self) -> &[f32] {
        match self {
            Value::Float(_, values) => values,
            _ => &[],
        }
    }

    pub fn f64s(&self) -> &[f64] {
        match self {
            Value::Double(values) => values,
            _ => &[],
        }
    }

    pub fn integers(&self) -> &[i64] {
        match self {
            Value::Integer(_, values) => values,
            _ => &[],
        }
    }

    pub fn preds(&self) -> &[bool] {
        match self {
            Value::Pred(values) => values,
            _ => &[],
        }
    }

    /// Element `at` alone.
    pub fn element(&self, at: usize) -> Value {
        match self {
            Value::Float(dtype, values) => Value::float(*dtype, vec![values[at]]),
            Value::Double(values) => Value::double(vec![values[at]]),
            Value::Integer(dtype, values) => Value::integer(*dtype, vec![values[at]]),
            Value::Pred(values) => Value::pred(vec![values[at]]),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|p| p.element(at)).collect()),
        }
    }

    /// Single elements of one type put together; `None` if there are none.
    pub fn gather(parts: &[Value]) -> Option<Value> {
        Some(match parts.first()? {
            Value::Float(dtype, _) => Value::float(*dtype, parts.iter().flat_map(|p| p.f32s().to_vec()).collect()),
            Value::Double(_) => Value::double(parts.iter().flat_map(|p| p.f64s().to_vec()).collect()),
            Value::Integer(dtype, _) => {
                Value::integer(*dtype, parts.iter().flat_map(|p| p.integers().to_vec()).collect())
            }
            Value::Pred(_) => Value::pred(parts.iter().flat_map(|p| p.preds().to_vec()).collect()),
            Value::Tuple(_) => return None,
        })
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
