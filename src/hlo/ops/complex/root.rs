//! Roots and directions of complex numbers.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, compare, select, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, Unary, ValueId};

use super::complex_function::abs;
use super::parts::Parts;
use super::special::{equals, is_infinite, with_sign};

type Result<T> = std::result::Result<T, LowerError>;

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
pub fn sqrt(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
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
pub fn rsqrt(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
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
pub fn sign(e: &mut Emitter, [a, b]: Parts) -> Result<Parts> {
    let magnitude = abs(e, [a, b])?;
    let is_zero = equals(e, magnitude, 0.0)?;
    let mut parts = [a, b];
    for part in &mut parts {
        let quotient = binary(e, Binary::Divide, *part, magnitude)?;
        *part = select(e, is_zero, *part, quotient)?;
    }
    Ok(parts)
}
