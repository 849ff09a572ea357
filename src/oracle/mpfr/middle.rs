//! Enclosures as a middle and a radius.

use std::cmp::Ordering;

use rug::Float;
use rug::float::Round;

use crate::between::Between;

/// Bits of radii and bounds.
pub const SHORT: u32 = 64;
/// The largest exponent of a middle, and the smallest. Products and sums of such numbers never leave MPFR's range.
pub const REACH: i32 = 1 << 20;

/// An entry of a row or a column.
pub(super) struct Entry {
    pub middle: Float,
    /// `|middle|`, rounded up.
    pub size: Float,
    pub radius: Float,
    /// `size + radius`, rounded up.
    pub reach: Float,
}

impl Entry {
    /// `None` if the value is no moderate number.
    pub fn new(value: &Between, bits: u32) -> Option<Entry> {
        let (lo, hi) = value.ends()?;
        if !lo.is_finite() || !hi.is_finite() {
            return None;
        }
        let up = |value: (Float, Ordering)| value.0;
        // A radius below the smallest exponent would vanish in products, and a bound must not.
        let least = || Float::with_val(SHORT, Float::i_exp(1, -REACH));
        let (middle, mut radius) = match [lo, hi].into_iter().filter_map(Float::get_exp).max() {
            Some(exponent) if exponent > REACH => return None,
            // As near to zero as makes no difference, or zero itself.
            Some(exponent) if exponent < -REACH => (Float::new(bits), least()),
            None => (Float::new(bits), Float::new(SHORT)),
            Some(_) => {
                let mut middle: Float = Float::with_val(bits, lo + hi) / 2u32;
                if middle.get_exp().is_some_and(|exponent| exponent < -REACH) {
                    middle = Float::new(bits);
                }
                let above = up(Float::with_val_round(SHORT, hi - &middle, Round::Up));
                let below = up(Float::with_val_round(SHORT, &middle - lo, Round::Up));
                (middle, if above > below { above } else { below })
            }
        };
        if !radius.is_zero() && radius < least() {
            radius = least();
        }
        let size = up(Float::with_val_round(SHORT, middle.abs_ref(), Round::Up));
        let reach = up(Float::with_val_round(SHORT, &size + &radius, Round::Up));
        Some(Entry { middle, size, radius, reach })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry's parts bound its ends, whatever the precision of the middle is.
    #[test]
    fn entries_bound_their_ends() {
        let exact = |value: &Float| Float::with_val(2000, value);
        for bits in [8, 24, 53, 64, 128, 300] {
            for (at, width) in (1..40u32).flat_map(|at| [1i32, 20, 70, 100, 250].map(|width| (at, width))) {
                let lo = Float::with_val(300, at * 977) / 7u32 - 2000u32;
                let hi = Float::with_val(300, &lo + Float::with_val(300, Float::i_exp(1, -width)) / 3u32);
                let entry = Entry::new(&Between::real(lo.clone(), hi.clone()), bits).unwrap();
                let (middle, radius) = (exact(&entry.middle), exact(&entry.radius));
                assert!(exact(&lo) >= Float::with_val(2000, &middle - &radius), "{bits}: {lo} and {width}");
                assert!(exact(&hi) <= Float::with_val(2000, &middle + &radius), "{bits}: {lo} and {width}");
                assert!(exact(&entry.size) >= middle.abs(), "{bits}: {lo} and {width}");
                assert!(exact(&entry.reach) >= exact(&entry.size) + radius, "{bits}: {lo} and {width}");
            }
        }
    }

    /// A radius that is not zero is no smaller than the smallest exponent, where a product of two would vanish.
    #[test]
    fn radii_do_not_vanish() {
        let power = |exponent: i32| Float::with_val(300, Float::i_exp(1, exponent));
        for (lo, hi) in [
            (power(-REACH), power(-REACH) + power(-REACH - 70)),
            (power(-REACH - 10), power(-REACH - 9)),
            (-power(-REACH - 10), power(-REACH - 9)),
        ] {
            let entry = Entry::new(&Between::real(lo.clone(), hi), 300).unwrap();
            assert!(entry.radius >= power(-REACH), "{lo}");
        }
        let one = Entry::new(&Between::real(power(0), power(0)), 300).unwrap();
        assert!(one.radius.is_zero());
        assert!(Entry::new(&Between::real(power(0), power(REACH)), 300).is_none());
    }
}
