//! The values of a file's instruction after lowering, on one device or on several.

use std::ops::Range;

use crate::ast;
use crate::ir::ValueId;

/// Lowered value of an instruction of the file.
#[derive(Clone, Debug)]
pub enum Value {
    /// A value whose shape is that of an array, never of a tuple.
    Array(ValueId),
    /// The real and the imaginary part of an array of complex numbers.
    Complex([ValueId; 2]),
    Tuple(Vec<Value>),
    /// A value per device, if they differ; never a tuple. A value that is the same on all devices occurs once, without
    /// this.
    Devices(Vec<Value>),
    /// A piece of an array's memory.
    Bytes(Box<Bytes>),
    /// Something without a value to compute with, such as the context of a copy or a token.
    Nothing,
}

/// A piece of an array's memory, as a `bitcast` to bytes and slices of it give one. What the bytes hold is not asked: put
/// together again they are the array.
#[derive(Clone, Debug)]
pub struct Bytes {
    /// The whole array.
    pub array: ValueId,
    /// Its shape as it is written, with its layout.
    pub shape: ast::Shape,
    /// Bytes of the whole array, padding included.
    pub size: u64,
    pub range: Range<u64>,
}

impl Value {
    /// The only one of several values, or a tuple of them.
    pub fn of_parts(mut parts: Vec<Value>) -> Value {
        if parts.len() == 1 { parts.swap_remove(0) } else { Value::Tuple(parts) }
    }

    pub fn leaves(&self, into: &mut Vec<ValueId>) {
        match self {
            Value::Array(id) => into.push(*id),
            Value::Complex(parts) => into.extend(parts),
            Value::Tuple(parts) | Value::Devices(parts) => parts.iter().for_each(|part| part.leaves(into)),
            Value::Bytes(_) | Value::Nothing => {}
        }
    }

    /// The arrays, each with its name as a result: `out0`, on device 1 `out0@1`, and parts of complex numbers `out0.real`
    /// and `out0.imag`. `number` is that of the next.
    pub fn results(&self, number: &mut usize, into: &mut Vec<(String, ValueId)>) {
        if let Value::Tuple(parts) = self {
            return parts.iter().for_each(|part| part.results(number, into));
        }
        let before = into.len();
        self.named(&format!("out{number}"), into);
        *number += usize::from(into.len() > before);
    }

    fn named(&self, name: &str, into: &mut Vec<(String, ValueId)>) {
        match self {
            Value::Array(id) => into.push((name.to_string(), *id)),
            Value::Complex([re, im]) => into.extend([(format!("{name}.real"), *re), (format!("{name}.imag"), *im)]),
            Value::Devices(each) => {
                each.iter().enumerate().for_each(|(device, own)| own.named(&format!("{name}@{device}"), into));
            }
            Value::Tuple(_) | Value::Bytes(_) | Value::Nothing => {}
        }
    }

    pub fn has_bytes(&self) -> bool {
        match self {
            Value::Bytes(_) => true,
            Value::Tuple(parts) | Value::Devices(parts) => parts.iter().any(Value::has_bytes),
            Value::Array(_) | Value::Complex(_) | Value::Nothing => false,
        }
    }

    /// Whether devices have different ones.
    pub fn differs(&self) -> bool {
        match self {
            Value::Devices(_) => true,
            Value::Tuple(parts) => parts.iter().any(Value::differs),
            _ => false,
        }
    }

    /// The value on one device.
    pub fn on(&self, device: usize) -> Value {
        match self {
            Value::Devices(each) => each.get(device).cloned().unwrap_or(Value::Nothing),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| part.on(device)).collect()),
            same => same.clone(),
        }
    }

    /// One value of what each device has; what is the same on all stands once.
    pub fn of_devices(each: Vec<Value>) -> Value {
        let Some(first) = each.first().cloned() else { return Value::Nothing };
        if let Value::Tuple(parts) = &first {
            let part = |index: usize| {
                let own = each.iter().map(|value| match value {
                    Value::Tuple(parts) => parts.get(index).cloned().unwrap_or(Value::Nothing),
                    _ => Value::Nothing,
                });
                Value::of_devices(own.collect())
            };
            return Value::Tuple((0..parts.len()).map(part).collect());
        }
        let is_same = each.iter().all(|value| match (value, &first) {
            (Value::Array(a), Value::Array(b)) => a == b,
            (Value::Complex(a), Value::Complex(b)) => a == b,
            (Value::Nothing, Value::Nothing) => true,
            _ => false,
        });
        if is_same { first } else { Value::Devices(each) }
    }

    /// This value with what differs in `other` apart, for `devices`; tuples have the same parts.
    pub fn apart_as(&self, other: &Value, devices: usize) -> Value {
        match (self, other) {
            (Value::Tuple(parts), Value::Tuple(others)) => {
                Value::Tuple(parts.iter().zip(others).map(|(part, other)| part.apart_as(other, devices)).collect())
            }
            (Value::Array(_) | Value::Complex(_), Value::Devices(_)) => Value::Devices(vec![self.clone(); devices]),
            _ => self.clone(),
        }
    }
}
