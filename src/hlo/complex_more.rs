//! More functions of complex numbers (FACTS 3.6). Hyperbolic and trigonometric tangents are XLA:CPU's formulas; the others are
//! ours, a modelling choice: XLA:CPU's differ in last bits, and more where theirs lose a small part. Infinities, NaN and zeros
//! go as C17 annex G says.

use crate::ir::{Binary, Compare, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use super::complex_function::{
    Parts, abs, binary, compare, divide, equals, exponential, is_infinite, is_special, select, unary,
};
use super::complex_truth as truth;
use super::emit::Emitter;
use super::error::LowerError;
use super::fill::number;

type Result<T> = std::result::Result<T, LowerError>;

/// The functions of one number that are known here.
pub(super) const KNOWN: [Unary; 10] = [
    Unary::Cosine,
    Unary::ExponentialMinusOne,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sine,
    Unary::Sqrt,
    Unary::Tan,
    Unary::Tanh,
];

/// A function of one number; `None` for one that is not among [`KNOWN`].
pub(super) fn of_one(e: &mut Emitter, unary: Unary, z: Parts) -> Result<Option<Parts>> {
    Ok(Some(match unary {
        Unary::Cosine => cosine(e, z)?,
        Unary::Sine => sine(e, z)?,
        Unary::ExponentialMinusOne => exponential_minus_one(e, z)?,
        Unary::LogPlusOne => log_plus_one(e, z)?,
        Unary::Logistic => logistic(e, z)?,
        Unary::Sqrt => sqrt(e, z)?,
        Unary::Rsqrt => rsqrt(e, z)?,
        Unary::Sign => sign(e, z)?,
        Unary::Tan => tan(e, z)?,
        Unary::Tanh => tanh(e, z)?,
        Unary::Abs
        | Unary::Cbrt
        | Unary::Ceil
        | Unary::CountLeadingZeros
        | Unary::Erf
        | Unary::Exponential
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Log
        | Unary::Negate
        | Unary::Not
        | Unary::PopulationCount
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven => return Ok(None),
    }))
}

/// `1 / (1 + e^-z)`.
fn logistic(e: &mut Emitter, z: Parts) -> Result<Parts> {
    let negative = [unary(e, Unary::Negate, z[0])?, unary(e, Unary::Negate, z[1])?];
    let power = exponential(e, negative)?;
    let (one, zero) = (number(e, z[0], 1.0)?, number(e, z[0], 0.0)?);
    let divisor = [binary(e, Binary::Add, power[0], one)?, power[1]];
    let quotient = divide(e, [one, zero], divisor)?;
    truth::logistic(e, z, quotient)
}

/// `tan z = -i tanh (i z)`.
fn tan(e: &mut Emitter, z: Parts) -> Result<Parts> {
    let turned = [unary(e, Unary::Negate, z[1])?, z[0]];
    let [re, im] = tanh(e, turned)?;
    Ok([im, unary(e, Unary::Negate, re)?])
}

/// `magnitude` with the sign of `x`, its zeros' signs included; that of NaN is positive. Bits are asked of zeros alone: of
/// other numbers less is needed to tell the sign.
pub(super) fn with_sign(e: &mut Emitter, magnitude: ValueId, x: ValueId) -> Result<ValueId> {
    let shape = e.shape(x).clone();
    let bits = if shape.dtype() == Some(DType::F64) { DType::S64 } else { DType::S32 };
    let (zero, no_bits) = (number(e, x, 0.0)?, e.zeros(bits, shape.dims())?);
    let (is_below, is_zero) = (compare(e, Compare::Lt, x, zero)?, compare(e, Compare::Eq, x, zero)?);
    let code = e.emit(Op::BitcastConvert, vec![x], Some(shape.with_dtype(bits)))?;
    let has_sign = compare(e, Compare::Lt, code, no_bits)?;
    let is_negative_zero = binary(e, Binary::And, is_zero, has_sign)?;
    let is_negative = binary(e, Binary::Or, is_below, is_negative_zero)?;
    let negative = unary(e, Unary::Negate, magnitude)?;
    select(e, is_negative, negative, magnitude)
}

/// The numbers in f64, if they are narrower.
fn widened(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    convert(e, x, DType::F64)
}

fn convert(e: &mut Emitter, x: ValueId, dtype: DType) -> Result<ValueId> {
    let shape: Shape = e.shape(x).with_dtype(dtype);
    if *e.shape(x) == shape { Ok(x) } else { e.emit(Op::Convert, vec![x], Some(shape)) }
}

/// Hyperbolic sine and cosine.
fn hyperbolic(e: &mut Emitter, b: ValueId) -> Result<[ValueId; 2]> {
    let half = number(e, b, 0.5)?;
    let minus_b = unary(e, Unary::Negate, b)?;
    let mut halves = |of: Unary, with: Binary| {
        let (up, down) = (unary(e, of, b)?, unary(e, of, minus_b)?);
        let both = binary(e, with, up, down)?;
        binary(e, Binary::Multiply, both, half)
    };
    Ok([halves(Unary::ExponentialMinusOne, Binary::Subtract)?, halves(Unary::Exponential, Binary::Add)?])
}

/// `sin a cosh b + i cos a sinh b`: as C17's csinh of `iz` has it, a part is zero where `a` or `b` is, and of an infinite `b`
/// beside what has no sine it is infinite.
fn sine(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let [sinh, cosh] = hyperbolic(e, b)?;
    let (sine, cosine) = (unary(e, Unary::Sine, a)?, unary(e, Unary::Cosine, a)?);
    let (re, im) = (binary(e, Binary::Multiply, sine, cosh)?, binary(e, Binary::Multiply, cosine, sinh)?);
    let (is_zero, has_no_sine) = (equals(e, a, 0.0)?, is_special(e, a)?);
    let (is_real, is_endless) = (equals(e, b, 0.0)?, is_infinite(e, b)?);
    let keeps_b = binary(e, Binary::Or, is_real, is_endless)?;
    let keeps_b = binary(e, Binary::And, keeps_b, has_no_sine)?;
    Ok([select(e, is_zero, a, re)?, select(e, keeps_b, b, im)?])
}

/// `cos a cosh b - i sin a sinh b`, as C17's ccosh of `iz`.
fn cosine(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let [sinh, cosh] = hyperbolic(e, b)?;
    let (sine, cosine) = (unary(e, Unary::Sine, a)?, unary(e, Unary::Cosine, a)?);
    let (re, im) = (binary(e, Binary::Multiply, cosine, cosh)?, binary(e, Binary::Multiply, sine, sinh)?);
    let (zero, one) = (number(e, a, 0.0)?, number(e, a, 1.0)?);
    let (is_zero, has_no_sine) = (equals(e, a, 0.0)?, is_special(e, a)?);
    let (is_real, is_endless) = (equals(e, b, 0.0)?, is_infinite(e, b)?);
    let is_endless = binary(e, Binary::And, is_endless, has_no_sine)?;
    // Zeros of either sign times what is infinite or NaN.
    let side = with_sign(e, one, b)?;
    let signed_zero = binary(e, Binary::Multiply, a, side)?;
    let im = select(e, is_zero, signed_zero, im)?;
    let is_lost = binary(e, Binary::And, is_real, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    let size = unary(e, Unary::Abs, b)?;
    Ok([select(e, is_endless, size, re)?, unary(e, Unary::Negate, im)?])
}

/// `e^z - 1`: the real part is `(e^a - 1) cos b + (cos b - 1)`, in f64 where that is wider, since its terms may cancel; the
/// imaginary one `e^a sin b`. Infinities and NaN are those of C17's cexp.
fn exponential_minus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let dtype = e.shape(a).element_type();
    let (wide_a, wide_b) = (widened(e, a)?, widened(e, b)?);
    let (half, minus_two) = (number(e, wide_b, 0.5)?, number(e, wide_b, -2.0)?);
    let (grown, cosine) = (unary(e, Unary::ExponentialMinusOne, wide_a)?, unary(e, Unary::Cosine, wide_b)?);
    let halved = binary(e, Binary::Multiply, wide_b, half)?;
    let of_half = unary(e, Unary::Sine, halved)?;
    let square = binary(e, Binary::Multiply, of_half, of_half)?;
    let below_one = binary(e, Binary::Multiply, square, minus_two)?;
    let first = binary(e, Binary::Multiply, grown, cosine)?;
    let re = binary(e, Binary::Add, first, below_one)?;
    let re = convert(e, re, dtype)?;
    let (whole, sine) = (unary(e, Unary::Exponential, a)?, unary(e, Unary::Sine, b)?);
    let im = binary(e, Binary::Multiply, whole, sine)?;

    let (zero, minus_one) = (number(e, a, 0.0)?, number(e, a, -1.0)?);
    let (vanishes, is_endless) = (equals(e, a, f64::NEG_INFINITY)?, equals(e, a, f64::INFINITY)?);
    let (is_real, has_no_sine) = (equals(e, b, 0.0)?, is_special(e, b)?);
    let is_endless = binary(e, Binary::And, is_endless, has_no_sine)?;
    let re = select(e, is_endless, a, re)?;
    let re = select(e, vanishes, minus_one, re)?;
    let is_lost = binary(e, Binary::And, vanishes, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    Ok([re, select(e, is_real, b, im)?])
}

/// `ln |1 + z| + i arg (1 + z)`, the logarithm in f64 where that is wider; infinite where a part is. Near the circle of the
/// points with `|1 + z| = 1` it is `ln (1 + a (a + 2) + b^2) / 2`, elsewhere that of the larger part and of the parts' ratio.
fn log_plus_one(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let dtype = e.shape(a).element_type();
    let (wide_a, wide_b) = (widened(e, a)?, widened(e, b)?);
    let (zero, half) = (number(e, wide_a, 0.0)?, number(e, wide_a, 0.5)?);
    let (one, two) = (number(e, wide_a, 1.0)?, number(e, wide_a, 2.0)?);
    let sum = binary(e, Binary::Add, wide_a, two)?;
    let product = binary(e, Binary::Multiply, wide_a, sum)?;
    let square = binary(e, Binary::Multiply, wide_b, wide_b)?;
    let beyond_one = binary(e, Binary::Add, product, square)?;
    let logarithm = unary(e, Unary::LogPlusOne, beyond_one)?;
    let near = binary(e, Binary::Multiply, logarithm, half)?;

    let real = binary(e, Binary::Add, wide_a, one)?;
    let (x, y) = (unary(e, Unary::Abs, real)?, unary(e, Unary::Abs, wide_b)?);
    let (larger, smaller) = (binary(e, Binary::Maximum, x, y)?, binary(e, Binary::Minimum, x, y)?);
    let (is_zero, ratio) = (equals(e, larger, 0.0)?, binary(e, Binary::Divide, smaller, larger)?);
    let ratio = select(e, is_zero, zero, ratio)?;
    let square = binary(e, Binary::Multiply, ratio, ratio)?;
    let beside = unary(e, Unary::LogPlusOne, square)?;
    let beside = binary(e, Binary::Multiply, beside, half)?;
    let of_larger = unary(e, Unary::Log, larger)?;
    let far = binary(e, Binary::Add, of_larger, beside)?;
    let distance = unary(e, Unary::Abs, beyond_one)?;
    let is_near = compare(e, Compare::Lt, distance, half)?;
    let re = select(e, is_near, near, far)?;
    let re = convert(e, re, dtype)?;

    let (one, infinity) = (number(e, a, 1.0)?, number(e, a, f64::INFINITY)?);
    let (a_endless, b_endless) = (is_infinite(e, a)?, is_infinite(e, b)?);
    let is_endless = binary(e, Binary::Or, a_endless, b_endless)?;
    let real = binary(e, Binary::Add, a, one)?;
    Ok([select(e, is_endless, infinity, re)?, binary(e, Binary::Atan2, b, real)?])
}

/// The root of `|a| + |b| i`.
struct Root {
    /// The larger of the two, and the magnitude relative to it.
    larger: ValueId,
    size: ValueId,
    /// The larger part relative to the root of that, and both parts: nothing cancels in either.
    relative: ValueId,
    parts: [ValueId; 2],
}

impl Root {
    /// With w the first part relative to the larger one and q the magnitude: `sqrt ((q + w) / 2)`, and `|b|` over twice that.
    fn of(e: &mut Emitter, [a, b]: Parts) -> Result<Root> {
        let (half, one, two) = (number(e, a, 0.5)?, number(e, a, 1.0)?, number(e, a, 2.0)?);
        let (x, y) = (unary(e, Unary::Abs, a)?, unary(e, Unary::Abs, b)?);
        let (larger, smaller) = (binary(e, Binary::Maximum, x, y)?, binary(e, Binary::Minimum, x, y)?);
        let ratio = binary(e, Binary::Divide, smaller, larger)?;
        let square = binary(e, Binary::Multiply, ratio, ratio)?;
        let sum = binary(e, Binary::Add, square, one)?;
        let size = unary(e, Unary::Sqrt, sum)?;
        let is_flat = compare(e, Compare::Ge, x, y)?;
        let w = select(e, is_flat, one, ratio)?;
        let sum = binary(e, Binary::Add, size, w)?;
        let mean = binary(e, Binary::Multiply, sum, half)?;
        let relative = unary(e, Unary::Sqrt, mean)?;
        let scale = unary(e, Unary::Sqrt, larger)?;
        let big = binary(e, Binary::Multiply, scale, relative)?;
        let double = binary(e, Binary::Multiply, big, two)?;
        let small = binary(e, Binary::Divide, y, double)?;
        Ok(Root { larger, size, relative, parts: [big, small] })
    }
}

/// The root whose real part is not negative, of which the parts change places left of the imaginary axis.
fn sqrt(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (zero, infinity) = (number(e, a, 0.0)?, number(e, a, f64::INFINITY)?);
    let root = Root::of(e, [a, b])?;
    let [big, small] = root.parts;
    let is_right = compare(e, Compare::Ge, a, zero)?;
    let (re, im) = (select(e, is_right, big, small)?, select(e, is_right, small, big)?);
    // Beside an infinite real part one part is infinite, and the other zero, or NaN if the imaginary part is.
    let nothing = binary(e, Binary::Multiply, b, zero)?;
    let nothing = unary(e, Unary::Abs, nothing)?;
    let (is_east, is_west) = (equals(e, a, f64::INFINITY)?, equals(e, a, f64::NEG_INFINITY)?);
    let (re, im) = (select(e, is_east, infinity, re)?, select(e, is_east, nothing, im)?);
    let (re, im) = (select(e, is_west, nothing, re)?, select(e, is_west, infinity, im)?);
    // An infinite imaginary part prevails, and of zero both are.
    let (is_endless, is_zero) = (is_infinite(e, b)?, equals(e, root.larger, 0.0)?);
    let (re, im) = (select(e, is_endless, infinity, re)?, select(e, is_endless, infinity, im)?);
    let (re, im) = (select(e, is_zero, zero, re)?, select(e, is_zero, zero, im)?);
    Ok([re, with_sign(e, im, b)?])
}

/// The reciprocal of that root: its conjugate over the magnitude. Zero of infinities; of zero an infinity and NaN.
fn rsqrt(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (zero, infinity, nan) = (number(e, a, 0.0)?, number(e, a, f64::INFINITY)?, number(e, a, f64::NAN)?);
    let root = Root::of(e, [a, b])?;
    let scale = unary(e, Unary::Rsqrt, root.larger)?;
    let big = binary(e, Binary::Multiply, scale, root.relative)?;
    let small = binary(e, Binary::Divide, root.parts[1], root.larger)?;
    let mut parts = [big, small];
    for part in &mut parts {
        *part = binary(e, Binary::Divide, *part, root.size)?;
    }
    let is_right = compare(e, Compare::Ge, a, zero)?;
    let (re, im) = (select(e, is_right, parts[0], parts[1])?, select(e, is_right, parts[1], parts[0])?);
    let (a_endless, b_endless) = (is_infinite(e, a)?, is_infinite(e, b)?);
    let is_endless = binary(e, Binary::Or, a_endless, b_endless)?;
    let is_zero = equals(e, root.larger, 0.0)?;
    let (re, im) = (select(e, is_endless, zero, re)?, select(e, is_endless, zero, im)?);
    let im = with_sign(e, im, b)?;
    let im = unary(e, Unary::Negate, im)?;
    Ok([select(e, is_zero, infinity, re)?, select(e, is_zero, nan, im)?])
}

/// `z / |z|`, a zero of itself.
fn sign(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let magnitude = abs(e, [a, b])?;
    let is_zero = equals(e, magnitude, 0.0)?;
    let mut parts = [a, b];
    for part in &mut parts {
        let quotient = binary(e, Binary::Divide, *part, magnitude)?;
        *part = select(e, is_zero, *part, quotient)?;
    }
    Ok(parts)
}

/// With `s = (e^2a - 1) + (e^-2a - 1)`: `((e^2a - e^-2a) + 4 i cos b sin b) / (s + 4 cos^2 b)`, as MLIR writes it (`TanhOp` of
/// `ComplexToStandard`). Further out, where XLA:CPU has 1 and 0, it is the same fraction over `e^2|a|`, whose numbers are
/// moderate.
fn tanh(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let (zero, one, four) = (number(e, a, 0.0)?, number(e, a, 1.0)?, number(e, a, 4.0)?);
    let infinity = number(e, a, f64::INFINITY)?;
    let (cosine, sine) = (unary(e, Unary::Cosine, b)?, unary(e, Unary::Sine, b)?);
    let square = binary(e, Binary::Multiply, cosine, cosine)?;
    let square = binary(e, Binary::Multiply, square, four)?;
    let product = binary(e, Binary::Multiply, cosine, sine)?;
    let product = binary(e, Binary::Multiply, product, four)?;

    let double = binary(e, Binary::Add, a, a)?;
    let minus_double = unary(e, Unary::Negate, double)?;
    let up = unary(e, Unary::ExponentialMinusOne, double)?;
    let down = unary(e, Unary::ExponentialMinusOne, minus_double)?;
    let (difference, sum) = (binary(e, Binary::Subtract, up, down)?, binary(e, Binary::Add, up, down)?);
    let divisor = binary(e, Binary::Add, sum, square)?;
    let (re, im) = (binary(e, Binary::Divide, difference, divisor)?, binary(e, Binary::Divide, product, divisor)?);
    let is_beyond = compare(e, Compare::Eq, sum, infinity)?;
    let side = with_sign(e, one, a)?;
    let re = select(e, is_beyond, side, re)?;

    // e^-2|a| is zero in the type from there on.
    let far = if e.shape(a).dtype() == Some(DType::F64) { 400.0 } else { 64.0 };
    let (size, far, two) = (unary(e, Unary::Abs, a)?, number(e, a, far)?, number(e, a, 2.0)?);
    let is_far = compare(e, Compare::Gt, size, far)?;
    let exponent = binary(e, Binary::Add, size, size)?;
    let exponent = unary(e, Unary::Negate, exponent)?;
    let (small, below) = (unary(e, Unary::Exponential, exponent)?, unary(e, Unary::ExponentialMinusOne, exponent)?);
    let rest = binary(e, Binary::Multiply, small, square)?;
    let whole = binary(e, Binary::Multiply, below, below)?;
    let divisor = binary(e, Binary::Add, whole, rest)?;
    let sum = binary(e, Binary::Add, below, two)?;
    let numerator = binary(e, Binary::Multiply, below, sum)?;
    let numerator = unary(e, Unary::Negate, numerator)?;
    let far_re = binary(e, Binary::Divide, numerator, divisor)?;
    let far_re = with_sign(e, far_re, a)?;
    let far_im = binary(e, Binary::Multiply, small, product)?;
    let far_im = binary(e, Binary::Divide, far_im, divisor)?;
    let (re, im) = (select(e, is_far, far_re, re)?, select(e, is_far, far_im, im)?);

    // What has no sine is no matter beside an infinity, nor is anything beside a zero.
    let (is_endless, has_no_sine) = (is_infinite(e, a)?, is_special(e, b)?);
    let (is_imaginary, is_real) = (equals(e, a, 0.0)?, equals(e, b, 0.0)?);
    let re = select(e, is_endless, side, re)?;
    let re = select(e, is_imaginary, a, re)?;
    let is_lost = binary(e, Binary::And, is_endless, has_no_sine)?;
    let im = select(e, is_lost, zero, im)?;
    Ok([re, select(e, is_real, b, im)?])
}

/// `|x|^c e^(-d arg x) (cos q + i sin q)` with `q = c arg x + d ln |x|` for `y = c + di`, as MLIR writes it (`PowOp` of
/// `ComplexToStandard`); powers with a real exponent of zero, one and infinity, and those with exponent zero, are known.
pub(super) fn power(e: &mut Emitter, x: Parts, [c, d]: Parts) -> Result<Parts> {
    let size = abs(e, x)?;
    let grown = binary(e, Binary::Power, size, c)?;
    let minus_d = unary(e, Unary::Negate, d)?;
    let angle = binary(e, Binary::Atan2, x[1], x[0])?;
    let turned = binary(e, Binary::Multiply, minus_d, angle)?;
    let turned = unary(e, Unary::Exponential, turned)?;
    let scale = binary(e, Binary::Multiply, grown, turned)?;
    let logarithm = unary(e, Unary::Log, size)?;
    let (along, across) = (binary(e, Binary::Multiply, c, angle)?, binary(e, Binary::Multiply, d, logarithm)?);
    let q = binary(e, Binary::Add, along, across)?;
    let (cosine, sine) = (unary(e, Unary::Cosine, q)?, unary(e, Unary::Sine, q)?);
    let power = [binary(e, Binary::Multiply, scale, cosine)?, binary(e, Binary::Multiply, scale, sine)?];

    let (zero, one, infinity) = (number(e, size, 0.0)?, number(e, size, 1.0)?, number(e, size, f64::INFINITY)?);
    let of_zero = compare(e, Compare::Eq, size, zero)?;
    let is_real = compare(e, Compare::Eq, x[1], zero)?;
    let real_exponent = compare(e, Compare::Eq, d, zero)?;
    let [none, not_negative, positive, negative] =
        [Compare::Eq, Compare::Ge, Compare::Gt, Compare::Lt].map(|direction| compare(e, direction, c, zero));
    let (none, positive, negative) = (none?, positive?, negative?);
    let mut both = |left, right| binary(e, Binary::And, left, right);
    let vanishes = both(of_zero, real_exponent)?;
    let vanishes = both(vanishes, not_negative?)?;
    let to_zero = both(none, real_exponent)?;
    let of_real = |e: &mut Emitter, number| -> Result<ValueId> {
        let equal = compare(e, Compare::Eq, x[0], number)?;
        binary(e, Binary::And, equal, is_real)
    };
    let (of_one, of_infinity) = (of_real(e, one)?, of_real(e, infinity)?);
    let endless = binary(e, Binary::And, of_infinity, real_exponent)?;
    let (grows, shrinks) = (binary(e, Binary::And, endless, positive)?, binary(e, Binary::And, endless, negative)?);
    let at_zero = select(e, none, one, zero)?;
    let mut parts = power;
    for (part, [at_zero, one, infinity]) in parts.iter_mut().zip([[at_zero, one, infinity], [zero; 3]]) {
        let known = [(vanishes, at_zero), (to_zero, one), (of_one, one), (grows, infinity), (shrinks, zero)];
        for (is_known, value) in known {
            *part = select(e, is_known, value, *part)?;
        }
    }
    Ok(parts)
}
