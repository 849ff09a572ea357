//! Elementwise operations. The operation is choose outside the loops, so that they vectorise.

pub(super) mod packed_bf16;
#[cfg(test)]
mod tests;

use crate::ir::{Binary, Compare, CompareOrder, Unary};
use crate::num::flush_f32;
use crate::tensor::DType;

use super::arrays::{Side, combine, in_chunks, zip};
use super::error_model::{Erring, ErrorModel};
use super::eup::Eup;
use super::f64_function::function_of_f64;
use super::rounded_function;
use super::simd::{self, Work};
use super::{Divide, VectorUnit, ZeroTie, round_to};

/// Applies a function in place, in f32, and rounds to `dtype`; transcendental functions are correctly rounded, then
/// perturbed where the unit's error model says so.
///
/// On a unit that flushes, subnormal operands count as zeros and subnormal results become zeros. As measured
/// on jaxlib 0.10.2, `abs` and `negate` keep subnormals, and so do `tanh` and `exponential-minus-one`, which return a
/// small operand as it is. A result in bf16 is that in f32, converted.
pub fn unary(unary: Unary, dtype: DType, values: &mut [f32], unit: &VectorUnit) {
    if unit.packs(unary, dtype) {
        return packed_bf16::function(unary, values, unit);
    }
    in_chunks(values, |_, chunk| {
        let library = unit.error.library();
        let in_steps = library.is_some_and(|library| library.unary_in_steps(unary, dtype, chunk, unit.estimate));
        if !in_steps {
            unary_f32(unary, chunk, unit);
            if dtype == DType::BF16 {
                unit.narrow(DType::F32, chunk);
            }
            round_to(dtype, chunk);
        }
    });
}

/// [`unary`] of a chunk, unrounded.
fn unary_f32(unary: Unary, values: &mut [f32], unit: &VectorUnit) {
    macro_rules! each {
        ($function:expr) => {
            values.iter_mut().for_each(|v| *v = $function(*v))
        };
    }
    macro_rules! to_integer {
        ($function:expr) => {
            if unit.flush { each!(|v: f32| $function(flush_f32(v))) } else { each!($function) }
        };
    }
    match unary {
        // Only the sign bit changes here, which no flushing touches (FACTS 3.4).
        Unary::Abs => each!(f32::abs),
        Unary::Negate => each!(|v: f32| -v),
        Unary::Ceil => to_integer!(f32::ceil),
        Unary::Floor => to_integer!(f32::floor),
        Unary::RoundNearestAfz => to_integer!(f32::round),
        Unary::RoundNearestEven => to_integer!(f32::round_ties_even),
        Unary::Sign => to_integer!(|v: f32| if v == 0.0 || v.is_nan() { v } else { v.signum() }),
        Unary::Tanh | Unary::ExponentialMinusOne => transcendental(unary, values, unit),
        _ if unit.error.library().is_some_and(|library| library.keeps_subnormals(unary)) => {
            transcendental(unary, values, unit);
        }
        Unary::Cbrt
        | Unary::Cosine
        | Unary::Erf
        | Unary::Exponential
        | Unary::Log
        | Unary::LogPlusOne
        | Unary::Logistic
        | Unary::Rsqrt
        | Unary::Sine
        | Unary::Sqrt
        | Unary::Tan => {
            if unit.flush {
                each!(flush_f32)
            }
            transcendental(unary, values, unit);
            if unit.flush {
                each!(flush_f32)
            }
        }
        Unary::IsFinite => unreachable!("is-finite gives predicates"),
        Unary::CountLeadingZeros | Unary::Not | Unary::PopulationCount => {
            unreachable!("shape checking gives integers to {}", unary.name())
        }
    }
}

/// A function with the unit's errors.
fn transcendental(unary: Unary, values: &mut [f32], unit: &VectorUnit) {
    if unit.error.library().is_some_and(|library| library.unary(unary, values, unit.estimate)) {
        return;
    }
    // Correct rounding is the default: no coefficients of a TPU are public, only bounds and printed values
    // (FACTS 3.3).
    if !unit.perturbs() {
        return rounded_function::apply(unary, values);
    }
    // The error of a logistic function is not stated: it is that of its parts, as compiled files have them
    // (FACTS 3.3).
    if unary == Unary::Logistic {
        return values.iter_mut().for_each(|v| *v = logistic(*v, unit));
    }
    let arguments = values.to_vec();
    rounded_function::apply(unary, values);
    let erring = unit.function_with_errors(unary);
    values.iter_mut().zip(arguments).for_each(|(v, x)| *v = erring.of(x, *v));
}

/// `1 / (1 + e^-x)`, as TPU compilers expand it, with the errors of its parts.
fn logistic(x: f32, unit: &VectorUnit) -> f32 {
    let mut power = [-x];
    unary_f32(Unary::Exponential, &mut power, unit);
    let sum = binary_scalar(Binary::Add, 1.0, power[0], unit);
    perturb_quotient(1.0, sum, unit).min(1.0)
}

/// [`unary`] for f64, correctly rounded (logistic within 2 ulp). Where subnormals count as zeros, they do not where only the sign bit
/// changes, and not in three functions (FACTS 3.4).
pub fn unary_f64(unary: Unary, values: &mut [f64], unit: &VectorUnit) {
    let function = function_of_f64(unary);
    let keeps_subnormals =
        matches!(unary, Unary::Abs | Unary::Negate | Unary::ExponentialMinusOne | Unary::Sine | Unary::Tan);
    let of = |v: f64| if keeps_subnormals { function(v) } else { flush(function(flush(v, unit)), unit) };
    values.iter_mut().for_each(|v| *v = of(*v));
}

/// Applies an operation in f32: one rounding, with subnormals flushed where the unit does so; then rounds to `dtype`. The
/// left operand becomes the result. Where the unit's error model says so, quotients of f32 err within their bound; those of
/// narrower types are exact before their rounding, or nearly so; and powers err as the logarithm and the exponential do that they
/// are made of (FACTS 3.3).
pub fn binary(binary: Binary, dtype: DType, values: &mut [f32], other: Side<f32>, unit: &VectorUnit) {
    let divides = binary == Binary::Divide && unit.perturbs_quotients(dtype);
    let powers = (binary == Binary::Power && unit.perturbs())
        .then(|| [Unary::Log, Unary::Exponential].map(|unary| unit.function_with_errors(unary)));
    in_chunks(values, |at, chunk| {
        if divides {
            return combine(at, chunk, other, |a, b| perturb_quotient(a, b, unit));
        }
        if let Some([log, exponential]) = &powers {
            combine(at, chunk, other, |a, b| perturb_power(a, b, log, exponential, unit));
            return round_to(dtype, chunk);
        }
        simd::widest(BinaryChunk { binary, at, values: chunk, other, unit });
        round_to(dtype, chunk);
    });
}

/// A chunk that starts at element `at`, and what is done with it.
struct BinaryChunk<'a> {
    binary: Binary,
    at: usize,
    values: &'a mut [f32],
    other: Side<'a, f32>,
    unit: &'a VectorUnit,
}

impl Work for BinaryChunk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        binary_f32(self.binary, self.at, self.values, self.other, self.unit);
    }
}

/// [`binary`] of a chunk that starts at element `at`, unrounded.
#[inline(always)]
fn binary_f32(binary: Binary, at: usize, values: &mut [f32], other: Side<f32>, unit: &VectorUnit) {
    macro_rules! each {
        ($function:expr) => {
            combine(at, values, other, $function)
        };
    }
    macro_rules! arithmetic {
        ($function:expr) => {
            if unit.flush { each!(|a, b| flush_f32($function(flush_f32(a), flush_f32(b)))) } else { each!($function) }
        };
    }
    if let Some(function) = unit.error.library().and_then(|library| library.binary(binary)) {
        return each!(function);
    }
    match binary {
        Binary::Add => arithmetic!(|a: f32, b: f32| a + b),
        Binary::Subtract => arithmetic!(|a: f32, b: f32| a - b),
        Binary::Multiply => arithmetic!(|a: f32, b: f32| a * b),
        // A TPU before v6e has no division: left times reciprocal, so that a divisor with a flushed reciprocal gives
        // zeros or NaN (FACTS 3.3).
        Binary::Divide if unit.divide == Divide::ByReciprocal => {
            arithmetic!(|a: f32, b: f32| a * flushed_reciprocal(b))
        }
        Binary::Divide => arithmetic!(|a: f32, b: f32| a / b),
        Binary::Remainder => arithmetic!(|a: f32, b: f32| a % b),
        Binary::Atan2 => arithmetic!(core_math::atan2f),
        Binary::Power => arithmetic!(core_math::powf),
        Binary::Maximum => each!(|a: f32, b: f32| larger(a, b, unit)),
        Binary::Minimum => each!(|a: f32, b: f32| smaller(a, b, unit)),
        Binary::And
        | Binary::MultiplyHigh
        | Binary::Or
        | Binary::ShiftLeft
        | Binary::ShiftRightArithmetic
        | Binary::ShiftRightLogical
        | Binary::Xor => unreachable!("shape checking gives integers to {}", binary.name()),
    }
}

/// A perturbed quotient; zeros, infinities and NaNs are the unit's own.
fn perturb_quotient(a: f32, b: f32, unit: &VectorUnit) -> f32 {
    let plain = binary_scalar(Binary::Divide, a, b, unit);
    if plain == 0.0 || !plain.is_finite() {
        return plain;
    }
    // Of v5p the largest error of a reciprocal is known and nothing was printed: its worst is a quotient at that bound.
    let by_reciprocal = unit.divide == Divide::ByReciprocal && (unit.eup, unit.error) != (Eup::V5, ErrorModel::Worst);
    let off = if by_reciprocal { a * unit.error.reciprocal(b, unit.eup) } else { unit.error.quotient(a, b, unit.eup) };
    if unit.flush { flush_f32(off) } else { off }
}

/// `x^y` as a TPU computes it, `e^(y ln |x|)`, with the errors of both functions; the result's sign, its zeros, infinities and NaNs
/// and the results of operands that are special are a power's own.
fn perturb_power(x: f32, y: f32, log: &Erring, exponential: &Erring, unit: &VectorUnit) -> f32 {
    let plain = binary_scalar(Binary::Power, x, y, unit);
    // The logarithm of 1 is 0 without an error on every chip that printed it (FACTS 3.3).
    if plain == 0.0 || !plain.is_finite() || x.abs() == 1.0 || y == 0.0 {
        return plain;
    }
    let of = |erring: &Erring, x: f32, unary: Unary| {
        let mut rounded = [x];
        rounded_function::apply(unary, &mut rounded);
        erring.of(x, rounded[0])
    };
    let exponent = binary_scalar(Binary::Multiply, y, of(log, x.abs(), Unary::Log), unit);
    let power = of(exponential, exponent, Unary::Exponential);
    (if unit.flush { flush_f32(power) } else { power }).copysign(plain)
}

/// [`binary`] of two numbers, unrounded.
pub fn binary_scalar(binary: Binary, a: f32, b: f32, unit: &VectorUnit) -> f32 {
    let mut value = [a];
    binary_f32(binary, 0, &mut value, Side::whole(&[b]), unit);
    value[0]
}

/// Below this the reciprocal of [`Divide::ByReciprocal`] is flushed: the smallest normal number is as well (FACTS 3.3).
pub(super) const RECIPROCAL_FLOOR: f32 = f32::from_bits(f32::MIN_POSITIVE.to_bits() + 1);

/// The reciprocal of [`Divide::ByReciprocal`].
#[inline(always)]
fn flushed_reciprocal(y: f32) -> f32 {
    let reciprocal = 1.0 / y;
    if reciprocal.abs() < RECIPROCAL_FLOOR { 0.0f32.copysign(reciprocal) } else { reciprocal }
}

/// [`binary`] for f64.
pub fn binary_f64(binary: Binary, a: &[f64], b: &[f64], unit: &VectorUnit) -> Vec<f64> {
    let ieee = unit.zero_tie == ZeroTie::Ieee;
    // Zeros tie as in [`larger`] and [`smaller`].
    let larger = |a: f64, b: f64| if a > b || a.is_nan() || ieee && a == b && b.is_sign_negative() { a } else { b };
    let smaller = |a: f64, b: f64| if a < b || a.is_nan() || ieee && a == b && a.is_sign_negative() { a } else { b };
    let function = |a: f64, b: f64| match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Remainder => a % b,
        Binary::Atan2 => core_math::atan2(a, b),
        Binary::Power => core_math::pow(a, b),
        Binary::Maximum => larger(a, b),
        Binary::Minimum => smaller(a, b),
        Binary::And
        | Binary::MultiplyHigh
        | Binary::Or
        | Binary::ShiftLeft
        | Binary::ShiftRightArithmetic
        | Binary::ShiftRightLogical
        | Binary::Xor => unreachable!("shape checking gives integers to {}", binary.name()),
    };
    let flushed = |v: f64| flush(v, unit);
    let one = |a: f64, b: f64| match binary {
        // Subnormal dividends, and operands of powers, count even where no others do (FACTS 3.4).
        Binary::Remainder => function(a, flushed(b)),
        Binary::Power => flushed(function(a, b)),
        _ => flushed(function(flushed(a), flushed(b))),
    };
    a.iter().zip(b).map(|(a, b)| one(*a, *b)).collect()
}

fn flush(x: f64, unit: &VectorUnit) -> f64 {
    if unit.flush && x.abs() < f64::MIN_POSITIVE { 0.0f64.copysign(x) } else { x }
}

/// Maximum as the unit has it: a NaN on either side wins.
#[inline(always)]
fn larger(a: f32, b: f32, unit: &VectorUnit) -> f32 {
    let (x, y) = if unit.flush { (flush_f32(a), flush_f32(b)) } else { (a, b) };
    let positive_first = unit.zero_tie == ZeroTie::Ieee && x == y && y.is_sign_negative();
    if x > y || x.is_nan() || positive_first { x } else { y }
}

/// Minimum as the unit has it. On a tie of zeros a CPU gives -0, whichever comes first (measured on jaxlib 0.10.2).
#[inline(always)]
fn smaller(a: f32, b: f32, unit: &VectorUnit) -> f32 {
    let (x, y) = if unit.flush { (flush_f32(a), flush_f32(b)) } else { (a, b) };
    let negative_first = unit.zero_tie == ZeroTie::Ieee && x == y && x.is_sign_negative();
    if x < y || x.is_nan() || negative_first { x } else { y }
}

/// The largest (or smallest) of a row and an initial value, element after element.
pub fn extreme(row: &[f32], init: f32, largest: bool, unit: &VectorUnit) -> f32 {
    // Without NaNs, zeros or subnormals the order does not show: a plain, vectorisable maximum.
    let mut lanes = [f32::NEG_INFINITY; 16];
    let mut odd = false;
    let flip = if largest { 1.0 } else { -1.0 };
    for chunk in row.chunks(16) {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            let x = v * flip;
            odd |= x.is_nan();
            *lane = if x > *lane { x } else { *lane };
        }
    }
    let best = lanes.iter().fold(init * flip, |best, lane| if *lane > best { *lane } else { best });
    if !odd && !init.is_nan() && best.abs() >= f32::MIN_POSITIVE {
        return best * flip;
    }
    let step = |best: f32, v: &f32| {
        if largest { larger(best, *v, unit) } else { smaller(best, *v, unit) }
    };
    row.iter().fold(init, step)
}

/// Compares `count` elements, one by one.
pub fn compare(
    direction: Compare,
    order: CompareOrder,
    count: usize,
    a: Side<f32>,
    b: Side<f32>,
    unit: &VectorUnit,
) -> Vec<bool> {
    let mut out = vec![false; count];
    in_chunks(&mut out, |at, chunk| compare_f32(direction, order, at, chunk, [a, b], unit));
    out
}

/// [`compare`] for a chunk of results that starts at element `at`.
fn compare_f32(
    direction: Compare,
    order: CompareOrder,
    at: usize,
    out: &mut [bool],
    [a, b]: [Side<f32>; 2],
    unit: &VectorUnit,
) {
    macro_rules! partial {
        ($operator:tt) => {
            if unit.flush {
                zip(at, out, a, b, |a, b| flush_f32(a) $operator flush_f32(b))
            } else {
                zip(at, out, a, b, |a, b| a $operator b)
            }
        };
    }
    match (order, direction) {
        (CompareOrder::Total, direction) => zip(at, out, a, b, |a, b| direction.of(Some(a.total_cmp(&b)))),
        (_, Compare::Eq) => partial!(==),
        (_, Compare::Ne) => partial!(!=),
        (_, Compare::Ge) => partial!(>=),
        (_, Compare::Gt) => partial!(>),
        (_, Compare::Le) => partial!(<=),
        (_, Compare::Lt) => partial!(<),
    }
}

/// [`compare`] for f64.
pub fn compare_f64(direction: Compare, order: CompareOrder, a: &[f64], b: &[f64], unit: &VectorUnit) -> Vec<bool> {
    let pair = |(a, b): (&f64, &f64)| match order {
        CompareOrder::Total => direction.of(Some(a.total_cmp(b))),
        CompareOrder::Partial => direction.of(flush(*a, unit).partial_cmp(&flush(*b, unit))),
    };
    a.iter().zip(b).map(pair).collect()
}
