//! Long loops for roundings and hulls. They handle ends of one sign that are far from the ends of f32, as nearly all
//! are.

use super::super::fast::Kernel;
use super::super::interval::{Interval, regular};
use super::Rounding;

/// The least and the first too large magnitude of what both formats hold as normal numbers.
const LEAST: f64 = f32::MIN_POSITIVE as f64;
const LARGE: f64 = f64::from_bits((1023 + 127) << 52);

/// Rounded to nearest even to bf16, where that gives one of its normal numbers.
#[inline(always)]
fn bf16_nearest(x: f64) -> f64 {
    let bits = x.to_bits();
    // Half of the last place kept, a bit less where that place is even: the sum carries where nearest-even rounds up.
    f64::from_bits(bits.wrapping_add((1 << 44) - 1 + (bits >> 45 & 1)) >> 45 << 45)
}

/// [`super::settle::round`] to f32, to bf16 or to one after the other, with an error first or without.
pub(super) struct NearestKernel<const F32: bool, const BF16: bool, const ERRS: bool> {
    relative: f64,
    absolute: f64,
    /// Below this magnitude results may be zero, or subnormal.
    least: f64,
}

impl<const F32: bool, const BF16: bool, const ERRS: bool> NearestKernel<F32, BF16, ERRS> {
    pub fn of(rounding: &Rounding) -> Self {
        let Rounding { relative, absolute, floor, .. } = *rounding;
        NearestKernel { relative, absolute, least: floor.max(LEAST) }
    }

    #[inline(always)]
    fn round(end: f64) -> f64 {
        let end = if F32 { f64::from(end as f32) } else { end };
        if BF16 { bf16_nearest(end) } else { end }
    }
}

impl<const F32: bool, const BF16: bool, const ERRS: bool> Kernel for NearestKernel<F32, BF16, ERRS> {
    #[inline(always)]
    fn apply(&self, x: Interval, _: Interval) -> Interval {
        // The same error as in `round`: of numbers that are not negative, the next one has the next bits.
        let next = |x: f64| f64::from_bits(x.to_bits().wrapping_add(1));
        let error = |end: f64| next(next(self.relative * end.abs()) + self.absolute);
        let x = match ERRS {
            true => Interval { lo: regular::below(x.lo - error(x.lo)), hi: regular::above(x.hi + error(x.hi)) },
            false => x,
        };
        let is_positive = (x.lo >= self.least) & (x.hi < LARGE);
        let is_negative = (x.hi <= -self.least) & (x.lo > -LARGE);
        let rounded = Interval { lo: Self::round(x.lo), hi: Self::round(x.hi) };
        if is_positive | is_negative { rounded } else { regular::IRREGULAR }
    }
}

/// The hull of two enclosures.
pub(super) struct Hull;

impl Kernel for Hull {
    #[inline(always)]
    fn apply(&self, x: Interval, y: Interval) -> Interval {
        let is_number = |end: f64| (end.abs() > 0.0) & (end.abs() < f64::INFINITY);
        let is_regular = is_number(x.lo) & is_number(x.hi) & is_number(y.lo) & is_number(y.hi);
        let hull = Interval { lo: if x.lo < y.lo { x.lo } else { y.lo }, hi: if x.hi > y.hi { x.hi } else { y.hi } };
        if is_regular { hull } else { regular::IRREGULAR }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latitude::settle::round;
    use crate::num::{BF16, F32, Format};

    /// Numbers of every magnitude that f64 has, in the middle of two numbers of a format and right beside.
    fn numbers() -> impl Iterator<Item = f64> {
        (0..4096u64).flat_map(|at| {
            let bits = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // Exponents near those of f32, mostly.
            let exponent = if at % 8 == 0 { bits >> 53 } else { 1023 - 160 + bits % 320 };
            let fraction = bits >> 12 & !((1 << [0, 28, 29, 44, 45][at as usize % 5]) - 1);
            let x = f64::from_bits(exponent << 52 | fraction);
            [x, x.next_up(), x.next_down()].into_iter().flat_map(|x| [x, -x])
        })
    }

    fn is_as_round<const TO_F32: bool, const TO_BF16: bool, const ERRS: bool>(formats: &[Format]) {
        let errors: &[[f64; 2]] =
            if ERRS { &[[2f64.powi(-22), 0.0], [0.0, 1e-40], [1e-3, 1e-30]] } else { &[[0.0; 2]] };
        let floors = [0.0, f64::from(f32::MIN_POSITIVE), 2f64.powi(-120)];
        let mut regular = 0;
        for [relative, absolute] in errors {
            for floor in floors {
                let rounding = Rounding {
                    floor,
                    flushes: floor > 0.0,
                    relative: *relative,
                    absolute: *absolute,
                    formats: formats.to_vec(),
                    ..Rounding::default()
                };
                let kernel = NearestKernel::<TO_F32, TO_BF16, ERRS>::of(&rounding);
                for lo in numbers().filter(|x| x.is_finite()) {
                    for x in [Interval::exact(lo), Interval { lo, hi: lo + lo.abs() / 3.0 }] {
                        let (quick, whole) = (kernel.apply(x, x), round(x, &rounding));
                        if quick.lo <= quick.hi {
                            assert_eq!(quick.lo.to_bits(), whole.lo.to_bits(), "{x:?} {rounding:?}");
                            assert_eq!(quick.hi.to_bits(), whole.hi.to_bits(), "{x:?} {rounding:?}");
                            regular += 1;
                        }
                    }
                }
            }
        }
        assert!(regular > 50_000, "{regular}");
    }

    #[test]
    fn what_the_kernel_rounds_is_rounded_as_one_by_one() {
        is_as_round::<true, false, false>(&[F32]);
        is_as_round::<false, true, false>(&[BF16]);
        is_as_round::<true, true, false>(&[F32, BF16]);
        is_as_round::<true, false, true>(&[F32]);
        is_as_round::<true, true, true>(&[F32, BF16]);
    }

    #[test]
    fn a_hull_is_none_of_zeros_infinities_and_nan() {
        let hull = |x, y| Hull.apply(x, y);
        assert_eq!(hull(Interval { lo: -1.0, hi: 2.0 }, Interval::exact(3.0)), Interval { lo: -1.0, hi: 3.0 });
        for x in [Interval::exact(0.0), Interval::exact(f64::NAN), Interval::UNKNOWN] {
            let none = hull(x, Interval::exact(1.0));
            assert!(none.lo > none.hi);
        }
    }
}
