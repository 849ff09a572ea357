//! Codes of elements: what they stand for, and the code of a number that belongs to a type.

use rug::Rational;
use ulpgate::tensor::DType;

use super::number::{Nan, Num, World};

/// Exponent bits, fraction bits, and whether infinities have codes: IEEE 754-2019 table 3.5, OCP OFP8 v1.0, bf16 as the
/// top half of f32.
pub fn layout(dtype: DType) -> (u32, u32, bool) {
    match dtype {
        DType::F64 => (11, 52, true),
        DType::F32 => (8, 23, true),
        DType::BF16 => (8, 7, true),
        DType::F16 => (5, 10, true),
        DType::F8E5M2 => (5, 2, true),
        DType::F8E4M3FN => (4, 3, false),
        other => panic!("{other} is no float"),
    }
}

/// What a code of a float type stands for.
pub fn decode(world: &mut World, dtype: DType, code: u64) -> Num {
    let (exponent_bits, fraction_bits, ieee) = layout(dtype);
    let neg = code >> (exponent_bits + fraction_bits) & 1 == 1;
    let ones = (1u64 << exponent_bits) - 1;
    let (exponent, fraction) = (code >> fraction_bits & ones, code & ((1 << fraction_bits) - 1));
    if exponent == ones && ieee && fraction == 0 {
        return Num::Inf { neg };
    }
    if exponent == ones && (ieee || fraction == (1 << fraction_bits) - 1) {
        return Num::Nan(Nan { neg: Some(neg), payload: Some(fraction) });
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let significand = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
    let power = (exponent.max(1) as i32) - bias - fraction_bits as i32;
    if significand == 0 {
        return Num::zero(neg);
    }
    let value = Rational::from(significand);
    let value = if power < 0 { value >> power.unsigned_abs() } else { value << power.unsigned_abs() };
    world.number(if neg { -value } else { value })
}

/// The code of a number that belongs to the type, if it is exactly known and does.
pub fn encode(dtype: DType, x: &Num) -> Option<u64> {
    let (exponent_bits, fraction_bits, ieee) = layout(dtype);
    let sign = |neg: bool| u64::from(neg) << (exponent_bits + fraction_bits);
    let ones = ((1u64 << exponent_bits) - 1) << fraction_bits;
    match x {
        Num::Nan(nan) => Some(sign(nan.neg?) | ones | nan.payload?),
        Num::Inf { neg } => ieee.then_some(sign(*neg) | ones),
        Num::Zero { neg } => Some(sign((*neg)?)),
        Num::Unknown(_) => None,
        Num::Real(real) => {
            let value = real.rational()?;
            let bias = (1i32 << (exponent_bits - 1)) - 1;
            let (lowest, neg) = (1 - bias, *value < 0);
            let value = Rational::from(value.abs_ref());
            // floor(log2) of the value, if its denominator is a power of two.
            if !value.denom().is_power_of_two() {
                return None;
            }
            let log = value.numer().significant_bits() as i32 - value.denom().significant_bits() as i32;
            let exponent = log.max(lowest);
            let scale = fraction_bits as i32 - exponent;
            let scaled = if scale < 0 { value >> scale.unsigned_abs() } else { value << scale.unsigned_abs() };
            if *scaled.denom() != 1 {
                return None;
            }
            let significand = scaled.numer().to_u64()?;
            let field = if significand >> fraction_bits == 0 { 0 } else { (exponent + bias) as u64 };
            let code = field << fraction_bits | significand & ((1 << fraction_bits) - 1);
            let is_number = if ieee { code < ones } else { code < ones | ((1 << fraction_bits) - 1) };
            is_number.then_some(sign(neg) | code)
        }
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
