//! Integers, predicates, and conversions between kinds of numbers: exact operations, the same on every chip.

#[cfg(test)]
mod tests;

use crate::ir::{Binary, Compare, DotPlan, Unary};
use crate::num::{Direction, F64, Format, flush_f32, round_f64};
use crate::tensor::DType;

use super::elements::Elements;
use super::value::Value;
use super::vector::{self, VectorUnit};

/// `convert`. Floats round to nearest even; a float becomes an integer by truncation, saturating; integers wrap; a predicate is
/// whether a number is not zero, which subnormals are to a unit that flushes. A tuple stays as it is.
///
/// On a TPU subnormals of f32 are zeros to a narrower float, but for those that bf16 holds, and NaN becomes the largest s32, as a v4
/// printed (FACTS 3.4). Elsewhere subnormals stay, but between f32 and f64 (FACTS 3.4), and NaN becomes 0.
///
/// Every conversion rounds once, from the whole value, but for those that [`conversion_steps`] lists more steps of.
pub(super) fn convert(value: Value, to: DType, unit: &VectorUnit) -> Value {
    match (value, to) {
        (Value::Float(from, values), to) if from == to => Value::Float(from, values),
        (Value::Float(_, values), DType::F64) => {
            let seen = |v: f32| f64::from(if unit.flushes_beside_f64() { flush_f32(v) } else { v });
            Value::double(values.iter().map(|v| seen(*v)).collect())
        }
        // Every other type held in f32 is part of f32.
        (Value::Float(_, values), DType::F32) => Value::Float(to, values),
        // What bf16 holds already is not copied: weights come back from a wider type in every step of a loop.
        (Value::Float(_, values), DType::BF16) if values.are_bf16() => Value::Float(to, values),
        (Value::Float(from, values), to) if to.is_float() => {
            let mut values = values.into_vec();
            unit.narrow(from, &mut values);
            for step in conversion_steps(from, to) {
                vector::in_chunks(&mut values, |_, chunk| vector::round_to(step, chunk));
            }
            Value::float(to, values)
        }
        (Value::Float(_, values), DType::Pred) => {
            let seen = |v: f32| if unit.flush { flush_f32(v) } else { v };
            Value::pred(values.iter().map(|v| seen(*v) != 0.0).collect())
        }
        (Value::Float(from, values), DType::S32) => {
            let of_nan = unit.integer_of_nan(from, to).unwrap_or(0);
            let of = |v: f32| if v.is_nan() { of_nan } else { v as i32 };
            Value::integer(to, values.iter().map(|v| i64::from(of(*v))).collect())
        }
        (Value::Float(_, values), to) => of_floats(values.iter().map(|v| f64::from(*v)), to),
        (Value::Double(values), DType::F64) => Value::Double(values),
        (Value::Double(values), DType::Pred) => Value::pred(values.iter().map(|v| *v != 0.0).collect()),
        (Value::Double(values), to) if to.is_float() => Value::float(to, of_doubles(&values, to, unit)),
        (Value::Double(values), to) => of_floats(values.iter().copied(), to),
        (Value::Integer(from, values), to) if from == to => Value::Integer(from, values),
        (Value::Integer(from, values), to) => of_integers(values.iter().copied(), from, to),
        (Value::Pred(values), DType::Pred) => Value::Pred(values),
        (Value::Pred(values), to) => of_integers(values.iter().map(|v| i64::from(*v)), DType::U8, to),
        (Value::Products(products), to) => convert(Value::double(products.in_f64()), to, unit),
        (tuple @ Value::Tuple(_), _) => tuple,
    }
}

/// Whether a conversion rounds to f32 on its way and then once more: to bf16 from what f32 does not hold. Measured on
/// jaxlib 0.10.2: of f64, `1 + 2^-8 + 2^-40` becomes 1 in bf16, while f16, f8e4m3fn and f8e5m2 are rounded
/// once; of integers, only bf16 shows a difference. A modelling choice for TPUs.
fn through_f32(from: DType, to: DType) -> bool {
    to == DType::BF16 && !(from.is_float() && from != DType::F64)
}

/// The types that a conversion between these rounds to, one after the other.
pub fn conversion_steps(from: DType, to: DType) -> impl Iterator<Item = DType> + use<> {
    through_f32(from, to).then_some(DType::F32).into_iter().chain([to])
}

/// f64 as a narrower float. What becomes f32 on its way is flushed there (FACTS 3.4).
fn of_doubles(values: &[f64], to: DType, unit: &VectorUnit) -> Vec<f32> {
    let first = conversion_steps(DType::F64, to).next();
    let mut narrow: Vec<f32> = match first.and_then(DType::format) {
        Some(format) => values.iter().map(|v| round_f64(format, *v, Direction::NearestEven) as f32).collect(),
        None => values.iter().map(|v| *v as f32).collect(),
    };
    if unit.flushes_beside_f64() && first == Some(DType::F32) {
        narrow.iter_mut().for_each(|v| *v = flush_f32(*v));
    }
    vector::round_to(to, &mut narrow);
    narrow
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
        DType::S1 | DType::S2 | DType::S4 | DType::U1 | DType::U2 | DType::U4 => {
            let (signed, bits) = (i64::from(to.is_signed()), to.bits());
            (v as i64).clamp(-(signed << (bits - 1)), (1 << (bits - signed as u32)) - 1)
        }
        _ => v as i64,
    };
    Value::integer(to, values.map(saturate).collect())
}

/// Integers of one type as numbers of another.
pub(super) fn of_integers(values: impl Iterator<Item = i64>, from: DType, to: DType) -> Value {
    if to == DType::Pred {
        return Value::pred(values.map(|v| v != 0).collect());
    }
    if !to.is_float() {
        return Value::integer(to, values.map(|v| wrap(to, v)).collect());
    }
    let unsigned = from == DType::U64;
    if to == DType::F64 {
        return Value::double(values.map(|v| if unsigned { v as u64 as f64 } else { v as f64 }).collect());
    }
    // Integers that f32 does not hold lie beyond f16 and f8, so that rounding them to f32 first shows in bf16 alone.
    let mut values: Vec<f32> = values.map(|v| if unsigned { v as u64 as f32 } else { v as f32 }).collect();
    vector::round_to(to, &mut values);
    Value::float(to, values)
}

/// `bitcast-convert` to a type of the same width. NaN payloads survive in f32, f64 and bf16; in narrower floats a NaN
/// has one code a sign.
pub(super) fn bitcast(value: Value, to: DType) -> Value {
    let codes: Vec<u64> = match &value {
        Value::Float(DType::F32, values) => values.iter().map(|v| u64::from(v.to_bits())).collect(),
        Value::Float(DType::BF16, values) => values.iter().map(|v| u64::from(v.to_bits() >> 16)).collect(),
        Value::Float(dtype, values) => {
            let Some(format) = dtype.format() else { unreachable!("{dtype} is no float") };
            values.iter().map(|v| format.encode(f64::from(*v))).collect()
        }
        Value::Double(values) => values.iter().map(|v| v.to_bits()).collect(),
        Value::Integer(_, values) => values.iter().map(|v| *v as u64).collect(),
        Value::Pred(values) => values.iter().map(|v| u64::from(*v)).collect(),
        Value::Products(_) | Value::Tuple(_) => unreachable!("shape checking gives arrays to bitcast-convert"),
    };
    let codes = codes.into_iter();
    match (to, to.format()) {
        (DType::F64, _) => Value::double(codes.map(f64::from_bits).collect()),
        (DType::F32, _) => Value::float(to, codes.map(|c| f32::from_bits(c as u32)).collect()),
        (DType::BF16, _) => Value::float(to, codes.map(|c| f32::from_bits((c as u32) << 16)).collect()),
        (_, Some(format)) => Value::float(to, codes.map(|c| format.decode(c) as f32).collect()),
        (DType::Pred, _) => Value::pred(codes.map(|c| c & 0xff != 0).collect()),
        _ => Value::integer(to, codes.map(|c| wrap(to, c as i64)).collect()),
    }
}

/// `reduce-precision`; a value stays in its type. Where a conversion makes zeros of subnormals, so does a rounding in f32 (modelling
/// choice).
pub(super) fn reduce_precision(exponent_bits: u32, mantissa_bits: u32, operand: Value, unit: &VectorUnit) -> Value {
    let by_code = |format: &Format, value: f64| {
        format.decode(vector::reduce_precision_code(format, exponent_bits, mantissa_bits, format.encode(value)))
    };
    match operand {
        Value::Float(dtype @ (DType::F32 | DType::BF16), values) => {
            let mut values = values.into_vec();
            if mantissa_bits < 23 {
                unit.narrow(dtype, &mut values);
            }
            vector::reduce_precision(exponent_bits, mantissa_bits, &mut values);
            Value::float(dtype, values)
        }
        Value::Float(dtype, values) => {
            let Some(format) = dtype.format() else { unreachable!("{dtype} is no float") };
            Value::float(dtype, values.iter().map(|v| by_code(format, f64::from(*v)) as f32).collect())
        }
        Value::Double(values) => Value::double(values.iter().map(|v| by_code(&F64, *v)).collect()),
        Value::Products(products) => Value::Products(products.map(|product| by_code(&F64, product))),
        Value::Integer(..) | Value::Pred(_) | Value::Tuple(_) => {
            unreachable!("shape checking gives floats to reduce-precision")
        }
    }
}

/// An elementwise operation of one operand on integers or predicates.
pub(super) fn unary(unary: Unary, value: &Value) -> Value {
    let (dtype, values) = match value {
        // Of predicates there is no other operation.
        Value::Pred(values) => return Value::pred(values.iter().map(|v| !v).collect()),
        Value::Integer(dtype, values) => (*dtype, values),
        Value::Float(..) | Value::Double(_) | Value::Products(_) | Value::Tuple(_) => {
            unreachable!("floats have operations of their own")
        }
    };
    let apply = |v: i64| match unary {
        Unary::Abs if dtype.is_signed() => v.wrapping_abs(),
        Unary::Abs => v,
        Unary::Negate => v.wrapping_neg(),
        Unary::Not => !v,
        Unary::Sign if dtype.is_signed() => v.signum(),
        Unary::Sign => i64::from(v != 0),
        Unary::CountLeadingZeros => i64::from((v << (64 - dtype.bits())).leading_zeros().min(dtype.bits())),
        Unary::PopulationCount => i64::from((v << (64 - dtype.bits())).count_ones()),
        Unary::Cbrt
        | Unary::Ceil
        | Unary::Cosine
        | Unary::Erf
        | Unary::Exponential
        | Unary::ExponentialMinusOne
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Log
        | Unary::LogPlusOne
        | Unary::Logistic
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::Rsqrt
        | Unary::Sine
        | Unary::Sqrt
        | Unary::Tan
        | Unary::Tanh => unreachable!("shape checking gives floats to {}", unary.name()),
    };
    Value::integer(dtype, values.iter().map(|v| wrap(dtype, apply(*v))).collect())
}

/// An elementwise operation of two operands on integers or predicates.
pub(super) fn binary(binary: Binary, left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Pred(left), Value::Pred(right)) => {
            Value::pred(left.iter().zip(right.iter()).map(|(a, b)| apply_pred(binary, *a, *b)).collect())
        }
        (Value::Integer(dtype, left), Value::Integer(_, right)) => {
            let results = left.iter().zip(right.iter()).map(|(a, b)| apply(binary, *dtype, *a, *b));
            Value::integer(*dtype, results.collect())
        }
        (left, right) => unreachable!("shape checking gives operands of one type, not {left:?} and {right:?}"),
    }
}

/// `binary(a, b)` on predicates, as integers of one bit.
pub(super) fn apply_pred(binary: Binary, a: bool, b: bool) -> bool {
    match binary {
        Binary::And | Binary::Minimum | Binary::Multiply => a & b,
        Binary::Or | Binary::Maximum => a | b,
        Binary::Xor => a ^ b,
        Binary::Add
        | Binary::Atan2
        | Binary::Divide
        | Binary::MultiplyHigh
        | Binary::Power
        | Binary::Remainder
        | Binary::ShiftLeft
        | Binary::ShiftRightArithmetic
        | Binary::ShiftRightLogical
        | Binary::Subtract => unreachable!("shape checking gives numbers to {}", binary.name()),
    }
}

/// `binary(a, b)` in an integer type, wrapping. As XLA has it: division by zero gives all ones and a remainder by zero
/// its left side; a shift by the width or more gives 0, or the sign.
pub(super) fn apply(binary: Binary, dtype: DType, a: i64, b: i64) -> i64 {
    let unsigned = dtype == DType::U64;
    let width = i64::from(dtype.bits());
    let inside = (0..width).contains(&b);
    let spare = 64 - width as u32;
    let result = match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::MultiplyHigh if unsigned => ((u128::from(a as u64) * u128::from(b as u64)) >> 64) as i64,
        Binary::MultiplyHigh => ((i128::from(a) * i128::from(b)) >> width) as i64,
        Binary::Divide if b == 0 => -1,
        Binary::Divide if unsigned => (a as u64 / b as u64) as i64,
        Binary::Divide => a.wrapping_div(b),
        Binary::Remainder if b == 0 => a,
        Binary::Remainder if unsigned => (a as u64 % b as u64) as i64,
        Binary::Remainder => a.wrapping_rem(b),
        Binary::Power if unsigned || b >= 0 => power(a, b as u64),
        // The quotient of 1 by a power, truncated.
        Binary::Power => match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        },
        Binary::Atan2 => unreachable!("shape checking gives floats to {}", binary.name()),
        Binary::Maximum if unsigned => (a as u64).max(b as u64) as i64,
        Binary::Maximum => a.max(b),
        Binary::Minimum if unsigned => (a as u64).min(b as u64) as i64,
        Binary::Minimum => a.min(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft if inside => a << b,
        Binary::ShiftRightLogical if inside => ((a as u64) << spare >> spare >> b) as i64,
        Binary::ShiftLeft | Binary::ShiftRightLogical => 0,
        // The top bit of the type is the sign, in an unsigned type as well.
        Binary::ShiftRightArithmetic => (a << spare >> spare) >> if inside { b } else { 63 },
    };
    wrap(dtype, result)
}

/// `base^exponent`, wrapped, by squaring.
fn power(mut base: i64, mut exponent: u64) -> i64 {
    let mut product = 1i64;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = product.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    product
}

/// The dots of each batch, wrapped; operands as a [`DotPlan`] lays them out.
pub(super) fn dots(dtype: DType, lhs: &[i64], rhs: &[i64], plan: &DotPlan) -> Vec<i64> {
    let (m, k, n) = (plan.m, plan.k, plan.n);
    let mut out = Vec::with_capacity(plan.batch * m * n);
    for row in 0..plan.batch * m {
        let of_batch = &rhs[row / m * k * n..][..k * n];
        let mut sums = vec![0i64; n];
        for (a, others) in lhs[row * k..][..k].iter().zip(of_batch.chunks_exact(n.max(1))) {
            sums.iter_mut().zip(others).for_each(|(sum, b)| *sum = sum.wrapping_add(a.wrapping_mul(*b)));
        }
        out.extend(sums.into_iter().map(|sum| wrap(dtype, sum)));
    }
    out
}

/// `compare` on integers or predicates.
pub(super) fn compare(direction: Compare, left: &Value, right: &Value) -> Value {
    Value::pred(match (left, right) {
        (Value::Pred(left), Value::Pred(right)) => {
            left.iter().zip(right.iter()).map(|(a, b)| direction.of(Some(a.cmp(b)))).collect()
        }
        (Value::Integer(DType::U64, left), Value::Integer(_, right)) => {
            left.iter().zip(right.iter()).map(|(a, b)| direction.of(Some((*a as u64).cmp(&(*b as u64))))).collect()
        }
        _ => left.integers().iter().zip(right.integers()).map(|(a, b)| direction.of(Some(a.cmp(b)))).collect(),
    })
}

/// `min(max(low, value), high)`; edges may be scalars.
pub(super) fn clamp(low: &Value, value: &Value, high: &Value) -> Value {
    let edge = |edge: &Value| match edge.len() {
        1 => edge.pick(std::iter::repeat_n(0, value.len())),
        _ => edge.clone(),
    };
    binary(Binary::Minimum, &binary(Binary::Maximum, &edge(low), value), &edge(high))
}

/// `select`, by a scalar or by a predicate for each element.
pub(super) fn select(predicate: &Value, on_true: Value, on_false: Value) -> Value {
    let flags = predicate.preds();
    if let ([flag], true) = (flags, on_true.len() != 1) {
        return if *flag { on_true } else { on_false };
    }
    fn pick<T: Copy + Send + Sync>(flags: &[bool], a: Elements<T>, b: &[T]) -> Vec<T> {
        let mut picked = a.into_vec();
        vector::in_chunks(&mut picked, |at, chunk| {
            let others = flags[at..at + chunk.len()].iter().zip(&b[at..at + chunk.len()]);
            chunk.iter_mut().zip(others).for_each(|(v, (flag, other))| *v = if *flag { *v } else { *other });
        });
        picked
    }
    let of_lists = |lists: &[&[f64]]| pick(flags, Elements::from(lists[0].to_vec()), lists[1]);
    if let Some(products) = Value::joint_products(&[&on_true, &on_false], of_lists) {
        return products;
    }
    match (on_true, on_false) {
        (Value::Float(dtype, a), Value::Float(_, b)) => Value::float(dtype, pick(flags, a, &b)),
        (Value::Double(a), Value::Double(b)) => Value::double(pick(flags, a, &b)),
        (Value::Integer(dtype, a), Value::Integer(_, b)) => Value::integer(dtype, pick(flags, a, &b)),
        (Value::Pred(a), Value::Pred(b)) => Value::pred(pick(flags, a, &b)),
        (a, b) => unreachable!("shape checking gives operands of one type, not {a:?} and {b:?}"),
    }
}

/// An integer brought into `dtype`'s range by wrapping; u64 is held in the bits of an i64.
fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype {
        DType::S8 => i64::from(value as i8),
        DType::S16 => i64::from(value as i16),
        DType::S32 => i64::from(value as i32),
        DType::U8 => i64::from(value as u8),
        DType::U16 => i64::from(value as u16),
        DType::U32 => i64::from(value as u32),
        DType::S1 | DType::S2 | DType::S4 => value << (64 - dtype.bits()) >> (64 - dtype.bits()),
        DType::U1 | DType::U2 | DType::U4 => value & ((1 << dtype.bits()) - 1),
        _ => value,
    }
}
