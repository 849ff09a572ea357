//! Sums without rounding error.

use crate::num::{Direction, F64, round};

/// A sum of f64 terms, exact until [`ExactSum::value`] rounds it once to nearest even: the same bits whatever the order
/// of the terms and however they were split into parts.
///
/// A fixed-point number wide enough for every f64, in chunks of 32 bits whose carries wait: a term changes two chunks,
/// and no loop runs over the others until a thousand terms are in.
///
/// Source: R. M. Neal, Fast exact summation using small and large superaccumulators, 2015, section 2.
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// Chunk i counts units of 2^(32 i - 1074).
    chunks: [i64; CHUNKS],
    /// Terms that went in since the carries were last passed on.
    waiting: u32,
    /// The plain sum of the terms that are not finite: an infinity, or NaN; 0 without any.
    special: f64,
}

/// The last bit of the largest f64 lies in chunk 64; two more hold what many of them carry.
const CHUNKS: usize = 67;
/// A term moves a chunk by less than 2^53, and a chunk that passed its carry on holds less than 2^32: so many stay below
/// 2^63.
const WAITING: u32 = 1000;
const DIGIT: i64 = (1 << 32) - 1;

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum { chunks: [0; CHUNKS], waiting: 0, special: 0.0 }
    }
}

impl ExactSum {
    /// Adds one term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        if exponent == 0x7ff {
            self.special += term;
            return;
        }
        let significand = (if exponent == 0 { fraction } else { fraction | 1 << 52 }) as i64;
        let place = exponent.max(1) - 1;
        let (chunk, shift) = ((place >> 5) as usize, place & 31);
        let sign = if term.is_sign_negative() { -1 } else { 1 };
        self.chunks[chunk] += sign * ((significand << shift) & DIGIT);
        self.chunks[chunk + 1] += sign * (significand >> (32 - shift));
        self.waiting += 1;
        if self.waiting == WAITING {
            self.carry();
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &ExactSum) {
        self.special += other.special;
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (chunk, more) in self.chunks.iter_mut().zip(&other.chunks) {
            *chunk += more;
        }
        self.carry();
    }

    /// The sum, rounded to nearest even; 0 without terms.
    pub fn value(&self) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.chunks[CHUNKS - 1] < 0;
        if negative {
            sum.chunks.iter_mut().for_each(|chunk| *chunk = -*chunk);
            sum.carry();
        }
        let Some(top) = sum.chunks.iter().rposition(|chunk| *chunk != 0) else { return 0.0 };
        // Three chunks, the highest of which is not zero, are more than 53 bits and one below.
        let lowest = top.saturating_sub(2);
        let significand = sum.chunks[lowest..=top].iter().rev().fold(0, |head, chunk| head << 32 | *chunk as u128);
        let sticky = sum.chunks[..lowest].iter().any(|chunk| *chunk != 0);
        round(&F64, negative, significand, 32 * lowest as i64 - 1074, sticky, Direction::NearestEven)
    }

    /// Passes the carries on: all chunks but the last hold 32 bits, and the last the sign.
    fn carry(&mut self) {
        let mut carried = 0;
        for chunk in &mut self.chunks[..CHUNKS - 1] {
            let total = *chunk + carried;
            *chunk = total & DIGIT;
            carried = total >> 32;
        }
        self.chunks[CHUNKS - 1] += carried;
        self.waiting = 0;
    }
}

impl Extend<f64> for ExactSum {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, terms: T) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> ExactSum {
        let mut sum = ExactSum::default();
        sum.extend(terms);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;
    use proptest::prelude::*;
    use rug::Float;

    fn reference(terms: &[f64]) -> f64 {
        let terms: Vec<Float> = terms.iter().map(|t| Float::with_val(53, *t)).collect();
        Float::with_val(53, Float::sum(terms.iter())).to_f64()
    }

    #[test]
    fn half_way_cases_and_specials() {
        let sum = |terms: &[f64]| terms.iter().copied().collect::<ExactSum>().value();
        let (tie, tiny) = (2f64.powi(-53), 2f64.powi(-200));
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[1.0, tie]), 1.0);
        assert_eq!(sum(&[1.0, tie, tiny]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0, tie, -tiny]), 1.0);
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum(&[1.0, f64::INFINITY, -1e300]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, 1.0]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[5e-324, 5e-324, -1.0, 1.0]), 1e-323);
        assert_eq!(sum(&[-1.0, -tie, -tiny]), -1.0 - f64::EPSILON);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }

    /// Infinities and NaN are in a merged sum on whichever side they were.
    #[test]
    fn a_merge_is_the_sum_of_both() {
        let terms = [0.0, -1.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for one in terms {
            for other in terms {
                let mut merged: ExactSum = [one].into_iter().collect();
                merged.merge(&[other].into_iter().collect());
                let whole: ExactSum = [one, other].into_iter().collect();
                let (found, expected) = (merged.value(), whole.value());
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{one} and {other}: {found}");
            }
        }
    }

    #[test]
    fn carries_wait_no_longer_than_they_may() {
        let mut sum = ExactSum::default();
        for _ in 0..5000 {
            sum.add(f64::MAX);
        }
        for _ in 0..4999 {
            sum.add(-f64::MAX);
        }
        assert_eq!(sum.value(), f64::MAX);
    }

    proptest! {
        #[test]
        fn equals_the_correctly_rounded_sum_in_any_split(
            terms in prop::collection::vec((-1.0f64..1.0, -80i32..80), 0..60),
            cut in 0usize..60,
        ) {
            let mut terms: Vec<f64> = terms.iter().map(|(m, e)| m * 2f64.powi(*e)).collect();
            let whole: ExactSum = terms.iter().copied().collect();
            prop_assert_eq!(whole.value(), reference(&terms));
            let cut = cut.min(terms.len());
            let (head, tail) = terms.split_at_mut(cut);
            tail.reverse();
            let mut merged: ExactSum = tail.iter().copied().collect();
            merged.merge(&head.iter().copied().collect());
            prop_assert_eq!(merged.value().to_bits(), whole.value().to_bits());
        }
    }
}
