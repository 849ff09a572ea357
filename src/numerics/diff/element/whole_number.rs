//! Integers and predicates that no argument decides.

use crate::ir::{Binary, Unary};
use crate::tensor::DType;

/// Integers above this are not followed: a float would not hold them.
const LARGEST: i128 = 1 << 53;

/// An integer in its type, which wraps; `None` where a float does not hold it.
pub fn wrap(value: i128, dtype: DType) -> Option<f64> {
    if dtype == DType::Pred {
        return Some(f64::from(value != 0));
    }
    let bits = dtype.bits();
    let low = value & ((1i128 << bits) - 1);
    let wrapped = if dtype.is_signed() && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low };
    (wrapped.abs() <= LARGEST).then_some(wrapped as f64)
}

/// A float as an integer: truncated, and the nearest number of the type if it is out of range.
pub fn saturate(value: f64, dtype: DType) -> f64 {
    let bits = dtype.bits();
    let (least, most) = match dtype.is_signed() {
        true => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
        false => (0.0, 2f64.powi(bits as i32) - 1.0),
    };
    value.trunc().clamp(least, most)
}

/// Whether all numbers of one type are in the other.
pub fn keeps(from: DType, to: DType) -> bool {
    let is_plain = |dtype: DType| !dtype.is_float() && dtype != DType::Pred;
    is_plain(from)
        && is_plain(to)
        && from.is_signed() <= to.is_signed()
        && from.bits() + u32::from(!from.is_signed() && to.is_signed()) <= to.bits()
}

pub fn unary(unary: Unary, x: i64, dtype: DType) -> Option<f64> {
    let x = i128::from(x);
    match unary {
        Unary::Negate => wrap(-x, dtype),
        Unary::Abs => wrap(x.abs(), dtype),
        Unary::Sign => wrap(x.signum(), dtype),
        Unary::Not if dtype != DType::Pred => wrap(!x, dtype),
        _ => None,
    }
}

pub fn binary(binary: Binary, x: i64, y: i64, dtype: DType) -> Option<f64> {
    let (a, b) = (i128::from(x), i128::from(y));
    let bits = i64::from(dtype.bits());
    let shifts = dtype != DType::Pred && (0..bits).contains(&y);
    // The bits of a negative number of the type, as a number without a sign.
    let unsigned = a & ((1i128 << bits) - 1);
    let value = match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide if b != 0 => a / b,
        Binary::Remainder if b != 0 => a % b,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::ShiftLeft if shifts => a << y,
        Binary::ShiftRightLogical if shifts => unsigned >> y,
        Binary::ShiftRightArithmetic if shifts && dtype.is_signed() => a >> y,
        _ => return None,
    };
    wrap(value, dtype)
}
