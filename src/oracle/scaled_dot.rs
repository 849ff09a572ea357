//! The truth of dots of scaled blocks: exact sums of rational numbers, rounded once where a format is asked for.

use rug::{Float, Integer, Rational};

use crate::num::{Direction, Format, round_mpfr};
use crate::scaled::BlockDot;

/// Bits of a rounded sum: three more than those of an f64's fraction decide no tie wrongly.
const BITS: u32 = 64;

/// The exact result at row `i` and column `j`. Elements are multiples of 2^-16, so that their products are whole numbers of 2^-32; scales
/// are finite numbers of f64, which rational numbers hold.
pub fn exact(dot: &BlockDot, i: usize, j: usize) -> Rational {
    let rational = |value: f64| Rational::from_f64(value).unwrap_or_default();
    let mut sum = Rational::new();
    for block in 0..dot.blocks() {
        let mut units = Integer::new();
        for (a, b) in dot.pairs(i, j, block) {
            units += Integer::from((a * 65536.0) as i64) * (b * 65536.0) as i64;
        }
        let of_block = Rational::from((units, Integer::from(1) << 32));
        let (scale_a, scale_b) = dot.scales(i, j, block);
        sum += of_block * rational(scale_a) * rational(scale_b);
    }
    sum
}

/// All results [m, n], row-major, the exact sum rounded to a format once, to nearest even.
pub fn scaled_dot(dot: &BlockDot, format: &Format) -> Vec<f64> {
    let [m, _, n] = dot.dims();
    let places = (0..m).flat_map(|i| (0..n).map(move |j| (i, j)));
    places
        .map(|(i, j)| {
            let exact = exact(dot, i, j);
            let (value, ternary) = Float::with_val_round(BITS, &exact, rug::float::Round::Nearest);
            round_mpfr(format, &value, ternary, Direction::NearestEven)
        })
        .collect()
}
