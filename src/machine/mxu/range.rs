//! Magnitudes and bit lengths of the numbers of a tile. They bound the products and sums that f32 or f64 holds exactly.

/// Bounds on the finite values of a tile other than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Every magnitude is 2^low at least,
    low: i32,
    /// and below 2^(high + 1),
    high: i32,
    /// and a multiple of 2^grid.
    grid: i32,
    /// No value needs more bits than this.
    bits: i32,
}

impl Default for Range {
    /// The range of zeros alone.
    fn default() -> Range {
        Range { low: 0, high: 0, grid: 0, bits: 1 }
    }
}

const MAGNITUDE: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;
const FRACTION: u32 = 0x007f_ffff;

impl Range {
    #[inline(always)]
    pub fn of(values: &[f32]) -> Range {
        let (mut low, mut high, mut all) = (u32::MAX, 0, 0);
        for value in values {
            let magnitude = value.to_bits() & MAGNITUDE;
            // Infinities and NaNs make a sum what it is in whatever order, so that they bound nothing here.
            let finite = if magnitude < INFINITY { magnitude } else { 0 };
            // A zero wraps around and is no minimum.
            low = low.min(finite.wrapping_sub(1));
            high = high.max(finite);
            all |= finite;
        }
        if high == 0 {
            return Range::default();
        }
        let exponent = |bits: u32| (f64::from(f32::from_bits(bits)).to_bits() >> 52) as i32 - 1023;
        let low = exponent(low + 1);
        // The implicit bit of normal numbers is bit 23; the last bit of subnormal ones is worth 2^-149.
        // Trailing zeros that all numbers share: bf16 parts have 8 bits, and integers few.
        let bits = 24 - (all & FRACTION | (FRACTION + 1)).trailing_zeros() as i32;
        Range { low, high: exponent(high), grid: low.max(-126) - (bits - 1), bits }
    }

    /// Whether f32 holds every product of two values exactly.
    pub fn products_exact_in_f32(self, other: Range) -> bool {
        // Bits add up in a product; the exponents keep it clear of subnormals and of overflow.
        self.bits + other.bits <= 24 && self.low + other.low >= -126 && self.high + other.high + 2 <= 127
    }

    /// Number of binary places of an exact sum of `terms` products: the sum is a multiple of some 2^g, and its
    /// magnitude is at most 2^(g + places). `rounded` products have been rounded to f32.
    fn places(self, other: Range, terms: usize, rounded: bool) -> i32 {
        let mut grid = self.grid + other.grid;
        if rounded {
            // A product rounded to 24 bits is a multiple of what the exact one is, and of its own last place.
            grid = grid.max(self.low + other.low - 23).max(-149);
        }
        self.high + other.high + 2 + log2_up(terms) - grid
    }

    /// Whether every partial sum of `terms` products is exact in f64, in whatever order.
    pub fn sums_exact_in_f64(self, other: Range, terms: usize, rounded: bool) -> bool {
        self.places(other, terms, rounded) <= 53
    }

    /// Whether a chain of f64 additions and the sum of their errors hold the exact sum of `terms` products.
    ///
    /// With the sum below 2^(g + places), no addition's error exceeds 2^(g + places + 1 - 53), and all are multiples of
    /// 2^g: so their own sum is exact while `terms` of them stay below 2^(g + 53).
    pub fn sums_exact_in_two_f64(self, other: Range, terms: usize, rounded: bool) -> bool {
        // The errors of the high parts are added up too: these sums need room of their own.
        self.places(other, terms, rounded) + 1 + log2_up(terms) <= 2 * 53
    }
}

/// The logarithm of `count` to base 2, rounded up.
fn log2_up(count: usize) -> i32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as i32
}

#[cfg(test)]
mod tests {
    use super::Range;
    use proptest::prelude::*;

    #[test]
    fn ranges_of_known_numbers() {
        assert_eq!(Range::of(&[0.0, -0.0, f32::NAN, f32::INFINITY]), Range::default());
        assert_eq!(Range::of(&[3.0, 0.0, -0.25]), Range { low: -2, high: 1, grid: -3, bits: 2 });
        assert_eq!(Range::of(&[f32::from_bits(1), f32::MAX]), Range { low: -149, high: 127, grid: -149, bits: 24 });
    }

    /// The square of the largest number below 2 has 48 bits: 32 of them fill an f64, and one more does not fit.
    #[test]
    fn sums_are_exact_up_to_the_last_bit() {
        let number = 2.0f32.next_down();
        let range = Range::of(&[number, -number]);
        let square = u128::from(number.to_bits() & 0x007f_ffff | 0x0080_0000).pow(2);
        for terms in [1, 2, 31, 32, 33, 64, 65] {
            let sum = terms as u128 * square;
            let is_exact = sum as f64 as u128 == sum;
            assert!(is_exact || !range.sums_exact_in_f64(range, terms, false), "{terms}");
            assert_eq!(range.sums_exact_in_f64(range, terms, false), terms <= 32);
            // A product that is rounded to f32 has 24 bits.
            assert!(range.sums_exact_in_f64(range, terms << 20, true));
        }
        assert!(!range.sums_exact_in_f64(range, 1 << 29, true) && range.sums_exact_in_f64(range, 1 << 28, true));
        assert!(
            range.sums_exact_in_two_f64(range, 1 << 28, false) && !range.sums_exact_in_two_f64(range, 1 << 29, false)
        );
    }

    proptest! {
        /// Every value is within its range's bounds.
        #[test]
        fn ranges_bound_their_values(values in prop::collection::vec(any::<f32>(), 1..20), kept in 0u32..24) {
            let values: Vec<f32> = values.iter().map(|v| f32::from_bits(v.to_bits() >> kept << kept)).collect();
            let range = Range::of(&values);
            for value in values.iter().map(|v| f64::from(*v).abs()).filter(|v| v.is_finite() && *v > 0.0) {
                prop_assert!(value >= 2f64.powi(range.low) && value < 2f64.powi(range.high + 1));
                prop_assert_eq!((value / 2f64.powi(range.grid)).fract(), 0.0);
            }
            prop_assert!(range.bits <= 24 - kept as i32);
        }

        #[test]
        fn exact_products_are_exact(a in any::<f32>(), b in any::<f32>(), kept in 0u32..24) {
            let [a, b] = [a, b].map(|v| f32::from_bits(v.to_bits() >> kept << kept));
            if Range::of(&[a]).products_exact_in_f32(Range::of(&[b])) && a.is_finite() && b.is_finite() {
                prop_assert_eq!(f64::from(a * b), f64::from(a) * f64::from(b));
            }
        }
    }
}
