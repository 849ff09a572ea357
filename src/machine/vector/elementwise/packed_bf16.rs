//! Functions of bf16 as tpu7x computes them in a fusion of packed operations, two elements in a lane (FACTS 3.3).
//!
//! Each step of the code is one of bf16, rounded. The function unit's own results are correctly rounded (modelling choice, which gives
//! the errors that JAX measured).

use crate::ir::Unary;
use crate::num::flush_f32;
use crate::tensor::DType;

use super::super::{VectorUnit, round_to};

/// log2(e) in bf16, the constant of the code. It is off by 2^-9.1 of itself.
const LOG2_E: f32 = 1.4453125;

/// The largest relative error of an exponential before its rounding: of the exponent, at most 128, the constant makes 0.233 more, and
/// its rounding to bf16 adds 0.25. So a power is off by a factor of 2^0.483 at most.
pub const PACKED_EXPONENTIAL: f64 = 0.4;

/// The largest relative error of a square root before its rounding: that of the rounded reciprocal.
pub const PACKED_SQRT: f64 = 1.0 / 256.0;

/// The largest error of an exponential's operand relative to itself that gives the packed result: 2^-9.1 of the constant and 2^-8 of
/// the rounded product.
const PACKED_OPERAND: f64 = 0.005_728;

/// The errors of a function in packed code beside the rounding of its result: of the operand of a function that never falls, and of
/// the result, each relative to itself. `None` where the code differs from that in f32 by no more than that rounding.
pub fn packed_errors(unary: Unary) -> Option<[f64; 2]> {
    match unary {
        Unary::Exponential => Some([PACKED_OPERAND, 0.0]),
        // Its compiler writes it as 1 / (1 + e^-x): roundings of the exponential, the sum and the reciprocal, 2^-8 each.
        Unary::Logistic => Some([PACKED_OPERAND, 2f64.powi(-6)]),
        Unary::Sqrt => Some([0.0, PACKED_SQRT]),
        _ => None,
    }
}

/// Applies an exponential or a square root in place.
pub fn function(unary: Unary, values: &mut [f32], unit: &VectorUnit) {
    let flush = |v: f32| if unit.flush { flush_f32(v) } else { v };
    let step = |v: f32| {
        let mut rounded = [flush(v)];
        round_to(DType::BF16, &mut rounded);
        flush(rounded[0])
    };
    for value in values {
        let x = flush(*value);
        *value = match unary {
            Unary::Exponential => step(core_math::exp2f(step(x * LOG2_E))),
            // Zeros keep their sign, and infinity stays.
            _ if x == 0.0 || x == f32::INFINITY => x,
            _ => step(x * step(core_math::rsqrtf(x))),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Arithmetic;
    use crate::vector;

    /// All numbers of bf16 but NaN.
    fn numbers() -> impl Iterator<Item = f32> {
        (0..=u16::MAX).map(|code| f32::from_bits(u32::from(code) << 16)).filter(|x| !x.is_nan())
    }

    fn unit() -> VectorUnit {
        let mode: Arithmetic = "tpu7x/default/as-compiled".parse().unwrap();
        VectorUnit { packed: true, ..mode.vector_unit() }
    }

    /// The code of a compiled logistic function: `vmul.bf16 x, 0x3fb9` and `vpow.bf16`.
    #[test]
    fn an_exponential_is_a_power_of_two_of_a_product_in_bf16() {
        let of = |x: f32| {
            let mut values = [x];
            vector::unary(Unary::Exponential, DType::BF16, &mut values, &unit());
            values[0]
        };
        assert_eq!(LOG2_E.to_bits() >> 16, 0x3fb9);
        // 64 * 1.4453125 = 92.5 and 2^92.5; e^64 is 2^92.33.
        assert_eq!(of(64.0), f32::from_bits(0x6db5_0000));
        assert_eq!((of(f32::NEG_INFINITY), of(f32::INFINITY), of(-0.0)), (0.0, f32::INFINITY, 1.0));
    }

    /// The root of a zero is that zero and the root of infinity is infinite; no negative number has one.
    #[test]
    fn roots_end_where_numbers_do() {
        let of = |x: f32| {
            let mut values = [x];
            function(Unary::Sqrt, &mut values, &unit());
            values[0]
        };
        for x in [0.0, -0.0, f32::INFINITY] {
            assert_eq!(of(x).to_bits(), f32::to_bits(x), "{x}");
        }
        assert!([-1.0, f32::NEG_INFINITY].iter().all(|x| of(*x).is_nan()));
    }

    /// Each result lies within what is promised of it.
    #[test]
    fn promises_hold_for_every_number() {
        for (unary, exact) in [(Unary::Exponential, f64::exp as fn(f64) -> f64), (Unary::Sqrt, f64::sqrt)] {
            let [relative, _] = unit().function(unary, DType::BF16).unwrap();
            let floor = unit().function_floor(unary, DType::BF16);
            let mut largest: f64 = 0.0;
            for x in numbers().filter(|x| unary == Unary::Exponential || *x >= f32::MIN_POSITIVE) {
                let mut values = [x];
                function(unary, &mut values, &unit());
                let (got, exact) = (f64::from(values[0]), exact(f64::from(x)));
                if exact.abs() > floor && exact < 1e38 && got < 1e38 {
                    largest = largest.max(((got - exact) / exact).abs());
                } else if got == 0.0 {
                    assert!(exact <= floor, "{unary:?} of {x}");
                }
            }
            // The result's own rounding comes on top.
            assert!(largest <= relative + (1.0 + relative) / 256.0, "{unary:?}: {largest}");
            assert!(2.0 * largest >= relative, "{unary:?}: {largest} is far below {relative}");
        }
    }

    /// An exponential is that of an operand which is off by its share at most, rounded, and the share is no larger than it must be.
    #[test]
    fn a_packed_exponential_is_that_of_an_operand_nearby() {
        let [share, relative] = packed_errors(Unary::Exponential).unwrap();
        assert_eq!(relative, 0.0);
        let is_within = |x: f32, share: f64| {
            let mut values = [x];
            function(Unary::Exponential, &mut values, &unit());
            let end = |share: f64| {
                let mut end = [(f64::from(x) * (1.0 + share)).exp() as f32];
                round_to(DType::BF16, &mut end);
                end[0]
            };
            let (one, other) = (end(-share), end(share));
            values[0] == 0.0 || (one.min(other)..=one.max(other)).contains(&values[0])
        };
        assert!(numbers().filter(|x| x.is_finite()).all(|x| is_within(x, share)));
        assert!(!numbers().filter(|x| x.is_finite()).all(|x| is_within(x, share / 1.1)));
    }
}
