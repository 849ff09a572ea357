//! Facts from one look at a vector that hold for every dot product with it.

use super::simd::{Kernel, dispatch};
use crate::num::{exp2i, floor_log2};

/// The exponent of a vector of zeros: any sum of two of them, and of one with an f64's, keeps its meaning.
const NOWHERE: i32 = 4000;

/// Two vectors' numbers of this kind together stay below the 2^53 units that an f64 counts: 2^26.5, rounded down far
/// enough that the rounding of products and quotients of such numbers does not matter.
pub const HALF_OF_53_BITS: f64 = 94_906_265.0;

/// 2^53, lowered by as much.
pub const ALL_53_BITS: f64 = HALF_OF_53_BITS * HALF_OF_53_BITS;

/// A vector's entries, up to sign and order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// All entries are multiples of `2^grid`.
    pub grid: i32,
    /// All entries are below `2^top` in magnitude.
    pub top: i32,
    /// An entry is an integer of at most this magnitude times a power of two.
    pub significand: f64,
    /// At least the Euclidean norm.
    pub norm: f64,
    /// Whether none is infinite or NaN; where one is, nothing else is known.
    pub finite: bool,
}

impl Facts {
    /// Facts of a vector of zeros.
    pub const ZEROS: Facts = Facts { grid: NOWHERE, top: -NOWHERE, significand: 0.0, norm: 0.0, finite: true };

    /// Facts of these entries, from one look at each.
    pub fn of(values: &[f64]) -> Facts {
        let look = dispatch(Look(values));
        if !look.finite {
            return Facts { finite: false, norm: f64::INFINITY, ..Facts::ZEROS };
        }
        if look.largest == 0.0 {
            return Facts::ZEROS;
        }
        Facts {
            grid: floor_log2(look.lowest),
            top: floor_log2(look.largest) + 1,
            significand: look.significand,
            norm: norm_bound(look.squares, values.len(), look.largest),
            finite: true,
        }
    }

    /// Facts of both vectors' entries as one.
    pub fn join(self, other: Facts) -> Facts {
        Facts {
            grid: self.grid.min(other.grid),
            top: self.top.max(other.top),
            significand: self.significand.max(other.significand),
            norm: norm_of(self.norm, other.norm),
            finite: self.finite && other.finite,
        }
    }

    /// At least `norm / 2^grid`: how many units the norm is.
    pub fn span(self) -> f64 {
        // A power of two: exact, or infinite.
        if self.norm == 0.0 { 0.0 } else { self.norm * exp2i(-self.grid) }
    }
}

/// At least `hypot(a, b)`.
pub fn norm_of(a: f64, b: f64) -> f64 {
    let (large, small) = if a < b { (b, a) } else { (a, b) };
    if small == 0.0 {
        return large;
    }
    // The quotient is at most 1, and what rounding takes from all steps is far below 2^-50 of the result.
    let ratio = small / large;
    let norm = large * (1.0 + ratio * ratio).sqrt() * (1.0 + 4.0 * f64::EPSILON);
    if norm.is_nan() { f64::INFINITY } else { norm.next_up() }
}

/// At least the root of the sum of `count` squares, from that sum as computed in any order and the largest magnitude.
///
/// Each square lost at most gamma_count of itself on the way (Higham, Accuracy and Stability of Numerical Algorithms,
/// 3.1), and at most 2^-1075 more where it underflowed.
pub fn norm_bound(squares: f64, count: usize, largest: f64) -> f64 {
    let count = count as f64;
    let bound = ((squares + count * f64::MIN_POSITIVE) * (1.0 + (count + 4.0) * f64::EPSILON)).sqrt().next_up();
    // Of squares that overflow, or nearly vanish, the largest magnitude says more.
    bound.min(largest * count.sqrt().next_up() * (1.0 + 2.0 * f64::EPSILON)).next_up()
}

/// The raw findings of one pass.
struct Found {
    /// The lowest set bit of all entries, as a number; infinite without any.
    lowest: f64,
    largest: f64,
    significand: f64,
    squares: f64,
    finite: bool,
}

struct Look<'a>(&'a [f64]);

const LANES: usize = 8;

impl Kernel for Look<'_> {
    type Output = Found;

    #[inline(always)]
    fn run(self) -> Found {
        let mut lanes = Lanes {
            lowest: [f64::INFINITY; LANES],
            largest: [0.0; LANES],
            significand: [0.0; LANES],
            squares: [0.0; LANES],
            special: [false as u64; LANES],
        };
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        chunks.iter().for_each(|chunk| lanes.add(chunk));
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        lanes.add(&last);
        Found {
            lowest: lanes.lowest.into_iter().fold(f64::INFINITY, f64::min),
            largest: lanes.largest.into_iter().fold(0.0, f64::max),
            significand: lanes.significand.into_iter().fold(0.0, f64::max),
            squares: lanes.squares.into_iter().sum(),
            finite: lanes.special == [0; LANES],
        }
    }
}

struct Lanes {
    lowest: [f64; LANES],
    largest: [f64; LANES],
    significand: [f64; LANES],
    squares: [f64; LANES],
    special: [u64; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add(&mut self, values: &[f64; LANES]) {
        for (lane, value) in values.iter().enumerate() {
            let size = value.abs();
            let lowest = lowest_bit(size);
            let larger = |a: f64, b: f64| if a > b { a } else { b };
            self.lowest[lane] = if lowest < self.lowest[lane] { lowest } else { self.lowest[lane] };
            self.largest[lane] = larger(size, self.largest[lane]);
            // Exact: an integer below 2^53, or 0 for a zero.
            self.significand[lane] = larger(size / lowest, self.significand[lane]);
            self.squares[lane] += size * size;
            self.special[lane] |= u64::from(size.to_bits() >= f64::INFINITY.to_bits());
        }
    }
}

/// The lowest set bit of a finite number that is not negative, as a number; infinite for zero.
#[inline(always)]
fn lowest_bit(size: f64) -> f64 {
    let bits = size.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    // Without its lowest fraction bit the number is a neighbour on a coarser grid, and the difference is exact. Without
    // any fraction bits it is a power of two.
    let without = f64::from_bits(bits & bits.wrapping_sub(1));
    let lowest = if fraction == 0 { size } else { size - without };
    if size == 0.0 { f64::INFINITY } else { lowest }
}

/// The smallest number of bits that count to `count`: `2^ceil_log2(count) >= count`.
pub fn ceil_log2(count: usize) -> i32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as i32
}

#[cfg(test)]
mod tests {
    use rug::Float;

    use super::*;

    #[test]
    fn facts_are_those_of_the_entries() {
        let values = [0.0, -3.0, 0.75, 1.0, 40.0, -0.0, 5.0, 0.0, 0.5, -2.0, 0.0];
        let facts = Facts::of(&values);
        assert_eq!((facts.grid, facts.top, facts.significand), (-2, 6, 5.0));
        let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(facts.norm >= norm && facts.norm < norm * (1.0 + 1e-13));
        assert!(facts.span() >= 4.0 * norm);
        assert_eq!(Facts::of(&[0.0; 5]), Facts::ZEROS);
        assert_eq!(Facts::of(&[-0.0]).span(), 0.0);
        assert!(!Facts::of(&[1.0, f64::NAN]).finite && !Facts::of(&[f64::NEG_INFINITY; 20]).finite);
        assert_eq!(Facts::of(&values[..4]).join(Facts::of(&values[4..])).grid, -2);
        assert!(Facts::of(&values[..4]).join(Facts::of(&values[4..])).norm >= norm);
    }

    #[test]
    fn facts_hold_at_both_ends_of_the_range() {
        let tiny = Facts::of(&[f64::from_bits(1), f64::from_bits(6), -f64::MIN_POSITIVE]);
        assert_eq!((tiny.grid, tiny.top, tiny.significand), (-1074, -1021, 3.0));
        assert!(tiny.norm >= f64::MIN_POSITIVE && tiny.norm < 3.0 * f64::MIN_POSITIVE);
        let huge = Facts::of(&[f64::MAX, 1.0]);
        assert_eq!((huge.grid, huge.top, huge.significand), (0, 1024, 9_007_199_254_740_991.0));
        assert!(huge.norm >= f64::MAX && huge.finite);
        assert_eq!(Facts::of(&[1e-200; 4]).norm, 2e-200_f64.max(Facts::of(&[1e-200; 4]).norm));
        assert!(Facts::of(&[1e-200; 4]).norm < 2.1e-200);
    }

    /// Norms are upper bounds, and tight ones.
    #[test]
    fn norms_are_tight() {
        let real = |values: &[f64]| {
            let squares = values.iter().map(|v| Float::with_val(4000, *v).square());
            squares.fold(Float::new(4000), |sum, square| sum + square).sqrt()
        };
        let is_tight = |bound: f64, norm: Float| bound >= norm && bound <= norm * (1.0 + 1e-12) + 4e-324;
        for (a, b) in
            [(3.0, 4.0), (1.0, 0.0), (0.0, 7.0), (1e300, 1e-300), (1e308, 1e308), (1e-320, 3e-320), (5.0, 5.0)]
        {
            for [a, b] in [[a, b], [b, a]] {
                assert!(is_tight(norm_of(a, b), real(&[a, b])), "{a} {b}");
            }
        }
        assert_eq!([norm_of(2.0, 0.0), norm_of(0.0, 2.0)], [2.0; 2]);
        assert_eq!(norm_of(f64::INFINITY, f64::INFINITY), f64::INFINITY);
        for count in [1usize, 2, 3, 10, 1000] {
            for scale in [-1000, -540, -508, -100, 0, 200, 500] {
                let values: Vec<f64> = (0..count).map(|i| (i % 7 + 3) as f64 * exp2i(scale)).collect();
                let (bound, norm) = (Facts::of(&values).norm, real(&values));
                // Of squares that vanish or overflow only the largest entry is known.
                let slack = if scale.abs() > 450 { 9.0 / 3.0 } else { 1.0 + 1e-11 };
                assert!(bound >= norm && bound <= norm * slack, "{count} of 2^{scale}");
            }
        }
        assert_eq!(Facts::of(&[1.0, f64::NAN]).norm, f64::INFINITY);
        // What rounding takes from the squares and from the root is given back.
        for squares in [2.0, 3.0, 1.0 + 3.0 * f64::EPSILON] {
            for count in [1usize, 8, 1000, 1 << 20] {
                let lost = Float::with_val(200, count as f64) * 2f64.powi(-53) * squares;
                let root: Float = (lost + squares).sqrt();
                let bound = norm_bound(squares, count, 1e200);
                assert!(bound >= root && bound <= root * (1.0 + (count as f64 + 16.0) * f64::EPSILON), "{count}");
                assert!(norm_bound(1e300, count, 1.0) >= Float::with_val(200, count as f64).sqrt());
            }
        }
    }

    #[test]
    fn halves_of_53_bits_do_not_make_more() {
        assert!((ALL_53_BITS as u64) < (1 << 53) - (1 << 20));
        assert_eq!([0, 1, 2, 3, 4, 5].map(ceil_log2), [0, 0, 1, 2, 2, 3]);
    }
}
