//! Scales and elements of other blocks: exchanged rows, scales one block late, float scales off by a factor of two.

use ulpgate::scales::Given;
use ulpgate::tensor::{DType, Data, Tensor};

use super::{answer, bytes, input, names, quantized};

/// A tensor whose rows `one` and `other` changed places.
fn exchanged(tensor: &Tensor, one: usize, other: usize) -> Tensor {
    let [rows, columns] = *tensor.dims() else { panic!("{:?}", tensor.dims()) };
    let row = |at: usize| {
        if at == one {
            other
        } else if at == other {
            one
        } else {
            at
        }
    };
    let places: Vec<usize> =
        (0..rows).flat_map(|at| (0..columns).map(move |column| row(at) * columns + column)).collect();
    tensor.pick(&[rows, columns], &places)
}

#[test]
fn exchanged_rows_are_named_with_their_numbers() {
    for rule in ["mxfp8/FLOOR", "mxfp4/EVEN", "nvfp4/NVFP4/modelopt", "int8/AMAX-127"] {
        let given = quantized(&input(&[64, 256], 31), rule, 1, None);
        let scales = exchanged(&given.scales, 3, 9);
        let elements = exchanged(&given.elements, 3, 9);
        for (changed, part) in [
            (Given { scales: scales.clone(), ..given.clone() }, "scales"),
            (Given { elements: elements.clone(), ..given.clone() }, "elements"),
            (Given { scales, elements, ..given.clone() }, "elements and scales"),
        ] {
            let faults = answer(&changed).faults;
            let told = format!("the {part} of 2 rows are exchanged: 3 has those of 9");
            assert!(faults.contains(&told), "{rule} {part}: {faults:?}");
        }
        assert!(answer(&given).agrees, "{rule}");
    }
    // Blocks along axis 0: a line of them is 32 rows.
    let given = quantized(&input(&[128, 40], 32), "mxfp8/RCEIL/a", 0, None);
    let faults = answer(&Given { scales: exchanged(&given.scales, 0, 2), ..given }).faults;
    assert!(
        faults.contains(&"the scales of 2 blocks along axis 0 are exchanged: 0 has those of 2".to_string()),
        "{faults:?}"
    );
}

#[test]
fn a_scale_of_no_row_is_no_exchange() {
    let given = quantized(&input(&[64, 256], 33), "int8/AMAX-127", 1, None);
    let Data::F32(scales) = given.scales.data() else { panic!("{:?}", given.scales.dtype()) };
    let mut scales = scales.clone();
    scales.swap(3, 9);
    scales[9] *= 1.25;
    let found = answer(&Given { scales: Tensor::new(given.scales.dims(), Data::F32(scales)), ..given });
    assert!(!found.agrees && !found.faults.iter().any(|fault| fault.contains("exchanged")), "{:?}", found.faults);
}

#[test]
fn scales_one_block_late_or_early_are_named() {
    let given = quantized(&input(&[64, 256], 34), "mxfp8/FLOOR", 1, None);
    for (is_late, told) in [(true, "one too late"), (false, "one too early")] {
        let mut codes = bytes(&given.scales);
        if is_late {
            codes.rotate_right(1)
        } else {
            codes.rotate_left(1)
        }
        let scales = Tensor::new(given.scales.dims(), Data::Coded(DType::F8E8M0FNU, codes));
        let found = answer(&Given { scales, ..given.clone() });
        assert_eq!((found.agrees, names(&found), found.disagree), (false, vec!["FLOOR"], 0));
        assert!(found.faults.iter().any(|fault| fault.contains(told)), "{:?}", found.faults);
    }
}

#[test]
fn float_scales_off_by_a_factor_of_two_name_their_rule() {
    let given = quantized(&input(&[64, 256], 35), "int8/AMAX-127", 1, None);
    for (factor, told) in [(2.0, "2-fold too high"), (0.25, "4-fold too low")] {
        let scales = given.scales.data().to_f32s().into_iter().map(|scale| scale * factor);
        let scales = Tensor::new(given.scales.dims(), Data::F32(scales.collect()));
        let found = answer(&Given { scales, ..given.clone() });
        assert_eq!((found.agrees, names(&found)), (false, vec!["AMAX-127"]));
        assert!(found.faults.iter().any(|fault| fault.contains(told)), "{:?}", found.faults);
    }
}

/// -128 and -8 are elements: a maximum of 127.5 steps below zero is rounded to them.
#[test]
fn bytes_alone_permit_the_least_integer() {
    for rule in ["int8/AMAX-127.5", "int4/AMAX-7.5"] {
        let given = quantized(&input(&[64, 256], 36), rule, 1, None);
        let found = answer(&Given { input: None, ..given });
        let name = rule.split('/').nth(1).unwrap().to_string();
        assert!(found.agrees && found.rules.contains(&name), "{rule}: {:?} {:?}", found.rules, found.excluded);
    }
}
