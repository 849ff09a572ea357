//! Integers as HLO has them: 64 bits wide here, wrapped into their type.

use crate::ir::{Binary, DotDims, DotPlan, Op, Unary, movement};
use crate::tensor::{DType, Data};

use super::elements::Integers;

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

/// The number of `dtype`'s range next to this one, as [`Integers`] hold it.
pub(super) fn saturate(dtype: DType, value: i128) -> i64 {
    let (low, high) = range(dtype);
    value.clamp(low, high) as i64
}

/// One operand; results wrap once the caller stores them.
pub(super) fn unary(op: Unary, v: i64, dtype: DType) -> i64 {
    match op {
        Unary::Abs if dtype.is_signed() => v.wrapping_abs(),
        Unary::Abs => v,
        Unary::Negate => v.wrapping_neg(),
        Unary::Not if dtype == DType::Pred => i64::from(v == 0),
        Unary::Not => !v,
        Unary::Sign if dtype.is_signed() => v.signum(),
        Unary::Sign => i64::from(v != 0),
        Unary::CountLeadingZeros => (0..dtype.bits()).rev().take_while(|bit| v >> bit & 1 == 0).count() as i64,
        Unary::PopulationCount => (0..dtype.bits()).filter(|bit| v >> bit & 1 == 1).count() as i64,
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
        | Unary::Tanh => unreachable!("shape checking gives floats to {}", op.name()),
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
        Binary::MultiplyHigh => multiply_high([a, b], width, unsigned),
        Binary::Divide if b == 0 => -1,
        Binary::Divide if unsigned => (a as u64 / b as u64) as i64,
        Binary::Divide => a.wrapping_div(b),
        Binary::Remainder if b == 0 => a,
        Binary::Remainder if unsigned => (a as u64 % b as u64) as i64,
        Binary::Remainder => a.wrapping_rem(b),
        Binary::Power => power(a, b, unsigned),
        Binary::Atan2 => unreachable!("shape checking gives floats to {}", op.name()),
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
        // An unsigned operand's top bit counts as its sign: the shift that XLA emits (`ashr`) has no type of its own.
        Binary::ShiftRightArithmetic => sign_extended(a, width) >> if inside { b } else { 63 },
    };
    Some(wrap(dtype, value))
}

/// The product divided by two to the power of the width, toward the smaller integer.
fn multiply_high([a, b]: [i64; 2], width: i64, unsigned: bool) -> i64 {
    let whole = |n: i64| if unsigned { i128::from(n as u64) } else { i128::from(n) };
    // By halves of the second factor, so that no product of two u64 passes i128.
    let (a, upper, lower) = (whole(a), whole(b).div_euclid(1 << 32), whole(b).rem_euclid(1 << 32));
    let sum = a * upper + (a * lower).div_euclid(1 << 32);
    if width >= 32 { sum.div_euclid(1 << (width - 32)) as i64 } else { (a * whole(b)).div_euclid(1 << width) as i64 }
}

/// `a^b`, wrapped; of a negative power the quotient of 1 by it, truncated toward zero.
fn power(a: i64, b: i64, unsigned: bool) -> i64 {
    match b {
        _ if unsigned || b >= 0 => {
            let (high, low) = ((b as u64 >> 32) as u32, b as u32);
            let upper = a.wrapping_pow(1 << 16).wrapping_pow(1 << 16).wrapping_pow(high);
            upper.wrapping_mul(a.wrapping_pow(low))
        }
        _ if a.unsigned_abs() == 1 => a.pow((b & 1) as u32),
        _ => 0,
    }
}

/// Dots of integers, wrapped; `None` where an operand is not known.
pub(super) fn dots(dtype: DType, numbers: &DotDims, operands: [&Integers; 2], dims: [&[usize]; 2]) -> Vec<Option<i64>> {
    let plan = DotPlan::new(numbers, dims[0], dims[1]);
    let arranged = |of: usize, order: &Option<Vec<usize>>| match order {
        None => operands[of].values.to_vec(),
        Some(permutation) => {
            let out: Vec<usize> = permutation.iter().map(|d| dims[of][*d]).collect();
            let op = Op::Transpose { permutation: permutation.clone() };
            movement::apply(&op, &[(operands[of].values.as_slice(), dims[of])], &[], &[], &out)
        }
    };
    let (lhs, rhs) = (arranged(0, &plan.lhs_transpose), arranged(1, &plan.rhs_transpose));
    let (m, k, n) = (plan.m, plan.k, plan.n);
    let at = |b: usize, i: usize, j: usize| {
        let mut products = (0..k).map(|l| Some(lhs[(b * m + i) * k + l]?.wrapping_mul(rhs[(b * k + l) * n + j]?)));
        products.try_fold(0i64, |sum, product| Some(sum.wrapping_add(product?))).map(|sum| wrap(dtype, sum))
    };
    (0..plan.batch * m * n).map(|flat| at(flat / (m * n), flat / n % m, flat % n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_types() {
        assert_eq!((range(DType::Pred), range(DType::S8), range(DType::U8)), ((0, 1), (-128, 127), (0, 255)));
        assert_eq!(range(DType::S64), (i128::from(i64::MIN), i128::from(i64::MAX)));
        assert_eq!(range(DType::U64), (0, i128::from(u64::MAX)));
        assert_eq!((saturate(DType::U64, i128::MAX), saturate(DType::U64, -1)), (-1, 0));
        assert_eq!((saturate(DType::S8, 128), saturate(DType::S8, -129), saturate(DType::Pred, 7)), (127, -128, 1));
    }

    #[test]
    fn one_operand() {
        for (op, dtype, v, expected) in [
            (Unary::Abs, DType::S32, -5, 5),
            (Unary::Abs, DType::U64, -5, -5),
            (Unary::Negate, DType::S32, 5, -5),
            (Unary::Negate, DType::S64, i64::MIN, i64::MIN),
            (Unary::Not, DType::Pred, 0, 1),
            (Unary::Not, DType::Pred, 1, 0),
            (Unary::Not, DType::S8, 5, -6),
            (Unary::Sign, DType::S8, -5, -1),
            (Unary::Sign, DType::S8, 0, 0),
            (Unary::Sign, DType::U64, -5, 1),
            (Unary::Sign, DType::U64, 0, 0),
        ] {
            assert_eq!(unary(op, v, dtype), expected, "{op:?} {dtype} {v}");
        }
    }

    #[test]
    fn two_operands() {
        let large = u64::MAX - 2;
        for (op, dtype, a, b, expected) in [
            (Binary::Add, DType::S8, 127, 1, -128),
            (Binary::Subtract, DType::U8, 0, 1, 255),
            (Binary::Multiply, DType::S16, 300, 300, 24_464),
            // jaxlib 0.10.2 on a CPU, `jax.lax.mulhi`.
            (Binary::MultiplyHigh, DType::S8, -128, -128, 64),
            (Binary::MultiplyHigh, DType::S8, -1, 1, -1),
            (Binary::MultiplyHigh, DType::U8, 255, 255, 254),
            (Binary::MultiplyHigh, DType::S16, 300, 300, 1),
            (Binary::MultiplyHigh, DType::S32, -3, 7, -1),
            (Binary::MultiplyHigh, DType::U32, 4_294_967_295, 4_294_967_295, 4_294_967_294),
            (Binary::MultiplyHigh, DType::S64, i64::MIN, i64::MIN, 1 << 62),
            (Binary::MultiplyHigh, DType::S64, i64::MIN, i64::MAX, -(1 << 62)),
            (Binary::MultiplyHigh, DType::U64, -1, -1, -2),
            (Binary::MultiplyHigh, DType::U64, large as i64, 10, 9),
            // XLA's elemental IR emitter: x / 0 = -1, MIN / -1 = MIN.
            (Binary::Divide, DType::S32, 7, 0, -1),
            (Binary::Divide, DType::S32, 0, 7, 0),
            (Binary::Divide, DType::S32, -7, 2, -3),
            (Binary::Divide, DType::S64, i64::MIN, -1, i64::MIN),
            (Binary::Divide, DType::U64, large as i64, 2, (large / 2) as i64),
            (Binary::Remainder, DType::S32, 7, 0, 7),
            (Binary::Remainder, DType::S32, -7, 2, -1),
            (Binary::Remainder, DType::U64, large as i64, 10, (large % 10) as i64),
            (Binary::Remainder, DType::S64, i64::MIN, -1, 0),
            (Binary::Maximum, DType::U64, large as i64, 1, large as i64),
            (Binary::Maximum, DType::S64, -3, 1, 1),
            (Binary::Minimum, DType::U64, large as i64, 1, 1),
            (Binary::Minimum, DType::S64, -3, 1, -3),
            (Binary::And, DType::S8, 12, 10, 8),
            (Binary::Or, DType::S8, 12, 10, 14),
            (Binary::Xor, DType::S8, 12, 10, 6),
            (Binary::ShiftLeft, DType::S8, 3, 7, -128),
            (Binary::ShiftLeft, DType::S8, 3, 8, 0),
            (Binary::ShiftLeft, DType::S8, 3, -1, 0),
            (Binary::ShiftRightLogical, DType::S8, -1, 1, 127),
            (Binary::ShiftRightLogical, DType::S64, -1, 63, 1),
            (Binary::ShiftRightLogical, DType::S8, -1, 8, 0),
            (Binary::ShiftRightArithmetic, DType::S8, -128, 3, -16),
            (Binary::ShiftRightArithmetic, DType::U8, 128, 3, 240),
            (Binary::ShiftRightArithmetic, DType::U8, 64, 3, 8),
            (Binary::ShiftRightArithmetic, DType::S8, -1, 9, -1),
            (Binary::ShiftRightArithmetic, DType::S8, 127, 9, 0),
        ] {
            assert_eq!(binary(op, Some(a), Some(b), dtype), Some(expected), "{op:?} {dtype} {a} {b}");
        }
    }

    #[test]
    fn one_operand_may_decide() {
        let of = |op, a, b, dtype| binary(op, a, b, dtype);
        for dtype in [DType::Pred, DType::S32] {
            assert_eq!(
                (of(Binary::And, Some(0), None, dtype), of(Binary::And, None, Some(0), dtype)),
                (Some(0), Some(0))
            );
            assert_eq!(of(Binary::And, Some(1), None, dtype), None);
        }
        let or = |a, b, dtype| of(Binary::Or, a, b, dtype);
        assert_eq!((or(Some(1), None, DType::Pred), or(None, Some(1), DType::Pred)), (Some(1), Some(1)));
        assert_eq!((or(Some(0), None, DType::Pred), or(Some(1), None, DType::S32)), (None, None));
        assert_eq!(of(Binary::Multiply, Some(0), None, DType::S32), None);
    }
}
