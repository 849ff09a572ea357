//! Operations on one element.

use std::cmp::Ordering;

use rug::{Integer, Rational};
use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::code::{code_of, range_of, wrap};
use super::function::between;
use super::number::{Nan, Num, World};

/// A number after a conversion: a NaN keeps its sign, its payload has no place in another format.
pub fn unpaid(x: &Num) -> Num {
    match x {
        Num::Nan(nan) => Num::Nan(Nan { payload: None, ..*nan }),
        other => other.clone(),
    }
}

/// A float as an integer: truncated, saturated, NaN to 0; as a predicate: whether it is not zero.
pub fn truncated(x: &Num, to: DType) -> Option<i128> {
    if to == DType::Pred {
        return match x {
            Num::Nan(_) | Num::Inf { .. } => Some(1),
            Num::Zero { .. } => Some(0),
            Num::Real(real) => real.nonzero.then_some(1),
            Num::Unknown(_) => None,
        };
    }
    let (low, high) = range_of(to);
    match x {
        Num::Nan(_) | Num::Zero { .. } => Some(0),
        Num::Inf { neg } => Some(if *neg { low } else { high }),
        Num::Unknown(_) => None,
        Num::Real(real) => {
            if real.range.lo > high {
                return Some(high);
            }
            if real.range.hi < low {
                return Some(low);
            }
            let whole = between(real, |r| {
                let whole = Integer::from(r.clone().trunc().numer());
                Rational::from(whole.clamp(&low, &high))
            })?;
            whole.numer().to_i128()
        }
    }
}

pub fn float_binary(world: &mut World, binary: Binary, x: &Num, y: &Num) -> Num {
    match binary {
        Binary::Add => world.add(x, y),
        Binary::Subtract => world.subtract(x, y),
        Binary::Multiply => world.multiply(x, y),
        Binary::Divide => world.divide(x, y),
        Binary::Remainder => world.remainder(x, y),
        Binary::Atan2 => world.angle(x, y),
        Binary::Power => world.power(x, y),
        Binary::Maximum => world.extreme(x, y, true),
        Binary::Minimum => world.extreme(x, y, false),
        other => panic!("{} of floats", other.name()),
    }
}

pub fn integer_unary(unary: Unary, v: i128, dtype: DType) -> i128 {
    match unary {
        Unary::Abs => wrap(dtype, v.abs()),
        Unary::Negate => wrap(dtype, -v),
        Unary::Not if dtype == DType::Pred => 1 - v,
        Unary::Not => wrap(dtype, !v),
        Unary::Sign => v.signum(),
        // Of two bits both may be counted, and s2 has no 2.
        Unary::CountLeadingZeros => {
            wrap(dtype, i128::from(code_of(dtype, v).leading_zeros() - (u64::BITS - dtype.bits())))
        }
        Unary::PopulationCount => wrap(dtype, i128::from(code_of(dtype, v).count_ones())),
        other => panic!("{} of integers", other.name()),
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub fn integer_binary(binary: Binary, x: Option<i128>, y: Option<i128>, dtype: DType) -> Option<i128> {
    // One operand may decide alone.
    let is = |v: i128| x == Some(v) || y == Some(v);
    let ones = if dtype == DType::Pred { 1 } else { wrap(dtype, -1) };
    match binary {
        Binary::And if is(0) => return Some(0),
        Binary::Or if is(ones) => return Some(ones),
        _ => {}
    }
    let (x, y) = (x?, y?);
    let bits = i128::from(dtype.bits());
    let inside = (0..bits).contains(&y);
    let value = match binary {
        Binary::Add => x + y,
        Binary::Subtract => x - y,
        // A product of two 64-bit integers fits i128, but for that of two large u64.
        Binary::Multiply => x.wrapping_mul(y),
        Binary::MultiplyHigh if dtype == DType::U64 => {
            ((Integer::from(x) * Integer::from(y)) >> 64u32).to_i128().unwrap()
        }
        Binary::MultiplyHigh => (x * y) >> bits,
        Binary::Divide if y == 0 => -1,
        Binary::Divide => x / y,
        Binary::Remainder if y == 0 => x,
        Binary::Remainder => x % y,
        Binary::Atan2 => panic!("{} of integers", binary.name()),
        Binary::Power if y < 0 => match x {
            1 => 1,
            -1 => 1 - 2 * (y & 1),
            _ => 0,
        },
        Binary::Power => {
            let (mut power, mut square, mut left) = (1, x, y);
            while left > 0 {
                power = if left & 1 == 1 { wrap(dtype, i128::wrapping_mul(power, square)) } else { power };
                (square, left) = (wrap(dtype, square.wrapping_mul(square)), left >> 1);
            }
            power
        }
        Binary::Maximum => x.max(y),
        Binary::Minimum => x.min(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::ShiftLeft => {
            if inside {
                x << y
            } else {
                0
            }
        }
        Binary::ShiftRightLogical => {
            if inside {
                i128::from(code_of(dtype, x)) >> y
            } else {
                0
            }
        }
        Binary::ShiftRightArithmetic => {
            // The top bit is the sign, whatever the type says.
            let code = i128::from(code_of(dtype, x));
            let signed = if code >> (bits - 1) & 1 == 1 { code - (1i128 << bits) } else { code };
            signed >> if inside { y } else { bits }
        }
    };
    Some(wrap(dtype, value))
}

pub fn holds(direction: Compare, order: Option<Ordering>) -> bool {
    let is = |one: Ordering, other: Ordering| order == Some(one) || order == Some(other);
    match direction {
        Compare::Eq => order == Some(Ordering::Equal),
        Compare::Ne => order != Some(Ordering::Equal),
        Compare::Lt => order == Some(Ordering::Less),
        Compare::Gt => order == Some(Ordering::Greater),
        Compare::Le => is(Ordering::Less, Ordering::Equal),
        Compare::Ge => is(Ordering::Greater, Ordering::Equal),
    }
}

pub fn compare(world: &mut World, direction: Compare, order: CompareOrder, x: &Num, y: &Num) -> Option<bool> {
    let known = match order {
        CompareOrder::Partial => world.compare(x, y),
        CompareOrder::Total => world.total_compare(x, y).map(Some),
    };
    if let Some(ordering) = known {
        return Some(holds(direction, ordering));
    }
    // Reals whose enclosures touch: one may be known not to be above the other.
    let (Some(x), Some(y)) = (real_range(x), real_range(y)) else { return None };
    match direction {
        Compare::Ge | Compare::Lt if order == CompareOrder::Partial && x.0 >= y.1 => Some(direction == Compare::Ge),
        Compare::Le | Compare::Gt if order == CompareOrder::Partial && x.1 <= y.0 => Some(direction == Compare::Le),
        _ => None,
    }
}

pub fn real_range(x: &Num) -> Option<(rug::Float, rug::Float)> {
    match x {
        Num::Real(real) => Some((real.range.lo.clone(), real.range.hi.clone())),
        Num::Zero { .. } => Some((rug::Float::new(2), rug::Float::new(2))),
        _ => None,
    }
}
