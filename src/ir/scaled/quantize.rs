//! Quantisation of a tensor by a rule, and the numbers that elements and scales stand for.

use crate::name::hint;
use crate::num::{Direction, F32, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::element_quotient::Quotient;
use super::element_type::{E2M1, E2M3, E3M2, E4M3, E5M2, Element, INT4, INT8, Rounding, UINT4, UINT8};
use super::exponent::Maximum;
use super::extreme::Extreme;
use super::rule_rows::rules_of;
use super::scale_blocks::Blocks;
use super::scale_rule::{Rule, UnderSmallest};
use super::scale_type::ScaleType;

/// A scaled format: elements, scales, and how many elements share one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Its name: `mxfp8`.
    pub name: &'static str,
    /// The type of its elements.
    pub element: &'static Element,
    /// The type of its scales.
    pub scales: ScaleType,
    /// Elements of a block; `None` of formats with one scale a channel.
    pub block: Option<usize>,
}

const fn format(name: &'static str, element: &'static Element, scales: ScaleType, block: Option<usize>) -> Format {
    Format { name, element, scales, block }
}

/// All formats. Sources: OCP MX 1.0, section 5.2 (MX formats); NVIDIA's NVFP4; google/qwix and google/aqt (integers).
pub static FORMATS: &[Format] = &[
    format("mxfp8", &E4M3, ScaleType::E8M0, Some(32)),
    format("mxfp8_e5m2", &E5M2, ScaleType::E8M0, Some(32)),
    format("mxfp6_e3m2", &E3M2, ScaleType::E8M0, Some(32)),
    format("mxfp6_e2m3", &E2M3, ScaleType::E8M0, Some(32)),
    format("mxfp4", &E2M1, ScaleType::E8M0, Some(32)),
    format("nvfp4", &E2M1, ScaleType::E4M3, Some(16)),
    format("int8", &INT8, ScaleType::Float(DType::F32), None),
    format("int4", &INT4, ScaleType::Float(DType::F32), None),
    format("int8_bf16", &INT8, ScaleType::Float(DType::BF16), None),
    format("int4_bf16", &INT4, ScaleType::Float(DType::BF16), None),
    format("uint8", &UINT8, ScaleType::Float(DType::F32), None),
    format("uint4", &UINT4, ScaleType::Float(DType::F32), None),
    format("uint8_bf16", &UINT8, ScaleType::Float(DType::BF16), None),
    format("uint4_bf16", &UINT4, ScaleType::Float(DType::BF16), None),
    format("fp8", &E4M3, ScaleType::Float(DType::F32), None),
    format("fp8_e5m2", &E5M2, ScaleType::Float(DType::F32), None),
];

/// The format with this name.
pub fn find_format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Why a tensor cannot be quantised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantizeError {
    /// The text names no format and rule.
    #[error("there is no rule `{text}`; {hint}")]
    UnknownRule {
        /// The text that was given.
        text: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// The input is of another type than f32, bf16 and f16.
    #[error("the input is {0}, not f32, bf16 or f16")]
    DType(DType),
    /// The axis, from 0, does not exist.
    #[error("there is no axis {axis} in dims {dims:?}")]
    Axis {
        /// The axis asked for.
        axis: usize,
        /// The input's dims.
        dims: Vec<usize>,
    },
    /// A block of no elements.
    #[error("a block has one element at least, not 0")]
    EmptyBlock,
}

/// A quantised tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantized {
    /// A code an element, in the input's dims: of its type where tensors have it, of u8 otherwise.
    pub elements: Tensor,
    /// A scale a block, in the dims of [`Blocks::counts`].
    pub scales: Tensor,
    /// The per-tensor scale of NVFP4: the input's largest magnitude over 2688.
    pub per_tensor: Option<f32>,
    /// The zero points, in the dims of the scales, of rules and element types that have them: integers as s32, floats in the type of the
    /// scales.
    pub zero_points: Option<Tensor>,
}

/// The format and the rule that a text names: `mxfp8/RCEIL/c`, `mxfp4/RCEIL/modelopt mxfp4`, `nvfp4/NVFP4/torchao`, `int8/AMAX-127`.
/// The last part is a sub-rule or the beginning of a library's name, and the first row is meant without it; the format is mxfp8 without
/// the first part.
///
/// # Errors
/// If there is no such format or rule; the error lists what there is.
pub fn find_rule(text: &str) -> Result<(&'static Format, &'static Rule), QuantizeError> {
    let mut parts = text.split('/').peekable();
    let format = match parts.peek().and_then(|part| find_format(part)) {
        Some(format) => {
            parts.next();
            Some(format)
        }
        None => find_format("mxfp8"),
    };
    let known = || {
        let all = FORMATS.iter().flat_map(|format| {
            rules_of(format.scales, format.element)
                .into_iter()
                .map(|rule| format!("{}/{}/{}", format.name, rule.name, rule.sub_rule))
        });
        let all: Vec<String> = all.collect();
        QuantizeError::UnknownRule { text: text.to_string(), hint: hint(text, all.iter().map(String::as_str)) }
    };
    let format = format.ok_or_else(known)?;
    let name = parts.next().unwrap_or("");
    let form = parts.collect::<Vec<_>>().join("/");
    let rules = rules_of(format.scales, format.element);
    let of_name = rules.into_iter().filter(|rule| rule.name.eq_ignore_ascii_case(name));
    let found =
        of_name.into_iter().find(|rule| form.is_empty() || rule.sub_rule == form || rule.library.starts_with(&form));
    found.map(|rule| (format, rule)).ok_or_else(known)
}

/// The largest magnitude of a tensor that is finite, over 2688: the per-tensor scale of NVFP4, 1 of a tensor of zeros.
pub fn per_tensor_scale(values: &[f32]) -> f32 {
    let largest = values.iter().filter(|value| value.is_finite()).fold(0f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 { 1.0 } else { largest / 2688.0 }
}

/// Quantises a tensor by a rule in blocks along an axis; `block` is the format's where it is `None`, and the whole axis where the format
/// has none. Elements are as the rule's library rounds them, saturated.
///
/// # Errors
/// If the input is of another type than f32, bf16 and f16, or has no such axis.
pub fn quantize(
    input: &Tensor,
    format: &Format,
    rule: &Rule,
    axis: usize,
    block: Option<usize>,
) -> Result<Quantized, QuantizeError> {
    let dtype = input.dtype();
    if !matches!(dtype, DType::F32 | DType::BF16 | DType::F16) {
        return Err(QuantizeError::DType(dtype));
    }
    let dims = input.dims().to_vec();
    let along = *dims.get(axis).ok_or_else(|| QuantizeError::Axis { axis, dims: dims.clone() })?;
    let mut sides = vec![1; dims.len()];
    sides[axis] = block.or(format.block).unwrap_or(along.max(1));
    let blocks = Blocks::new(&dims, &sides).ok_or(QuantizeError::EmptyBlock)?;
    let values = input.data().to_f32s();
    let per_tensor = rule.has_per_tensor().then(|| per_tensor_scale(&values));
    let g = per_tensor.unwrap_or(1.0);
    let has_zero = rule.has_zero_points() || format.element.is_integer() && format.element.min() == 0.0;
    let (mut codes, mut scales, mut zeros) = (vec![0u8; values.len()], Vec::new(), Vec::new());
    for block in 0..blocks.len() {
        let positions = blocks.positions(block);
        let extreme = Extreme::of(positions.iter().map(|at| values[*at]), dtype);
        let one = match format.scales {
            ScaleType::Float(dtype) | ScaleType::Inverse(dtype) => {
                dtype.format().map_or(0, |format| format.encode(1.0))
            }
            ScaleType::E8M0 => 127,
            ScaleType::E4M3 => 0x38,
        };
        let scale = rule.codes(&extreme, format.element, format.scales, g).first().copied().unwrap_or(one);
        scales.push(scale);
        let zero = if has_zero { rule.zero_point(&extreme, format.element).unwrap_or(0.0) } else { 0.0 };
        // A float zero point is stored in the type of the scales.
        let zero = if rule.has_integer_zero_points() { zero } else { rounded_as(format.scales, zero) };
        zeros.push(zero);
        for at in positions {
            let x = Maximum { value: values[at], dtype };
            codes[at] = rule.element(format.element, &x, format.scales, scale, g, zero);
        }
    }
    let (scales, zeros) = (scale_data(format, scales), zero_data(format, rule, zeros));
    let elements = match format.element.dtype {
        Some(DType::S8) => Data::S8(codes.into_iter().map(|code| code as i8).collect()),
        Some(DType::U8) | None => Data::U8(codes),
        Some(dtype) => Data::Coded(dtype, codes),
    };
    let counts = blocks.counts();
    let zero_points = has_zero.then(|| Tensor::new(&counts, zeros));
    Ok(Quantized {
        elements: Tensor::new(&dims, elements),
        scales: Tensor::new(&counts, scales),
        per_tensor,
        zero_points,
    })
}

/// Codes of scales as their type has them.
fn scale_data(format: &Format, scales: Vec<u64>) -> Data {
    match format.scales {
        ScaleType::E8M0 => Data::Coded(DType::F8E8M0FNU, scales.into_iter().map(|code| code as u8).collect()),
        ScaleType::E4M3 => Data::Coded(DType::F8E4M3FN, scales.into_iter().map(|code| code as u8).collect()),
        ScaleType::Float(DType::BF16) => {
            Data::BF16(scales.into_iter().map(|code| half::bf16::from_bits(code as u16)).collect())
        }
        ScaleType::Float(_) | ScaleType::Inverse(_) => {
            Data::F32(scales.into_iter().map(|code| f32::from_bits(code as u32)).collect())
        }
    }
}

/// Zero points: integers as s32, floats in the type of the scales.
fn zero_data(format: &Format, rule: &Rule, zeros: Vec<f64>) -> Data {
    match format.scales {
        _ if rule.has_integer_zero_points() => Data::S32(zeros.into_iter().map(|zero| zero as i32).collect()),
        ScaleType::Float(DType::BF16) => Data::BF16(zeros.into_iter().map(half::bf16::from_f64).collect()),
        _ => Data::F32(zeros.into_iter().map(|zero| zero as f32).collect()),
    }
}

/// A number rounded to the type of float scales.
fn rounded_as(scales: ScaleType, value: f64) -> f64 {
    let format = match scales {
        ScaleType::Float(dtype) | ScaleType::Inverse(dtype) => dtype.format(),
        ScaleType::E8M0 | ScaleType::E4M3 => None,
    };
    round_f64(format.unwrap_or(&F32), value, Direction::NearestEven)
}

impl Rule {
    /// Rounding of the elements by the rule's library.
    pub fn rounding(&self) -> Rounding {
        if self.library == "modelopt mxfp4" { Rounding::TiesTowardZero } else { Rounding::NearestEven }
    }

    /// Form of the quotient that becomes an element.
    pub fn quotient(&self, scales: ScaleType) -> Quotient {
        match (scales, self.library) {
            (ScaleType::E8M0, _) => Quotient::Exact,
            (ScaleType::E4M3, "torchao") => Quotient::ReciprocalOfProduct,
            (ScaleType::E4M3, "jax") => Quotient::Reciprocals,
            (ScaleType::E4M3, "jax (divided)") => Quotient::Twice,
            (ScaleType::E4M3, "qwix") => Quotient::InTypeOfInput,
            (ScaleType::Float(_) | ScaleType::Inverse(_), _) => self.float_quotient(),
            (ScaleType::E4M3, _) => Quotient::OfProduct,
        }
    }

    /// Code of an element under a scale, as the rule's library has it: saturated, and NaN where the input or the scale is.
    /// `zero` is the zero point, 0 where there is none.
    pub fn element(&self, element: &Element, x: &Maximum, scales: ScaleType, scale: u64, g: f32, zero: f64) -> u8 {
        let s = match (scales, scale, self.under_smallest) {
            (ScaleType::E8M0, 0, UnderSmallest::SmallestNormal) => f64::from(f32::MIN_POSITIVE),
            (ScaleType::E8M0, 0, UnderSmallest::One) => 1.0,
            (ScaleType::E8M0, 0, UnderSmallest::Flushed) => 0.0,
            _ => scales.decode(scale),
        };
        if x.value.is_nan() || s.is_nan() || s == 0.0 && x.value == 0.0 {
            return element.nan();
        }
        let sign = if x.value.is_sign_negative() { -1.0 } else { 1.0 };
        let (dividend, divisor) = self.quotient(scales).operands(x, s, g);
        if divisor == 0.0 || divisor.is_infinite() || !dividend.is_finite() {
            let end = if divisor.is_infinite() { 0.0 } else { element.max() };
            return element.round(sign * end, 1.0, Rounding::NearestEven).code;
        }
        let rounded = self.quotient(scales).element(x, [s, zero], g, element, self.rounding());
        rounded.map_or_else(|| element.nan(), |rounded| rounded.code)
    }
}
