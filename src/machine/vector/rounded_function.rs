//! Correctly rounded functions of f32 at the speed of vector registers.
//!
//! Each is evaluated in f64, with a proven bound on its relative error. Where both ends of that bound round to one f32,
//! this is the correctly rounded result, whatever the last bits of the f64 (Ziv 1991); the few other arguments go to
//! core-math. So results are the same with and without fused multiply-adds. `slow` tests compare all 2^32 arguments.

use crate::ir::Unary;

use super::simd::{self, Loop};

/// A function with a fast approximation.
trait Function {
    /// Error bound of [`Function::approximate`], relative to the function, and 2^-53 more for the rounding of the ends.
    const ERROR: f64;

    /// The function within [`Function::ERROR`], or a number that rounds to the same f32 as everything between it and the
    /// function's value; NaN or an infinity where it has no answer. `FMA` allows fused multiply-adds.
    fn approximate<const FMA: bool>(x: f32) -> f64;

    /// The correctly rounded result, for arguments that the approximation leaves open.
    fn correctly_rounded(x: f32) -> f32;
}

/// Applies a function to each value, correctly rounded.
pub(super) fn apply(unary: Unary, values: &mut [f32]) {
    match unary {
        Unary::Cbrt => values.iter_mut().for_each(|v| *v = core_math::cbrtf(*v)),
        Unary::Cosine => values.iter_mut().for_each(|v| *v = core_math::cosf(*v)),
        Unary::Erf => values.iter_mut().for_each(|v| *v = core_math::erff(*v)),
        Unary::Exponential => run::<Exponential>(values),
        Unary::ExponentialMinusOne => values.iter_mut().for_each(|v| *v = core_math::expm1f(*v)),
        Unary::Log => run::<Log>(values),
        Unary::LogPlusOne => values.iter_mut().for_each(|v| *v = core_math::log1pf(*v)),
        Unary::Logistic => run::<Logistic>(values),
        Unary::Rsqrt => run::<Rsqrt>(values),
        Unary::Sine => values.iter_mut().for_each(|v| *v = core_math::sinf(*v)),
        Unary::Sqrt => values.iter_mut().for_each(|v| *v = v.sqrt()),
        Unary::Tan => values.iter_mut().for_each(|v| *v = core_math::tanf(*v)),
        Unary::Tanh => run::<Tanh>(values),
        Unary::Abs
        | Unary::Ceil
        | Unary::CountLeadingZeros
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Negate
        | Unary::Not
        | Unary::PopulationCount
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::Sign => unreachable!("{} is exact, and no function of this file", unary.name()),
    }
}

fn run<F: Function>(values: &mut [f32]) {
    simd::run::<InBlocks<F>>(values);
}

struct InBlocks<F>(F);

impl<F: Function> Loop for InBlocks<F> {
    #[inline(always)]
    fn run<const FMA: bool>(values: &mut [f32]) {
        in_blocks::<F, FMA>(values);
    }
}

/// Arguments taken at once: a loop of this length is made of vector operations.
const BLOCK: usize = 64;

/// [`run`], to be compiled for one set of instructions.
#[inline(always)]
fn in_blocks<F: Function, const FMA: bool>(values: &mut [f32]) {
    let mut blocks = values.chunks_exact_mut(BLOCK);
    for block in &mut blocks {
        one_block::<F, FMA>(block);
    }
    let rest = blocks.into_remainder();
    if !rest.is_empty() {
        // A short rest takes the same code: a second loop would be compiled for every function and set of
        // instructions.
        let mut block = [0.0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        one_block::<F, FMA>(&mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

#[inline(always)]
fn one_block<F: Function, const FMA: bool>(values: &mut [f32]) {
    let mut results = [0.0f32; BLOCK];
    let mut open = [false; BLOCK];
    for ((result, open), x) in results.iter_mut().zip(&mut open).zip(&*values) {
        let y = F::approximate::<FMA>(*x);
        let slack = y * F::ERROR;
        let (low, high) = ((y - slack) as f32, (y + slack) as f32);
        // A NaN differs from itself, so what has no answer is open. `high` has the sign of a zero right.
        *open = low != high;
        *result = high;
    }
    // One test for a block, so that the loop before has no branch and becomes vector instructions.
    if open.iter().fold(false, |any, open| any | *open) {
        for ((result, open), x) in results.iter_mut().zip(open).zip(&*values) {
            if open {
                *result = F::correctly_rounded(*x);
            }
        }
    }
    values.copy_from_slice(&results);
}

/// `a * b + c`, rounded once or twice.
#[inline(always)]
fn multiply_add<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Added to a number below 2^51 in magnitude, it leaves the nearest integer in the low bits, in two's complement.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts: the first has 32 bits, so that its product with an integer below 2^20 is exact.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// `(2^n, p)` with `e^x = 2^n (1 + p)`, for |x| below 200.
///
/// n is the integer nearest to x / ln 2, so |r| = |x - n ln 2| <= 0.3466. r is off by less than 2^-52, relative to r or
/// to 1, whichever is larger; relative to r alone where n = 0, because then r = x. p is the Taylor series of e^r - 1 up to
/// r^11 / 11!. The rest, below 1.03 r^12 / 12!, is less than 2^-45.6 of r and 2^-47.1 of e^r. Roundings in Horner's rule
/// come to less than 2^-51 of p.
#[inline(always)]
fn exponential_parts<const FMA: bool>(x: f64) -> (f64, f64) {
    let shifted = multiply_add::<FMA>(x, std::f64::consts::LOG2_E, TO_INTEGER);
    let n = shifted - TO_INTEGER;
    // The high part of ln 2 has so few bits that its product with n is exact: nothing cancels but what is meant to.
    let r = multiply_add::<FMA>(-n, LN2_LOW, multiply_add::<FMA>(-n, LN2_HIGH, x));
    let mut p = 1.0 / 39_916_800.0;
    for factorial in [3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0] {
        p = multiply_add::<FMA>(p, r, 1.0 / factorial);
    }
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (power, p * r)
}

/// `x` brought into a range; NaN stays.
#[inline(always)]
fn clamped(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `e^x`: within 2^-47 by [`exponential_parts`]. Beyond the clamp the result rounds to 0 or to infinity, as the function
/// does.
struct Exponential;

impl Function for Exponential {
    const ERROR: f64 = f64::from_bits((1023 - 45) << 52);

    #[inline(always)]
    fn approximate<const FMA: bool>(x: f32) -> f64 {
        // Beyond these the result is zero or infinite in f32, and the exponent still fits into f64.
        let (power, p) = exponential_parts::<FMA>(clamped(f64::from(x), -110.0, 100.0));
        power * (1.0 + p)
    }

    fn correctly_rounded(x: f32) -> f32 {
        core_math::expf(x)
    }
}

/// `ln x` = k ln 2 + ln m, with m between sqrt(1/2) and sqrt(2), and ln m = 2 atanh(s), s = (m - 1) / (m + 1),
/// |s| < 0.1716.
///
/// m - 1 is exact; s is within 2^-52. The series up to s^17 / 17 leaves less than 1.04 s^18 / 19 < 2^-49.9 of it. Where k
/// is not 0, the result is at least half as large as k ln 2, so no error is more than doubled: in all within 2^-48.
struct Log;

impl Function for Log {
    const ERROR: f64 = f64::from_bits((1023 - 46) << 52);

    #[inline(always)]
    fn approximate<const FMA: bool>(x: f32) -> f64 {
        const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        // Subnormal f32 are normal here. The exponent is kept 1024 too large, so that it is positive.
        let bits = f64::from(x).to_bits();
        let exponent = bits.wrapping_sub(SQRT_HALF).wrapping_add(1024 << 52) >> 52;
        let m = f64::from_bits(bits.wrapping_sub(exponent.wrapping_sub(1024) << 52));
        let k = f64::from_bits(TO_INTEGER.to_bits().wrapping_add(exponent)) - (TO_INTEGER + 1024.0);
        // The series of atanh in s: m lies around 1, so that s is small on both sides.
        let s = (m - 1.0) / (m + 1.0);
        let z = s * s;
        let mut q = 1.0 / 17.0;
        for odd in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
            q = multiply_add::<FMA>(q, z, 1.0 / odd);
        }
        let twice = s + s;
        let log_m = multiply_add::<FMA>(twice * z, q, twice);
        let result = multiply_add::<FMA>(k, std::f64::consts::LN_2, log_m);
        if x > 0.0 && x < f32::INFINITY { result } else { f64::NAN }
    }

    fn correctly_rounded(x: f32) -> f32 {
        core_math::logf(x)
    }
}

/// `tanh |x|` = q / (q + 2) with q = e^(2 |x|) - 1 = 2^n p + (2^n - 1), where 2^n - 1 is exact and n is not negative. q is
/// within 2^-45.5, its quotient not further. From 10 on the result rounds to 1.
struct Tanh;

impl Function for Tanh {
    const ERROR: f64 = f64::from_bits((1023 - 43) << 52);

    #[inline(always)]
    fn approximate<const FMA: bool>(x: f32) -> f64 {
        let wide = f64::from(x);
        let (power, p) = exponential_parts::<FMA>(2.0 * clamped(wide.abs(), 0.0, 10.0));
        // e^2x - 1 without the sum of power and p, which would cancel near zero.
        let q = multiply_add::<FMA>(power, p, power - 1.0);
        (q / (q + 2.0)).copysign(wide)
    }

    fn correctly_rounded(x: f32) -> f32 {
        core_math::tanhf(x)
    }
}

/// `1 / (1 + e^-x)`: an error of e^-x counts in part only, so within 2^-46. Beyond the clamp the result rounds to 0 or 1.
struct Logistic;

impl Function for Logistic {
    const ERROR: f64 = f64::from_bits((1023 - 45) << 52);

    #[inline(always)]
    fn approximate<const FMA: bool>(x: f32) -> f64 {
        let (power, p) = exponential_parts::<FMA>(clamped(-f64::from(x), -100.0, 110.0));
        1.0 / (1.0 + power * (1.0 + p))
    }

    /// Near 0 results crowd around the ties at 1/2 + x/4, which only the next term of the series decides:
    /// 1/2 + x/4 - x^3/48 + x^5/480, the rest below 2^-68 for |x| < 2^-8. Its f64 is rounded to odd, so that rounding it
    /// again is rounding once (Boldo and Melquiond 2008). Elsewhere correctly rounded e^-x leaves an error below 2^-51.4
    /// of the result, and the slow test asks MPFR about every argument whose result lies near a rounding boundary.
    fn correctly_rounded(x: f32) -> f32 {
        let x = f64::from(x);
        if x.abs() >= 2f64.powi(-8) || x.is_nan() {
            return (1.0 / (1.0 + core_math::exp(-x))) as f32;
        }
        let quarter = x / 4.0;
        let first = 0.5 + quarter;
        let square = x * x;
        // What a sum loses is exact, because its first summand is the larger one.
        let rest = (quarter - (first - 0.5)) - x * square * (1.0 / 48.0 - square / 480.0);
        let sum = first + rest;
        let lost = rest - (sum - first);
        let odd = match sum.to_bits() & 1 {
            0 if lost > 0.0 => sum.next_up(),
            0 if lost < 0.0 => sum.next_down(),
            _ => sum,
        };
        odd as f32
    }
}

/// `1 / sqrt(x)`: two roundings of f64, within 2^-52.
struct Rsqrt;

impl Function for Rsqrt {
    const ERROR: f64 = f64::from_bits((1023 - 51) << 52);

    #[inline(always)]
    fn approximate<const FMA: bool>(x: f32) -> f64 {
        1.0 / f64::from(x).sqrt()
    }

    fn correctly_rounded(x: f32) -> f32 {
        core_math::rsqrtf(x)
    }
}

#[cfg(test)]
mod tests;
