//! Integers as HLO has them: 64 bits wide here, wrapped into their type.

use crate::ir::{Binary, Unary};
use crate::tensor::{DType, Data};

/// An integer brought into `dtype`'s range by wrapping.
pub(super) fn wrap(dtype: DType, value: i64) -> i64 {
    Data::from_i64s(dtype, &[value]).map_or(value, |data| data.get_i64(0))
}

/// [`wrap`] of many.
pub(super) fn wrap_all(dtype: DType, values: Vec<i64>) -> Vec<i64> {
    Data::from_i64s(dtype, &values).map_or(values, |data| data.to_i64s())
}

/// The smallest and the largest number of a type.
pub(super) fn range(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::Pred => (0, 1),
        _ if dtype.is_signed() => (-(1 << (dtype.bits() - 1)), (1 << (dtype.bits() - 1)) - 1),
        _ => (0, (1 << dtype.bits()) - 1),
    }
}

/// The number of `dtype`'s range next to this one, as [`super::elements::Integers`] hold it.
pub(super) fn saturate(dtype: DType, value: i128) -> i64 {
    let (low, high) = range(dtype);
    value.clamp(low, high) as i64
}

/// One operand; results wrap once the caller stores them.
pub(super) fn unary(op: Unary, v: i64, dtype: DType) -> i64 {
    match op {
        Unary::Abs if dtype.is_signed() => v.wrapping_abs(),
        Unary::Negate => v.wrapping_neg(),
        Unary::Not if dtype == DType::Pred => i64::from(v == 0),
        Unary::Not => !v,
        Unary::Sign if dtype.is_signed() => v.signum(),
        Unary::Sign => i64::from(v != 0),
        _ => v,
    }
}

/// The lowest `width` bits as a signed number.
fn sign_extended(value: i64, width: i64) -> i64 {
    let unused = 64 - width;
    value << unused >> unused
}

/// Two operands. Results wrap, division by zero gives -1, a shift beyond the width gives 0 or the sign. `and` and `or`
/// may be decided by one operand alone.
pub(super) fn binary(op: Binary, x: Option<i64>, y: Option<i64>, dtype: DType) -> Option<i64> {
    let absorbing =
        |a: Option<i64>, b: Option<i64>, value: i64| (a == Some(value) || b == Some(value)).then_some(value);
    let (Some(a), Some(b)) = (x, y) else {
        return match (op, dtype) {
            (Binary::And, _) => absorbing(x, y, 0),
            (Binary::Or, DType::Pred) => absorbing(x, y, 1),
            _ => None,
        };
    };
    let unsigned = dtype == DType::U64;
    let width = i64::from(dtype.bits());
    let inside = (0..width).contains(&b);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let value = match op {
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
        // An unsigned operand's top bit counts as its sign: LLVM's ashr, which XLA emits, has no type of its own.
        Binary::ShiftRightArithmetic => sign_extended(a, width) >> if inside { b } else { 63 },
    };
    Some(wrap(dtype, value))
}
