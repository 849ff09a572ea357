//! Codes of elements: what they stand for, and the code of a number that belongs to a type.

use rug::{Integer, Rational};
use ulpgate::tensor::DType;

use super::number::{Nan, Num, World};

/// The use of a float type's codes.
struct Layout {
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
    ends: Ends,
}

/// The codes that are no numbers.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// The largest exponent holds infinities and NaNs.
    Ieee,
    /// All ones are NaN.
    AllOnes,
    /// The code of -0 is NaN.
    NegativeZero,
    /// None.
    Nothing,
    /// All ones are NaN, and there is neither a sign nor zero.
    Unsigned,
}

/// IEEE 754-2019 table 3.5, OCP OFP8 v1.0, OCP MX v1.0, bf16 as the top half of f32; the others as ml_dtypes names them.
fn layout(dtype: DType) -> Layout {
    let (exponent_bits, fraction_bits, bias, ends) = match dtype {
        DType::F64 => (11, 52, 1023, Ends::Ieee),
        DType::F32 => (8, 23, 127, Ends::Ieee),
        DType::BF16 => (8, 7, 127, Ends::Ieee),
        DType::F16 => (5, 10, 15, Ends::Ieee),
        DType::F8E5M2 => (5, 2, 15, Ends::Ieee),
        DType::F8E4M3 => (4, 3, 7, Ends::Ieee),
        DType::F8E3M4 => (3, 4, 3, Ends::Ieee),
        DType::F8E4M3FN => (4, 3, 7, Ends::AllOnes),
        DType::F8E4M3FNUZ => (4, 3, 8, Ends::NegativeZero),
        DType::F8E4M3B11FNUZ => (4, 3, 11, Ends::NegativeZero),
        DType::F8E5M2FNUZ => (5, 2, 16, Ends::NegativeZero),
        DType::F4E2M1FN => (2, 1, 1, Ends::Nothing),
        DType::F8E8M0FNU => (8, 0, 127, Ends::Unsigned),
        other => panic!("{other} is no float"),
    };
    Layout { exponent_bits, fraction_bits, bias, ends }
}

/// The value of a code of a float type.
pub fn decode(world: &mut World, dtype: DType, code: u64) -> Num {
    let Layout { exponent_bits, fraction_bits, bias, ends } = layout(dtype);
    let neg = ends != Ends::Unsigned && code >> (exponent_bits + fraction_bits) & 1 == 1;
    let ones = (1u64 << exponent_bits) - 1;
    let (exponent, fraction) = (code >> fraction_bits & ones, code & ((1 << fraction_bits) - 1));
    let all_ones = exponent == ones && fraction == (1 << fraction_bits) - 1;
    if exponent == ones && ends == Ends::Ieee && fraction == 0 {
        return Num::Inf { neg };
    }
    let nan = match ends {
        Ends::Ieee => exponent == ones,
        Ends::AllOnes | Ends::Unsigned => all_ones,
        Ends::NegativeZero => neg && exponent == 0 && fraction == 0,
        Ends::Nothing => false,
    };
    if nan {
        let neg = neg && ends != Ends::NegativeZero;
        return Num::Nan(Nan { neg: Some(neg), payload: Some(fraction) });
    }
    let subnormal = exponent == 0 && ends != Ends::Unsigned;
    let significand = if subnormal { fraction } else { fraction | 1 << fraction_bits };
    let power = if subnormal { 1 } else { exponent as i32 } - bias - fraction_bits as i32;
    if significand == 0 {
        return Num::zero(neg);
    }
    let value = Rational::from(significand);
    let value = if power < 0 { value >> power.unsigned_abs() } else { value << power.unsigned_abs() };
    world.number(if neg { -value } else { value })
}

/// The code of the nearest value of the type, ties to even, if that is known.
pub fn encode(dtype: DType, x: &Num) -> Option<u64> {
    let layout = layout(dtype);
    let Layout { exponent_bits, fraction_bits, ends, .. } = layout;
    let top = 1u64 << (exponent_bits + fraction_bits);
    let sign = |neg: bool| if neg { top } else { 0 };
    let ones = top - (1 << fraction_bits);
    match (x, ends) {
        (Num::Nan(_), Ends::Nothing | Ends::NegativeZero) => Some(top),
        (Num::Nan(_), Ends::Unsigned) => Some(top - 1),
        (Num::Nan(nan), _) => Some(sign(nan.neg?) | ones | nan.payload?),
        (Num::Inf { neg }, _) => Some(beyond(&layout, *neg)),
        (Num::Zero { .. }, Ends::Unsigned) => Some(top - 1),
        (Num::Zero { .. }, Ends::NegativeZero) => Some(0),
        (Num::Zero { neg }, _) => Some(sign((*neg)?)),
        (Num::Unknown(_), _) => None,
        (Num::Real(real), _) => match real.rational() {
            Some(exact) => Some(nearest(&layout, exact)),
            None => {
                let [lo, hi] = [&real.range.lo, &real.range.hi].map(|end| end.to_rational());
                // Where the range reaches both signs, so do the codes, but for those of one NaN.
                let (lo, hi) = (lo?, hi?);
                let code = nearest(&layout, &lo);
                (code == nearest(&layout, &hi) && (lo > 0 || hi < 0)).then_some(code)
            }
        },
    }
}

/// The values beyond the largest numbers.
fn beyond(layout: &Layout, neg: bool) -> u64 {
    let top = 1u64 << (layout.exponent_bits + layout.fraction_bits);
    let sign = if neg { top } else { 0 };
    match layout.ends {
        Ends::Ieee => sign | (top - (1 << layout.fraction_bits)),
        Ends::AllOnes | Ends::Nothing => sign | (top - 1),
        Ends::NegativeZero => top,
        Ends::Unsigned => top - 1,
    }
}

/// The code next to a number that is not zero.
fn nearest(layout: &Layout, value: &Rational) -> u64 {
    let Layout { exponent_bits, fraction_bits, bias, ends } = *layout;
    let top = 1u64 << (exponent_bits + fraction_bits);
    let neg = *value < 0;
    let unsigned = ends == Ends::Unsigned;
    if unsigned && neg {
        return top - 1;
    }
    let value = Rational::from(value.abs_ref());
    let times = |power: i32| {
        let value = value.clone();
        if power < 0 { value >> power.unsigned_abs() } else { value << power.unsigned_abs() }
    };
    let bits = |n: &Integer| n.significant_bits() as i32;
    let log = bits(value.numer()) - bits(value.denom());
    let log = if times(-log) < 1 { log - 1 } else { log };
    let lowest = if unsigned { -bias } else { 1 - bias };
    let mut exponent = log.max(lowest);
    if exponent > 2000 {
        return beyond(layout, neg);
    }
    let scaled = times(fraction_bits as i32 - exponent);
    let mut significand = scaled.clone().trunc().numer().to_u64().unwrap_or(u64::MAX);
    let rest: Rational = scaled - Rational::from(significand);
    let half = Rational::from((1, 2));
    // The two smallest powers of two have no middle: XLA rounds up.
    let lifted = unsigned && exponent == lowest && significand == 1 && rest != 0;
    significand += u64::from(rest > half || rest == half && significand % 2 == 1 || lifted);
    if unsigned {
        significand = significand.max(1);
    }
    if significand >> (fraction_bits + 1) != 0 {
        (significand, exponent) = (significand / 2, exponent + 1);
    }
    let subnormal = !unsigned && significand >> fraction_bits == 0;
    let field = if subnormal { 0 } else { (exponent + bias) as u64 };
    let code = field << fraction_bits | significand & ((1 << fraction_bits) - 1);
    let is_number = match ends {
        Ends::Ieee => code < top - (1 << fraction_bits),
        Ends::AllOnes | Ends::Unsigned => code < top - 1,
        Ends::NegativeZero | Ends::Nothing => code < top,
    };
    match (is_number, code, ends) {
        (false, ..) => beyond(layout, neg),
        (true, 0, Ends::NegativeZero) => 0,
        (true, code, _) => code | if neg { top } else { 0 },
    }
}

/// An integer brought into its type's range by wrapping.
pub fn wrap(dtype: DType, value: i128) -> i128 {
    if dtype == DType::Pred {
        return i128::from(value != 0);
    }
    let bits = dtype.bits();
    let low = value & ((1i128 << bits) - 1);
    if dtype.is_signed() && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
}

/// An integer from its code.
pub fn integer_of(dtype: DType, code: u64) -> i128 {
    if dtype == DType::Pred { i128::from(code & 1) } else { wrap(dtype, i128::from(code)) }
}

pub fn code_of(dtype: DType, value: i128) -> u64 {
    (value as u64) & (u64::MAX >> (64 - dtype.bits()))
}

pub fn range_of(dtype: DType) -> (i128, i128) {
    match (dtype.is_signed(), dtype.bits()) {
        (true, bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, bits) => (0, (1 << bits) - 1),
    }
}
