//! The truth of dots of scaled blocks: exact sums of rational numbers, rounded once where a format is asked for.

use rug::{Float, Rational};

use crate::num::{Direction, Format, round_mpfr};
use crate::scaled::BlockDot;

/// Bits of a rounded sum: three more than those of an f64's fraction decide no tie wrongly.
const BITS: u32 = 64;

/// The exact result at row `i` and column `j`. Elements and scales are finite numbers of f64, which rational numbers hold.
pub fn exact(dot: &BlockDot, i: usize, j: usize) -> Rational {
    let rational = |value: f64| Rational::from_f64(value).unwrap_or_default();
    let mut sum = Rational::new();
    for block in 0..dot.blocks() {
        let mut of_block = Rational::new();
        for (a, b) in dot.pairs(i, j, block) {
            of_block += rational(a) * rational(b);
        }
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
