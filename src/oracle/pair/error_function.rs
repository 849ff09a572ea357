//! The error function by its Taylor series around multiples of 1/32, in double-word arithmetic.

use std::array::from_fn;
use std::f64::consts::FRAC_2_SQRT_PI;
use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use super::super::interval::two_sum;
use super::basic::{KNOWN, SMALL, fast_two_sum, product, two_product};
use super::exponential::{TO_INTEGER, two_parts};
use super::functions::{NEARLY_ONE, is_large};
use super::{GROWN, IRREGULAR, Pair, Tables, power_of_two};

const STEPS_PER_UNIT: u32 = 32;
/// Around 0, 1/32 and so on up to 9.
const ROWS: usize = 9 * STEPS_PER_UNIT as usize + 1;
/// From where it is one but for less than 2^-110, less one.
const LAST: f64 = 8.0;

/// The number of coefficients that are double words, and below it the number of those that are one f64.
const DOUBLE: usize = 8;
const PLAIN: usize = 7;

/// Above 2 / sqrt(pi), the largest derivative.
const STEEPEST: f64 = FRAC_2_SQRT_PI * (1.0 + power_of_two(-40));

/// The series around one point.
pub struct Row {
    /// The function there, in two parts.
    base: (f64, f64),
    /// Its derivatives by n!, from the first on; around 0 only those that are not zero, so that it is x times a series in x^2.
    double: [(f64, f64); DOUBLE],
    plain: [f64; PLAIN],
}

/// Constants of the function, computed by MPFR: the same on every machine.
pub type Table = [Row; ROWS];

/// Made on the first use.
pub static TABLE: LazyLock<Box<Table>> = LazyLock::new(|| Box::new(from_fn(row)));

fn row(i: usize) -> Row {
    let number = |n: u32| Float::with_val(200, n);
    let point = number(i as u32) / STEPS_PER_UNIT;
    let slope = number(2) / number(0).max(&Float::with_val(200, Constant::Pi)).sqrt();
    let slope = slope * (-Float::with_val(200, point.square_ref())).exp();
    // Hermite's polynomials (DLMF 18.9): the n-th derivative is (-1)^(n - 1) H_(n - 1) times the first one.
    let twice = Float::with_val(200, &point * 2u32);
    let (mut before, mut hermite, mut factorial) = (number(0), number(1), number(1));
    let coefficients: [Float; DOUBLE + PLAIN] = from_fn(|at| {
        let n = at as u32 + 1;
        let sign = if at % 2 == 0 { 1i32 } else { -1 };
        if i == 0 {
            let around_zero = Float::with_val(200, &slope / &factorial) / (2 * n - 1) * sign;
            factorial *= n;
            return around_zero;
        }
        factorial *= n;
        let coefficient = Float::with_val(200, &slope * &hermite) / &factorial * sign;
        let next = Float::with_val(200, &twice * &hermite) - Float::with_val(200, &before * (2 * (n - 1)));
        before = std::mem::replace(&mut hermite, next);
        coefficient
    });
    Row {
        base: two_parts(point.erf()),
        double: from_fn(|n| two_parts(coefficients[n].clone())),
        plain: from_fn(|n| coefficients[DOUBLE + n].to_f64()),
    }
}

/// `c + r q` as [`super::exponential::multiply_add`] has it, for any sizes.
#[inline(always)]
fn multiply_add_any(c: (f64, f64), r: (f64, f64), q: (f64, f64)) -> (f64, f64) {
    let (product, product_low) = two_product(r.0, q.0);
    let low = r.0.mul_add(q.1, r.1.mul_add(q.0, product_low));
    let (sum, sum_low) = two_sum(c.0, product);
    (sum, sum_low + (c.1 + low))
}

/// The error function, within 2^-101 of it.
///
/// Proof. It is odd. The nearest multiple c of 1/32 is between half and twice `|x|` unless it is zero, so `d = |x| - c`, at
/// most 1/64, is an exact pair (Sterbenz), and `erf |x| = erf c + d (a_1 + d (a_2 + ...))`. Cut after the fifteenth, the series
/// loses at most `(2 / sqrt pi) K 2^7.5 sqrt(15!) / 16! d^16` with K < 1.0865, as `|H_n(t)| <= K sqrt(2^n n!) e^(t^2 / 2)`
/// (Cramer; DLMF 18.14.9). Around zero it is x times a series in `z = x^2` < 2^-12, cut at z^15. From the ninth coefficient on
/// it is plain f64; then there are double-word steps, with sums of any two, whose roundings are shares of
/// `T_n = |a_n| + |d| T_(n+1)`. From these the test `each_row_is_as_good_as_said` adds up the bound of each row: at most
/// 2^-101.5, around 1/32. High parts add up exactly in their order, as erf c is zero or above `|d| a_1`. From 9 on the function
/// is above 1 - e^-80 > 1 - 2^-115. An error d of x gives at most `2 d / sqrt pi`.
/// The smallest subnormal covers what of that underflows.
#[inline(always)]
pub fn erf(x: Pair, tables: &Tables) -> Pair {
    let size = if x.hi < 0.0 { x.neg() } else { x };
    let shifted = size.hi * f64::from(STEPS_PER_UNIT) + TO_INTEGER;
    let steps = shifted - TO_INTEGER;
    let row = &tables.error_function[(shifted.to_bits() as u32 as usize).min(ROWS - 1)];
    let d = two_sum(size.hi - steps * (1.0 / f64::from(STEPS_PER_UNIT)), size.lo);
    let square = product(d, d);
    let v = if steps == 0.0 { square } else { d };
    let mut p = row.plain[PLAIN - 1];
    for n in (0..PLAIN - 1).rev() {
        p = v.0.mul_add(p, row.plain[n]);
    }
    let last = row.double[DOUBLE - 1];
    let mut q = two_sum(last.0, v.0.mul_add(p, last.1));
    for n in (0..DOUBLE - 1).rev() {
        q = multiply_add_any(row.double[n], v, q);
    }
    let along = product(d, fast_two_sum(q.0, q.1));
    let (sum, sum_low) = fast_two_sum(row.base.0, along.0);
    let (hi, lo) = fast_two_sum(sum, sum_low + (row.base.1 + along.1));
    let error = (hi * power_of_two(-101) + x.error * STEEPEST) * GROWN + f64::from_bits(1);
    let inside = size.hi > SMALL || size.hi == 0.0 && x.error > 0.0;
    let near = if inside && x.error < KNOWN { Pair { hi, lo, error } } else { IRREGULAR };
    let result = if is_large(size, LAST) { NEARLY_ONE } else { near };
    if x.hi < 0.0 { result.neg() } else { result }
}

#[cfg(test)]
mod tests {
    use super::{DOUBLE, FRAC_2_SQRT_PI, PLAIN, ROWS, TABLE, power_of_two};

    /// The proof's bounds on the roundings and on the rest of the series.
    #[test]
    fn each_row_is_as_good_as_said() {
        let u = power_of_two(-53);
        let mut widest = 0.0f64;
        for (i, row) in TABLE.iter().enumerate() {
            let d = 1.0 / 64.0 * (1.0 + power_of_two(-40));
            let v = if i == 0 { d * d } else { d };
            // Of what follows the n-th coefficient: a bound, what it is off, and its low part.
            let (mut size, mut off, mut low) = (0.0, 0.0, 0.0);
            for a in row.plain.iter().rev().map(|a| a.abs()) {
                let next = a + v * size;
                (off, size) = (v * off + u * (a + v * size + next), next);
            }
            for (n, a) in row.double.iter().enumerate().rev().map(|(n, a)| (n, a.0.abs())) {
                let (rest, carried) = (v * size, v * low);
                let next = a + rest;
                if n == DOUBLE - 1 {
                    // The low part of v is left out, and the sum of the product and the low part rounded.
                    (off, low) = (v * off + u * (u * a + 2.0 * rest + 2.0 * u * a), u * next);
                } else {
                    let product_low = carried + 2.01 * u * rest;
                    let roundings =
                        2.0 * u * rest + product_low + (u * a + product_low) + (u * (next + a) + product_low);
                    off = v * off + u * (u * a + carried + roundings);
                    low = u * (next + a) + product_low;
                }
                size = next;
            }
            // Around zero, v is off itself.
            off += if i == 0 { 6.0 * u * u * size } else { 0.0 };
            let (base, along) = (row.base.0, d * size);
            let smallest = if i == 0 { d } else { base - along };
            let sqrt_15_factorial = 1_307_674_368_000f64.sqrt();
            let cut = FRAC_2_SQRT_PI * 1.0865 * 2f64.powf(7.5) * sqrt_15_factorial / 20_922_789_888_000.0 * d.powi(16);
            let last = u * u * (base + 2.0 * (base + along) + smallest + 2.0 * along);
            let added = if i == 0 { 0.0 } else { cut + last };
            let share = 1.001 * (d * off + 6.0 * u * u * along + added) / smallest;
            assert!(share <= power_of_two(-101), "row {i}: {share:e}");
            assert!(base == 0.0 || base > along, "row {i}");
            widest = widest.max(share);
        }
        assert!(widest > 0.5 * power_of_two(-101), "{widest:e}");
        // Cut at z^15 around zero.
        assert!(power_of_two(-12 * 15) < power_of_two(-140) && DOUBLE + PLAIN == 15 && ROWS == 289);
    }
}
