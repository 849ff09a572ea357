//! Exponents of e8m0 scales, as each rule computes them from the largest magnitude of a block.
//!
//! The functions follow the libraries' own operations, rounding by rounding: the rules differ by no more than that.

use half::{bf16, f16};

use crate::tensor::DType;

use super::element_type::Element;

/// Largest e8m0 byte of a number; 255 is NaN.
const TOP: i64 = 254;

/// The largest magnitude of a block that is finite and not zero, and the type of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maximum {
    /// The magnitude.
    pub value: f32,
    /// The type in which the library had it: f32, bf16 or f16.
    pub dtype: DType,
}

impl Maximum {
    /// Rounds a result to the type of the input, as arithmetic in that type does.
    pub(super) fn in_type(&self, value: f32) -> f32 {
        match self.dtype {
            DType::BF16 => bf16::from_f32(value).to_f32(),
            DType::F16 => f16::from_f32(value).to_f32(),
            _ => value,
        }
    }
}

fn byte(exponent: i64) -> u8 {
    (exponent + 127).clamp(0, TOP) as u8
}

/// Exponent field of an f32, minus the bias: -127 of zero and subnormals, as looking at the bits has it.
fn field(bits: u32) -> i64 {
    i64::from(bits >> 23) - 127
}

/// Exponent of the element type's largest number. Integers have no rules of exponents, and count as numbers below 2.
fn max_exponent(element: &Element) -> i64 {
    i64::from(element.max_exponent().unwrap_or(0))
}

/// `floor(log2 a) - emax`, from the bits.
pub(super) fn floor(max: &Maximum, element: &Element) -> u8 {
    byte(field(max.value.to_bits()) - max_exponent(element))
}

/// `ceil(log2 a) - emax`, from the bits.
pub(super) fn ceil(max: &Maximum, element: &Element) -> u8 {
    let bits = max.value.to_bits();
    byte(field(bits) + i64::from(bits & 0x7f_ffff > 0) - max_exponent(element))
}

/// Exponent field after rounding the fraction of the maximum to the element's bits, ties up.
fn even_field(max: &Maximum, element: &Element) -> i64 {
    // An integer has no fraction to round to, as [`max_exponent`] counts it.
    let half = 1u32 << (22 - element.fraction_bits().unwrap_or(0));
    field(max.value.to_bits() + half)
}

/// FLOOR of the rounded maximum (torchao).
pub(super) fn even(max: &Maximum, element: &Element) -> u8 {
    byte(even_field(max, element) - max_exponent(element))
}

/// As [`even`], with bytes from 1 on, and 254 where the maximum rounds to 2^128 (AMD quark).
pub(super) fn even_from_one(max: &Maximum, element: &Element) -> u8 {
    let field = even_field(max, element);
    if field == 128 { TOP as u8 } else { byte(field - max_exponent(element)).max(1) }
}

/// Byte of the power of two at or above a quotient, from its bits: up where the fraction is not zero.
fn up(quotient: f32) -> u8 {
    let bits = quotient.to_bits();
    let (exponent, fraction) = (bits >> 23, bits & 0x7f_ffff);
    let is_up = fraction > 0 && exponent != TOP as u32 && !(exponent == 0 && fraction <= 0x40_0000);
    (exponent + u32::from(is_up)).min(255) as u8
}

/// RCEIL: the quotient in the type of the input, then its bits.
pub(super) fn ceil_of_quotient(max: &Maximum, element: &Element) -> u8 {
    up(max.in_type(max.value / element.max() as f32))
}

/// As [`ceil_of_quotient`], on a processor that takes subnormal quotients for zero.
pub(super) fn ceil_of_flushed_quotient(max: &Maximum, element: &Element) -> u8 {
    let quotient = max.in_type(max.value / element.max() as f32);
    up(if quotient < f32::MIN_POSITIVE { 0.0 } else { quotient })
}

/// RCEIL: the product with f32(1 / MAX), then its bits.
pub(super) fn ceil_of_product(max: &Maximum, element: &Element) -> u8 {
    up(max.value * (1.0 / element.max() as f32))
}

/// RCEIL: the product with bf16(1 / MAX), rounded to bf16, then its bits.
pub(super) fn ceil_of_bf16_product(max: &Maximum, element: &Element) -> u8 {
    let reciprocal = bf16::from_f64(1.0 / element.max()).to_f32();
    up(bf16::from_f32(max.value * reciprocal).to_f32())
}

/// RCEIL: the ceiling of an f32 log2 of the f32 quotient.
pub(super) fn log2_of_f32(max: &Maximum, element: &Element) -> u8 {
    let quotient = max.value / element.max() as f32;
    if quotient == 0.0 {
        return 0;
    }
    byte(core_math::log2f(quotient).ceil() as i64)
}

/// RCEIL: quotient, log, its quotient by log 2, ceiling and power, each rounded to the type of the input (google/qwix). Scales below
/// the root of the smallest normal number become 1. A compiler's f32 log may be an ulp off: bytes of its neighbours follow.
pub(super) fn log2_in_type(max: &Maximum, element: &Element) -> Vec<u8> {
    let quotient = smallest_one(max, max.value / element.max() as f32);
    let log = core_math::logf(quotient);
    let of = |log: f32| {
        let log2 = max.in_type(max.in_type(log) / max.in_type(std::f32::consts::LN_2)).ceil();
        // The power is stored in the type of the input.
        let power = max.in_type(crate::num::exp2i(log2 as i32) as f32);
        if power.is_infinite() { 255 } else { byte(log2 as i64) }
    };
    let mut bytes = vec![of(log)];
    // The logs of 1 and of its neighbours are exact enough.
    if log != 0.0 {
        for other in [of(log.next_up()), of(log.next_down())] {
            if !bytes.contains(&other) {
                bytes.push(other);
            }
        }
    }
    bytes
}

/// A quotient in the type of the input; 1 for one below the root of the type's smallest normal number (google/qwix).
pub(super) fn smallest_one(max: &Maximum, quotient: f32) -> f32 {
    let quotient = max.in_type(quotient);
    let tiny = if max.dtype == DType::F16 { f16::MIN_POSITIVE.to_f32() } else { f32::MIN_POSITIVE };
    if quotient < max.in_type(tiny.sqrt()) { 1.0 } else { quotient }
}

/// `log2(a / MAX)` to the nearest integer. No f32 lies half way, where the element's largest number has few bits.
pub(super) fn nearest_log2(max: &Maximum, element: &Element) -> u8 {
    let quotient = f64::from(max.value) / element.max();
    byte(core_math::log2(quotient).round_ties_even() as i64)
}

/// `a / MAX` to the nearest power of two, half way up, as ml_dtypes casts an f32 to float8_e8m0fnu: between its two smallest
/// numbers up, and of a quotient that is zero NaN.
pub(super) fn nearest_value(max: &Maximum, element: &Element) -> u8 {
    let quotient = max.in_type(max.value / element.max() as f32);
    if quotient == 0.0 {
        return 255;
    }
    let bits = quotient.to_bits();
    match bits >> 23 {
        0 => u8::from(bits > 0x40_0000),
        _ => ((bits + 0x40_0000) >> 23).min(255) as u8,
    }
}
