//! `e^x` by a table of 2^(j/256) and a polynomial (Tang, ACM TOMS 15(2), 1989), in double-word arithmetic.

use std::sync::LazyLock;

use rug::Float;
use rug::float::Constant;

use super::super::interval::two_sum;
use super::basic::{KNOWN, SECOND_ORDER, add, fast_two_sum, mul, two_product};
use super::{GROWN, IRREGULAR, Pair, Tables, power_of_two};

/// 2^8 steps an octave.
const STEPS: usize = 256;
/// Adding it rounds to the nearest integer, which then stands in the low bits.
pub const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Results beyond are near overflow, or so near underflow that their low parts are lost.
const HIGHEST: f64 = 709.0;
const LOWEST: f64 = -690.0;

/// Constants of the function, computed by MPFR: the same on every machine.
pub struct Table {
    /// 256 / ln 2, to nearest.
    steps_per_unit: f64,
    /// ln 2 / 256 in three parts; the first has 33 bits.
    step: [f64; 3],
    /// 2^(j/256) in two parts, each to nearest.
    powers: [f64; STEPS],
    powers_low: [f64; STEPS],
    /// 1/6 and 1/24 in two parts.
    sixth: (f64, f64),
    twenty_fourth: (f64, f64),
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let step = Float::with_val(300, Constant::Log2) / STEPS as u32;
    let high = Float::with_val(33, &step).to_f64();
    let rest = Float::with_val(300, &step - high);
    let middle = rest.to_f64();
    let power = |j: usize| two_parts((Float::with_val(300, j as u32) / STEPS as u32).exp2());
    Table {
        steps_per_unit: Float::with_val(300, 1u32 / &step).to_f64(),
        step: [high, middle, Float::with_val(300, &rest - middle).to_f64()],
        powers: std::array::from_fn(|j| power(j).0),
        powers_low: std::array::from_fn(|j| power(j).1),
        sixth: two_parts(Float::with_val(300, 1u32) / 6u32),
        twenty_fourth: two_parts(Float::with_val(300, 1u32) / 24u32),
    }
});

/// The nearest f64, and the rest to nearest.
pub fn two_parts(value: Float) -> (f64, f64) {
    let high = value.to_f64();
    (high, (value - high).to_f64())
}

/// The table, made on the first call.
pub fn table() -> &'static Table {
    &TABLE
}

/// `c + r q` for `|r q| < |c| / 8`; `|r_lo|` and `|q_lo|` are at most 2^-52 of the high parts. Besides what c and q
/// are off, it loses below 2^-105.5 of c: the product is exact but for terms below 2^-113 of c, and adding up the low
/// parts rounds numbers below 2^-52.9 of c.
#[inline(always)]
pub fn multiply_add(c: (f64, f64), r: (f64, f64), q: (f64, f64)) -> (f64, f64) {
    let (product, product_low) = two_product(r.0, q.0);
    let low = r.0.mul_add(q.1, r.1.mul_add(q.0, product_low));
    let (sum, sum_low) = fast_two_sum(c.0, product);
    (sum, sum_low + (c.1 + low))
}

/// `e^(hi + lo) = (1 + r s) 2^(j/256) 2^exponent`.
struct Reduced {
    r: (f64, f64),
    /// `(e^r - 1) / r`.
    s: (f64, f64),
    j: usize,
    exponent: i64,
    /// Whether nothing was taken off x: then r is x itself.
    is_whole: bool,
}

/// For `|hi| < 710`, `lo` within half an ulp of it.
///
/// Proof. The step count k has 19 bits, so `k step[0]` is exact in one f64; if k != 0 then `|hi| > 2^-10`, and
/// `hi - k step[0]`, a multiple of 2^-62 below 2^-9, is exact. `k step[1]` is an exact pair, and what adding the low parts
/// rounds is below 2^-61: so r is right to 2^-112, and `|r| < 2^-9.52`. Of s, the Taylor series is cut at r^9 / 10! <
/// 2^-107.4. From r^4 / 5! on it is plain f64: p is right to 2^-59.9, `r p` is made of the high part of r and rounded, 2^-68
/// in all, times r^3 2^-96.5. The last of three double-word steps loses 2^-105.5, the others that times r. So s is
/// right to 2^-96, and `1 + r s` to 2^-104.8.
#[inline(always)]
fn reduced(hi: f64, lo: f64, table: &Table) -> Reduced {
    // 1.5 2^52: the sum has no bits below 1, so that its low bits are the integer, of either sign.
    let shifted = hi * table.steps_per_unit + TO_INTEGER;
    let steps = shifted - TO_INTEGER;
    let count = shifted.to_bits() as i32;
    let whole = (-steps).mul_add(table.step[0], hi);
    let (product, product_low) = two_product(steps, table.step[1]);
    let (a, a_low) = two_sum(whole, -product);
    let (b, b_low) = two_sum(a, lo);
    let r = two_sum(b, (a_low + b_low) - steps.mul_add(table.step[2], product_low));
    // From r^4 / 120 on, 2^-45 of s, one word is enough: the proof above.
    let high = 1.0 / 720.0 + r.0 * (1.0 / 5040.0 + r.0 * (1.0 / 40320.0 + r.0 * (1.0 / 362_880.0)));
    let p = 1.0 / 120.0 + r.0 * high;
    let q = fast_two_sum(table.twenty_fourth.0, r.0.mul_add(p, table.twenty_fourth.1));
    let q = multiply_add(table.sixth, r, q);
    let q = multiply_add((0.5, 0.0), r, q);
    let s = multiply_add((1.0, 0.0), r, q);
    let is_whole = steps == 0.0;
    Reduced { r, s, j: count as usize % STEPS, exponent: i64::from(count >> 8), is_whole }
}

/// `e^x`, within 2^-100 of it and 2^-1073.
///
/// Proof. `1 + r s` is right to 2^-104.1 with its own step, the power to 2^-106, their product to 2^-103 (as in
/// [`super::mul`]): 2^-102. Scaling is exact but for a low part that underflows, 2^-1075. An error d of x, below
/// 2^-20, multiplies by at most 1 + d (1 + d).
#[inline(always)]
pub fn exp(x: Pair, tables: &Tables) -> Pair {
    let table = tables.exponential;
    let e = reduced(x.hi, x.lo, table);
    let (one_high, one_low) = multiply_add((1.0, 0.0), e.r, e.s);
    let (power, power_low) = (table.powers[e.j], table.powers_low[e.j]);
    let (high, low) = two_product(power, one_high);
    let (high, low) = fast_two_sum(high, low + power.mul_add(one_low, power_low * one_high));
    // Results are normal between both ends, so that the exponent is one of a normal f64.
    let scale = f64::from_bits(((1023 + e.exponent) as u64) << 52);
    let (hi, lo) = (high * scale, low * scale);
    let error = hi * (power_of_two(-100) + x.error * SECOND_ORDER) * GROWN + f64::from_bits(2);
    let regular = x.hi > LOWEST && x.hi < HIGHEST && (x.hi != 0.0 || x.error > 0.0) && x.error < KNOWN;
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// `e^x - 1`: within 2^-94 of it where x needs no reduction, else within 2^-100 of e^x and 2^-104 of itself.
///
/// Proof. Unreduced, r is x exactly and s is right to 2^-95; their product loses 2^-103 of itself. An error d of x
/// gives at most d e^x (1 + d), and e^x < 1.002 there. Reduced, it is the pair sum of [`exp`] and -1.
#[inline(always)]
pub fn expm1(x: Pair, tables: &Tables) -> Pair {
    let e = reduced(x.hi, x.lo, tables.exponential);
    let s = fast_two_sum(e.s.0, e.s.1);
    let unreduced = mul(
        Pair { hi: x.hi, lo: x.lo, error: x.error * (1.0 + power_of_two(-8)) },
        Pair { hi: s.0, lo: s.1, error: power_of_two(-95) },
    );
    let through = add(exp(x, tables), Pair::exact(-1.0));
    let result = if e.is_whole { unreduced } else { through };
    if x.error < KNOWN { result } else { IRREGULAR }
}
