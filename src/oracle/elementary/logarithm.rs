//! `ln(x)` by a table of reciprocals with few bits and a short polynomial (Tang, ACM TOMS 16(4), 1990).

use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use crate::interval::two_sum;
use crate::num::{exp2i, floor_log2, scale};

const CELLS: usize = 128;
/// From this cell on, 1.414 and more, significands are halved, so that they lie around 1.
const HALVED_FROM: usize = 53;

struct Cell {
    /// About the reciprocal of the cell's middle, with at most 9 bits; 1 in the two cells that touch 1.
    reciprocal: f64,
    /// `-ln(reciprocal)`, the first part a multiple of 2^-42.
    log_high: f64,
    log_low: f64,
}

struct Table {
    /// ln 2, the first part a multiple of 2^-42.
    ln2_high: f64,
    ln2_low: f64,
    cells: [Cell; CELLS],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (ln2_high, ln2_low) = split(Float::with_val(200, Constant::Log2));
    let cells = std::array::from_fn(|j| {
        let middle = (1.0 + (j as f64 + 0.5) / CELLS as f64) * if j < HALVED_FROM { 1.0 } else { 0.5 };
        let touches_one = j == 0 || j == CELLS - 1;
        let reciprocal = if touches_one { 1.0 } else { Float::with_val(9, 1.0 / middle).to_f64() };
        let (log_high, log_low) = split(-Float::with_val(200, reciprocal).ln());
        Cell { reciprocal, log_high, log_low }
    });
    Table { ln2_high, ln2_low, cells }
});

/// The nearest multiple of 2^-42, and the rest to nearest.
fn split(value: Float) -> (f64, f64) {
    let high = scale((Float::with_val(200, &value) << 42u32).round().to_f64(), -42);
    (high, (value - high).to_f64())
}

/// `ln(x + x_low)` to nearest of a number within a relative error of 2^-57 of it; x is positive and finite, `x_low` at
/// most half an ulp of it. Where `x_low` is not zero, x is below 1 - 2^-9 or above 1 + 2^-9.
///
/// Proof of the error. With x = z * 2^e, the cell's reciprocal c and z = high + low in 26 and 27 bits, `high * c - 1`
/// and `low * c` are exact, so r + r_low = z c - 1, but for 2^-78 where there is an `x_low`; |r| < 2^-7. The head,
/// `e ln 2 - ln c`, has its first part exact (a multiple of 2^-42 below 2^10) and its second right to 2^-84. If it is
/// zero, the result is that of [`ln_plus_one`]. Else |ln x| > 2^-7.1, and of absolute errors there are
/// 2^-67 of the polynomial, 2^-68 of r_low (1 + r), and 2^-66 from adding numbers below 2^-14: together below 2^-64.
#[inline(always)]
pub fn ln(x: f64, x_low: f64) -> f64 {
    let table = &*TABLE;
    let (x, lift) = if x < f64::MIN_POSITIVE { (x * exp2i(54), 54) } else { (x, 0) };
    let bits = x.to_bits();
    let cell_index = (bits >> 45) as usize % CELLS;
    let halved = i32::from(cell_index >= HALVED_FROM);
    let exponent = floor_log2(x) + halved;
    let z = f64::from_bits((bits & ((1 << 52) - 1)) | ((1023 - halved as u64) << 52));
    let z_high = f64::from_bits(z.to_bits() & !((1 << 27) - 1));
    let z_low = (z - z_high) + scale(x_low, -exponent);
    let cell = &table.cells[cell_index];
    let (r, r_low) = two_sum(z_high * cell.reciprocal - 1.0, z_low * cell.reciprocal);
    let e = f64::from(exponent - lift);
    let low = e * table.ln2_low + cell.log_low + r_low;
    let (head, head_low) = two_sum(e * table.ln2_high + cell.log_high, r);
    head + (head_low + (plus_one_minus(r) + low))
}

/// `ln(1 + r)` for `|r| < 2^-7`: to nearest of a number within a relative error of 2^-57 of it.
///
/// The polynomial's error is below 2^-59.4 |r|, see [`plus_one_minus`], and |ln(1 + r)| > 0.99 |r|.
#[inline(always)]
pub fn ln_plus_one(r: f64) -> f64 {
    r + plus_one_minus(r)
}

/// `ln(1 + r) - r` for `|r| < 2^-7`, right to 2^-59.4 |r|: cut at r^10/10, and three roundings of r^2/2.
#[inline(always)]
fn plus_one_minus(r: f64) -> f64 {
    let square = r * r;
    let low = -1.0 / 2.0 + r * (1.0 / 3.0);
    let middle = -1.0 / 4.0 + r * (1.0 / 5.0) + square * (-1.0 / 6.0 + r * (1.0 / 7.0));
    let high = -1.0 / 8.0 + r * (1.0 / 9.0);
    square * (low + square * (middle + square * square * high))
}

#[cfg(test)]
mod tests {
    use rug::Float;

    use super::{CELLS, HALVED_FROM, TABLE, ln, ln_plus_one, plus_one_minus};

    /// The proof's bound on the reduced argument.
    #[test]
    fn reduced_arguments_are_below_2_to_the_minus_7() {
        for (j, cell) in TABLE.cells.iter().enumerate() {
            let factor = if j < HALVED_FROM { 1.0 } else { 0.5 };
            for edge in [j, j + 1] {
                let z = (1.0 + edge as f64 / CELLS as f64) * factor;
                assert!((z * cell.reciprocal - 1.0).abs() <= 1.0 / 128.0, "cell {j}");
            }
            assert_eq!(cell.reciprocal.to_bits() << 20, 0, "cell {j}: more than 9 bits");
        }
        assert_eq!([TABLE.cells[0].reciprocal, TABLE.cells[CELLS - 1].reciprocal], [1.0; 2]);
    }

    /// The claimed error of the polynomial: at most 2^-59.4 of r.
    #[test]
    fn the_polynomial_is_as_good_as_said() {
        for i in 1..20_000 {
            let size = f64::from(i) / 20_000.0 / 128.0;
            for r in [size, -size] {
                let real = Float::with_val(200, r).ln_1p() - r;
                let off = (real - plus_one_minus(r)).abs() / size;
                assert!(off < 2f64.powf(-59.4), "{r:e} is off by {off:e}");
            }
        }
    }

    /// Logarithms are rounded once but for 2^-57 of them.
    #[test]
    fn logarithms_are_as_good_as_said() {
        let held = |name: &str, x: f64, got: f64, real: Float| {
            let half = 0.5 * (got.abs().next_up() - got.abs());
            let allowed = half + got.abs() * 2f64.powi(-57);
            let off = (real - got).abs();
            assert!(off <= allowed, "{name}({x:e}) = {got:e} is off by {off:e}, not {allowed:e}");
        };
        for i in 0..40_000u64 {
            // All cells, exponents of both signs, and numbers that reach into the low half of the significand.
            let significand = i * 112_589_990_684 + ((i * 7_919) << 20) % 999_983;
            for biased in [0, 1, 900, 1021, 1022, 1023, 1024, 1500, 2046] {
                let x = f64::from_bits((biased << 52) | (significand & ((1 << 52) - 1)));
                if x > 0.0 && x != 1.0 {
                    held("ln", x, ln(x, 0.0), Float::with_val(200, x).ln());
                }
            }
            let r = (i as f64 + 0.5) / 40_000.0 / 128.0;
            for r in [r, -r] {
                held("ln_plus_one", r, ln_plus_one(r), Float::with_val(200, r).ln_1p());
            }
        }
    }

    /// The same bound for sums that no f64 holds: what was rounded off counts, most of all where the logarithm is small.
    #[test]
    fn logarithms_of_unrounded_sums_are_as_good_as_said() {
        for i in 0..4_000u64 {
            let share = i as f64 / 4_000.0;
            let below_two = f64::from_bits((1023 << 52) | (i * 1_125_899_906_840 + ((i * 7_919) << 20) % 999_983));
            let near_one = [1.0 + (1.0 + 3.0 * share) / 128.0, 1.0 - (1.0 + 7.0 * share) / 512.0];
            for x in near_one.into_iter().chain([0.5, 1.0, 2.0, 128.0].map(|factor| below_two * factor)) {
                if (x - 1.0).abs() <= 1.0 / 512.0 {
                    continue;
                }
                let low = (((i * 37) % 101) as f64 / 101.0 - 0.5) * (x.next_up() - x);
                let (got, real) = (ln(x, low), (Float::with_val(300, x) + low).ln());
                let off = (real - got).abs();
                let allowed = 0.5 * (got.abs().next_up() - got.abs()) + got.abs() * 2f64.powi(-57);
                assert!(off <= allowed, "ln({x:e} + {low:e}) = {got:e} is off by {off:e}, not {allowed:e}");
            }
        }
    }
}
