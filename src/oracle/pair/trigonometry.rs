//! Sine, cosine and tangent by a table of the sines of `2 pi j / 512` and two polynomials (after Tang, ARITH 10, 1991), in
//! double-word arithmetic.

use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use super::super::interval::two_sum;
use super::basic::{KNOWN, SMALL, div, fast_two_sum, product, two_product};
use super::exponential::{TO_INTEGER, multiply_add, two_parts};
use super::{GROWN, IRREGULAR, Pair, Tables, power_of_two};

/// Steps of pi / 256 a turn.
const STEPS: usize = 512;
/// A quarter of a turn.
const QUARTER: usize = STEPS / 4;

/// Beyond, a step count times a part of the step is no longer exact.
const HIGHEST: f64 = power_of_two(20);

/// Constants of the functions, computed by MPFR: the same on every machine.
pub struct Table {
    /// 256 / pi, to nearest.
    steps_per_unit: f64,
    /// pi / 256 in four parts; the first two have 26 bits.
    step: [f64; 4],
    /// The sines of `2 pi j / 512` in two parts, each to nearest; 0, 1 and -1 are exact.
    sines: [f64; STEPS],
    sines_low: [f64; STEPS],
    /// -1/6, 1/120 and 1/24 in two parts.
    third_order: (f64, f64),
    fifth_order: (f64, f64),
    fourth_order: (f64, f64),
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let step = Float::with_val(300, Constant::Pi) / 256u32;
    let mut rest = step.clone();
    let parts = [26, 26, 53, 53].map(|bits| {
        let part = Float::with_val(bits, &rest).to_f64();
        rest -= part;
        part
    });
    let sines: Vec<(f64, f64)> = (0..=QUARTER)
        .map(|j| two_parts(Float::with_val(300, Float::with_val(300, j as u32).sin_u_ref(STEPS as u32))))
        .collect();
    // Of each quarter the first half turn has the sines forth and back, and the second one less than them.
    let sine = |j: usize| {
        let (high, low) = sines[QUARTER - (j % (2 * QUARTER)).abs_diff(QUARTER)];
        if j < 2 * QUARTER { (high, low) } else { (0.0 - high, 0.0 - low) }
    };
    let reciprocal = |n: i32| two_parts(Float::with_val(300, 1u32) / n);
    Table {
        steps_per_unit: Float::with_val(300, 1u32 / &step).to_f64(),
        step: parts,
        sines: std::array::from_fn(|j| sine(j).0),
        sines_low: std::array::from_fn(|j| sine(j).1),
        third_order: reciprocal(-6),
        fifth_order: reciprocal(120),
        fourth_order: reciprocal(24),
    }
});

/// The table, made on the first call.
pub fn table() -> &'static Table {
    &TABLE
}

/// `sin(x + quarters pi / 2)`, within 2^-100 of it and, where something is taken off x, 2^-111.
///
/// Proof of the reduction. Up to 2^20 the step count k has 27 bits, so that `k step[0]`, a multiple of 2^-32, and `k step[1]`
/// are exact. If k is not 0, `|hi| > 2^-8`; and `hi - k step[0]` is below 2^-5.9, below 2^-6 where `|hi|` is and below 2^-7
/// where `|hi|` is: a multiple of an ulp of hi, or of 2^-32, it is exact. The next three sums are exact pairs, with high parts
/// below 2^-7; their low parts, each at most 2^-61, and what `k step[2]` leaves, 2^-87, with `k step[3]`, below 2^-86, add up
/// with roundings of at most 2^-113, twice 2^-114, and 2^-138: r is right to 2^-111.9. If k is 0, r is x itself. No derivative
/// exceeds 1. `|r| < 2^-7.34`, and `z = r^2 < 2^-14.68`.
///
/// Proof of the series. `sin r = r (1 + z (-1/6 + z (1/120 - ...)))` is cut at z^6 / 13! < 2^-120. From z^3 / 7! on it is
/// plain f64: 2^-52 of a term below 2^-26.9, z's low part and a rounding, 2^-77.9 in all, times z^2 2^-107.2. Of the two
/// double-word steps the last loses 2^-105.5 = 1.5 u^2 and leaves a low part below 0.51 u, so that the product with r loses 6
/// u^2: together below 8 u^2 of `sin r`. `cos r - 1 = z (-1/2 + z (1/24 - ...))` is cut at z^6 / 12! < 2^-116; from z^3 / 6!
/// on it is plain f64, 2^-75.1 in all, times z^2 2^-104.4; the steps and the product lose 2^-102.5 of `z / 2` < 2^-15:
/// together below 3.1 u^2 of 1.
///
/// Proof of the sum, with the sine S and cosine C of k steps, `A = C sin r` and `B = S (cos r - 1)`. If S is zero, so is B,
/// and C is 1 or -1: the result is `sin r` or its negative, right to 8 u^2. If C is zero, so is A. Else `|S| >= sin(pi / 256) >
/// 1.99 |A|`, and the result R is above 0.49 |S|; so high parts add up exactly in their order. In units of `u^2 |R|`: the
/// table is off by one of S and C, together 3.1; sin r by 8.2; its product with C by 6.1; `cos r - 1` by 6.4; its product by
/// 0.1. Low parts are below 1.01, 1.01, 2.04, 1.02 and 0.01 u |R|, and adding them rounds 2.1, 3.1, 3.1 and 5.1: 38 in all,
/// below 2^-100.7.
#[inline(always)]
fn wave(x: Pair, quarters: usize, table: &Table) -> Pair {
    let shifted = x.hi * table.steps_per_unit + TO_INTEGER;
    let steps = shifted - TO_INTEGER;
    let count = shifted.to_bits() as usize;
    let (a, a_low) = two_sum((-steps).mul_add(table.step[0], x.hi), -(steps * table.step[1]));
    let (b, b_low) = two_sum(a, x.lo);
    let (multiple, multiple_low) = two_product(steps, table.step[2]);
    let (c, c_low) = two_sum(b, -multiple);
    let r = two_sum(c, (a_low + b_low) + (c_low - steps.mul_add(table.step[3], multiple_low)));
    let z = product(r, r);

    let p = -1.0 / 5040.0 + z.0 * (1.0 / 362_880.0 - z.0 * (1.0 / 39_916_800.0));
    let q = fast_two_sum(table.fifth_order.0, z.0.mul_add(p, table.fifth_order.1));
    let q = multiply_add(table.third_order, z, q);
    let q = multiply_add((1.0, 0.0), z, q);
    let sine = product(r, q);

    let p = -1.0 / 720.0 + z.0 * (1.0 / 40320.0 - z.0 * (1.0 / 3_628_800.0));
    let q = fast_two_sum(table.fourth_order.0, z.0.mul_add(p, table.fourth_order.1));
    let q = multiply_add((-0.5, 0.0), z, q);
    let cosine_less_one = product(z, q);

    let at = |quarters: usize| {
        let j = count.wrapping_add(quarters * QUARTER) % STEPS;
        (table.sines[j], table.sines_low[j])
    };
    let (s, along) = (at(quarters), product(at(quarters + 1), sine));
    let across = product(s, cosine_less_one);
    let (sum, sum_low) = fast_two_sum(s.0, along.0);
    let (total, total_low) = fast_two_sum(sum, across.0);
    let (hi, lo) = fast_two_sum(total, (sum_low + total_low) + ((s.1 + along.1) + across.1));
    let reduction = if steps == 0.0 { 0.0 } else { power_of_two(-111) };
    let error = (hi.abs() * power_of_two(-100) + (x.error + reduction)) * GROWN;
    let inside = x.hi.abs() < HIGHEST && (x.hi.abs() > SMALL || x.hi == 0.0 && x.error > 0.0);
    if inside && x.error < KNOWN { Pair { hi, lo, error } } else { IRREGULAR }
}

/// The sine: within 2^-100 of it and, from pi / 512 on, 2^-111.
///
/// Proof. See [`wave`]. The sine of a number that is off by d is off by d at most.
#[inline(always)]
pub fn sine(x: Pair, tables: &Tables) -> Pair {
    wave(x, 0, tables.trigonometry)
}

/// The cosine: within 2^-100 of it and, from pi / 512 on, 2^-111.
///
/// Proof. See [`wave`].
#[inline(always)]
pub fn cosine(x: Pair, tables: &Tables) -> Pair {
    wave(x, 1, tables.trigonometry)
}

/// The tangent: both bounds and that of the quotient, 2^-101, add up.
///
/// Around a pole the quotient is irregular, where the cosine is hardly known.
#[inline(always)]
pub fn tan(x: Pair, tables: &Tables) -> Pair {
    div(sine(x, tables), cosine(x, tables))
}
