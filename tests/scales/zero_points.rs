//! Zero points and reciprocal scales: the bytes of public libraries, and faults.

use ulpgate::scaled::{find_rule, quantize};
use ulpgate::scales::{Given, ScalesError, find_tensors, judge};
use ulpgate::tensor::{Data, Tensor};

use super::{answer, input, library, names, quantized};

/// Files by libraries, with the rule and the library that made them and the format.
const FILES: [(&str, &str, &str, &str); 8] = [
    ("torchao_asymmetric_int8_f32", "MINMAX", "torchao", "int8"),
    ("torchao_asymmetric_uint4_bf16", "MINMAX", "torchao", "uint4_bf16"),
    ("torchao_without_zero_uint8_f32", "MINMAX-WITHOUT-ZERO", "torchao", "uint8"),
    ("torchao_tinygemm_uint4_bf16", "MINMAX-FLOAT", "torchao", "uint4_bf16"),
    ("torchao_no_clip_int4_f32", "NO-CLIP", "torchao", "int4"),
    ("torchao_symmetric_uint8_bf16", "AMAX-127.5", "torchao", "uint8_bf16"),
    ("qwix_minmax_int8_bf16", "MINMAX", "qwix", "int8_bf16"),
    ("qwix_minmax_int4_f32", "MINMAX", "qwix", "int4"),
];

#[test]
fn zero_points_of_libraries_are_named() {
    for (file, rule, maker, _) in FILES {
        let found = answer(&library(file));
        assert!(found.agrees, "{file}: {:?} {:?}", found.rules, found.faults);
        assert_eq!(names(&found), [rule], "{file}");
        assert!(found.libraries.iter().any(|library| library.contains(maker)), "{file}: {:?}", found.libraries);
        let zeros = found.zero_points.unwrap();
        assert_eq!((zeros.status, zeros.disagree), ("used", 0), "{file}");
    }
    // The forms of both libraries part on bf16.
    let of = |file: &str| answer(&library(file)).libraries;
    assert!(!of("qwix_minmax_int8_bf16").contains(&"torchao".to_string()));
    assert_eq!(of("qwix_minmax_int4_f32"), ["qwix"]);
    assert_eq!(of("torchao_asymmetric_uint4_bf16"), ["torchao, GPTQ"]);
}

/// The same scales, zero points and elements, in every block that is not all zeros.
#[test]
fn quantising_makes_the_bytes_of_the_libraries() {
    for (file, rule, maker, format) in FILES {
        let given = library(file);
        let x = given.input.clone().unwrap();
        // Symmetric rules have a row for all libraries that divide so.
        let text =
            if rule.starts_with("AMAX") { format!("{format}/{rule}") } else { format!("{format}/{rule}/{maker}") };
        let (format, found) = find_rule(&text).unwrap();
        let made = quantize(&x, format, found, 1, Some(32)).unwrap();
        let numbers = x.data().to_f32s();
        let zeros = made.zero_points.map(|zeros| zeros.data().to_f64s());
        let stored = given.zero_points.unwrap().data().to_f64s();
        let mut blocks = 0;
        for block in (0..64).filter(|block| numbers[block * 32..block * 32 + 32].iter().any(|x| *x != 0.0)) {
            assert_eq!(made.scales.data().bits(block), given.scales.data().bits(block), "{file} scale {block}");
            if let Some(zeros) = &zeros {
                assert_eq!(zeros[block], stored[block], "{file} zero point {block}");
            }
            for at in block * 32..block * 32 + 32 {
                let (own, other) = (made.elements.data().get_i64(at), given.elements.data().get_i64(at));
                // x / s and x (1 / s) part on a few elements: AMAX is the row of those that divide.
                assert!(
                    own == other || rule.starts_with("AMAX") && own.abs_diff(other) == 1,
                    "{file} {at}: {own} {other}"
                );
            }
            blocks += 1;
        }
        assert_eq!(blocks, 60, "{file}");
    }
}

fn with_zeros(given: &Given, of: impl Fn(usize, i32) -> i32) -> Given {
    let Some(Data::S32(zeros)) = given.zero_points.as_ref().map(|zeros| zeros.data().clone()) else { panic!() };
    let zeros = zeros.into_iter().enumerate().map(|(at, zero)| of(at, zero)).collect();
    Given { zero_points: Some(Tensor::new(given.scales.dims(), Data::S32(zeros))), ..given.clone() }
}

#[test]
fn faults_of_zero_points_are_named() {
    let given = quantized(&input(&[64, 96], 41), "int8/MINMAX/torchao", 1, Some(32));
    assert!(answer(&given).agrees);
    let told = |given: &Given| {
        let found = answer(given);
        // Each block has numbers of both signs, so that zero is in the range of all.
        assert!(!found.agrees && names(&found).contains(&"MINMAX"), "{:?} {:?}", found.rules, found.faults);
        (found.zero_points.unwrap().status, found.faults.join("; "))
    };
    let (status, faults) = told(&with_zeros(&given, |_, zero| zero + 1));
    assert_eq!(
        (status, faults.as_str()),
        ("shifted", "all zero points are 1 too high: the elements were rounded with others")
    );
    let (status, faults) = told(&with_zeros(&given, |_, zero| zero + 128));
    assert_eq!(status, "shifted");
    assert!(faults.contains("128 too high"), "{faults}");
    assert_eq!(told(&with_zeros(&given, |_, zero| -zero)).0, "negated");
    let (status, faults) = told(&Given { zero_points: None, ..given.clone() });
    assert_eq!((status, faults.as_str()), ("missing", "the zero points are missing: the rule has one for each scale"));
    let found = answer(&with_zeros(&given, |at, zero| zero + i32::from(at == 17)));
    let zeros = found.zero_points.unwrap();
    assert_eq!((zeros.disagree, zeros.first_block, found.disagree), (1, Some(17), 0));
    assert_eq!(zeros.stored.unwrap(), zeros.rule.unwrap() + 1.0);
    assert_eq!(found.elements.unwrap().other_blocks, [17]);
    // Symmetric elements beside zero points that nobody used.
    let plain = quantized(&input(&[64, 96], 41), "int8/AMAX-127", 1, Some(32));
    let ignored = Given { zero_points: given.zero_points.clone(), ..plain };
    assert_eq!(answer(&ignored).zero_points.unwrap().status, "ignored");
}

#[test]
fn zero_points_of_a_tensor_or_a_channel_are_read() {
    let x = input(&[32, 64], 42);
    for (rule, axis, block) in
        [("uint8/MINMAX/torchao", 0, None), ("uint4/MIN-FLOAT", 1, Some(16)), ("int4/MINMAX/qwix", 1, None)]
    {
        let found = answer(&quantized(&x, rule, axis, block));
        let name = rule.split('/').nth(1).unwrap();
        assert_eq!((found.agrees, found.axis), (true, Some(axis)), "{rule}: {:?}", found.faults);
        assert!(names(&found).contains(&name), "{rule}: {:?}", found.rules);
    }
    // Two codes a byte, and one zero point of all.
    let flat = Tensor::new(&[1, 2048], x.data().clone());
    let given = quantized(&flat, "uint4/MINMAX/torchao", 1, None);
    let codes = super::bytes(&given.elements);
    let packed = codes.chunks(2).map(|pair| pair[0] | pair[1] << 4).collect();
    let given = Given { elements: Tensor::new(&[1, 1024], Data::U8(packed)), ..given };
    let found = answer(&given);
    assert_eq!(
        (found.agrees, found.element_type, found.packing),
        (true, "uint4", "low nibble first"),
        "{:?}",
        found.faults
    );
}

#[test]
fn bytes_alone_exclude_rules_with_zero_points() {
    let x = input(&[64, 96], 43);
    let given = quantized(&x, "uint8/MINMAX/torchao", 1, Some(32));
    let found = answer(&Given { input: None, ..given.clone() });
    assert!(found.agrees && found.rules.contains(&"MINMAX".to_string()), "{:?} {:?}", found.rules, found.excluded);
    assert!(found.excluded.iter().any(|one| one.rule == "AMAX-127"), "{:?}", found.rules);
    // Three blocks whose elements reach half as far: no scale of the rule is as large.
    let mut codes = super::bytes(&given.elements);
    for block in [5, 70, 71] {
        for code in &mut codes[block * 32..block * 32 + 32] {
            *code = 100 + *code / 4;
        }
    }
    let found = answer(&Given { elements: Tensor::new(&[64, 96], Data::U8(codes)), input: None, ..given });
    assert!(!found.agrees && found.faults.iter().any(|fault| fault.contains(": 5, 70, 71")), "{:?}", found.faults);
}

/// Scales of an earlier tensor: with the input, and by the elements alone, which reach too far or not far enough.
#[test]
fn stale_scales_are_told_with_their_blocks() {
    let given = quantized(&input(&[64, 96], 44), "mxfp8/RCEIL/a", 1, None);
    let x = given.input.clone().unwrap();
    let mut numbers = x.data().to_f32s();
    let (mut codes, scales) = (super::bytes(&given.elements), super::bytes(&given.scales));
    // The numbers of three blocks are now an eighth, their scales are kept, and elements are rounded by these.
    for block in [9, 40, 41] {
        for at in block * 32..block * 32 + 32 {
            numbers[at] /= 8.0;
            let scale = 2f64.powi(i32::from(scales[block]) - 127);
            codes[at] =
                ulpgate::scaled::E4M3.round(numbers[at].into(), scale, ulpgate::scaled::Rounding::NearestEven).code;
        }
    }
    let elements = Tensor::new(&[64, 96], Data::Coded(ulpgate::tensor::DType::F8E4M3FN, codes));
    let stale = Given { elements, input: Some(Tensor::new(&[64, 96], Data::F32(numbers))), ..given };
    let found = answer(&stale);
    assert_eq!((found.agrees, names(&found), found.disagree), (false, vec!["RCEIL"], 3), "{:?}", found.faults);
    assert_eq!(found.first_disagreement.unwrap().block, 9);
    let alone = answer(&Given { input: None, ..stale });
    assert!(
        alone.faults.iter().any(|fault| fault.contains("stale") && fault.contains(": 9, 40, 41")),
        "{:?}",
        alone.faults
    );
}

#[test]
fn reciprocal_scales_are_named() {
    for rule in ["int8/AMAX-127", "fp8/AMAX-MAX", "int4/AMAX-7.5"] {
        let given = quantized(&input(&[64, 96], 45), rule, 1, Some(32));
        let inverse = given.scales.data().to_f32s().into_iter().map(|scale| 1.0 / scale).collect();
        let given = Given { scales: Tensor::new(given.scales.dims(), Data::F32(inverse)), ..given };
        let found = answer(&given);
        let name = rule.split('/').nth(1).unwrap();
        assert_eq!((found.agrees, found.reciprocal, names(&found)), (false, true, vec![name]), "{:?}", found.faults);
        assert_eq!(found.faults, ["the scales are stored as reciprocals: elements are to be divided by them"]);
        let found = answer(&Given { may_be_reciprocals: true, ..given });
        assert_eq!((found.agrees, found.reciprocal), (true, true), "{:?}", found.faults);
    }
    // torchao's float8: MAX / a, and the product with it.
    let x = input(&[8, 64], 46);
    let numbers = x.data().to_f32s();
    let scale = |row: usize| 448.0 / numbers[row * 64..row * 64 + 64].iter().fold(0f32, |a, x| a.max(x.abs()));
    let codes = (0..512).map(|at| {
        let product = numbers[at] * scale(at / 64);
        ulpgate::scaled::E4M3.round(product.into(), 1.0, ulpgate::scaled::Rounding::NearestEven).code
    });
    let elements = Tensor::new(&[8, 64], Data::Coded(ulpgate::tensor::DType::F8E4M3FN, codes.collect()));
    let named = [
        ("elements".to_string(), elements),
        ("scale_inv".to_string(), Tensor::new(&[8, 1], Data::F32((0..8).map(scale).collect()))),
        ("input".to_string(), x),
    ];
    let found = answer(&find_tensors(&named, &["scales=scale_inv".to_string()]).unwrap());
    assert_eq!((found.agrees, found.reciprocal, names(&found)), (true, true, vec!["AMAX-MAX"]), "{:?}", found.faults);
}

#[test]
fn zero_points_that_belong_to_nothing_are_refused() {
    let given = quantized(&input(&[8, 64], 47), "mxfp8/FLOOR", 1, None);
    let zeros = |dims: &[usize]| Tensor::new(dims, Data::S32(vec![0; dims.iter().product()]));
    let refused = judge(&Given { zero_points: Some(zeros(&[8, 2])), ..given.clone() });
    assert!(matches!(refused, Err(ScalesError::ZeroPoints(_))), "{refused:?}");
    let named = [
        ("elements".to_string(), given.elements),
        ("scales".to_string(), given.scales),
        ("zero_points".to_string(), zeros(&[3])),
    ];
    assert!(matches!(find_tensors(&named, &[]), Err(ScalesError::ZeroPoints(_))));
}

/// A float zero point is kept in the type of the scales: 257 is 256 in bf16, and the elements lie over 256.
#[test]
fn elements_lie_over_the_zero_point_that_is_stored() {
    let (format, rule) = find_rule("uint4_bf16/MIN-FLOAT").unwrap();
    let x = Tensor::new(&[1, 4], Data::F32(vec![257.0, 258.0, 260.0, 272.0]));
    let made = quantize(&x, format, rule, 1, Some(4)).unwrap();
    assert_eq!(made.scales.data().to_f64s(), [1.0]);
    assert_eq!(made.zero_points.unwrap().data().to_f64s(), [256.0]);
    assert_eq!([0, 1, 2, 3].map(|at| made.elements.data().get_i64(at)), [1, 2, 4, 15]);
}
