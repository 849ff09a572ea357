//! The rules of float scales as rows: of integers, with and without a zero point, and of floats.

use super::affine::Affine;
use super::scale_rule::{Arithmetic, Division, Edges, Infinite, Rule, UnderSmallest};

const OPEN: Edges = Edges { zero: &[], infinite: Infinite::Codes(&[]), nan: &[], may_lose_nan: true };

const fn row([name, sub_rule, how, library, source]: [&'static str; 5], arithmetic: Arithmetic) -> Rule {
    Rule { name, sub_rule, how, library, source, under_smallest: UnderSmallest::Itself, arithmetic, edges: OPEN }
}

macro_rules! quotients {
    ($($name:literal, $divisor:expr, $library:literal, $source:literal;)*) => {
        &[$(
            row([$name, "divided in the type of the input", "a over the divisor, in the type of the input", $library, $source], Arithmetic::Quotient($divisor, Division::InTypeOfInput)),
            row([$name, "divided in f32", "a over the divisor, in f32", "formula", $source], Arithmetic::Quotient($divisor, Division::InF32)),
            row([$name, "times the reciprocal", "a times f32(1 / divisor)", "formula", $source], Arithmetic::Quotient($divisor, Division::ByReciprocal)),
        )*]
    };
}

/// Rules of float scales of int8 elements.
pub static INT8_RULES: &[Rule] = quotients! {
    "AMAX-127", Some(127.0), "KV caches", "symmetric int8 up to 127";
    "AMAX-127.5", Some(127.5), "qwix, AQT, torchao, GPTQ, compressed-tensors", "google/qwix _src/core/numerics.py; google/aqt; torchao _choose_qparams_affine, SYMMETRIC";
    "AMAX-128", Some(128.0), "formula", "symmetric int8 down to -128";
};

/// Rules of float scales of int4 elements.
pub static INT4_RULES: &[Rule] = quotients! {
    "AMAX-7", Some(7.0), "KV caches", "symmetric int4 up to 7";
    "AMAX-7.5", Some(7.5), "qwix, AQT, torchao, GPTQ, compressed-tensors", "google/qwix _src/core/numerics.py; google/aqt; torchao _choose_qparams_affine, SYMMETRIC";
    "AMAX-8", Some(8.0), "formula", "symmetric int4 down to -8";
};

/// Rules of float scales of floating-point elements.
pub static FLOAT_RULES: &[Rule] = quotients! {
    "AMAX-MAX", None, "qwix", "google/qwix _src/core/numerics.py";
};

/// Rules of float scales of integers that take the block's ends one by one; all but the first one have a zero point of their own.
pub static AFFINE_RULES: &[Rule] = &[
    row(
        [
            "NO-CLIP",
            "the larger one of both ends' scales",
            "the larger one of low / least and high / largest",
            "torchao",
            "torchao quantization/quant_primitives.py, _choose_qparams_affine, SYMMETRIC_NO_CLIPPING_ERR",
        ],
        Arithmetic::Affine(Affine::NoClip),
    ),
    row(
        [
            "MINMAX",
            "zero point rounded as a sum, scale times a reciprocal",
            "(high - low) (1 / (largest - least)), zero in the range; z = round(least - low / s)",
            "qwix",
            "google/qwix _src/core/qarray.py, compute_scale_zero_point, on a CPU, which multiplies by reciprocals",
        ],
        Arithmetic::Affine(Affine::RoundedSumByReciprocal),
    ),
    row(
        [
            "MINMAX",
            "zero point rounded as a sum",
            "(high - low) / (largest - least), zero in the range; z = round(least - low / s)",
            "qwix (divided), compressed-tensors",
            "google/qwix _src/core/qarray.py, compute_scale_zero_point; compressed-tensors quantization/utils/helpers.py, calculate_qparams",
        ],
        Arithmetic::Affine(Affine::RoundedSum),
    ),
    row(
        [
            "MINMAX",
            "zero point from a rounded quotient",
            "(high - low) / (largest - least), zero in the range; z = least - round(low / s)",
            "torchao, GPTQ",
            "torchao quantization/quant_primitives.py, _choose_qparams_affine, ASYMMETRIC; AutoGPTQ and GPTQModel quantization/quantizer.py",
        ],
        Arithmetic::Affine(Affine::RoundedQuotient),
    ),
    row(
        [
            "MINMAX-WITHOUT-ZERO",
            "zero point from a rounded quotient",
            "(high - low) / (largest - least); z = least - round(low / s), clamped",
            "torchao, AutoAWQ",
            "torchao quantization/quant_primitives.py, _choose_qparams_affine_dont_preserve_zero; AutoAWQ quantize/quantizer.py",
        ],
        Arithmetic::Affine(Affine::WithoutZero),
    ),
    row(
        [
            "MINMAX-FLOAT",
            "zero point of the middle element",
            "(high - low) / (largest - least); z = low + s mid, a float",
            "torchao",
            "torchao quantization/quant_primitives.py, _choose_qparams_affine_tinygemm",
        ],
        Arithmetic::Affine(Affine::FloatMiddle),
    ),
    row(
        [
            "MIN-FLOAT",
            "zero point of the least element",
            "(high - low) / (largest - least); z = low, a float",
            "KIVI",
            "jy-yuan/KIVI quant/new_pack.py",
        ],
        Arithmetic::Affine(Affine::FloatLeast),
    ),
];
