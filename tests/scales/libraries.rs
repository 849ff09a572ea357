//! Tensors that libraries wrote.

use ulpgate::num::{F8E4M3FN, F8E8M0FNU};
use ulpgate::scaled::{Extreme, find_rule, quantize};
use ulpgate::tensor::{DType, Data, Tensor};

use super::{answer, as_bytes, bytes, library, names, packed};

/// File, rule, sub-rule, library, element type, block.
const FILES: [(&str, &str, &str, &str, &str, usize); 10] = [
    ("torchao_ceil_e2m3_f32", "CEIL", "bits of the f32 maximum", "torchao", "e2m3", 32),
    ("quark_even_e3m2_f32", "EVEN", "even_round, byte by to_e8m0_uint8", "quark", "e3m2", 32),
    ("modelopt_rceil_e2m1_bf16", "RCEIL", "c", "modelopt mxfp4", "e2m1", 32),
    ("jax_rceil_e4m3_bf16", "RCEIL", "a", "jax", "e4m3", 32),
    ("qwix_rceil_e2m1_bf16", "RCEIL", "e", "qwix", "e2m1", 32),
    ("torchao_rceil_e4m3_f32_torch215", "RCEIL", "c", "torchao", "e4m3", 32),
    (
        "jax_nvfp4_nvfp4_bf16",
        "NVFP4",
        "input divided by the per-tensor scale first, scale clipped to 448, division by the decoded scale",
        "jax",
        "e2m1",
        16,
    ),
    (
        "torchao_nvfp4_nvfp4_bf16",
        "NVFP4",
        "per-tensor scale, reciprocal of the combined scale, smallest scale 2^-6",
        "torchao",
        "e2m1",
        16,
    ),
    (
        "modelopt_nvfp4_nvfp4_bf16",
        "NVFP4",
        "scale clamped to [2^-9, 448], zero blocks get scale 1, division by the product of both scales",
        "modelopt",
        "e2m1",
        16,
    ),
    ("qwix_nvfp4_1_nvfp4_bf16", "NVFP4-1", "no per-tensor scale; e4m3(a / 6), zero blocks get 1", "qwix", "e2m1", 16),
];

#[test]
fn library_tensors_are_named() {
    for (file, rule, sub_rule, of, element, block) in FILES {
        let found = answer(&library(file));
        assert!(found.agrees, "{file}: {:?}", found.faults);
        assert_eq!(names(&found), [rule], "{file}");
        assert!(found.sub_rules.iter().any(|known| known == sub_rule), "{file}: {:?}", found.sub_rules);
        assert!(found.libraries.iter().any(|known| known == of), "{file}: {:?}", found.libraries);
        assert_eq!((found.element_type, found.block, found.axis), (element, block, Some(1)), "{file}");
        let best = &found.classes[0];
        assert_eq!((best.supports, best.refutes), (found.judged, 0), "{file}");
        assert!(found.classes.iter().skip(1).all(|class| class.refutes > 0), "{file}");
    }
}

/// Chosen maxima tell forms of one rule apart, each from all others.
#[test]
fn forms_of_one_rule_are_told_apart() {
    let forms = |file: &str| answer(&library(file)).sub_rules;
    assert_eq!(forms("jax_rceil_e4m3_bf16"), ["a"]);
    assert_eq!(forms("qwix_rceil_e2m1_bf16"), ["e"]);
    assert_eq!(forms("quark_even_e3m2_f32"), ["even_round, byte by to_e8m0_uint8"]);
    // On ordinary blocks no maximum lies a few units above MAX * 2^k.
    assert_eq!(forms("torchao_rceil_e4m3_f32_torch215"), ["a", "b", "c", "e"]);
}

#[test]
fn elements_say_how_they_were_rounded() {
    let rounding = |file: &str| answer(&library(file)).elements.unwrap().rounding;
    assert_eq!(rounding("modelopt_rceil_e2m1_bf16"), ["nearest, ties toward zero"]);
    assert_eq!(rounding("torchao_ceil_e2m3_f32"), ["nearest even"]);
    let quotient = |file: &str| answer(&library(file)).elements.unwrap().quotient;
    assert_eq!(quotient("torchao_nvfp4_nvfp4_bf16"), ["x ((1 / g) / s) in f32", "x (1 / g) (1 / s) in f32"]);
    let of_qwix = quotient("qwix_nvfp4_1_nvfp4_bf16");
    assert!(of_qwix.contains(&"x / s in the type of the input") && !of_qwix.contains(&"x ((1 / g) / s) in f32"));
    assert!(quotient("modelopt_nvfp4_nvfp4_bf16").contains(&"exact"));
}

/// The rules of texts make the bytes of the libraries again, edges included; of NaN blocks the scale alone.
#[test]
fn the_bytes_of_libraries_are_made_again() {
    for (file, text) in [
        ("torchao_ceil_e2m3_f32", "mxfp6_e2m3/CEIL"),
        ("quark_even_e3m2_f32", "mxfp6_e3m2/EVEN/quark"),
        ("modelopt_rceil_e2m1_bf16", "mxfp4/RCEIL/modelopt mxfp4"),
        ("jax_rceil_e4m3_bf16", "mxfp8/RCEIL/a"),
        ("qwix_rceil_e2m1_bf16", "mxfp4/RCEIL/qwix"),
        ("torchao_rceil_e4m3_f32_torch215", "mxfp8/RCEIL/torchao"),
        ("jax_nvfp4_nvfp4_bf16", "nvfp4/NVFP4/jax"),
        ("torchao_nvfp4_nvfp4_bf16", "nvfp4/NVFP4/torchao"),
        ("modelopt_nvfp4_nvfp4_bf16", "nvfp4/NVFP4/modelopt"),
    ] {
        let stored = library(file);
        let x = stored.input.unwrap();
        let (format, rule) = find_rule(text).unwrap();
        let made = quantize(&x, format, rule, 1, None).unwrap();
        assert_eq!(made.per_tensor, stored.per_tensor, "{file}");
        let elements = if format.element.bits() == 4 { packed(&made.elements, true) } else { as_bytes(&made.elements) };
        let values = x.data().to_f32s();
        let [made_scales, stored_scales] = [&made.scales, &stored.scales].map(bytes);
        let [made_codes, stored_codes] = [&elements, &stored.elements].map(bytes);
        let side = format.block.unwrap();
        let per_byte = if format.element.bits() == 4 { 2 } else { 1 };
        let (mut same, mut blocks) = (0, 0);
        for block in 0..made.scales.len() {
            let part = &values[block * side..(block + 1) * side];
            let extreme = Extreme::of(part.iter().copied(), x.dtype());
            if extreme.has_nan {
                continue;
            }
            assert_eq!(made_scales[block], stored_scales[block], "{file}: block {block}");
            if !extreme.is_ordinary() || made_scales[block] == 0 {
                continue;
            }
            blocks += 1;
            let range = block * side / per_byte..(block + 1) * side / per_byte;
            // Signs of zeros are a library's own.
            let plain = |code: u8| match (format.element.bits(), code) {
                (4, code) => [code & 15, code >> 4].map(|code| if code == 8 { 0 } else { code }),
                (bits, code) if code == 1 << (bits - 1) => [0, 0],
                (_, code) => [code, 0],
            };
            let equal = |at: usize| plain(made_codes[at]) == plain(stored_codes[at]);
            same += usize::from(range.into_iter().all(equal));
        }
        assert_eq!(same, blocks, "{file}");
        assert!(blocks > 180, "{file}: {blocks}");
    }
}

/// Three blocks separate the four rules of MX formats, as the intervals of f = a / 2^floor(log2 a) say.
#[test]
fn three_blocks_are_enough() {
    let x = |maxima: &[f32]| {
        let values = maxima.iter().flat_map(|a| (0..32).map(move |at| if at == 7 { *a } else { *a / 64.0 }));
        Tensor::new(&[maxima.len(), 32], Data::F32(values.collect()))
    };
    // The nearest power of two needs a fourth block.
    let of_four = |maxima: &[f32], rule: &str| {
        let found = answer(&super::quantized(&x(maxima), rule, 1, None));
        assert!(found.agrees, "{:?}", found.faults);
        found.rules.into_iter().filter(|name| !name.starts_with("NEAREST")).collect::<Vec<_>>()
    };
    for rule in ["FLOOR", "CEIL", "EVEN", "RCEIL/a"] {
        assert_eq!(of_four(&[1.5, 1.8, 1.95], rule), [rule.split('/').next().unwrap()]);
    }
    assert_eq!(of_four(&[1.5, 1.7, 1.95], "EVEN"), ["EVEN", "RCEIL"]);
}

/// Bytes of edge blocks, as shared tables of libraries have them.
#[test]
fn edge_blocks_have_each_librarys_bytes() {
    let codes = |text: &str, value: f32, has_nan: bool, dtype| {
        let (format, rule) = find_rule(text).unwrap();
        let values = if has_nan { vec![value, f32::NAN] } else { vec![value] };
        rule.codes(&Extreme::of(values, dtype), format.element, format.scales, 1.0)
    };
    let of = |text: &str| {
        let first = |value, has_nan| codes(text, value, has_nan, DType::F32)[0];
        [first(0.0, false), first(f32::INFINITY, false), first(0.0, true)]
    };
    assert_eq!(of("mxfp8/FLOOR"), [0, 247, 255]);
    assert_eq!(of("mxfp8_e5m2/CEIL"), [0, 240, 255]);
    assert_eq!(of("mxfp4/EVEN/torchao"), [0, 253, 255]);
    assert_eq!(of("mxfp6_e3m2/FLOOR"), [0, 251, 255]);
    assert_eq!(of("mxfp8/RCEIL/torchao"), [0, 254, 255]);
    assert_eq!(of("mxfp8/RCEIL/modelopt mxfp8"), [0, 254, 0]);
    assert_eq!(of("mxfp4/RCEIL/modelopt mxfp4"), [0, 0, 0]);
    assert_eq!(of("mxfp8/EVEN/quark"), [1, 254, 127]);
    assert_eq!(of("mxfp8/RCEIL/jax"), [0, 255, 255]);
    assert_eq!(of("mxfp8/RCEIL/qwix"), [127, 255, 255]);
    assert_eq!(of("mxfp8/NEAREST-VALUE"), [255, 255, 255]);
    // A maximum that loses the NaN leaves that of the others.
    assert!(codes("mxfp8/RCEIL/jax", 3.0, true, DType::F32).contains(&120));
    assert!(!codes("mxfp8/RCEIL/torchao", 3.0, true, DType::F32).contains(&120));
    // Subnormal quotients: XLA:CPU flushes them, an f32 log2 sees them.
    let small = 448.0 * f32::MIN_POSITIVE * 0.75;
    assert_eq!(codes("mxfp8/RCEIL/jax", small, false, DType::F32), [0]);
    assert_eq!(codes("mxfp8/RCEIL/torchao", small, false, DType::F32), [1]);
    assert_eq!(codes("mxfp8/NEAREST-VALUE", small, false, DType::F32), [1]);
    assert_eq!([F8E8M0FNU.decode(0), F8E4M3FN.decode(0x38)], [2f64.powi(-127), 1.0]);
}

/// google/qwix on bf16, compiled with and without excess precision: another log, ceil and power in 27 blocks, and all elements under them.
#[test]
fn qwix_has_other_scales_under_the_flag() {
    use ulpgate::hlo::{lower, parse};
    use ulpgate::machine::{Mode, Prepared};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scaled_libraries");
    let input = ulpgate::file::safetensors::read(&folder.join("normal.safetensors")).unwrap().remove(0).1;
    for chip in ["v5e", "tpu7x"] {
        let results = ["on", "off"].map(|flag| {
            let text =
                std::fs::read_to_string(folder.join(format!("tpu/{chip}/qwix_mxfp8.excess_{flag}.hlo"))).unwrap();
            let program = lower(&parse(&text).unwrap()).unwrap().program;
            let mode: Mode = format!("{chip}/default/as-compiled").parse().unwrap();
            let prepared = Prepared::new(&program);
            prepared.evaluate(&mode, &prepared.bind(std::slice::from_ref(&input)).unwrap()).unwrap()
        });
        let [on, off] = &results;
        let differing = |at: usize| {
            let (one, other) = (on[at].data(), off[at].data());
            (0..on[at].len()).filter(|place| one.bits(*place) != other.bits(*place)).count()
        };
        assert_eq!([0, 1].map(|at| (differing(at), on[at].len())), [(864, 65536), (27, 2048)], "{chip}");
    }
}
