//! The one rounding function.

use std::cmp::Ordering;

use rug::Float;

use super::format::{Format, Specials, scale};

/// Direction of rounding: the neighbour in a format that a value between two neighbours becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the nearer neighbour, ties to the even significand (IEEE 754 roundTiesToEven).
    NearestEven,
    /// To the neighbour of smaller magnitude (IEEE 754 roundTowardZero).
    TowardZero,
}

impl Format {
    /// Whether `value` is a number of this format, an infinity it has, or NaN where it has one. Zeros of both signs are
    /// one number.
    pub fn contains(&self, value: f64) -> bool {
        if value.is_nan() { self.has_nan() } else { round_f64(self, value, Direction::NearestEven) == value }
    }

    /// A zero with this sign, or the number that stands for it: the smallest power of two, if only these exist.
    fn zero(&self, sign: f64) -> f64 {
        match self.specials {
            Specials::Ieee | Specials::OneNan | Specials::Finite => sign * 0.0,
            Specials::NegativeZeroNan => 0.0,
            Specials::PowersOfTwo => self.min_normal(),
        }
    }

    /// NaN, or -0 in a format without one.
    fn nan(&self, value: f64) -> f64 {
        if self.has_nan() { value } else { -0.0 }
    }
}

/// Rounds `±(significand + tail) * 2^exponent` to `format`, where `tail` is 0, or any value in (0, 1) if `sticky`.
///
/// To nearest with `sticky`, the significand must reach at least one bit below the last place kept: a tail alone does
/// not say on which side of a tie it lies. The result is exact in `f64`, with the sign kept on zero.
///
/// Overflow gives an infinity, NaN in a format without infinities, or the largest finite value in a format with
/// neither, with its sign if it has one. Toward zero, overflow always gives the largest finite value.
///
/// A tie between powers of two goes up. In a format of powers of two alone, zero and negative values give NaN, and
/// values smaller than all of them the smallest one; between the two smallest, the larger one results.
pub fn round(
    format: &Format,
    negative: bool,
    significand: u128,
    exponent: i64,
    sticky: bool,
    direction: Direction,
) -> f64 {
    let sign = if negative { -1.0 } else { 1.0 };
    if !format.has_negative_numbers() && (negative || significand == 0 && !sticky) {
        return f64::NAN;
    }
    if significand == 0 {
        // Only a tail below everything the caller saw is left: it never reaches half of the smallest number, because
        // the callers keep at least one bit of headroom below the format's last place.
        return format.zero(sign);
    }
    let top = 127 - significand.leading_zeros() as i64 + exponent;
    let last_place = top.max(i64::from(format.emin())) - i64::from(format.fraction_bits);
    let dropped = last_place - exponent;
    debug_assert!(!sticky || dropped >= 1 || direction == Direction::TowardZero, "a sticky tail needs a bit below it");
    let (mut kept, remainder) = if dropped <= 0 {
        // Shifting up is safe: the kept significand has at most fraction_bits + 1 <= 53 bits.
        (significand << -dropped, Remainder::BelowHalf)
    } else {
        split(significand, dropped as u64, sticky)
    };
    let up = match (direction, remainder) {
        (Direction::TowardZero, _) | (_, Remainder::BelowHalf) => false,
        (_, Remainder::Half) => kept & 1 == 1,
        (_, Remainder::AboveHalf) => true,
    };
    // ml_dtypes and compiled code round from the two smallest powers of two up (FACTS 11.2).
    let is_between = dropped > 0 && kept << dropped.min(127) != significand || sticky;
    let up = up || !format.has_negative_numbers() && top == i64::from(format.emin()) && is_between;
    kept += u128::from(up);
    if kept == 0 {
        return format.zero(sign);
    }
    if last_place > i64::from(format.emax()) {
        return overflow(format, sign, direction);
    }
    // At most 53 bits: exact, or above all that f64 has.
    let value = scale(kept as f64, last_place as i32);
    if value > format.max_finite() { overflow(format, sign, direction) } else { sign * value }
}

/// Rounds an `f64`, taken as exact, to `format`. NaN stays NaN, where there is one ([`Specials::Finite`]).
#[inline]
pub fn round_f64(format: &Format, value: f64, direction: Direction) -> f64 {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let dropped = 52 - format.fraction_bits;
    // Nearly all numbers are neither special nor subnormal nor near overflow: the f64's own code is rounded, where a carry runs
    // into the exponent field. A format without fraction keeps the hidden bit alone, which no code shows.
    if (1..52).contains(&dropped) && (format.emin()..format.emax()).contains(&exponent) {
        let carry = match direction {
            Direction::NearestEven => (1 << (dropped - 1)) - 1 + (bits >> dropped & 1),
            Direction::TowardZero => 0,
        };
        return f64::from_bits((bits + carry) >> dropped << dropped);
    }
    round_any_f64(format, value, direction)
}

/// [`round_f64`] of any number: one function, so that its callers hold the short way alone.
#[inline(never)]
fn round_any_f64(format: &Format, value: f64, direction: Direction) -> f64 {
    if value.is_nan() || format.is_beyond_sign(value) {
        return format.nan(if value.is_nan() { value } else { f64::NAN });
    }
    if value.is_infinite() {
        return match format.specials {
            Specials::Ieee => value,
            Specials::OneNan => f64::NAN.copysign(value),
            Specials::NegativeZeroNan | Specials::PowersOfTwo => f64::NAN,
            Specials::Finite => format.max_finite().copysign(value),
        };
    }
    if format.fraction_bits == 52 {
        return value;
    }
    let bits = value.abs().to_bits();
    let fraction = u128::from(bits & ((1 << 52) - 1));
    let (significand, exponent) = match bits >> 52 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased as i64 - 1075),
    };
    round(format, value.is_sign_negative(), significand, exponent, false, direction)
}

/// Rounds the real number behind an MPFR result to `format`.
///
/// `ternary` says where `value` lies from the real number, as MPFR returns it: `Less` means below it.
/// `value` must carry at least `format.fraction_bits + 3` bits, so that a tail never decides a tie wrongly.
pub fn round_mpfr(format: &Format, value: &Float, ternary: Ordering, direction: Direction) -> f64 {
    debug_assert!(value.prec() >= format.fraction_bits + 3);
    let negative = value.is_sign_negative();
    let Some((integer, exponent)) = value.to_integer_exp() else {
        let special = if value.is_nan() { f64::NAN } else { f64::INFINITY };
        return round_f64(format, if negative { -special } else { special }, direction);
    };
    let above = if negative { Ordering::Less } else { Ordering::Greater };
    // Two more bits leave room to step below a magnitude that was rounded up.
    let magnitude = (integer.abs() << 2u32) - i32::from(ternary == above);
    let surplus = magnitude.significant_bits().saturating_sub(126);
    let head = magnitude.clone() >> surplus;
    let sticky = ternary != Ordering::Equal || !magnitude.is_divisible_2pow(surplus);
    round(format, negative, head.to_u128_wrapping(), i64::from(exponent) - 2 + i64::from(surplus), sticky, direction)
}

#[derive(Clone, Copy)]
enum Remainder {
    /// Nothing, or less than half.
    BelowHalf,
    Half,
    AboveHalf,
}

/// The bits above the lowest `count`, and how the lowest ones compare with half of the last place kept.
fn split(significand: u128, count: u64, sticky: bool) -> (u128, Remainder) {
    if count > 128 {
        return (0, Remainder::BelowHalf);
    }
    let kept = if count == 128 { 0 } else { significand >> count };
    let half = 1u128 << (count - 1);
    let low = if count == 128 { significand } else { significand & ((1 << count) - 1) };
    let remainder = match (low.cmp(&half), sticky) {
        (Ordering::Less, _) => Remainder::BelowHalf,
        (Ordering::Equal, false) => Remainder::Half,
        _ => Remainder::AboveHalf,
    };
    (kept, remainder)
}

fn overflow(format: &Format, sign: f64, direction: Direction) -> f64 {
    match (direction, format.specials) {
        (Direction::TowardZero, _) => sign * format.max_finite(),
        (Direction::NearestEven, Specials::Ieee) => sign * f64::INFINITY,
        (Direction::NearestEven, Specials::Finite) => sign * format.max_finite(),
        (Direction::NearestEven, Specials::OneNan) => f64::NAN.copysign(sign),
        (Direction::NearestEven, Specials::NegativeZeroNan | Specials::PowersOfTwo) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::FORMATS;

    /// The shortcut for normal results against [`round`], on every value of each format and around every midpoint.
    #[test]
    fn rounding_an_f64_is_rounding_its_significand() {
        let whole = |format, value: f64, direction| {
            let bits = value.abs().to_bits();
            let (significand, exponent) = match bits >> 52 {
                0 => (bits, -1074),
                biased => (bits & ((1 << 52) - 1) | 1 << 52, biased as i64 - 1075),
            };
            round(format, value.is_sign_negative(), u128::from(significand), exponent, false, direction)
        };
        for format in FORMATS {
            let step = if format.width() > 16 { 104_729 << (format.width().saturating_sub(32)) } else { 1 };
            for code in (0..1u64 << (format.width() - 1)).step_by(step) {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                if !low.is_finite() || !high.is_finite() {
                    continue;
                }
                let middle = low + (high - low) / 2.0;
                for value in [low, low.next_up(), middle.next_down(), middle, middle.next_up(), high.next_down()] {
                    for value in [value, -value] {
                        for direction in [Direction::NearestEven, Direction::TowardZero] {
                            let got = round_f64(format, value, direction);
                            let expected = whole(format, value, direction);
                            assert_eq!(got.to_bits(), expected.to_bits(), "{} {value:e} {direction:?}", format.name);
                        }
                    }
                }
            }
            let limit = format.max_finite();
            for value in [limit, limit * (1.0 + 1e-3), limit * 1.5, f64::MAX] {
                let (got, expected) =
                    (round_f64(format, value, Direction::NearestEven), whole(format, value, Direction::NearestEven));
                assert!(got == expected || got.is_nan() && expected.is_nan(), "{} {value:e}", format.name);
            }
        }
    }
}
