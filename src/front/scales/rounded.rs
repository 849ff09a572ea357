//! Elements against their scales: by which rounding they follow, and whether they were rounded by that scale or by another one.

use crate::scaled::{Element, Extreme, Maximum, Quotient, Rounding, ScaleType, rules_of};
use crate::tensor::DType;

use super::zero_use::ZeroUse;

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
    /// The part of the zero points.
    pub zero: ZeroUse,
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
    /// The stored zero point.
    pub zero: Option<f64>,
}

/// The types of a block's parts.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    /// The type of the elements.
    pub element: &'static Element,
    /// The type of the scales.
    pub scales: ScaleType,
    /// The type of the input.
    pub dtype: DType,
    /// The type of the zero points.
    pub zeros: Option<DType>,
}

/// Code of a scale some steps beside another one: of floats a step is a factor of two.
pub fn code_beside(scales: ScaleType, code: u64, step: i64) -> i64 {
    let unit = match scales {
        // A step of a float scale is a factor of two, as those of powers of two are.
        ScaleType::Float(dtype) => dtype.format().map_or(1, |format| 1i64 << format.fraction_bits),
        // The larger a scale, the smaller its reciprocal.
        ScaleType::Inverse(dtype) => dtype.format().map_or(-1, |format| -(1i64 << format.fraction_bits)),
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
fn follows(types: &Types, way: &Way, value: f32, stored: u8, numbers: [f64; 2]) -> (bool, crate::scaled::Rounded) {
    let x = Maximum { value, dtype: types.dtype };
    let Some(rounded) = way.quotient.element(&x, numbers, way.g, types.element, way.rounding) else {
        let code = types.element.round(value.signum().into(), 1e-30, way.rounding).code;
        return (stored == code, crate::scaled::Rounded { code, saturated: true });
    };
    let number = types.element.decode(stored);
    // Zeros of both signs are one number: a library may drop the sign of what it rounds to zero.
    let is_equal = stored == rounded.code || number == 0.0 && types.element.decode(rounded.code) == 0.0;
    // Processors that flush take subnormal inputs for zero (FACTS 3.4).
    let is_flushed = value.abs() < f32::MIN_POSITIVE && number == numbers[1];
    // Integers may be kept symmetric: the least code is not used, also where a quotient rounds to it.
    let is_symmetric =
        types.zeros.is_none() && number == -types.element.max() && types.element.decode(rounded.code) < number;
    (is_equal || is_flushed || is_symmetric || rounded.saturated && !number.is_finite(), rounded)
}

/// The scale of a block's elements and their zero point, 0 where there is none.
fn numbers(way: &Way, block: &Block, scale: f64) -> [f64; 2] {
    [scale, block.zero.map_or(0.0, |zero| way.zero.of(zero))]
}

/// Elements of a block that follow a way under a scale, at most `most` of them being looked at.
pub fn count(types: &Types, way: &Way, block: &Block, scale: f64, most: usize) -> usize {
    let (pairs, numbers) = (block.values.iter().zip(&block.codes).take(most), numbers(way, block, scale));
    pairs.filter(|(value, code)| follows(types, way, **value, **code, numbers).0).count()
}

/// Whether all elements of a block follow a way under a scale.
pub fn all_follow(types: &Types, way: &Way, block: &Block, scale: f64) -> bool {
    let all = |scale: f64| {
        let numbers = numbers(way, block, scale);
        block.values.iter().zip(&block.codes).all(|(value, code)| follows(types, way, *value, *code, numbers).0)
    };
    if all(scale) {
        return true;
    }
    // Elements may be rounded before the scale is kept in a narrower type (GPTQ: f32, then f16).
    if let ScaleType::Float(dtype) = types.scales
        && dtype != types.dtype
        && scale == types.scales.decode(block.scale)
    {
        return wide_scales(types, block).into_iter().any(all);
    }
    // The scale behind a stored reciprocal may be an ulp beside that one's own reciprocal.
    let near = scale as f32;
    matches!(types.scales, ScaleType::Inverse(_))
        && [near, near.next_up(), near.next_down()].iter().any(|near| all((*near).into()))
}

/// Scales that rules give a block and that are stored as its own.
fn wide_scales(types: &Types, block: &Block) -> Vec<f64> {
    let extreme = Extreme::of(block.values.iter().copied(), types.dtype);
    let mut found: Vec<f64> = Vec::new();
    for rule in rules_of(types.scales, types.element) {
        let is_stored = rule.codes(&extreme, types.element, types.scales, 1.0).contains(&block.scale);
        let wide = rule.float_scale(&extreme, types.element).map(f64::from).filter(|_| is_stored);
        found.extend(wide.filter(|wide| !found.contains(wide)));
    }
    found
}

/// The element of a block that does not follow a way under its scale, the first one: its place in the block, the stored code and the
/// way's.
pub fn first_other(types: &Types, way: &Way, block: &Block, scale: f64) -> Option<(usize, u8, u8)> {
    let (pairs, numbers) = (block.values.iter().zip(&block.codes).enumerate(), numbers(way, block, scale));
    pairs
        .map(|(at, (value, code))| (at, *code, follows(types, way, *value, *code, numbers)))
        .find(|(_, _, (is_followed, _))| !is_followed)
        .map(|(at, code, (_, rounded))| (at, code, rounded.code))
}

/// Elements of one block under its scale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed {
    /// Elements that are clamped.
    pub clamped: usize,
    /// Clamped elements that are stored as infinity or NaN.
    pub lost: usize,
    /// Whether all elements follow the way.
    pub all: bool,
}

/// Whether the elements of a block follow a way under a scale, and how many are clamped, in one pass.
pub fn follow_in_one_pass(types: &Types, way: &Way, block: &Block, scale: f64) -> Followed {
    let numbers = numbers(way, block, scale);
    let mut found = Followed { all: true, ..Followed::default() };
    for (value, code) in block.values.iter().zip(&block.codes) {
        let (is_followed, rounded) = follows(types, way, *value, *code, numbers);
        found.all &= is_followed;
        if rounded.saturated {
            found.clamped += 1;
            found.lost += usize::from(!types.element.decode(*code).is_finite());
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaled::{INT8, UINT8};

    fn follows_alone(element: &'static Element, value: f32, code: u8, scale: f64, zero: Option<f64>) -> bool {
        let (scales, dtype, zeros) = (ScaleType::Float(DType::F32), DType::F32, zero.map(|_| DType::S32));
        let types = Types { element, scales, dtype, zeros };
        let way = Way { quotient: Quotient::Exact, rounding: Rounding::NearestEven, g: 1.0, zero: ZeroUse::Stored };
        let block = Block { values: vec![value], codes: vec![code], scale: 0, zero };
        count(&types, &way, &block, scale, 1) == 1
    }

    /// Without zero points -127 may stand for -128; with them each number has its element.
    #[test]
    fn integers_are_symmetric_without_zero_points_alone() {
        for (zero, is_followed) in [(None, true), (Some(0.0), false)] {
            assert_eq!(follows_alone(&INT8, -128.0, 0x81, 1.0, zero), is_followed, "{zero:?}");
            assert!(follows_alone(&INT8, -128.0, 0x80, 1.0, zero));
        }
    }

    /// A subnormal input that is taken for zero has the zero point's element.
    #[test]
    fn flushed_inputs_have_the_zero_point() {
        let tiny = f32::from_bits(1000);
        let scale = f64::from(f32::from_bits(10));
        assert!(follows_alone(&UINT8, tiny, 5, scale, Some(5.0)) && follows_alone(&UINT8, tiny, 105, scale, Some(5.0)));
        assert!(!follows_alone(&UINT8, tiny, 0, scale, Some(5.0)));
    }
}
