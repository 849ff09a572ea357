//! Scalar arithmetic of one output: its products and additions, which kernels lay over many outputs at once.

use crate::num::flush_f32;

/// The arithmetic that some processors have instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Separate,
    Fused,
    Truncated,
    TruncatedFused,
    Other,
}

/// Products and additions of one pass.
pub(super) trait Arithmetic {
    /// Kind of the instructions for a chain of [`Arithmetic::step`].
    const KIND: Kind = Kind::Other;

    /// The product of two operands, rounded to f32.
    #[inline(always)]
    fn product(a: f32, b: f32) -> f32 {
        a * b
    }

    /// The sum of two sums.
    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        a + b
    }

    /// A sum and one more product.
    #[inline(always)]
    fn step(sum: f32, a: f32, b: f32) -> f32 {
        Self::add(sum, Self::product(a, b))
    }

    /// The sum of two neighbouring products, the leaves of a tree.
    #[inline(always)]
    fn pair(a: [f32; 2], b: [f32; 2]) -> f32 {
        Self::add(Self::product(a[0], a[1]), Self::product(b[0], b[1]))
    }

    /// The product that an exact sum takes; exact in f64 either way.
    #[inline(always)]
    fn wide_product(a: f32, b: f32) -> f64 {
        f64::from(Self::product(a, b))
    }

    /// An exact sum and one more product, where f64 holds every partial sum.
    #[inline(always)]
    fn wide_step(sum: f64, a: f32, b: f32) -> f64 {
        sum + Self::wide_product(a, b)
    }

    /// Last step of an exact sum that has been rounded to f32: a unit that flushes makes subnormals zero.
    #[inline(always)]
    fn settle(sum: f32) -> f32 {
        sum
    }
}

/// f32 products, each rounded, and f32 additions.
pub(super) struct Separate;

impl Arithmetic for Separate {
    const KIND: Kind = Kind::Separate;
}

/// Exact products, each addition rounded once. The pair holds only where products are exact in f32.
pub(super) struct Fused;

impl Arithmetic for Fused {
    const KIND: Kind = Kind::Fused;

    #[inline(always)]
    fn step(sum: f32, a: f32, b: f32) -> f32 {
        a.mul_add(b, sum)
    }

    #[inline(always)]
    fn pair(a: [f32; 2], b: [f32; 2]) -> f32 {
        // The first product must be exact, which the choice of the kernel sees to (`Pass::sum`).
        b[0].mul_add(b[1], a[0] * a[1])
    }

    #[inline(always)]
    fn wide_product(a: f32, b: f32) -> f64 {
        // 48 bits at most, between 2^-298 and 2^256.
        f64::from(a) * f64::from(b)
    }

    #[inline(always)]
    fn wide_step(sum: f64, a: f32, b: f32) -> f64 {
        f64::from(a).mul_add(f64::from(b), sum)
    }
}

/// As [`Fused`], for products that may leave the range of f32.
pub(super) struct FusedWide;

impl Arithmetic for FusedWide {
    #[inline(always)]
    fn step(sum: f32, a: f32, b: f32) -> f32 {
        a.mul_add(b, sum)
    }

    #[inline(always)]
    fn pair(a: [f32; 2], b: [f32; 2]) -> f32 {
        sum_to_f32(Fused::wide_product(a[0], a[1]), Fused::wide_product(b[0], b[1]))
    }
}

/// As [`Separate`], on a unit that takes subnormal operands for zeros and flushes products and sums (FACTS 3.4).
/// Operands come flushed.
pub(super) struct Flushed;

impl Arithmetic for Flushed {
    #[inline(always)]
    fn product(a: f32, b: f32) -> f32 {
        flush_f32(a * b)
    }

    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        flush_f32(a + b)
    }

    #[inline(always)]
    fn settle(sum: f32) -> f32 {
        flush_f32(sum)
    }
}

/// As [`Fused`], on a unit that flushes as that of [`Flushed`].
pub(super) struct FusedFlushed;

impl Arithmetic for FusedFlushed {
    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        flush_f32(a + b)
    }

    #[inline(always)]
    fn step(sum: f32, a: f32, b: f32) -> f32 {
        flush_f32(a.mul_add(b, sum))
    }
}

/// f32 products, each rounded (or exact in f32), and additions truncated toward zero.
pub(super) struct Truncated;

impl Arithmetic for Truncated {
    const KIND: Kind = Kind::Truncated;

    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        truncated_sum(a, b)
    }
}

/// As [`Truncated`], for exact products that f32 may not hold.
pub(super) struct TruncatedWide;

impl Arithmetic for TruncatedWide {
    const KIND: Kind = Kind::TruncatedFused;

    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        truncated_sum(a, b)
    }

    #[inline(always)]
    fn step(sum: f32, a: f32, b: f32) -> f32 {
        truncated_wide_sum(f64::from(sum), f64::from(a) * f64::from(b))
    }
}

/// As [`Truncated`], with the flushing of [`Flushed`].
pub(super) struct TruncatedFlushed;

impl Arithmetic for TruncatedFlushed {
    #[inline(always)]
    fn product(a: f32, b: f32) -> f32 {
        flush_f32(a * b)
    }

    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        flush_f32(truncated_sum(a, b))
    }
}

/// `a + b` and what rounding took of it: exact unless the sum overflows (Knuth's TwoSum).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let t = sum - a;
    [sum, (a - (sum - t)) + (b - t)]
}

/// `a + b` rounded once to f32.
#[inline(always)]
pub(crate) fn sum_to_f32(a: f64, b: f64) -> f32 {
    let [sum, error] = two_sum(a, b);
    round_to_odd(sum, error) as f32
}

/// `sum + error` rounded to odd in f64, for an error below half a place of the sum. A rounding to f32 that follows is
/// then as if it were the only one: 53 bits are more than 24 + 2 (Boldo and Melquiond 2008).
#[inline(always)]
pub(super) fn round_to_odd(sum: f64, error: f64) -> f64 {
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    // Rounded to odd in f64, the conversion to f32 is the only rounding that counts (Boldo and Melquiond 2008).
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    // The errors of infinite and undefined sums are NaN: those sums stay as they are.
    let inexact = error.abs() > 0.0 && sum.is_finite();
    f64::from_bits(if inexact && bits & 1 == 0 { odd } else { bits })
}

/// `a + b` truncated toward zero to f32.
#[inline(always)]
fn truncated_sum(a: f32, b: f32) -> f32 {
    let sum = a + b;
    // Fast2Sum, which is exact and never overflows before the sum does (Dekker 1971).
    let (big, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    let error = small - (sum - big);
    // Rounded away from zero if the error points back to it. So it does, being infinite, where finite operands
    // overflow; where an operand is infinite the error is NaN.
    let away = (error < 0.0 && sum > 0.0) || (error > 0.0 && sum < 0.0);
    f32::from_bits(sum.to_bits().wrapping_sub(u32::from(away)))
}

/// `a + b` truncated toward zero to f32, for a of f32 and b exact in f64.
#[inline(always)]
fn truncated_wide_sum(a: f64, b: f64) -> f32 {
    let [sum, error] = two_sum(a, b);
    // Toward zero in f64 first. Truncating what was truncated gives the same as truncating the exact sum.
    let away = (error < 0.0 && sum > 0.0) || (error > 0.0 && sum < 0.0);
    let sum = f64::from_bits(sum.to_bits().wrapping_sub(u64::from(away)));
    let nearest = sum as f32;
    let away = sum.is_finite() && f64::from(nearest).abs() > sum.abs();
    f32::from_bits(nearest.to_bits().wrapping_sub(u32::from(away)))
}

#[cfg(test)]
mod tests {
    use super::{sum_to_f32, truncated_sum, truncated_wide_sum};
    use proptest::prelude::*;
    use rug::Float;
    use rug::float::Round;

    /// Numbers that cancel, that are far apart, and anything else.
    fn addends() -> impl Strategy<Value = (f32, f32)> {
        (any::<f32>(), any::<f32>(), 0..3, -3i32..4).prop_map(|(a, b, kind, ulps)| match kind {
            0 => (a, f32::from_bits((-a).to_bits().wrapping_add_signed(ulps))),
            1 => (a, a * (1.0 + b.abs().min(1e30) * 1e-30) * f32::EPSILON / 2.0),
            _ => (a, b),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Against MPFR, cancelling, overflowing and subnormal sums included.
        #[test]
        fn truncated_sums_round_toward_zero((a, b) in addends()) {
            prop_assume!(a.is_finite() && b.is_finite());
            let exact = Float::with_val(600, a) + Float::with_val(600, b);
            let expected = exact.to_f32_round(Round::Zero).abs().to_bits();
            prop_assert_eq!(truncated_sum(a, b).abs().to_bits(), expected);
            prop_assert_eq!(truncated_wide_sum(f64::from(a), f64::from(b)).abs().to_bits(), expected);
        }

        /// Sums of f32 products, whatever their range.
        #[test]
        fn sums_of_products_round_once(a in any::<[f32; 2]>(), b in any::<[f32; 2]>(), (c, d) in addends()) {
            let values = [a, b, [c, 1.0], [d, 1.0]].map(|[x, y]| f64::from(x) * f64::from(y));
            prop_assume!(values.iter().all(|v| v.is_finite()));
            for (x, y) in [(values[0], values[1]), (values[2], values[3]), (values[0], values[2])] {
                let exact = Float::with_val(1200, x) + Float::with_val(1200, y);
                prop_assert_eq!(sum_to_f32(x, y), exact.to_f32());
                prop_assert_eq!(
                    truncated_wide_sum(f64::from(c), y).abs().to_bits(),
                    (Float::with_val(1200, c) + Float::with_val(1200, y)).to_f32_round(Round::Zero).abs().to_bits()
                );
            }
        }
    }

    #[test]
    fn truncated_sums_of_infinities_are_infinite() {
        for (a, b) in [(f32::INFINITY, 1.0), (-1.0, f32::NEG_INFINITY), (f32::INFINITY, f32::MAX)] {
            assert_eq!(truncated_sum(a, b), a + b);
            assert_eq!(truncated_wide_sum(f64::from(a), f64::from(b)), a + b);
        }
        assert!(truncated_sum(f32::INFINITY, f32::NEG_INFINITY).is_nan());
        assert_eq!(truncated_sum(f32::MAX, f32::MAX), f32::MAX);
        assert_eq!(truncated_sum(-f32::MAX, -1e31), -f32::MAX);
    }
}
