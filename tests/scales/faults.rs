//! Planted faults, and readings of layout.

use ulpgate::scales::{Given, ScalesError, judge};
use ulpgate::tensor::{DType, Data, Tensor};

use super::{answer, as_bytes, bytes, input, library, names, packed, quantized, shifted, transposed};

fn faults(given: &Given) -> String {
    answer(given).faults.join("; ")
}

#[test]
fn scales_off_by_one_are_found_by_the_elements() {
    let x = input(&[64, 96], 1);
    // One up, FLOOR is CEIL to the scales alone: no maximum here is a power of two.
    for (step, side) in [(1, "too high"), (-1, "too low")] {
        let floor = quantized(&x, "FLOOR", 1, None);
        let found = answer(&Given { scales: shifted(&floor.scales, step, |_| true), ..floor });
        assert_eq!((names(&found), found.scale_offset), (vec!["FLOOR"], i64::from(step)));
        assert!(found.faults.iter().any(|fault| fault.contains(side)), "{:?}", found.faults);
        assert_eq!(found.elements.unwrap().by_another_scale, [(-i64::from(step), 192)].into());
    }
}

#[test]
fn one_block_with_another_scale_is_found_with_its_cost() {
    let x = input(&[64, 96], 2);
    let given = quantized(&x, "RCEIL/a", 1, None);
    let found = answer(&Given { scales: shifted(&given.scales, 1, |at| at == 16), ..given.clone() });
    let first = found.first_disagreement.unwrap();
    assert_eq!((found.agrees, found.disagree, first.block, first.place), (false, 1, 16, vec![5, 1]));
    assert_eq!(first.stored, first.rule[0] + 1);
    assert!(first.stored_error.unwrap() > 0.9 && first.rule_error.unwrap() < 0.05, "{:?}", first.stored_error);
    assert_eq!(found.elements.unwrap().by_another_scale, [(-1, 1)].into());
    assert_eq!(found.faults.len(), 2);
}

#[test]
fn elements_of_another_rule_are_found_with_that_rule() {
    let x = input(&[64, 96], 3);
    let (floor, ceil) = (quantized(&x, "FLOOR", 1, None), quantized(&x, "RCEIL/a", 1, None));
    let found = answer(&Given { scales: ceil.scales, ..floor.clone() });
    let elements = found.elements.as_ref().unwrap();
    assert_eq!((found.agrees, names(&found), elements.by_none), (false, vec!["RCEIL"], 0));
    assert_eq!(elements.rounded_by_rules, ["FLOOR"]);
    // One code that no scale explains.
    let mut codes = bytes(&floor.elements);
    codes[101] ^= 1;
    let found = answer(&Given { elements: Tensor::new(&[64, 96], Data::Coded(DType::F8E4M3FN, codes)), ..floor });
    let other = found.elements.unwrap().first_other.unwrap();
    assert_eq!((other.block, other.place, other.stored ^ other.expected), (3, 5, 1));
}

#[test]
fn exchanged_rows_and_columns_are_found() {
    let x = input(&[96, 96], 4);
    let given = quantized(&x, "RCEIL/a", 1, None);
    let turned = transposed(&given.scales);
    let order = Tensor::new(given.scales.dims(), turned.data().clone());
    assert!(faults(&Given { scales: turned, ..given.clone() }).contains("they are stored transposed"));
    assert!(faults(&Given { scales: order, ..given.clone() }).contains("column-major order"));
    assert!(
        faults(&Given { elements: transposed(&given.elements), ..given.clone() }).contains("the input's transposed")
    );
    assert_eq!(faults(&given), "");
}

/// 70 elements along the axis are two blocks of 32 and one of 6.
#[test]
fn the_ragged_last_block_is_held_to_its_scale() {
    let x = input(&[70, 48], 7);
    let given = quantized(&x, "mxfp4/FLOOR", 0, None);
    let last = 2 * 48 + 5;
    let numbers = x.data().to_f32s();
    let largest = (64..70).map(|row| numbers[row * 48 + 5].abs()).fold(0.0, f32::max);
    // e2m1's largest exponent is 2, and e8m0's bias 127.
    assert_eq!(i32::from(bytes(&given.scales)[last]), largest.log2().floor() as i32 - 2 + 127);
    let found = answer(&Given { scales: shifted(&given.scales, 1, |at| at == last), ..given.clone() });
    assert!(answer(&given).agrees);
    let first = found.first_disagreement.unwrap();
    assert_eq!((found.agrees, found.disagree, first.place), (false, 1, vec![2, 5]));
}

#[test]
fn per_tensor_scales_are_used_missing_ignored_or_inverse() {
    let given = library("modelopt_nvfp4_nvfp4_bf16");
    let status = |per_tensor: Option<f32>, given: &Given| {
        let found = answer(&Given { per_tensor, ..given.clone() });
        (found.per_tensor.unwrap().status, found.agrees)
    };
    assert_eq!(status(Some(0.125), &given), ("used", true));
    assert_eq!(status(None, &given), ("missing", false));
    assert_eq!(status(Some(8.0), &given), ("inverse", false));
    assert_eq!(status(Some(0.3), &given), ("wrong", false));
    let one_level = library("qwix_nvfp4_1_nvfp4_bf16");
    assert_eq!(status(None, &one_level), ("none", true));
    assert_eq!(status(Some(0.125), &one_level), ("ignored", false));
}

/// Rows of 38 codes of six bits in 29 bytes, as one stream of bits from either end.
#[test]
fn codes_of_six_bits_are_read_across_bytes() {
    for (format, is_low_first, told) in [
        ("mxfp6_e3m2", true, "four codes in three bytes, low bits first"),
        ("mxfp6_e2m3", false, "four codes in three bytes, high bits first"),
    ] {
        let plain = quantized(&input(&[24, 38], 5), &format!("{format}/CEIL"), 1, None);
        let row = |codes: &[u8]| {
            let mut stream = vec![0u8; 29];
            for (at, code) in codes.iter().enumerate() {
                for bit in 0..6 {
                    let place = 6 * at + bit;
                    let (from, to) = if is_low_first { (bit, place % 8) } else { (5 - bit, 7 - place % 8) };
                    stream[place / 8] |= (code >> from & 1) << to;
                }
            }
            stream
        };
        let stream: Vec<u8> = bytes(&plain.elements).chunks(38).flat_map(row).collect();
        let given = Given { elements: Tensor::new(&[24, 29], Data::U8(stream)), ..plain };
        let found = answer(&given);
        assert_eq!((names(&found), found.packing), (vec!["CEIL"], told), "{format}");
        assert!(found.agrees && format.ends_with(found.element_type), "{format} {}", found.element_type);
    }
}

#[test]
fn axis_block_and_packing_are_read() {
    let x = input(&[70, 48], 5);
    for rule in ["FLOOR", "EVEN", "RCEIL/a", "CEIL", "NEAREST-LOG2", "NEAREST-VALUE"] {
        let name = rule.split('/').next().unwrap();
        for (axis, block) in [(0, None), (1, None), (0, Some(16)), (1, Some(16))] {
            let given = quantized(&x, &format!("mxfp4/{rule}"), axis, block);
            for (is_low_first, packing) in [(true, "low nibble first"), (false, "high nibble first")] {
                let found = answer(&Given { elements: packed(&given.elements, is_low_first), ..given.clone() });
                assert!(found.agrees && names(&found).contains(&name), "{rule}: {:?}", found.faults);
                let read = (found.axis, found.block, found.packing, found.element_type);
                assert_eq!(read, (Some(axis), block.unwrap_or(32), packing, "e2m1"), "{rule}");
            }
        }
    }
    let x = input(&[4, 80, 24], 6);
    let given = quantized(&x, "mxfp8_e5m2/RCEIL/a", 1, None);
    for elements in [given.elements.clone(), as_bytes(&given.elements)] {
        let found = answer(&Given { elements, ..given.clone() });
        assert_eq!((found.agrees, found.axis, found.element_type), (true, Some(1), "e5m2"), "{:?}", found.faults);
    }
    for element in ["e2m3", "e3m2"] {
        let found = answer(&quantized(&x, &format!("mxfp6_{element}/EVEN"), 1, None));
        assert_eq!((found.agrees, found.element_type), (true, element));
    }
}

#[test]
fn float_scales_name_their_divisor() {
    let x = input(&[32, 64], 7);
    for (rule, block) in [
        ("int8/AMAX-127", None),
        ("int8/AMAX-127.5", None),
        ("int8_bf16/AMAX-127.5", None),
        ("int4/AMAX-7", Some(32)),
        ("int4/AMAX-7.5", Some(16)),
        ("int4_bf16/AMAX-8", Some(32)),
        ("fp8/AMAX-MAX", None),
    ] {
        for axis in [0, 1] {
            let found = answer(&quantized(&x, rule, axis, block));
            let name = rule.split('/').nth(1).unwrap();
            assert_eq!(
                (found.agrees, names(&found), found.axis),
                (true, vec![name], Some(axis)),
                "{rule} {:?}",
                found.faults
            );
        }
    }
    // Scales of rows as a vector, and codes packed in bytes.
    let given = quantized(&x, "int4/AMAX-7.5", 1, None);
    let scales = Tensor::new(&[32], given.scales.data().clone());
    let found = answer(&Given { elements: packed(&given.elements, false), scales, ..given });
    assert_eq!((found.agrees, found.axis, found.packing), (true, Some(1), "high nibble first"), "{:?}", found.faults);
}

#[test]
fn bytes_alone_exclude_rules() {
    let x = input(&[64, 96], 8);
    let alone = |rule: &str| {
        let found = answer(&Given { input: None, ..quantized(&x, rule, 1, None) });
        let excluded: Vec<String> = found.excluded.iter().map(|one| one.rule.clone()).collect();
        (found.rules, excluded)
    };
    let (left, excluded) = alone("CEIL");
    assert_eq!((left, excluded.len()), (vec!["CEIL".to_string()], 5));
    let (left, excluded) = alone("RCEIL/a");
    assert!(left.contains(&"RCEIL".to_string()) && excluded.contains(&"FLOOR".to_string()), "{left:?} {excluded:?}");
    let (left, _) = alone("FLOOR");
    assert!(left.contains(&"FLOOR".to_string()) && !left.contains(&"CEIL".to_string()), "{left:?}");
    let given = quantized(&x, "FLOOR", 1, None);
    let few = Tensor::new(&[64, 96], Data::Coded(DType::F8E4M3FN, vec![1; 64 * 96]));
    assert!(faults(&Given { input: None, elements: few, ..given }).contains("exclude every rule"));
}

#[test]
fn nothing_is_judged_without_reason() {
    let x = input(&[64, 96], 9);
    let given = quantized(&x, "FLOOR", 1, None);
    let error = |given: Given| judge(&given).unwrap_err();
    let five = given.scales.rows(0..5);
    assert!(matches!(error(Given { scales: five, ..given.clone() }), ScalesError::Dims { .. }));
    let zeros = Tensor::new(&[64, 96], Data::F32(vec![0.0; 64 * 96]));
    assert_eq!(error(Given { input: Some(zeros), ..given.clone() }), ScalesError::NoBlocks);
    assert!(matches!(error(Given { elements: x, ..given }), ScalesError::DType { role: "elements", .. }));
}

#[test]
fn casts_that_do_not_saturate_and_truncation_are_named() {
    let x = input(&[64, 96], 10);
    let given = quantized(&x, "FLOOR", 1, None);
    let codes = bytes(&given.elements);
    let values = x.data().to_f32s();
    let scales = bytes(&given.scales);
    let scale = |at: usize| 2f64.powi(i32::from(scales[at / 32]) - 127);
    let lost =
        (0..codes.len()).map(|at| if f64::from(values[at]).abs() / scale(at) >= 480.0 { 0x7f } else { codes[at] });
    let elements = Tensor::new(&[64, 96], Data::Coded(DType::F8E4M3FN, lost.collect()));
    let found = answer(&Given { elements, ..given.clone() }).elements.unwrap();
    assert_eq!((found.saturating, found.by_none), (Some(false), 0));
    let cut = (0..codes.len()).map(|at| {
        let rounding = ulpgate::scaled::Rounding::TowardZero;
        ulpgate::scaled::E4M3.round(values[at].into(), scale(at), rounding).code
    });
    let elements = Tensor::new(&[64, 96], Data::Coded(DType::F8E4M3FN, cut.collect()));
    let found = answer(&Given { elements, ..given }).elements.unwrap();
    assert_eq!((found.rounding, found.saturating), (vec!["toward zero"], Some(true)));
}

/// Libraries that keep integers symmetric store -127 (or -7) also where the quotient rounds to -128, which is in range.
#[test]
fn integers_may_be_kept_symmetric() {
    for (rule, least) in [("int8/AMAX-128", 0x80), ("int4/AMAX-7.5", 0x08)] {
        let given = quantized(&input(&[64, 96], 21), rule, 1, None);
        let codes = bytes(&given.elements);
        let count = codes.iter().filter(|code| **code == least).count();
        assert!(count > 0, "{rule}");
        let kept: Vec<u8> = codes.iter().map(|code| if *code == least { code + 1 } else { *code }).collect();
        let data = match given.elements.data() {
            Data::S8(_) => Data::S8(kept.iter().map(|code| *code as i8).collect()),
            other => Data::Coded(other.dtype(), kept),
        };
        let elements = Tensor::new(&[64, 96], data);
        let found = answer(&Given { elements, ..given.clone() });
        assert!(found.agrees && found.faults.is_empty(), "{rule}: {:?}", found.faults);
    }
}

/// int4 in bytes, with its sign in all eight bits.
#[test]
fn int4_in_bytes_with_signs_is_no_int8() {
    let given = quantized(&input(&[64, 96], 22), "int4/AMAX-7", 1, None);
    let signed = bytes(&given.elements).into_iter().map(|code| ((code << 4) as i8 >> 4) as u8);
    let elements = Tensor::new(&[64, 96], Data::U8(signed.collect()));
    let found = answer(&Given { elements, ..given });
    assert!(found.agrees && names(&found) == ["AMAX-7"] && found.format == "int4", "{found:?}");
}

/// Bytes of eight-bit codes that lie the other way round: every element type of a byte is tried so.
#[test]
fn turned_bytes_are_read_as_codes() {
    let mut given = quantized(&input(&[33, 128], 29), "FLOOR", 1, None);
    given.elements = as_bytes(&transposed(&given.elements));
    let found = answer(&given);
    assert!(!found.agrees && found.rules.contains(&"FLOOR".to_string()), "{:?} {:?}", found.rules, found.faults);
    assert!(found.faults.iter().any(|fault| fault.contains("the input's transposed")), "{:?}", found.faults);
}
