//! `e^x` by a table of 2^(j/128) and a short polynomial (Tang, ACM TOMS 15(2), 1989).

use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use crate::num::exp2i;

/// 2^7 steps an octave.
const STEPS: usize = 128;
/// Adding it rounds to the nearest integer, which then stands in the low bits.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Constants of the function, computed by MPFR: the same on every machine.
pub struct Table {
    /// 128 / ln 2, to nearest.
    steps_per_unit: f64,
    /// ln 2 / 128 in two parts; the first has 34 bits.
    step_high: f64,
    step_low: f64,
    /// 2^(j/128) in two parts, each to nearest.
    powers: [(f64, f64); STEPS],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let step = Float::with_val(200, Constant::Log2) / STEPS as u32;
    let step_high = Float::with_val(34, &step).to_f64();
    Table {
        steps_per_unit: Float::with_val(200, 1u32 / &step).to_f64(),
        step_high,
        step_low: Float::with_val(200, &step - step_high).to_f64(),
        powers: std::array::from_fn(|j| {
            let power = (Float::with_val(200, j as u32) / STEPS as u32).exp2();
            let high = power.to_f64();
            (high, (power - high).to_f64())
        }),
    }
});

/// `e^x = (power + tail) * 2^exponent`, `power` in [1, 2) and `tail` below 2^-7, with a relative error below 2^-59.
pub struct Parts {
    /// 2^(j/128), to nearest.
    pub power: f64,
    /// The addend to it, of lower weight.
    pub tail: f64,
    /// The power of two that scales both.
    pub exponent: i32,
}

/// For `|x| <= 750`.
///
/// Proof of the error. The step count k has 18 bits, so `k * step_high` is exact; if k != 0 then |x| > 2^-9, and
/// `x - k * step_high` is a multiple of 2^-61 below 2^-8: exact. The rest of the reduction loses at most half an ulp
/// of |r| < 2^-8.5, 2^-62, and terms below 2^-77. The polynomial is cut at r^7/5040 < 2^-71 and rounds to 2^-61.9 in
/// all. So `expm1(r)` is right to 2^-60.9; multiplying by the power and adding its low part lose 2^-62 of it each, and
/// e^x is at least 0.997 of the power.
#[inline(always)]
pub fn parts(x: f64) -> Parts {
    parts_by(&TABLE, x)
}

/// The table, made on the first call.
pub fn table() -> &'static Table {
    &TABLE
}

/// [`parts`] with the table at hand.
#[inline(always)]
pub fn parts_by(table: &Table, x: f64) -> Parts {
    let shifted = x * table.steps_per_unit + TO_INTEGER;
    let steps = shifted - TO_INTEGER;
    let count = shifted.to_bits() as i32;
    let r = (x - steps * table.step_high) - steps * table.step_low;
    let (power, power_low) = table.powers[count as usize % STEPS];
    Parts { power, tail: power_low + power * (r + minus_one_minus(r)), exponent: count >> 7 }
}

/// `e^r - 1 - r` for `|r| <= 0.00271`, with a relative error below 2^-50.
#[inline(always)]
pub fn minus_one_minus(r: f64) -> f64 {
    let square = r * r;
    let low = 1.0 / 2.0 + r * (1.0 / 6.0);
    let high = 1.0 / 24.0 + r * (1.0 / 120.0) + square * (1.0 / 720.0);
    square * (low + square * high)
}

/// `value * 2^exponent` for exponents of normal numbers.
#[inline(always)]
pub fn scale_normal(value: f64, exponent: i32) -> f64 {
    value * exp2i(exponent)
}

#[cfg(test)]
mod tests {
    use super::scale_normal;

    #[test]
    fn numbers_are_scaled_by_every_normal_power() {
        for exponent in -1022..=1023 {
            let scaled = f64::from_bits(((exponent + 1023) as u64) << 52 | 1 << 51);
            assert_eq!(scale_normal(1.5, exponent), scaled, "{exponent}");
        }
    }
}
