//! XLA:CPU's own f32 functions (FACTS 3.5), bit for bit as jaxlib 0.10.2 computes them on x86-64 with fused
//! multiply-adds: the code generator fuses a product into the sum that uses it, so other processors may give other bits.
//! Read off the optimised code that XLA dumps, and compared with its results (`tests/data/hlo/cpu/functions.safetensors`).
//!
//! Coefficients are from Cephes (exp, log, log1p; Moshier) and from Eigen's rational tanh.

use crate::ir::Unary;
use crate::machine::vector::{Estimate, Loop, run_loop};

use super::{fdlibm, glibc, rsqrt_estimate};

/// Applies XLA:CPU's function to each value, rsqrt by the processor's estimate; false, and nothing done, for one that has no
/// polynomial of XLA's own.
pub fn apply(unary: Unary, values: &mut [f32], estimate: Estimate) -> bool {
    macro_rules! each {
        ($function:expr) => {
            values.iter_mut().for_each(|v| *v = $function(*v))
        };
    }
    match unary {
        Unary::Cbrt => each!(fdlibm::cube_root),
        Unary::Cosine => run_loop::<Each<CosinePolynomial>>(values),
        Unary::Erf => {
            each!(|x| clamped(x, -ERF_CLAMP, ERF_CLAMP));
            run_loop::<Each<Erf>>(values);
        }
        Unary::Sine => run_loop::<Each<Sine>>(values),
        Unary::Exponential => run_loop::<Each<Exponential>>(values),
        Unary::ExponentialMinusOne => run_loop::<Each<ExponentialMinusOne>>(values),
        Unary::Log => run_loop::<Each<LogPolynomial>>(values),
        Unary::LogPlusOne => run_loop::<Each<LogPlusOne>>(values),
        Unary::Logistic => run_loop::<Each<LogisticPolynomial>>(values),
        Unary::Tanh => run_loop::<Each<TanhPolynomial>>(values),
        Unary::Tan => each!(fdlibm::tangent),
        Unary::Rsqrt => each!(|x| rsqrt_estimate::reciprocal_root(x, estimate)),
        // Correctly rounded, as a processor has it.
        Unary::Sqrt => return false,
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
    true
}

/// A function that XLA:CPU computes its own way.
trait Polynomial {
    fn value(x: f32) -> f32;
}

struct Each<P>(P);

impl<P: Polynomial> Loop for Each<P> {
    /// Fused multiply-adds are part of the results here, so they are used either way.
    #[inline(always)]
    fn run<const FMA: bool>(values: &mut [f32]) {
        values.iter_mut().for_each(|v| *v = P::value(*v));
    }
}

/// `c0 x^n + ... + cn` by Horner's rule.
#[inline(always)]
fn horner(x: f32, coefficients: &[f32]) -> f32 {
    coefficients[1..].iter().fold(coefficients[0], |sum, c| sum.mul_add(x, *c))
}

/// `x` brought into a range; NaN stays.
#[inline(always)]
fn clamped(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// XLA calls the C library for these.
struct CosinePolynomial;
struct Sine;

impl Polynomial for CosinePolynomial {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        glibc::cosine(x)
    }
}

impl Polynomial for Sine {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        glibc::sine(x)
    }
}

/// Cephes expf. Results below 2^-126 are 0, those above 88.7228 infinite.
struct Exponential;

impl Exponential {
    const P: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 5e-1];
}

impl Polynomial for Exponential {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        let x = clamped(x, -87.8, 88.8);
        let n = clamped(x.mul_add(std::f32::consts::LOG2_E, 0.5).floor(), -127.0, 127.0);
        // ln 2 in two parts; the first has so few bits that its product with n is exact.
        let r = (-n).mul_add(-2.121_944_4e-4, (-n).mul_add(355.0 / 512.0, x));
        let e = horner(r, &Self::P).mul_add(r * r, r) + 1.0;
        // 2^n by its code; n = -127 gives 0.
        e * f32::from_bits(((n as i32 + 127) << 23) as u32)
    }
}

/// The same where a compiler computes it of a constant: each operation is rounded.
pub fn folded_exponential(x: f32) -> f32 {
    let x = clamped(x, -87.8, 88.8);
    let n = clamped((x * std::f32::consts::LOG2_E + 0.5).floor(), -127.0, 127.0);
    let r = (x - n * (355.0 / 512.0)) - n * -2.121_944_4e-4;
    let sum = Exponential::P[1..].iter().fold(Exponential::P[0], |sum, c| sum * r + c);
    let e = (r + sum * (r * r)) + 1.0;
    e * f32::from_bits(((n as i32 + 127) << 23) as u32)
}

/// Cephes logf. Subnormal arguments count as 0.
struct LogPolynomial;

impl Polynomial for LogPolynomial {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        if x.is_nan() || x < 0.0 {
            return f32::NAN;
        }
        if x < f32::MIN_POSITIVE {
            return f32::NEG_INFINITY;
        }
        if x == f32::INFINITY {
            return x;
        }
        let bits = x.to_bits();
        let exponent = ((bits >> 23) as i32 - 127) as f32 + 1.0;
        // In [1/2, 1), then around 1: the exponent goes with it.
        let m = f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000);
        let low = m < std::f32::consts::FRAC_1_SQRT_2;
        let (e, t) = if low { (exponent - 1.0, (m - 1.0) + m) } else { (exponent, m - 1.0) };
        let square = t * t;
        let cube = square * t;
        let first = horner(t, &[7.037_683_6e-2, -1.151_461e-1, 1.167_699_84e-1]);
        let second = horner(t, &[-1.242_014_1e-1, 1.424_932_3e-1, -1.666_805_7e-1]);
        let third = horner(t, &[2.000_071_4e-1, -2.499_999_4e-1, 3.333_333e-1]);
        let sum = first.mul_add(cube, second).mul_add(cube, third);
        let tail = sum.mul_add(cube, -2.121_944_4e-4 * e);
        let main = square.mul_add(-0.5, t) + tail;
        e.mul_add(355.0 / 512.0, main)
    }
}

/// Cephes' rational function for log1p, and where it ends.
const LOG_PLUS_ONE_P: [f32; 7] =
    [4.527e-5, 4.985_410_3e-1, 6.578_732_5, 2.991_191_9e1, 6.094_967e1, 5.711_296_5e1, 2.003_955_3e1];
const LOG_PLUS_ONE_Q: [f32; 7] =
    [1.0, 1.506_290_9e1, 8.304_757e1, 2.217_624e2, 3.090_987_2e2, 2.164_278_9e2, 6.011_866e1];
const LOG_PLUS_ONE_NEAR: f32 = 4.142_135_7e-1;

/// log(1 + x) where that is far enough from 0, else Cephes' rational function, of whose two products the half square is contracted.
struct LogPlusOne;

impl Polynomial for LogPlusOne {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        if x.abs() < LOG_PLUS_ONE_NEAR {
            let square = x * x;
            let quotient = horner(x, &LOG_PLUS_ONE_P) / horner(x, &LOG_PLUS_ONE_Q);
            x + square.mul_add(-0.5, x * square * quotient)
        } else {
            LogPolynomial::value(1.0 + x)
        }
    }
}

/// Eigen's rational approximation.
struct TanhPolynomial;

impl Polynomial for TanhPolynomial {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        const P: [f32; 7] = [
            -2.760_768_4e-16,
            2.000_188e-13,
            -8.604_672e-11,
            5.122_297_3e-8,
            1.485_722_35e-5,
            6.372_619_5e-4,
            4.893_524_6e-3,
        ];
        const Q: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_7e-3, 4.893_525e-3];
        const CLAMP: f32 = 7.998_811_7;
        if x.abs() < 0.0004 {
            return x;
        }
        if x.abs() >= 20.0 {
            return 1f32.copysign(x);
        }
        let c = clamped(x, -CLAMP, CLAMP);
        let square = c * c;
        c * horner(square, &P) / horner(square, &Q)
    }
}

/// The argument of an f32 erf from which on its rational function gives 1.
const ERF_CLAMP: f32 = 3.832_507;

/// Eigen's rational approximation, of arguments that are cut off already.
struct Erf;

impl Polynomial for Erf {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        const P: [f32; 5] = [2.290_506_5e-4, 3.408_291e-3, 5.095_569_5e-2, 1.852_083_2e-1, f32::from_bits(0x3f90_6eba)];
        const Q: [f32; 7] =
            [-1.179_160_3e-7, 2.354_796_6e-5, 1.017_962_6e-3, 1.407_047e-2, 1.109_850_5e-1, 4.974_692_5e-1, 1.0];
        let square = x * x;
        x * horner(square, &P) / horner(square, &Q)
    }
}

/// exp(x) - 1 above 1/2 in magnitude, x itself where half of it is 0, else tanh(x / 2) (exp(x) + 1).
struct ExponentialMinusOne;

impl Polynomial for ExponentialMinusOne {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        let e = Exponential::value(x);
        // Half of the smallest normal numbers is flushed, and counts as 0.
        if x.abs() < 2.0 * f32::MIN_POSITIVE {
            x
        } else if x.abs() > 0.5 {
            e - 1.0
        } else {
            TanhPolynomial::value(0.5 * x) * (e + 1.0)
        }
    }
}

/// `1 / (1 + exp(-x))`.
struct LogisticPolynomial;

impl Polynomial for LogisticPolynomial {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        1.0 / (1.0 + Exponential::value(-x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Mode::exponential_bound` promises 3 eps of the exact value wherever the result is normal. Above 127.5 ln 2, where n
    /// is held at 127, the polynomial leaves its range; below, results are within 1 eps. Every argument:
    ///
    /// `cargo test --release --lib xla_cpu::function -- --ignored --nocapture`
    #[test]
    #[ignore = "a minute"]
    fn the_exponential_is_within_its_bound() {
        use rayon::prelude::*;
        let normal = |x: f32| (-87.336..88.722).contains(&x);
        let off = |x: f32| {
            let exact = core_math::exp(f64::from(x));
            (f64::from(Exponential::value(x)) - exact).abs() / exact
        };
        let most = |part: fn(f32) -> bool| {
            let codes = (0..=u32::MAX).into_par_iter().map(f32::from_bits).filter(|x| normal(*x) && part(*x));
            let most = codes.map(|x| (off(x), x)).reduce(|| (0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
            println!("exp({:e}) is off by {:.4} eps", most.1, most.0 / f64::from(f32::EPSILON));
            most.0 / f64::from(f32::EPSILON)
        };
        assert!(most(|x| x < 88.376) <= 1.0);
        assert!(most(|x| x >= 88.376) <= 3.0);
    }
}
