//! Integers packed in words of 32 bits, as `scripts/packed_integers.py` writes them by public formulas.

use ulpgate::file::safetensors;
use ulpgate::scales::{Answer, Given, ScalesError, find_tensors, judge};
use ulpgate::tensor::{Data, Tensor};

use super::path;

/// The tensors of a case of the file, with their input where it is asked for.
fn tensors(case: &str, has_input: bool) -> Vec<(String, Tensor)> {
    let all = safetensors::read(&path("packed_integers")).unwrap();
    let input = if case.starts_with("awq") { "input.f16" } else { "input.f32" };
    let own = |(name, tensor): &(String, Tensor)| {
        let part = name.strip_prefix(case)?.strip_prefix('.')?;
        Some((format!("layer.{part}"), tensor.clone()))
    };
    let mut found: Vec<(String, Tensor)> = all.iter().filter_map(own).collect();
    if has_input {
        found.extend(
            all.iter().filter(|(name, _)| name == input).map(|(_, tensor)| ("input".to_string(), tensor.clone())),
        );
    }
    found
}

fn found(tensors: &[(String, Tensor)]) -> Given {
    find_tensors(tensors, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn answer(tensors: &[(String, Tensor)]) -> Answer {
    judge(&found(tensors)).unwrap_or_else(|why| panic!("{why}"))
}

/// Case, rule, a library of the row, beginning of the layout's name, elements of a block.
const CASES: [(&str, &str, &str, &str, usize); 8] = [
    ("gptq_asymmetric", "MINMAX", "GPTQ", "GPTQ: ", 64),
    ("gptq_symmetric", "AMAX-7.5", "GPTQ", "GPTQ: ", 128),
    ("gptq_v2", "MINMAX", "GPTQ", "GPTQ v2: ", 64),
    ("gptq_in_order_of_activations", "MINMAX", "GPTQ", "GPTQ: ", 64),
    ("gptq_8_bits", "MINMAX", "GPTQ", "GPTQ: ", 64),
    ("awq", "MINMAX-WITHOUT-ZERO", "AutoAWQ", "AWQ: ", 64),
    ("compressed_symmetric", "AMAX-7.5", "compressed-tensors", "compressed-tensors: ", 64),
    ("compressed_asymmetric", "MINMAX", "compressed-tensors", "compressed-tensors: ", 64),
];

#[test]
fn packed_words_name_their_layout_and_rule() {
    for (case, rule, library, layout, block) in CASES {
        let found = answer(&tensors(case, true));
        assert!(found.agrees, "{case}: {:?} {:?}", found.faults, found.rules);
        assert!(found.rules.contains(&rule.to_string()), "{case}: {:?}", found.rules);
        assert!(found.libraries.iter().any(|one| one.contains(library)), "{case}: {:?}", found.libraries);
        assert!(found.packing.starts_with(layout), "{case}: {}", found.packing);
        assert_eq!(found.block, block, "{case}");
    }
}

#[test]
fn columns_that_awq_does_not_interleave_are_a_fault() {
    let found = answer(&tensors("awq_not_interleaved", true));
    assert!(!found.agrees && found.rules.contains(&"MINMAX-WITHOUT-ZERO".to_string()), "{:?}", found.rules);
    assert_eq!(found.faults.len(), 1, "{:?}", found.faults);
    assert!(found.faults[0].contains("order of columns"), "{:?}", found.faults);
}

/// Without the input the bytes leave the rule among those that they do not exclude.
#[test]
fn packed_words_alone_exclude_rules() {
    for (case, rule, ..) in CASES.iter().filter(|case| case.0 != "gptq_in_order_of_activations") {
        let found = answer(&tensors(case, false));
        assert!(
            found.agrees && found.rules.contains(&rule.to_string()),
            "{case}: {:?} {:?}",
            found.rules,
            found.faults
        );
    }
}

#[test]
fn a_wrong_word_is_found_in_its_block() {
    let mut changed = tensors("gptq_asymmetric", true);
    let words = &mut changed.iter_mut().find(|(name, _)| name == "layer.qweight").unwrap().1;
    let mut codes: Vec<i32> = words.data().to_i64s().iter().map(|word| *word as i32).collect();
    codes[32 * 10 + 5] ^= 0x8000;
    *words = Tensor::new(words.dims(), Data::S32(codes));
    let found = answer(&changed);
    assert!(!found.agrees && found.rules.contains(&"MINMAX".to_string()), "{:?} {:?}", found.rules, found.faults);
    // Row 80 is of group 1, column 5.
    assert_eq!(found.elements.unwrap().other_blocks, [32 + 5]);
}

#[test]
fn tables_and_unknown_layouts_are_refused_by_name() {
    let words = |dims: &[usize]| Tensor::new(dims, Data::S32(vec![0; dims.iter().product()]));
    let scales = |dims: &[usize]| Tensor::new(dims, Data::F32(vec![1.0; dims.iter().product()]));
    let refused = |named: Vec<(&str, Tensor)>| {
        let named: Vec<_> = named.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect();
        find_tensors(&named, &[]).unwrap_err()
    };
    let why = refused(vec![("qweight", words(&[8, 8])), ("scales", scales(&[3, 5]))]);
    assert!(matches!(why, ScalesError::Packed { .. }) && why.to_string().contains("AWQ [K,N/8]"), "{why}");
    assert!(why.to_string().contains("zero points none and input none"), "{why}");
    let bytes = Tensor::new(&[64, 1], Data::U8(vec![0; 64]));
    for name in ["w.quant_map", "w.absmax", "w.quant_state.bitsandbytes__nf4"] {
        let why = refused(vec![("w", bytes.clone()), (name, scales(&[2]))]);
        assert!(why.to_string().contains("NF4, FP4") && why.to_string().contains(name), "{why}");
    }
    let groups = Tensor::new(&[64], Data::S32(vec![0; 64]));
    let uneven = vec![("qweight", words(&[8, 8])), ("scales", scales(&[2, 8])), ("g_idx", groups)];
    assert!(refused(uneven).to_string().contains("groups of one size"));
}
