//! The rules as rows, each with its library and its public source.

use super::element_type::Element;
use super::exponent;
use super::float_rows::{AFFINE_RULES, FLOAT_RULES, INT4_RULES, INT8_RULES};
use super::scale_rule::{Arithmetic, Edges, Fp4, Infinite, Rule, UnderSmallest};
use super::scale_type::ScaleType;

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

use Arithmetic::{Exponent, ExponentOfLog, Fp4 as F};

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
        "jax _src/cudnn/scaled_matmul_stablehlo.py on a CPU, which flushes subnormal quotients",
        Exponent(exponent::ceil_of_flushed_quotient),
        edges(&[0], &[255], &[255, 0], true),
        Flushed
    ),
    rule!(
        "RCEIL",
        "a",
        "a / MAX in the type of the input, then its bits",
        "jax (subnormals kept)",
        "jax _src/cudnn/scaled_matmul_stablehlo.py",
        Exponent(exponent::ceil_of_quotient),
        edges(&[0], &[255], &[255, 0], true),
        Itself
    ),
    rule!(
        "RCEIL",
        "b",
        "a times f32(1 / MAX), then its bits",
        "TransformerEngine",
        "TransformerEngine common/util/ptx.cuh",
        Exponent(exponent::ceil_of_product),
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
        Exponent(exponent::ceil_of_bf16_product),
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
        "jax _src/cudnn/scaled_matmul_stablehlo.py on a CPU, which multiplies by reciprocals",
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

/// The rules of one type of scales and elements; NVFP4's with and without a per-tensor scale.
pub fn rules_of(scales: ScaleType, element: &Element) -> Vec<&'static Rule> {
    match scales {
        ScaleType::E8M0 if element.max_exponent().is_some() => E8M0_RULES.iter().collect(),
        ScaleType::E8M0 => Vec::new(),
        ScaleType::E4M3 => E4M3_RULES.iter().chain(E4M3_ONE_LEVEL_RULES).collect(),
        ScaleType::Float(_) | ScaleType::Inverse(_) => match element.name {
            "int8" | "uint8" => INT8_RULES.iter().chain(AFFINE_RULES).collect(),
            "int4" | "uint4" => INT4_RULES.iter().chain(AFFINE_RULES).collect(),
            _ => FLOAT_RULES.iter().collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::extreme::Extreme;
    use super::super::{ELEMENTS, FORMATS};
    use super::*;
    use crate::tensor::DType;

    /// The rules of a format are of its own elements: a block that reaches twice as far as the type has a scale of about two,
    /// of which reciprocals are stored as such. A power of two may be the next one, and a rule without a zero point takes half of
    /// the ends of an integer without a sign.
    #[test]
    fn a_block_of_twice_the_type_has_a_scale_of_two() {
        for format in FORMATS {
            let element = format.element;
            let reach = if element.is_integer() { (element.max() - element.min()) / 2.0 } else { element.max() };
            let block = [-2.0 * reach as f32, 2.0 * reach as f32];
            let mut stored_as = vec![format.scales];
            if let ScaleType::Float(dtype) = format.scales {
                stored_as.push(ScaleType::Inverse(dtype));
            }
            for scales in stored_as {
                let rules = rules_of(scales, element);
                assert!(!rules.is_empty(), "{}", format.name);
                for rule in rules {
                    let codes = rule.codes(&Extreme::of(block, DType::F32), element, scales, 1.0);
                    assert!(!codes.is_empty(), "{}/{}", format.name, rule.name);
                    for scale in codes.into_iter().map(|code| scales.decode(code)) {
                        assert!((1.0..=4.0).contains(&scale), "{}/{}, {scales:?}: {scale}", format.name, rule.name);
                    }
                }
            }
        }
    }

    /// Powers of two scale floats alone; scales of e4m3 stand over a scale of the tensor or alone.
    #[test]
    fn rules_are_of_elements_that_the_scales_are_for() {
        for element in ELEMENTS {
            assert_eq!(rules_of(ScaleType::E8M0, element).is_empty(), element.is_integer(), "{}", element.name);
        }
        let has_per_tensor: Vec<bool> =
            rules_of(ScaleType::E4M3, &super::super::E2M1).iter().map(|rule| rule.has_per_tensor()).collect();
        assert!(has_per_tensor.contains(&true) && has_per_tensor.contains(&false));
    }
}
