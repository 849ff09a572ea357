//! Elements against their scales: by which rounding they follow, and whether they were rounded by that scale or by another one.

use crate::scaled::{Element, Maximum, Quotient, Rounding, ScaleType};

/// Steps of a scale that are tried where elements do not follow it, the likeliest first.
pub const STEPS: [i64; 12] = [-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6];

/// A way in which elements follow from input and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// The form of the quotient.
    pub quotient: Quotient,
    /// The rounding of the quotient.
    pub rounding: Rounding,
    /// The per-tensor scale, 1 where it plays no part.
    pub g: f32,
}

/// One block to be held against its scale.
#[derive(Clone, Debug)]
pub struct Block {
    /// The input's elements.
    pub values: Vec<f32>,
    /// The stored codes.
    pub codes: Vec<u8>,
    /// The code of the scale.
    pub scale: u64,
}

/// The types of a block's parts.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    /// The type of the elements.
    pub element: &'static Element,
    /// The type of the scales.
    pub scales: ScaleType,
    /// The type of the input.
    pub dtype: crate::tensor::DType,
}

/// Code of a scale some steps beside another one: of floats a step is a factor of two.
pub fn code_beside(scales: ScaleType, code: u64, step: i64) -> i64 {
    let unit = match scales {
        ScaleType::Float(dtype) => dtype.format().map_or(1, |format| 1i64 << format.fraction_bits),
        ScaleType::E8M0 | ScaleType::E4M3 => 1,
    };
    (code as i64).saturating_add(step * unit)
}

/// Number of a scale some steps beside a code; `None` where there is no number that elements are divided by.
pub fn scale_beside(scales: ScaleType, code: u64, step: i64) -> Option<f64> {
    let beside = u64::try_from(code_beside(scales, code, step)).ok()?;
    // Libraries divide differently under 2^-127.
    let is_left_out =
        scales == ScaleType::E8M0 && !(1..255).contains(&beside) || scales == ScaleType::E4M3 && beside > 126;
    let scale = scales.decode(beside);
    (!is_left_out && scale > 0.0 && scale.is_finite()).then_some(scale)
}

/// An element that a way gives, and whether a stored code is that element. Zeros of either sign are one, and beyond the largest number
/// a cast may give it, an infinity or NaN.
fn follows(types: &Types, way: &Way, value: f32, stored: u8, scale: f64) -> (bool, crate::scaled::Rounded) {
    let x = Maximum { value, dtype: types.dtype };
    let (dividend, divisor) = way.quotient.operands(&x, scale, way.g);
    if !dividend.is_finite() {
        let code = types.element.round(value.signum().into(), 1e-30, way.rounding).code;
        return (stored == code, crate::scaled::Rounded { code, saturated: true });
    }
    let rounded = types.element.round(dividend, divisor, way.rounding);
    let number = types.element.decode(stored);
    let is_equal = stored == rounded.code || number == 0.0 && types.element.decode(rounded.code) == 0.0;
    // Processors that flush take subnormal inputs for zero (FACTS 3.4).
    let is_flushed = value.abs() < f32::MIN_POSITIVE && number == 0.0;
    // Integers may be kept symmetric: the least code is not used, also where a quotient rounds to it.
    let is_symmetric = number == -types.element.max() && types.element.decode(rounded.code) < number;
    (is_equal || is_flushed || is_symmetric || rounded.saturated && !number.is_finite(), rounded)
}

/// Elements of a block that follow a way under a scale, at most `most` of them being looked at.
pub fn count(types: &Types, way: &Way, block: &Block, scale: f64, most: usize) -> usize {
    let pairs = block.values.iter().zip(&block.codes).take(most);
    pairs.filter(|(value, code)| follows(types, way, **value, **code, scale).0).count()
}

/// Whether all elements of a block follow a way under a scale.
pub fn all_follow(types: &Types, way: &Way, block: &Block, scale: f64) -> bool {
    block.values.iter().zip(&block.codes).all(|(value, code)| follows(types, way, *value, *code, scale).0)
}

/// The element of a block that does not follow a way under its scale, the first one: its place in the block, the stored code and the
/// way's.
pub fn first_other(types: &Types, way: &Way, block: &Block, scale: f64) -> Option<(usize, u8, u8)> {
    let pairs = block.values.iter().zip(&block.codes).enumerate();
    pairs
        .map(|(at, (value, code))| (at, *code, follows(types, way, *value, *code, scale)))
        .find(|(_, _, (is_followed, _))| !is_followed)
        .map(|(at, code, (_, rounded))| (at, code, rounded.code))
}

/// Elements of a block that are clamped under a scale, and those of them that are stored as infinity or NaN.
pub fn count_saturated(types: &Types, way: &Way, block: &Block, scale: f64) -> (usize, usize) {
    let of = |(value, code): (&f32, &u8)| (follows(types, way, *value, *code, scale).1.saturated, *code);
    let clamped = block.values.iter().zip(&block.codes).map(of).filter(|(saturated, _)| *saturated);
    clamped
        .fold((0, 0), |(all, lost), (_, code)| (all + 1, lost + usize::from(!types.element.decode(code).is_finite())))
}

/// The block's zeros by the sign of the input and of the stored code: counts of stored positive and negative zeros whose input is a zero
/// of the other sign or a number of the other sign.
pub fn turned_zeros(types: &Types, block: &Block) -> usize {
    let pairs = block.values.iter().zip(&block.codes);
    pairs
        .filter(|(value, code)| {
            let number = types.element.decode(**code);
            number == 0.0
                && number.is_sign_negative() != value.is_sign_negative()
                && types.element.max_exponent().is_some()
        })
        .count()
}

/// Root of the mean square of `x - element * scale` over that of `x`; 0 of a block of zeros.
pub fn relative_error(values: &[f32], numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut error, mut size) = (0.0, 0.0);
    for (value, number) in values.iter().zip(numbers) {
        error += (f64::from(*value) - number).powi(2);
        size += f64::from(*value).powi(2);
    }
    if size == 0.0 { 0.0 } else { (error / size).sqrt() }
}
