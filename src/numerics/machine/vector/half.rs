//! f16 functions that XLA:CPU emits in f16: each step is computed in f32 and rounded to f16, constants too. Newer releases convert
//! to f32 once and back, but for expm1 (FACTS 3.9). All 65536 arguments come out as jaxlib 0.6.2, 0.8.1 and 0.10.2 have them.

use crate::ir::Unary;
use crate::tensor::DType;

use super::release::{CubeRoot, Release, Tangent};
use super::xla::{self, LOG_PLUS_ONE_NEAR, LOG_PLUS_ONE_P, LOG_PLUS_ONE_Q};
use super::{glibc, glibc_logarithm, glibc_power, round_to};

/// Applies the release's f16 function to each value; false, and nothing done, where it is computed in f32.
pub(super) fn apply(unary: Unary, values: &mut [f32], release: &Release) -> bool {
    if unary == Unary::ExponentialMinusOne {
        let [mut e, mut t] = [values.to_vec(), values.iter().map(|x| half(0.5 * x)).collect()];
        xla::apply(Unary::Exponential, &mut e, release);
        xla::apply(Unary::Tanh, &mut t, release);
        let each = values.iter_mut().zip(e.into_iter().map(half).zip(t.into_iter().map(half)));
        each.for_each(|(x, (e, t))| *x = exponential_minus_one(*x, e, t));
        return true;
    }
    let function: fn(f32) -> f32 = match unary {
        _ if !release.half_steps => return false,
        Unary::Rsqrt => |x| 1.0 / half(x.sqrt()),
        Unary::LogPlusOne => log_plus_one,
        Unary::Cbrt if release.cube_root == CubeRoot::Power => {
            |x| glibc_power::power(x.abs(), half(1.0 / 3.0)).copysign(x)
        }
        Unary::Tan if release.tangent == Tangent::Quotient => |x| half(glibc::sine(x)) / half(glibc::cosine(x)),
        _ => return false,
    };
    values.iter_mut().for_each(|v| *v = half(function(*v)));
    true
}

/// The nearest f16.
fn half(x: f32) -> f32 {
    let mut value = [x];
    round_to(DType::F16, &mut value);
    value[0]
}

/// What [`super::xla`] has for f32, in steps: of x, its exponential and the tanh of its half. Every release has it so.
fn exponential_minus_one(x: f32, e: f32, t: f32) -> f32 {
    match x.abs() {
        _ if half(0.5 * x) == 0.0 => x,
        far if far > 0.5 => half(e - 1.0),
        _ => half(t * half(e + 1.0)),
    }
}

/// What [`super::xla`] has for f32, in steps.
fn log_plus_one(x: f32) -> f32 {
    if x.abs() >= half(LOG_PLUS_ONE_NEAR) {
        return glibc_logarithm::logarithm(half(1.0 + x));
    }
    let horner = |coefficients: &[f32]| coefficients.iter().fold(0.0, |sum, c| half(half(sum * x) + half(*c)));
    let square = half(x * x);
    let quotient = half(horner(&LOG_PLUS_ONE_P) / horner(&LOG_PLUS_ONE_Q));
    x + half(half(-0.5 * square) + half(half(square * x) * quotient))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of the arguments and results of jaxlib 0.6.2 that 0.10.2 has otherwise.
    #[test]
    fn the_older_releases_round_each_step_to_f16() {
        let value = |code: u16| DType::F16.format().expect("a float").decode(u64::from(code)) as f32;
        let of = |unary: Unary, code: u16, release: &Release| {
            let mut values = [value(code)];
            apply(unary, &mut values, release).then_some(values[0])
        };
        let (old, middle) = (&Release::JAXLIB_0_6_2, &Release::JAXLIB_0_8_1);
        let cases = [
            (Unary::Rsqrt, [(0x2a6a, 0x4477), (0x34c8, 0x3f50), (0x3ea4, 0x3a36)]),
            (Unary::LogPlusOne, [(0x2a8d, 0x2a64), (0x3c09, 0x3994), (0xb6bf, 0xb862)]),
            (Unary::Cbrt, [(0x2a67, 0x35e6), (0x3484, 0x3940), (0xab14, 0xb619)]),
            (Unary::Tan, [(0x2a9a, 0x2a9b), (0x34d1, 0x34f7), (0x3d5d, 0x4446)]),
        ];
        for (unary, pairs) in cases {
            for (argument, result) in pairs {
                assert_eq!(of(unary, argument, old), Some(value(result)), "{unary:?} of {argument:x}");
                let as_middle = (unary != Unary::Tan).then_some(value(result));
                assert_eq!(of(unary, argument, middle), as_middle, "{unary:?} of {argument:x}");
                assert_eq!(of(unary, argument, &Release::JAXLIB_0_10_2), None);
            }
        }
    }

    /// Codes of arguments and results of all three: subnormal, near and far; half of the smallest is 0.
    const EXPONENTIALS: [(u16, u16); 6] =
        [(0x3, 0x4), (0x1, 0x1), (0x30aa, 0x3105), (0xc57c, 0xbbf8), (0x3c01, 0x3ee2), (0xb80f, 0xb65e)];

    #[test]
    fn every_release_rounds_the_steps_of_expm1() {
        let value = |code: u16| DType::F16.format().expect("a float").decode(u64::from(code)) as f32;
        let mut values = EXPONENTIALS.map(|(argument, _)| value(argument));
        assert!(apply(Unary::ExponentialMinusOne, &mut values, &Release::JAXLIB_0_10_2));
        assert_eq!(values, EXPONENTIALS.map(|(_, result)| value(result)));
    }
}
