//! A fixed-point sum wide enough for every f32 dot product (Kulisch, Computer Arithmetic and Validity, 2008, chapter 8).

use std::cmp::Ordering;

use super::certify::Certified;
use super::facts::{Facts, ceil_log2};
use crate::num::{Direction, F64, round};

/// 64-bit digits; the last one only takes carries.
const DIGITS: usize = 13;

/// Products of two 53-bit significands start up to this many bits below the lowest bit that is set in any.
const BELOW: i32 = 2 * 52 + 1;

/// An exact sum of products of f64: digits of 64 bits from `2^base` up, each in an i128 that keeps the carries.
///
/// 768 bits hold the products of f32 values (multiples of 2^-298 below 2^256), [`BELOW`], and the carries of 2^60 terms.
#[derive(Clone, Debug)]
pub struct Superaccumulator {
    digits: [i128; DIGITS],
    base: i32,
}

impl Superaccumulator {
    /// An empty one for `terms` products of entries of these vectors, if it is wide enough.
    pub fn with_room(row: Facts, column: Facts, terms: usize) -> Option<Superaccumulator> {
        let base = row.grid + column.grid - BELOW;
        // One bit more for the sign, one for taking the rounded sum away again.
        let top = row.top + column.top + ceil_log2(terms) + 2;
        (top - base <= 64 * (DIGITS as i32 - 1)).then_some(Superaccumulator { digits: [0; DIGITS], base })
    }

    /// Adds a product that is an f64.
    #[inline]
    pub fn add_product(&mut self, product: f64) {
        let (significand, exponent) = parts(product);
        // A product of zero stands anywhere.
        let shift = (exponent - self.base).max(0).unsigned_abs() as usize;
        let shifted = u128::from(significand) << (shift % 64);
        // All ones for a negative product: then `(digit ^ sign) - sign` is minus the digit.
        let sign = i128::from(product.to_bits() as i64 >> 63);
        let [low, high] = [shifted as u64, (shifted >> 64) as u64].map(|digit| (i128::from(digit) ^ sign) - sign);
        self.digits[shift / 64] += low;
        self.digits[shift / 64 + 1] += high;
    }

    /// Adds `a * b`, exactly.
    #[inline]
    pub fn add(&mut self, a: f64, b: f64) {
        let ((m, x), (n, y)) = (parts(a), parts(b));
        let product = u128::from(m) * u128::from(n);
        if product == 0 {
            return;
        }
        let shift = x + y - self.base;
        debug_assert!(shift >= 0, "a product below the grid");
        let (digit, shift) = (shift.unsigned_abs() as usize / 64, shift.unsigned_abs() % 64);
        // 64 bits of the product at a time: shifted, each fills less than two digits.
        let low = (product & u128::from(u64::MAX)) << shift;
        let high = (product >> 64) << shift;
        let negative = a.is_sign_negative() != b.is_sign_negative();
        let signed = |digit: u128| if negative { -(digit as i128) } else { digit as i128 };
        // A digit takes less than 2^65 a term: no carry is lost in 2^60 terms.
        self.digits[digit] += signed(low & u128::from(u64::MAX));
        self.digits[digit + 1] += signed((low >> 64) + (high & u128::from(u64::MAX)));
        if high >> 64 != 0 {
            self.digits[digit + 2] += signed(high >> 64);
        }
    }

    /// The sum so far, rounded once; `None` for zero, whose sign the sum does not know.
    pub fn certify(&self) -> Option<Certified> {
        let rounded = self.round()?;
        if rounded.is_infinite() {
            // Every number is on the near side of an infinity.
            let side = if rounded > 0.0 { Ordering::Less } else { Ordering::Greater };
            return Some(Certified::beside(rounded, side));
        }
        let mut rest = self.clone();
        rest.add(-rounded, 1.0);
        Some(Certified::beside(rounded, rest.magnitude().0))
    }

    /// The sum's order against zero, and its magnitude, lowest digit first.
    fn magnitude(&self) -> (Ordering, [u64; DIGITS]) {
        let carried = |sign: i128| {
            let mut carry = 0;
            let digits = self.digits.map(|digit| {
                let sum = sign * digit + carry;
                carry = sum >> 64;
                sum as u64
            });
            (digits, carry)
        };
        let (digits, carry) = carried(1);
        if carry < 0 {
            return (Ordering::Less, carried(-1).0);
        }
        (if digits == [0; DIGITS] { Ordering::Equal } else { Ordering::Greater }, digits)
    }

    fn round(&self) -> Option<f64> {
        let (sign, digits) = self.magnitude();
        let top = digits.iter().rposition(|digit| *digit != 0)?;
        let digit = |back: usize| top.checked_sub(back).map_or(0, |at| u128::from(digits[at]));
        // The top 128 of three digits' bits begin with a set one, so 75 stand below those that f64 keeps.
        let zeros = digits[top].leading_zeros();
        let head = digit(0) << 64 | digit(1);
        let significand = if zeros == 0 { head } else { head << zeros | digit(2) >> (64 - zeros) };
        let left = if zeros == 0 { digit(2) } else { digit(2) << zeros & u128::from(u64::MAX) };
        let sticky = left != 0 || digits[..top.saturating_sub(2)].iter().any(|digit| *digit != 0);
        let exponent = i64::from(self.base) + 64 * (top as i64 - 1) - i64::from(zeros);
        Some(round(&F64, sign == Ordering::Less, significand, exponent, sticky, Direction::NearestEven))
    }
}

/// The significand and the exponent of its last place.
#[inline]
fn parts(value: f64) -> (u64, i32) {
    let bits = value.abs().to_bits();
    match bits >> 52 {
        0 => (bits, -1074),
        biased => ((bits & ((1 << 52) - 1)) | 1 << 52, biased as i32 - 1075),
    }
}
