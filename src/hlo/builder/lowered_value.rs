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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value) -> String {
        format!("{value:?}")
    }

    /// Values of all kinds that differ between three devices or not.
    fn per_device(of: [Value; 3]) -> Value {
        Value::of_devices(of.to_vec())
    }

    #[test]
    fn what_is_one_on_all_devices_is_one() {
        let (array, complex) = (Value::Array, |re, im| Value::Complex([re, im]));
        for one in [array(3), complex(3, 4), Value::Nothing] {
            assert_eq!(text(&per_device([one.clone(), one.clone(), one.clone()])), text(&one));
        }
        // A difference of the last device, of either part and of the kind is one.
        for other in [array(4), Value::Nothing, complex(3, 4)] {
            let own = [array(3), array(3), other];
            assert_eq!(text(&per_device(own.clone())), text(&Value::Devices(own.to_vec())));
        }
        for other in [complex(3, 5), complex(5, 4)] {
            assert!(per_device([complex(3, 4), complex(3, 4), other]).differs());
        }
    }

    #[test]
    fn a_tuple_differs_in_its_parts() {
        let of = |device: usize| Value::Tuple(vec![Value::Array(1), Value::Array(10 + device), Value::Nothing]);
        let value = per_device([of(0), of(1), of(2)]);
        let Value::Tuple(parts) = &value else { panic!("{value:?}") };
        assert_eq!(parts.iter().map(Value::differs).collect::<Vec<_>>(), [false, true, false]);
        assert!(value.differs() && !of(0).differs());
        for device in 0..3 {
            assert_eq!(text(&value.on(device)), text(&of(device)));
        }
        assert_eq!(text(&Value::Devices(vec![Value::Array(1)]).on(1)), text(&Value::Nothing));
    }

    /// A value that is laid out like another one is there once a device where the other is.
    #[test]
    fn a_value_is_taken_apart_where_another_is() {
        let (array, complex) = (Value::Array(1), Value::Complex([2, 3]));
        let apart = Value::Devices(vec![Value::Array(8), Value::Array(9)]);
        let given = Value::Tuple(vec![array.clone(), array.clone(), complex.clone(), Value::Nothing]);
        let like = Value::Tuple(vec![Value::Array(7), apart.clone(), apart.clone(), apart]);
        let expected = Value::Tuple(vec![
            array.clone(),
            Value::Devices(vec![array.clone(), array]),
            Value::Devices(vec![complex.clone(), complex]),
            Value::Nothing,
        ]);
        assert_eq!(text(&given.apart_as(&like, 2)), text(&expected));
    }

    /// Results are counted without those that hold nothing, and parts of one result have its number.
    #[test]
    fn results_are_numbered_by_what_they_hold() {
        let value = Value::Tuple(vec![
            Value::Nothing,
            Value::Array(1),
            Value::Tuple(vec![Value::Complex([2, 3]), Value::Nothing]),
            Value::Devices(vec![Value::Array(4), Value::Complex([5, 6])]),
            Value::Array(7),
        ]);
        let mut results = Vec::new();
        value.results(&mut 0, &mut results);
        let results: Vec<(&str, ValueId)> = results.iter().map(|(name, id)| (name.as_str(), *id)).collect();
        assert_eq!(
            results,
            [
                ("out0", 1),
                ("out1.real", 2),
                ("out1.imag", 3),
                ("out2@0", 4),
                ("out2@1.real", 5),
                ("out2@1.imag", 6),
                ("out3", 7)
            ]
        );
    }
}
