//! Rules that give a block its scale, one row a library's form of a rule.
//!
//! Each row follows the operations of public source, which it names. Rows of one rule differ in rounding, in the bytes of
//! zero, infinite and NaN blocks, or in the divisor of elements under the smallest scale.

use crate::num::{Direction, F8E4M3FN, round_f64};
use crate::tensor::DType;

use super::element::Element;
use super::exponent::{self, Maximum};

/// Kind of the scales of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleType {
    /// Bytes of powers of two: exponent + 127, 255 for NaN (OCP MX).
    E8M0,
    /// Codes of e4m3, one a block, over a per-tensor f32 where there is one (NVFP4).
    E4M3,
    /// Floats of the type, one a channel, group or block.
    Float(DType),
}

impl ScaleType {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            ScaleType::E8M0 => "e8m0",
            ScaleType::E4M3 => "e4m3",
            ScaleType::Float(dtype) => dtype.name(),
        }
    }

    /// Number that a scale's code stands for; floats are coded by their bits.
    pub fn decode(self, code: u64) -> f64 {
        match self {
            ScaleType::E8M0 => crate::num::F8E8M0FNU.decode(code),
            ScaleType::E4M3 => F8E4M3FN.decode(code),
            ScaleType::Float(dtype) => dtype.format().map_or(f64::NAN, |format| format.decode(code)),
        }
    }
}

/// A block's largest magnitude, with all that its elements may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extreme {
    /// The largest magnitude of the elements that are numbers; infinite where one is, 0 where all are zero or NaN.
    pub value: f32,
    /// Whether an element is NaN.
    pub has_nan: bool,
    /// The type of the input.
    pub dtype: DType,
}

impl Extreme {
    /// The extreme of a block's elements.
    pub fn of(values: impl IntoIterator<Item = f32>, dtype: DType) -> Extreme {
        let mut extreme = Extreme { value: 0.0, has_nan: false, dtype };
        for value in values {
            extreme.has_nan |= value.is_nan();
            // A NaN is never the larger one.
            extreme.value = extreme.value.max(value.abs());
        }
        extreme
    }

    /// Whether a rule's arithmetic decides the scale: the block has a number other than zero, and neither infinity nor NaN.
    pub fn is_ordinary(&self) -> bool {
        self.value > 0.0 && self.value.is_finite() && !self.has_nan
    }
}

/// Codes of the blocks that arithmetic does not decide.
#[derive(Clone, Copy, Debug)]
struct Edges {
    zero: &'static [u64],
    infinite: Infinite,
    nan: &'static [u64],
    /// Whether the maximum may drop a NaN, as that of XLA:CPU does in f32.
    may_lose_nan: bool,
}

#[derive(Clone, Copy, Debug)]
enum Infinite {
    Codes(&'static [u64]),
    /// The rule's own arithmetic on the bits of an infinity.
    AsNumber,
}

type ExponentOf = fn(&Maximum, &Element) -> u8;

#[derive(Clone, Copy, Debug)]
enum Arithmetic {
    Exponent(ExponentOf),
    /// The ceiling of a log that a library rounds to within an ulp: bytes of the log and of its two neighbours.
    ExponentOfLog,
    /// The e4m3 code of `a / 6` over the per-tensor scale, in this order.
    Fp4(Fp4),
    /// `a / divisor`; `None` stands for the element's largest number.
    Quotient(Option<f64>, Division),
}

#[derive(Clone, Copy, Debug)]
enum Fp4 {
    /// `a / 6 / g`, not below 2^-6.
    Torchao,
    /// `a / (6 g)`, not below 2^-9; 1 where that is zero.
    Modelopt,
    /// The largest `x / g`, over 6.
    InputDivided,
    /// The largest `x (1 / g)`, over 6: XLA:CPU divides by a single number so.
    InputMultiplied,
    /// `(a (1 / 6)) (1 / g)`.
    Multiplied,
    /// `a / 6`, in the type of the input; 1 below the root of the smallest normal number.
    Qwix,
}

#[derive(Clone, Copy, Debug)]
enum Division {
    InTypeOfInput,
    InF32,
    ByReciprocal,
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
    /// Zero, into which XLA:CPU flushes 2^-127: elements become NaN or the largest number.
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
    arithmetic: Arithmetic,
    edges: Edges,
}

const fn edges(zero: &'static [u64], infinite: &'static [u64], nan: &'static [u64], may_lose_nan: bool) -> Edges {
    Edges { zero, infinite: Infinite::Codes(infinite), nan, may_lose_nan }
}

const AS_BITS: Edges = Edges { zero: &[0], infinite: Infinite::AsNumber, nan: &[255], may_lose_nan: false };
const FP4_EDGES: Edges = edges(&[], &[126, 127], &[126, 127, 255], true);

macro_rules! rule {
    ($name:literal, $sub_rule:literal, $how:literal, $library:literal, $source:literal, $arithmetic:expr, $edges:expr, $under:ident) => {
        Rule {
            name: $name,
            sub_rule: $sub_rule,
            how: $how,
            library: $library,
            source: $source,
            under_smallest: UnderSmallest::$under,
            arithmetic: $arithmetic,
            edges: $edges,
        }
    };
}

use Arithmetic::{Exponent, ExponentOfLog, Fp4 as F, Quotient};

const BITS: &str = "bits of the f32 maximum";

/// All rules of e8m0 scales.
pub static E8M0_RULES: &[Rule] = &[
    Rule {
        sub_rule: BITS,
        ..rule!(
            "FLOOR",
            "",
            "floor(log2 a) - emax",
            "torchao",
            "OCP MX 1.0, section 6.3; torchao prototype/mx_formats/mx_tensor.py",
            Exponent(exponent::floor),
            AS_BITS,
            SmallestNormal
        )
    },
    Rule {
        sub_rule: BITS,
        ..rule!(
            "CEIL",
            "",
            "ceil(log2 a) - emax",
            "torchao",
            "torchao prototype/mx_formats/mx_tensor.py",
            Exponent(exponent::ceil),
            AS_BITS,
            SmallestNormal
        )
    },
    Rule {
        sub_rule: BITS,
        ..rule!(
            "EVEN",
            "",
            "FLOOR of a with 2^(22-m) added to its bits",
            "torchao",
            "torchao prototype/mx_formats/mx_tensor.py",
            Exponent(exponent::even),
            AS_BITS,
            SmallestNormal
        )
    },
    rule!(
        "EVEN",
        "even_round, byte by to_e8m0_uint8",
        "as torchao's EVEN, bytes from 1 to 254",
        "quark",
        "AMD quark torch/quantization/utils.py, torch/utils/numerics.py",
        Exponent(exponent::even_from_one),
        edges(&[1], &[254], &[127], false),
        Itself
    ),
    rule!(
        "RCEIL",
        "a",
        "a / MAX in the type of the input, then its bits",
        "jax",
        "jax _src/cudnn/scaled_matmul_stablehlo.py on XLA:CPU, which flushes subnormal quotients",
        Exponent(exponent::divided_and_flushed),
        edges(&[0], &[255], &[255, 0], true),
        Flushed
    ),
    rule!(
        "RCEIL",
        "a",
        "a / MAX in the type of the input, then its bits",
        "jax (subnormals kept)",
        "jax _src/cudnn/scaled_matmul_stablehlo.py",
        Exponent(exponent::divided),
        edges(&[0], &[255], &[255, 0], true),
        Itself
    ),
    rule!(
        "RCEIL",
        "b",
        "a times f32(1 / MAX), then its bits",
        "TransformerEngine",
        "TransformerEngine common/util/ptx.cuh",
        Exponent(exponent::multiplied),
        edges(&[0], &[254], &[255], false),
        Itself
    ),
    rule!(
        "RCEIL",
        "c",
        "ceil of an f32 log2 of a / MAX",
        "torchao",
        "torchao prototype/mx_formats/mx_tensor.py, eager mode",
        Exponent(exponent::log2_of_f32),
        edges(&[0], &[254], &[255], false),
        One
    ),
    rule!(
        "RCEIL",
        "c",
        "ceil of an f32 log2 of a / MAX",
        "modelopt mxfp8",
        "NVIDIA modelopt torch/quantization/qtensor/mxfp8_tensor.py",
        Exponent(exponent::log2_of_f32),
        edges(&[0], &[254], &[0], false),
        Itself
    ),
    rule!(
        "RCEIL",
        "c",
        "ceil of an f32 log2 of a / MAX",
        "modelopt mxfp4",
        "NVIDIA modelopt torch/quantization/qtensor/mxfp4_tensor.py",
        Exponent(exponent::log2_of_f32),
        edges(&[0], &[0], &[0], false),
        Itself
    ),
    rule!(
        "RCEIL",
        "d",
        "bf16 product with bf16(1 / MAX), then its bits",
        "TransformerEngine (specialised kernels)",
        "TransformerEngine common/cast/mxfp8",
        Exponent(exponent::multiplied_in_bf16),
        edges(&[0], &[254], &[255], false),
        Itself
    ),
    rule!(
        "RCEIL",
        "e",
        "log2, ceil and power in the type of the input",
        "qwix",
        "google/qwix _src/core/qarray.py",
        ExponentOfLog,
        edges(&[127], &[255], &[255, 127], true),
        Itself
    ),
    rule!(
        "NEAREST-LOG2",
        "round half to even of log2(a / MAX)",
        "log2(a / MAX) to the nearest integer",
        "earlier mlx, FlyDSL",
        "mlx before ml-explore/mlx#4353, FlyDSL before #590",
        Exponent(exponent::nearest_log2),
        edges(&[0], &[254], &[255], false),
        Itself
    ),
    rule!(
        "NEAREST-VALUE",
        "cast of a / MAX to float8_e8m0fnu (nearest in value, half way up)",
        "a / MAX to the nearest power of two, half way up",
        "ml_dtypes",
        "ml_dtypes, cast to float8_e8m0fnu",
        Exponent(exponent::nearest_value),
        edges(&[255], &[255], &[255], false),
        Itself
    ),
];

/// All rules of e4m3 scales of e2m1 elements.
pub static E4M3_RULES: &[Rule] = &[
    rule!(
        "NVFP4",
        "per-tensor scale, reciprocal of the combined scale, smallest scale 2^-6",
        "e4m3 of a / 6 / g, from 2^-6",
        "torchao",
        "torchao prototype/mx_formats/nvfp4_tensor.py",
        F(Fp4::Torchao),
        Edges { zero: &[0x08], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4",
        "scale clamped to [2^-9, 448], zero blocks get scale 1, division by the product of both scales",
        "e4m3 of a / (6 g), from 2^-9, 1 of zero",
        "modelopt",
        "NVIDIA modelopt torch/quantization/qtensor/nvfp4_tensor.py",
        F(Fp4::Modelopt),
        Edges { zero: &[0x38], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4",
        "input divided by the per-tensor scale first, scale clipped to 448, division by the decoded scale",
        "e4m3 of max(x (1 / g)) / 6",
        "jax",
        "jax _src/cudnn/scaled_matmul_stablehlo.py on XLA:CPU, which multiplies by reciprocals",
        F(Fp4::InputMultiplied),
        Edges { zero: &[0], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4",
        "input divided by the per-tensor scale first, scale clipped to 448, division by the decoded scale",
        "e4m3 of max(x / g) / 6",
        "jax (divided)",
        "jax _src/cudnn/scaled_matmul_stablehlo.py",
        F(Fp4::InputDivided),
        Edges { zero: &[0], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4",
        "products with reciprocals",
        "e4m3 of (a (1 / 6)) (1 / g)",
        "formula",
        "the definition of NVFP4, by products",
        F(Fp4::Multiplied),
        Edges { zero: &[0], ..FP4_EDGES },
        Itself
    ),
];

/// All rules of e4m3 scales without a per-tensor scale.
pub static E4M3_ONE_LEVEL_RULES: &[Rule] = &[
    rule!(
        "NVFP4-1",
        "no per-tensor scale, reciprocal of the scale, smallest scale 2^-6",
        "e4m3 of a / 6, from 2^-6",
        "torchao",
        "torchao prototype/mx_formats/nvfp4_tensor.py",
        F(Fp4::Torchao),
        Edges { zero: &[0x08], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4-1",
        "no per-tensor scale; e4m3(a / 6), zero blocks get 1",
        "e4m3 of a / 6 in the type of the input, 1 of tiny blocks",
        "qwix",
        "google/qwix _src/core/qarray.py",
        F(Fp4::Qwix),
        Edges { zero: &[0x38], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4-1",
        "no per-tensor scale, from 2^-9",
        "e4m3 of a / 6, from 2^-9, 1 of zero",
        "formula",
        "modelopt's arithmetic with g = 1",
        F(Fp4::Modelopt),
        Edges { zero: &[0x38], ..FP4_EDGES },
        Itself
    ),
    rule!(
        "NVFP4-1",
        "no per-tensor scale",
        "e4m3 of a / 6",
        "formula",
        "the definition of NVFP4 with g = 1",
        F(Fp4::InputDivided),
        Edges { zero: &[0], ..FP4_EDGES },
        Itself
    ),
];

macro_rules! quotients {
    ($($name:literal, $divisor:expr, $library:literal, $source:literal;)*) => {
        &[$(
            rule!($name, "divided in the type of the input", "a over the divisor, in the type of the input", $library, $source, Quotient($divisor, Division::InTypeOfInput), edges(&[], &[], &[], true), Itself),
            rule!($name, "divided in f32", "a over the divisor, in f32", "formula", $source, Quotient($divisor, Division::InF32), edges(&[], &[], &[], true), Itself),
            rule!($name, "times the reciprocal", "a times f32(1 / divisor)", "formula", $source, Quotient($divisor, Division::ByReciprocal), edges(&[], &[], &[], true), Itself),
        )*]
    };
}

/// Rules of float scales of int8 elements.
pub static INT8_RULES: &[Rule] = quotients! {
    "AMAX-127", Some(127.0), "KV caches", "symmetric int8 up to 127";
    "AMAX-127.5", Some(127.5), "qwix, AQT", "google/qwix _src/core/numerics.py; google/aqt";
    "AMAX-128", Some(128.0), "formula", "symmetric int8 down to -128";
};

/// Rules of float scales of int4 elements.
pub static INT4_RULES: &[Rule] = quotients! {
    "AMAX-7", Some(7.0), "KV caches", "symmetric int4 up to 7";
    "AMAX-7.5", Some(7.5), "qwix, AQT", "google/qwix _src/core/numerics.py; google/aqt";
    "AMAX-8", Some(8.0), "formula", "symmetric int4 down to -8";
};

/// Rules of float scales of floating-point elements.
pub static FLOAT_RULES: &[Rule] = quotients! {
    "AMAX-MAX", None, "qwix", "google/qwix _src/core/numerics.py";
};

/// The rules of one type of scales and elements; NVFP4's with and without a per-tensor scale.
pub fn rules_of(scales: ScaleType, element: &Element) -> Vec<&'static Rule> {
    match scales {
        ScaleType::E8M0 if element.max_exponent().is_some() => E8M0_RULES.iter().collect(),
        ScaleType::E8M0 => Vec::new(),
        ScaleType::E4M3 => E4M3_RULES.iter().chain(E4M3_ONE_LEVEL_RULES).collect(),
        ScaleType::Float(_) => match element.name {
            "int8" => INT8_RULES.iter().collect(),
            "int4" => INT4_RULES.iter().collect(),
            _ => FLOAT_RULES.iter().collect(),
        },
    }
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
            Exponent(of) => vec![u64::from(of(&max, element))],
            ExponentOfLog => exponent::log2_in_type(&max, element).into_iter().map(u64::from).collect(),
            F(form) => {
                vec![F8E4M3FN.encode(round_f64(&F8E4M3FN, f64::from(fp4(form, &max, g)), Direction::NearestEven))]
            }
            Quotient(divisor, division) => {
                let divisor = divisor.unwrap_or(element.max()) as f32;
                let scale = match division {
                    Division::InTypeOfInput => max.in_type(max.value / divisor),
                    Division::InF32 => max.value / divisor,
                    Division::ByReciprocal => max.value * (1.0 / divisor),
                };
                let ScaleType::Float(dtype) = scales else { return Vec::new() };
                let Some(format) = dtype.format() else { return Vec::new() };
                vec![format.encode(round_f64(format, f64::from(scale), Direction::NearestEven))]
            }
        }
    }
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
