//! Rules that give a block its scale, one row a library's form of a rule.
//!
//! Each row follows the operations of public source, which it names. Rows of one rule differ in rounding, in the bytes of
//! zero, infinite and NaN blocks, or in the divisor of elements under the smallest scale.

use crate::num::{Direction, F8E4M3FN, round_f64};

use super::affine::{self, Affine};
use super::element_quotient::Quotient;
use super::element_type::Element;
use super::exponent::{self, Maximum};
use super::extreme::Extreme;
use super::scale_type::ScaleType;

/// Codes of the blocks that arithmetic does not decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges {
    /// Codes of a block of zeros; empty where any is taken.
    pub zero: &'static [u64],
    /// Codes of a block with an infinity.
    pub infinite: Infinite,
    /// Codes of a block with a NaN.
    pub nan: &'static [u64],
    /// Whether the maximum may drop a NaN, as a CPU's does in f32.
    pub may_lose_nan: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Infinite {
    /// Codes of their own.
    Codes(&'static [u64]),
    /// The rule's own arithmetic on the bits of an infinity.
    AsNumber,
}

/// A function from a block's largest magnitude to the byte of its scale.
pub(super) type ExponentOf = fn(&Maximum, &Element) -> u8;

#[derive(Clone, Copy, Debug)]
pub(super) enum Arithmetic {
    /// A byte of a power of two.
    Exponent(ExponentOf),
    /// The ceiling of a log that a library rounds to within an ulp: bytes of the log and of its two neighbours.
    ExponentOfLog,
    /// The e4m3 code of `a / 6` over the per-tensor scale, in this order.
    Fp4(Fp4),
    /// `a / divisor`; `None` stands for the element's largest number.
    Quotient(Option<f64>, Division),
    /// Of integers, from both ends of the block.
    Affine(Affine),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Fp4 {
    /// `a / 6 / g`, not below 2^-6.
    Torchao,
    /// `a / (6 g)`, not below 2^-9; 1 where that is zero.
    Modelopt,
    /// The largest `x / g`, over 6.
    InputDivided,
    /// The largest `x (1 / g)`, over 6: compilers divide by a single number so (FACTS 3.5).
    InputMultiplied,
    /// `(a (1 / 6)) (1 / g)`.
    Multiplied,
    /// `a / 6`, in the type of the input; 1 below the root of the smallest normal number.
    Qwix,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Division {
    /// In the type of the input.
    InTypeOfInput,
    /// In f32.
    InF32,
    /// Times the f32 reciprocal.
    ByReciprocal,
}

impl Division {
    /// A block's largest magnitude over a divisor.
    fn of(self, max: &Maximum, divisor: f32) -> f32 {
        match self {
            Division::InTypeOfInput => max.in_type(max.value / divisor),
            Division::InF32 => max.value / divisor,
            Division::ByReciprocal => max.value * (1.0 / divisor),
        }
    }
}

/// Divisor of elements whose scale has byte 0, which stands for 2^-127.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderSmallest {
    /// 2^-127 itself.
    Itself,
    /// 2^-126, the smallest normal f32 (torchao).
    SmallestNormal,
    /// 1 (torchao's RCEIL).
    One,
    /// Zero, into which a CPU flushes 2^-127: elements become NaN or the largest number.
    Flushed,
}

/// A rule as one library has it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: `FLOOR`, `RCEIL`, `NVFP4`.
    pub name: &'static str,
    /// The form of its arithmetic: a letter for RCEIL, words otherwise.
    pub sub_rule: &'static str,
    /// The arithmetic in words, `a` being the block's largest magnitude and `g` the per-tensor scale.
    pub how: &'static str,
    /// The library that has it, `formula` if none was run.
    pub library: &'static str,
    /// Public source that was followed.
    pub source: &'static str,
    /// Divisor of elements under byte 0 of e8m0.
    pub under_smallest: UnderSmallest,
    pub(super) arithmetic: Arithmetic,
    pub(super) edges: Edges,
}

impl Rule {
    /// Whether its scales lie over a per-tensor scale.
    pub fn has_per_tensor(&self) -> bool {
        self.name == "NVFP4"
    }

    /// Codes of a block's scale by this rule, the usual one first: bytes of e8m0 and e4m3, bits of floats. Empty where the rule says
    /// nothing of a block, as of a zero block under float scales. `g` is the per-tensor scale, 1 where there is none.
    pub fn codes(&self, extreme: &Extreme, element: &Element, scales: ScaleType, g: f32) -> Vec<u64> {
        if extreme.has_nan {
            let mut codes = self.edges.nan.to_vec();
            if self.edges.may_lose_nan {
                codes.extend(self.codes(&Extreme { has_nan: false, ..*extreme }, element, scales, g));
            }
            return codes;
        }
        if extreme.value == 0.0 {
            return self.edges.zero.to_vec();
        }
        if let (true, Infinite::Codes(codes)) = (extreme.value.is_infinite(), self.edges.infinite) {
            return codes.to_vec();
        }
        let max = Maximum { value: extreme.value, dtype: extreme.dtype };
        match self.arithmetic {
            Arithmetic::Exponent(of) => vec![u64::from(of(&max, element))],
            Arithmetic::ExponentOfLog => exponent::log2_in_type(&max, element).into_iter().map(u64::from).collect(),
            Arithmetic::Fp4(form) => {
                vec![F8E4M3FN.encode(round_f64(&F8E4M3FN, f64::from(fp4(form, &max, g)), Direction::NearestEven))]
            }
            Arithmetic::Quotient(divisor, division) => {
                let divisor = divisor.unwrap_or(element.max()) as f32;
                let scale = division.of(&max, divisor);
                let divided = f64::from(divisor) / f64::from(max.value);
                stored(scales, scale, [divided, f64::from(divisor / max.value)])
            }
            Arithmetic::Affine(form) => {
                let scale = form.scale(extreme, element);
                stored(scales, scale, [1.0 / f64::from(scale); 2])
            }
        }
    }

    /// The scale of a block before it is rounded to the type that it is stored in; `None` of rules whose scales are codes.
    pub fn float_scale(&self, extreme: &Extreme, element: &Element) -> Option<f32> {
        let max = Maximum { value: extreme.value, dtype: extreme.dtype };
        match self.arithmetic {
            Arithmetic::Quotient(divisor, division) => Some(division.of(&max, divisor.unwrap_or(element.max()) as f32)),
            Arithmetic::Affine(form) => Some(form.scale(extreme, element)),
            _ => None,
        }
    }

    /// Whether the rule has a zero point for each block; other rules of integers have one for the type, the middle element.
    pub fn has_zero_points(&self) -> bool {
        matches!(self.arithmetic, Arithmetic::Affine(form) if form != Affine::NoClip)
    }

    /// Whether the zero points are integers, elements of the type.
    pub fn has_integer_zero_points(&self) -> bool {
        !matches!(self.arithmetic, Arithmetic::Affine(Affine::FloatMiddle | Affine::FloatLeast))
    }

    /// Form of the quotient that becomes an element under float scales.
    pub(super) fn float_quotient(&self) -> Quotient {
        match self.arithmetic {
            Arithmetic::Affine(Affine::RoundedSum | Affine::RoundedSumByReciprocal) => Quotient::PlusZeroPoint,
            Arithmetic::Affine(Affine::FloatMiddle) => Quotient::LessMiddle,
            Arithmetic::Affine(Affine::FloatLeast) => Quotient::LessZeroPoint,
            Arithmetic::Affine(_) => Quotient::ReciprocalInType,
            _ => Quotient::InTypeOfInput,
        }
    }

    /// The zero point of a block: an integer, or a float in the type of the input; `None` where the block says nothing.
    pub fn zero_point(&self, extreme: &Extreme, element: &Element) -> Option<f64> {
        if extreme.has_nan || extreme.value.is_infinite() {
            return None;
        }
        Some(match self.arithmetic {
            Arithmetic::Affine(form) => form.zero_point(extreme, element),
            _ => affine::middle(element),
        })
    }
}

/// Codes of a scale as it is stored: a float, or a reciprocal, which is that of the rounded scale or one of `others`.
fn stored(scales: ScaleType, scale: f32, others: [f64; 2]) -> Vec<u64> {
    let (ScaleType::Float(dtype) | ScaleType::Inverse(dtype)) = scales else { return Vec::new() };
    let Some(format) = dtype.format() else { return Vec::new() };
    let code = |value: f64| format.encode(round_f64(format, value, Direction::NearestEven));
    if let ScaleType::Float(_) = scales {
        return vec![code(scale.into())];
    }
    let mut codes = vec![code((1.0 / scale).into())];
    for other in others.map(code) {
        if !codes.contains(&other) {
            codes.push(other);
        }
    }
    codes
}

/// The f32 that NVFP4's forms cast to e4m3; none is above 448.
fn fp4(form: Fp4, max: &Maximum, g: f32) -> f32 {
    let (a, largest) = (max.value, 448.0);
    match form {
        Fp4::Torchao => (a / 6.0 / g).clamp(2f32.powi(-6), largest),
        Fp4::Modelopt => match a / (6.0 * g) {
            0.0 => 1.0,
            scale => scale.clamp(2f32.powi(-9), largest),
        },
        Fp4::InputDivided => (a / g / 6.0).min(largest),
        Fp4::InputMultiplied => (a * (1.0 / g) / 6.0).min(largest),
        Fp4::Multiplied => ((a * (1.0 / 6.0)) * (1.0 / g)).min(largest),
        Fp4::Qwix => exponent::smallest_one(max, a / 6.0).min(largest),
    }
}
