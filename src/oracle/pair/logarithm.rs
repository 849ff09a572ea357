//! `ln x` by a table of reciprocals with few bits and a polynomial (Tang, ACM TOMS 16(4), 1990), in double-word
//! arithmetic.

use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use crate::num::scale;

use super::super::interval::two_sum;
use super::basic::{KNOWN, SECOND_ORDER, add, fast_two_sum, two_product};
use super::exponential::{multiply_add, two_parts};
use super::{GROWN, IRREGULAR, Pair, Tables, power_of_two};

const CELLS: usize = 256;
/// From this cell on, 1.414 and more, significands are halved, so that they lie around 1.
const HALVED_FROM: usize = 106;

/// Arguments between these have a low part that scaling keeps.
const LOWEST: f64 = power_of_two(-900);
const HIGHEST: f64 = power_of_two(900);

/// Constants of the function, computed by MPFR: the same on every machine.
pub struct Table {
    /// ln 2 in three parts, the first a multiple of 2^-42.
    ln2: [f64; 3],
    /// About the reciprocals of the cells' middles, with at most 10 bits; 1 in the two cells that touch 1.
    reciprocals: [f64; CELLS],
    /// `-ln(reciprocal)` in three parts, the first a multiple of 2^-42.
    logs: [[f64; CELLS]; 3],
    /// -1/2, 1/3, -1/4, 1/5 and -1/6 in two parts.
    coefficients: [(f64, f64); 5],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let reciprocals: [f64; CELLS] = std::array::from_fn(|j| {
        let middle = (1.0 + (j as f64 + 0.5) / CELLS as f64) * if j < HALVED_FROM { 1.0 } else { 0.5 };
        let touches_one = j == 0 || j == CELLS - 1;
        if touches_one { 1.0 } else { Float::with_val(10, 1.0 / middle).to_f64() }
    });
    let logs = reciprocals.map(|c| three_parts(-Float::with_val(300, c).ln()));
    let coefficient = |i: usize| {
        let n = i as u32 + 2;
        let sign = if n.is_multiple_of(2) { -1i32 } else { 1 };
        two_parts(Float::with_val(300, sign) / n)
    };
    Table {
        ln2: three_parts(Float::with_val(300, Constant::Log2)),
        reciprocals,
        logs: std::array::from_fn(|part| std::array::from_fn(|j| logs[j][part])),
        coefficients: std::array::from_fn(coefficient),
    }
});

/// The nearest multiple of 2^-42, the rest to nearest, and the rest of that.
fn three_parts(value: Float) -> [f64; 3] {
    let high = scale((Float::with_val(300, &value) << 42u32).round().to_f64(), -42);
    let (middle, low) = two_parts(value - high);
    [high, middle, low]
}

/// `ln(1 + r)` for `|r| <= 2^-8`, as a pair within 2^-100 of it.
///
/// Proof, all relative to r. The series `1 + r (-1/2 + r (1/3 - ...))` is cut at r^13 / 14 < 2^-107.8. From r^6 / 7 on it
/// is plain f64: 2^-51.9 of a term below 2^-50.8, and half an ulp of `r p`, 2^-64 r^5: together below 2^-102. Of the
/// five double-word steps the last loses 2^-105.5, the others that times r or less. The product with r loses 2^-103. And
/// ln(1 + r) is above 0.998 of r.
#[inline(always)]
fn ln_plus_one(r: (f64, f64), table: &Table) -> (f64, f64) {
    let x = r.0;
    let square = x * x;
    let p = 1.0 / 7.0 - x * (1.0 / 8.0)
        + square * (1.0 / 9.0 - x * (1.0 / 10.0))
        + square * square * (1.0 / 11.0 - x * (1.0 / 12.0) + square * (1.0 / 13.0));
    let [half, third, fourth, fifth, sixth] = table.coefficients;
    let q = fast_two_sum(sixth.0, x.mul_add(p, sixth.1));
    let q = multiply_add(fifth, r, q);
    let q = multiply_add(fourth, r, q);
    let q = multiply_add(third, r, q);
    let q = multiply_add(half, r, q);
    let q = multiply_add((1.0, 0.0), r, q);
    let (high, low) = two_product(r.0, q.0);
    fast_two_sum(high, low + r.0.mul_add(q.1, r.1 * q.0))
}

/// `ln x`, within 2^-98 of it.
///
/// Proof. With `x = z 2^e` and c the cell's reciprocal, `z c` is an exact pair, and its high part less 1 is exact
/// (Sterbenz), so `1 + r = z c` but for 2^-112; where c is 1, r is exact. [`ln_plus_one`] is right to 2^-99 of
/// itself. If e and `ln c` are zero that is the result. Else `|ln x| > 2^-9` while `|ln(1 + r)| < 2^-7.9`; the first parts of
/// `e ln 2 - ln c` add up exactly (multiples of 2^-42 below 2^10); the others are below 2^-32 and are added with their
/// errors, but for 2^-112 in all.
/// So ln x is right to 2^-98 of it. An error d of x gives at most `d / (x - d)`. Around 1 that error is all there is to know:
/// with a high part of 1 the series has the low part as its argument, exactly.
#[inline(always)]
pub fn log(x: Pair, tables: &Tables) -> Pair {
    let table = tables.logarithm;
    let bits = x.hi.to_bits();
    let cell = (bits >> 44) as usize % CELLS;
    let halved = u64::from(cell >= HALVED_FROM);
    let biased = (bits >> 52) + halved;
    let e = biased as i32 as f64 - 1023.0;
    let z = f64::from_bits((bits & ((1 << 52) - 1)) | ((1023 - halved) << 52));
    let z_low = x.lo * f64::from_bits(2046u64.wrapping_sub(biased) << 52);
    let c = table.reciprocals[cell];
    let (product, product_low) = two_product(z, c);
    let (low_product, lowest) = two_product(z_low, c);
    let (a, a_low) = two_sum(product - 1.0, product_low);
    let (b, b_low) = two_sum(a, low_product);
    let r = two_sum(b, b_low + (a_low + lowest));
    let (log, log_low) = ln_plus_one(r, table);
    let head = e * table.ln2[0] + table.logs[0][cell];
    let (multiple, multiple_low) = two_product(e, table.ln2[1]);
    let (s, s_low) = two_sum(head, log);
    let (t, t_low) = two_sum(s_low, multiple);
    let (v, v_low) = two_sum(t, table.logs[1][cell]);
    let least = e.mul_add(table.ln2[2], table.logs[2][cell]) + (multiple_low + log_low);
    let (sum, sum_low) = fast_two_sum(s, v);
    let (hi, lo) = fast_two_sum(sum, sum_low + ((t_low + v_low) + least));
    let error = (hi.abs() * power_of_two(-98) + x.error / x.hi * SECOND_ORDER) * GROWN;
    let around_one = x.error > 0.0 && (x.lo == 0.0 || x.lo.abs() > power_of_two(-500));
    let regular = x.hi > LOWEST && x.hi < HIGHEST && (x.hi != 1.0 || around_one) && x.error < x.hi * KNOWN;
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// `ln(1 + x)`: near zero by the series, else the logarithm of the pair sum.
///
/// Proof. The series is right to 2^-99 of the result; there the derivative is below 1.004. Elsewhere the bounds of the
/// sum and of [`log`] add up.
#[inline(always)]
pub fn log1p(x: Pair, tables: &Tables) -> Pair {
    let (hi, lo) = ln_plus_one((x.hi, x.lo), tables.logarithm);
    let error = (hi.abs() * power_of_two(-98) + x.error * (1.0 + power_of_two(-7))) * GROWN;
    let near = x.hi.abs() < power_of_two(-8) - power_of_two(-20);
    let through = log(add(x, Pair::exact(1.0)), tables);
    let regular = x.hi.abs() > LOWEST && x.error < KNOWN * x.hi.abs();
    let result = if near { Pair { hi, lo, error } } else { through };
    if regular { result } else { IRREGULAR }
}

/// The table, made on the first call.
pub fn table() -> &'static Table {
    &TABLE
}

#[cfg(test)]
mod tests {
    use rug::Float;

    use super::{CELLS, HALVED_FROM, ln_plus_one, power_of_two, table};

    /// The proof's bound on the reduced argument.
    #[test]
    fn reduced_arguments_are_below_2_to_the_minus_8() {
        for (j, reciprocal) in table().reciprocals.iter().enumerate() {
            let factor = if j < HALVED_FROM { 1.0 } else { 0.5 };
            for edge in [j, j + 1] {
                let z = (1.0 + edge as f64 / CELLS as f64) * factor;
                assert!((z * reciprocal - 1.0).abs() <= 1.0 / 256.0, "cell {j}");
            }
            assert_eq!(reciprocal.to_bits() << 21, 0, "cell {j}: more than 10 bits");
        }
        assert_eq!([table().reciprocals[0], table().reciprocals[CELLS - 1]], [1.0; 2]);
    }

    #[test]
    fn the_series_is_as_good_as_said() {
        for i in 1..=10_000 {
            let size = f64::from(i) / 10_000.0 / 256.0;
            for (high, low) in [(size, 0.0), (-size, 0.0), (size, size * 1e-17), (-size, size * 1e-17)] {
                let (got, got_low) = ln_plus_one((high, low), table());
                let real = (Float::with_val(300, high) + low).ln_1p();
                let off = (Float::with_val(300, got) + got_low - &real).abs() / real.abs();
                assert!(off < power_of_two(-100), "{high:e} is off by {off:e}");
            }
        }
    }
}
