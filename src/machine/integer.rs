//! Integers, predicates, and conversions between kinds of numbers: exact operations, the same on every chip.

use crate::ir::{Binary, Compare, Unary};
use crate::num::{Direction, round_f64};
use crate::tensor::{DType, Data};

use super::value::Value;
use super::vector;

/// `convert`: floats round once to nearest even; a float becomes an integer by truncation, saturating, NaN giving 0.
pub(super) fn convert(value: Value, to: DType) -> Value {
    match (value, to) {
        (Value::Float(from, values), to) if from == to => Value::Float(from, values),
        (Value::Float(_, values), DType::F64) => Value::double(values.iter().map(|v| f64::from(*v)).collect()),
        (Value::Float(_, values), to) if to.is_float() => {
            let mut values = std::rc::Rc::unwrap_or_clone(values);
            vector::round_to(to, &mut values);
            Value::float(to, values)
        }
        (Value::Float(_, values), to) => of_floats(values.iter().map(|v| f64::from(*v)), to),
        (Value::Double(values), DType::F64) => Value::Double(values),
        (Value::Double(values), to) => match to.format() {
            Some(format) => {
                Value::float(to, values.iter().map(|v| round_f64(format, *v, Direction::NearestEven) as f32).collect())
            }
            None => of_floats(values.iter().copied(), to),
        },
        (Value::Integer(from, values), to) => of_integers(values.iter().copied(), from, to),
        (Value::Pred(values), to) => of_integers(values.iter().map(|v| i64::from(*v)), DType::U8, to),
        (tuple, _) => tuple,
    }
}

fn of_floats(values: impl Iterator<Item = f64>, to: DType) -> Value {
    let saturate = |v: f64| match to {
        DType::S8 => i64::from(v as i8),
        DType::S16 => i64::from(v as i16),
        DType::S32 => i64::from(v as i32),
        DType::U8 => i64::from(v as u8),
        DType::U16 => i64::from(v as u16),
        DType::U32 => i64::from(v as u32),
        DType::U64 => v as u64 as i64,
        _ => v as i64,
    };
    if to == DType::Pred {
        return Value::pred(values.map(|v| v != 0.0).collect());
    }
    Value::integer(to, values.map(saturate).collect())
}

fn of_integers(values: impl Iterator<Item = i64>, from: DType, to: DType) -> Value {
    match to.format() {
        _ if to == DType::Pred => Value::pred(values.map(|v| v != 0).collect()),
        None => Value::integer(to, values.map(|v| wrap(to, v)).collect()),
        Some(format) => {
            // One rounding from the integer itself: through f64 a long integer would be rounded twice.
            let number = |v: i64| {
                let (negative, magnitude) =
                    if from == DType::U64 { (false, v as u64) } else { (v < 0, v.unsigned_abs()) };
                crate::num::round(format, negative, u128::from(magnitude), 0, false, Direction::NearestEven)
            };
            if to == DType::F64 {
                Value::double(values.map(number).collect())
            } else {
                Value::float(to, values.map(|v| number(v) as f32).collect())
            }
        }
    }
}

/// `bitcast-convert` between types of one width.
pub(super) fn bitcast(value: &Value, from: DType, to: DType) -> Value {
    let count = value.f32s().len().max(value.f64s().len()).max(value.integers().len());
    let bits = |i: usize| match (value, from.format()) {
        (Value::Float(_, values), Some(format)) if from != DType::F32 => format.encode(f64::from(values[i])),
        (Value::Float(_, values), _) => u64::from(values[i].to_bits()),
        (Value::Double(values), _) => values[i].to_bits(),
        (Value::Integer(_, values), _) => values[i] as u64,
        _ => 0,
    };
    match (to, to.format()) {
        (DType::F64, _) => Value::double((0..count).map(|i| f64::from_bits(bits(i))).collect()),
        (DType::F32, _) => Value::float(to, (0..count).map(|i| f32::from_bits(bits(i) as u32)).collect()),
        (_, Some(format)) => Value::float(to, (0..count).map(|i| format.decode(bits(i)) as f32).collect()),
        _ => Value::integer(to, (0..count).map(|i| wrap(to, bits(i) as i64)).collect()),
    }
}

pub(super) fn unary(unary: Unary, value: &Value) -> Value {
    match value {
        Value::Pred(values) => Value::pred(values.iter().map(|v| !v).collect()),
        Value::Integer(dtype, values) => {
            let apply = |v: &i64| match unary {
                Unary::Abs if dtype.is_signed() => v.wrapping_abs(),
                Unary::Negate => v.wrapping_neg(),
                Unary::Not => !v,
                Unary::Sign if dtype.is_signed() => v.signum(),
                Unary::Sign => i64::from(*v != 0),
                _ => *v,
            };
            Value::integer(*dtype, values.iter().map(|v| wrap(*dtype, apply(v))).collect())
        }
        other => other.clone(),
    }
}

/// Wrapping arithmetic; division by zero gives -1 and a remainder by zero its left side, a shift beyond the width 0 or
/// the sign (XLA's semantics of integer operations).
pub(super) fn binary(binary: Binary, a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Pred(a), Value::Pred(b)) => {
            let apply = |(a, b): (&bool, &bool)| match binary {
                Binary::And | Binary::Minimum | Binary::Multiply => a & b,
                Binary::Or | Binary::Maximum | Binary::Add => a | b,
                _ => a ^ b,
            };
            Value::pred(a.iter().zip(b.iter()).map(apply).collect())
        }
        (Value::Integer(dtype, a), Value::Integer(_, b)) => {
            let apply = |(a, b): (&i64, &i64)| wrap(*dtype, integer_binary(binary, *dtype, *a, *b));
            Value::integer(*dtype, a.iter().zip(b.iter()).map(apply).collect())
        }
        (other, _) => other.clone(),
    }
}

fn integer_binary(binary: Binary, dtype: DType, a: i64, b: i64) -> i64 {
    let unsigned = dtype == DType::U64;
    let width = i64::from(dtype.bits());
    let inside = (0..width).contains(&b);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide if b == 0 => -1,
        Binary::Divide if unsigned => (a as u64 / b as u64) as i64,
        Binary::Divide => a.wrapping_div(b),
        Binary::Remainder if b == 0 => a,
        Binary::Remainder if unsigned => (a as u64 % b as u64) as i64,
        Binary::Remainder => a.wrapping_rem(b),
        Binary::Maximum if unsigned => (a as u64).max(b as u64) as i64,
        Binary::Maximum => a.max(b),
        Binary::Minimum if unsigned => (a as u64).min(b as u64) as i64,
        Binary::Minimum => a.min(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => {
            if inside {
                a << b
            } else {
                0
            }
        }
        Binary::ShiftRightLogical => {
            if inside {
                ((a as u64 & mask) >> b) as i64
            } else {
                0
            }
        }
        Binary::ShiftRightArithmetic => a >> if inside { b } else { 63 },
    }
}

pub(super) fn compare(direction: Compare, a: &Value, b: &Value) -> Value {
    Value::pred(match (a, b) {
        (Value::Pred(a), Value::Pred(b)) => a.iter().zip(b.iter()).map(|(a, b)| direction.of(Some(a.cmp(b)))).collect(),
        (Value::Integer(DType::U64, a), Value::Integer(_, b)) => {
            a.iter().zip(b.iter()).map(|(a, b)| direction.of(Some((*a as u64).cmp(&(*b as u64))))).collect()
        }
        (a, b) => a.integers().iter().zip(b.integers()).map(|(a, b)| direction.of(Some(a.cmp(b)))).collect(),
    })
}

/// `select`, by a scalar or by a predicate for each element.
pub(super) fn select(predicate: &Value, on_true: &Value, on_false: &Value) -> Value {
    let flags = predicate.preds();
    if let [flag] = flags {
        return if *flag { on_true.clone() } else { on_false.clone() };
    }
    fn pick<T: Copy>(flags: &[bool], a: &[T], b: &[T]) -> Vec<T> {
        flags.iter().zip(a).zip(b).map(|((flag, a), b)| if *flag { *a } else { *b }).collect()
    }
    match (on_true, on_false) {
        (Value::Float(dtype, a), Value::Float(_, b)) => Value::float(*dtype, pick(flags, a, b)),
        (Value::Double(a), Value::Double(b)) => Value::double(pick(flags, a, b)),
        (Value::Integer(dtype, a), Value::Integer(_, b)) => Value::integer(*dtype, pick(flags, a, b)),
        (Value::Pred(a), Value::Pred(b)) => Value::pred(pick(flags, a, b)),
        (other, _) => other.clone(),
    }
}

pub(super) fn clamp(low: &Value, value: &Value, high: &Value) -> Value {
    let edge = |v: &Value, i: usize| v.integers()[if v.integers().len() == 1 { 0 } else { i }];
    match value {
        Value::Integer(dtype, values) => {
            let clamped = values.iter().enumerate().map(|(i, v)| (*v).max(edge(low, i)).min(edge(high, i)));
            Value::integer(*dtype, clamped.collect())
        }
        other => other.clone(),
    }
}

/// An integer brought into `dtype`'s range by wrapping.
fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::S32 => i64::from(value as i32),
        DType::S64 | DType::U64 => value,
        other => Data::from_i64s(other, &[value]).map_or(value, |data| data.get_i64(0)),
    }
}
