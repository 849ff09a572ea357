//! Recordings with a key, a test a program: what one of them would no longer show is found by a narrow test.

use ulpgate::judge::{FAULT_KINDS, JudgedResult, Verdict};

use super::judge::{Case, cases, judged};

/// The recordings of a program that are faulty or not, held to the key; there are some.
pub fn recordings(program: &str, outside: bool) {
    let mut seen = 0;
    for case in cases().into_iter().filter(|case| case.program == program && case.outside == outside) {
        let found = judged(&case);
        let is_right = match outside {
            true => found.verdict() == Verdict::Outside,
            false => matches!(found.verdict(), Verdict::Bits | Verdict::Conforming),
        };
        assert!(is_right, "{} ({}): {:?}", case.array, case.what, found.results);
        // The reason that conforms comes first.
        let begins_outside =
            |one: &JudgedResult| one.because.first().is_some_and(|why| why.contains("outside of what"));
        assert!(outside || !found.results.iter().any(begins_outside), "{}: {:?}", case.array, found.results);
        // What is printed can be explained.
        let kinds = found.results.iter().flat_map(|one| &one.pattern).map(|pattern| pattern.kind);
        kinds.for_each(|kind| assert!(FAULT_KINDS.iter().any(|(known, _)| *known == kind), "{kind}"));
        seen += 1;
    }
    assert!(seen > 0, "{program} has no such recordings");
}

/// The first pattern of each of these recordings of a program: its kind, and a part of its words.
pub fn faults(program: &str, expected: &[[&str; 3]]) {
    for [array, kind, says] in expected {
        let found = of(program, array, None);
        let first = found.pattern.first().unwrap_or_else(|| panic!("{array}: {found:?}"));
        assert!(first.kind == *kind && first.says.contains(says), "{array}: {:?}", found.pattern);
    }
}

/// The judgement of one recording, held to a mode.
pub fn of(program: &str, array: &str, mode: Option<&str>) -> JudgedResult {
    let mut case: Case = cases().into_iter().find(|case| case.program == program && case.array == array).unwrap();
    case.mode = mode.map(str::to_string);
    judged(&case).results.remove(0)
}

/// Operands of eleven bits are named: as what is permitted where one bf16 pass is, and as the fault where f32 is claimed.
#[test]
fn operands_as_tf32_are_named() {
    let permitted = of("alibi_f32", "h_tf32", None);
    assert_eq!(permitted.verdict, Verdict::Conforming);
    assert!(permitted.because.iter().any(|why| why.contains("operands as TF32")), "{permitted:?}");
    let claimed = of("alibi_f32", "h_tf32", Some("v5e/highest/off"));
    let first = claimed.pattern.first().unwrap();
    assert!(claimed.verdict == Verdict::Outside && first.kind == "operands", "{claimed:?}");
    assert!(first.says.contains("TF32") && first.explained > 0.99, "{first:?}");
}

/// Of what is far from every mode the claimed one is told, not one that is nearer by chance.
#[test]
fn the_claimed_mode_stands_for_an_accident() {
    let far =
        [("variance_f32", "x_ddof", 1000.0), ("mlp_f32", "x_tanh", 700.0), ("weight_norm_f32", "x_rownorm", 1000.0)];
    for (program, array, orders) in far {
        let found = of(program, array, Some("cpu/highest/off"));
        let nearest = found.nearest.as_ref().unwrap();
        assert!(nearest.mode == "cpu/highest/off" && nearest.orders > orders, "{program} {array}: {nearest:?}");
    }
    // What is near to another precision is still told to be.
    let found = of("matmul_f32", "h_one", Some("cpu/highest/off"));
    let nearest = found.nearest.map(|nearest| nearest.mode).unwrap_or_default() + &found.modes.join(" ");
    assert!(nearest.contains("/default/"), "{nearest}");
}

/// Each recording is of a program that has its tests, and there are many of both kinds.
#[test]
fn each_recording_has_a_test() {
    let text = concat!(include_str!("judge_recordings.rs"), include_str!("judge_formulas.rs"));
    let mut seen = [0, 0];
    for case in cases() {
        assert!(text.contains(&format!("recordings(\"{}\", {})", case.program, case.outside)), "{}", case.program);
        seen[usize::from(case.outside)] += 1;
    }
    assert!(seen[0] > 60 && seen[1] > 60, "{seen:?}");
}

#[test]
fn honest_recordings_of_alibi_f32_conform() {
    recordings("alibi_f32", false);
}

#[test]
fn faulty_recordings_of_alibi_f32_are_outside() {
    recordings("alibi_f32", true);
}

#[test]
fn faults_of_alibi_f32_are_named() {
    faults("alibi_f32", &[["x_slope", "constant", "have a factor at each place of dim 0: 2.0000, 4.000"]]);
}

#[test]
fn honest_recordings_of_attention_bf16_conform() {
    recordings("attention_bf16", false);
}

#[test]
fn faulty_recordings_of_attention_bf16_are_outside() {
    recordings("attention_bf16", true);
}

#[test]
fn faults_of_attention_bf16_are_named() {
    faults(
        "attention_bf16",
        &[
            ["x_blas_maskrow", "mask", "hides one place more of a row, in row 16"],
            ["x_blas_mask", "mask", "shows one place more of a row"],
        ],
    );
}

#[test]
fn honest_recordings_of_attention_f32_conform() {
    recordings("attention_f32", false);
}

#[test]
fn faulty_recordings_of_attention_f32_are_outside() {
    recordings("attention_f32", true);
}

#[test]
fn faults_of_attention_f32_are_named() {
    faults(
        "attention_f32",
        &[
            ["x_blas_maskrow", "mask", "hides one place more of a row, in row 16"],
            ["x_blas_vroll", "permuted", "one place earlier in dim 0"],
        ],
    );
}

#[test]
fn honest_recordings_of_cross_attention_f32_conform() {
    recordings("cross_attention_f32", false);
}

#[test]
fn faulty_recordings_of_cross_attention_f32_are_outside() {
    recordings("cross_attention_f32", true);
}

#[test]
fn faults_of_cross_attention_f32_are_named() {
    faults(
        "cross_attention_f32",
        &[
            ["x_axisq", "softmax-axis", "is over dim 2 and not dim 3"],
            ["x_kswap", "exchanged", "a_1_.1 and a_2_.1 are exchanged"],
        ],
    );
}

#[test]
fn honest_recordings_of_experts_f32_conform() {
    recordings("experts_f32", false);
}

#[test]
fn faulty_recordings_of_experts_f32_are_outside() {
    recordings("experts_f32", true);
}

#[test]
fn faults_of_experts_f32_are_named() {
    faults(
        "experts_f32",
        &[
            ["x_norenorm", "left-out", "div.15 = divide("],
            ["x_wrongexpert", "permuted", "places 0 and 1 of dim 1 exchanged"],
        ],
    );
}

#[test]
fn honest_recordings_of_grouped_attention_f32_conform() {
    recordings("grouped_attention_f32", false);
}

#[test]
fn faulty_recordings_of_grouped_attention_f32_are_outside() {
    recordings("grouped_attention_f32", true);
}

#[test]
fn faults_of_grouped_attention_f32_are_named() {
    faults(
        "grouped_attention_f32",
        &[
            [
                "x_headmap",
                "permuted",
                "concatenate.2 and concatenate.3 are read with places 1 and 2 of dim 1 exchanged",
            ],
            ["x_window", "mask", "hides what is 4 places or more before a row's own"],
            ["x_mask0", "fill", "puts 0 and not -1.00000e30 where it hides"],
        ],
    );
}

#[test]
fn honest_recordings_of_head_bf16_conform() {
    recordings("head_bf16", false);
}

#[test]
fn faulty_recordings_of_head_bf16_are_outside() {
    recordings("head_bf16", true);
}

#[test]
fn honest_recordings_of_layer_norm_f32_conform() {
    recordings("layer_norm_f32", false);
}

#[test]
fn faulty_recordings_of_layer_norm_f32_are_outside() {
    recordings("layer_norm_f32", true);
}

#[test]
fn faults_of_layer_norm_f32_are_named() {
    faults("layer_norm_f32", &[["x_roll", "permuted", "one place earlier in dim 0"]]);
}

#[test]
fn honest_recordings_of_matmul_bf16_conform() {
    recordings("matmul_bf16", false);
}

#[test]
fn faulty_recordings_of_matmul_bf16_are_outside() {
    recordings("matmul_bf16", true);
}

#[test]
fn faults_of_matmul_bf16_are_named() {
    faults(
        "matmul_bf16",
        &[
            ["x_blas_doubled", "doubled", "terms 32 to 35 of the 64 of dot_general.1 are doubled"],
            ["x_blas_drop", "dropped", "term 21 of the 64 of dot_general.1 is dropped"],
        ],
    );
}

#[test]
fn honest_recordings_of_matmul_f32_conform() {
    recordings("matmul_f32", false);
}

#[test]
fn faulty_recordings_of_matmul_f32_are_outside() {
    recordings("matmul_f32", true);
}

#[test]
fn faults_of_matmul_f32_are_named() {
    faults(
        "matmul_f32",
        &[
            ["x_blas_drop", "dropped", "term 21 of the 64 of dot_general.1 is dropped"],
            ["x_one_doubled", "doubled", "terms 32 to 35 of the 64 of dot_general.1 are doubled"],
            ["x_blas_scale", "factor", "1.001000"],
            ["x_one_scale", "factor", "1.001"],
            ["x_blas_stale", "scaled", "terms 0 to 31 of the 64 of dot_general.1 have a factor of 1.25"],
            ["x_blas_permuted", "permuted", "one place earlier in dim 1"],
            ["x_blas_rowswap", "other-row", "row 0 has the values of row 7"],
            ["x_seq_stretch", "scaled", "terms 16 to 31 of the 64 of dot_general.1 have a factor of 1.0100"],
        ],
    );
}

#[test]
fn honest_recordings_of_mlp_bf16_conform() {
    recordings("mlp_bf16", false);
}

#[test]
fn faulty_recordings_of_mlp_bf16_are_outside() {
    recordings("mlp_bf16", true);
}

#[test]
fn honest_recordings_of_mlp_f32_conform() {
    recordings("mlp_f32", false);
}

#[test]
fn faulty_recordings_of_mlp_f32_are_outside() {
    recordings("mlp_f32", true);
}

#[test]
fn faults_of_mlp_f32_are_named() {
    faults(
        "mlp_f32",
        &[
            ["x_tanh", "function", "is GELU by tanh in the place of GELU by erf"],
            ["x_quick", "function", "is x times the logistic function of 1.702 x"],
            ["x_nobias2", "left-out", "b2.1 is left out: zeros stand in its place"],
        ],
    );
}

#[test]
fn honest_recordings_of_quantised_matmul_conform() {
    recordings("quantised_matmul", false);
}

#[test]
fn faulty_recordings_of_quantised_matmul_are_outside() {
    recordings("quantised_matmul", true);
}

#[test]
fn faults_of_quantised_matmul_are_named() {
    faults("quantised_matmul", &[["x_i16", "integer-range", "wraps around in 16 bits"]]);
}

#[test]
fn honest_recordings_of_rms_norm_f32_conform() {
    recordings("rms_norm_f32", false);
}

#[test]
fn faulty_recordings_of_rms_norm_f32_are_outside() {
    recordings("rms_norm_f32", true);
}

#[test]
fn faults_of_rms_norm_f32_are_named() {
    faults(
        "rms_norm_f32",
        &[
            ["x_accbf16", "narrow-sum", "is summed in bf16"],
            ["x_eps5", "constant", "the constant 1.00000e-6"],
            ["x_f16in", "rounded", "x.1 is rounded to f16"],
        ],
    );
}

#[test]
fn honest_recordings_of_rope_attention_f32_conform() {
    recordings("rope_attention_f32", false);
}

#[test]
fn faulty_recordings_of_rope_attention_f32_are_outside() {
    recordings("rope_attention_f32", true);
}

#[test]
fn faults_of_rope_attention_f32_are_named() {
    faults(
        "rope_attention_f32",
        &[
            ["x_noscale", "left-out", "is left out"],
            ["x_heads", "permuted", "row [0,0,:] has the values of row [1,0,:]"],
        ],
    );
}

#[test]
fn honest_recordings_of_rope_f32_conform() {
    recordings("rope_f32", false);
}

#[test]
fn faulty_recordings_of_rope_f32_are_outside() {
    recordings("rope_f32", true);
}

#[test]
fn faults_of_rope_f32_are_named() {
    faults(
        "rope_f32",
        &[
            ["x_inter", "permuted", "even places of dim 2 before odd ones, and the result is put back in order"],
            ["x_posoff", "permuted", "a_1_.1 and a_2_.1 are read one place later in dim 0"],
        ],
    );
}

#[test]
fn honest_recordings_of_row_softmax_bf16_conform() {
    recordings("row_softmax_bf16", false);
}

#[test]
fn faulty_recordings_of_row_softmax_bf16_are_outside() {
    recordings("row_softmax_bf16", true);
}

#[test]
fn faults_of_row_softmax_bf16_are_named() {
    faults(
        "row_softmax_bf16",
        &[
            ["x_accbf16", "narrow-sum", "is summed in bf16, the type of the operands"],
            ["x_one", "element", "one element alone, [2,100]"],
        ],
    );
}

#[test]
fn honest_recordings_of_sampling_f32_conform() {
    recordings("sampling_f32", false);
}

#[test]
fn faulty_recordings_of_sampling_f32_are_outside() {
    recordings("sampling_f32", true);
}

#[test]
fn faults_of_sampling_f32_are_named() {
    faults("sampling_f32", &[["x_double", "twice", "are taken twice"]]);
}

#[test]
fn honest_recordings_of_soft_cap_f32_conform() {
    recordings("soft_cap_f32", false);
}

#[test]
fn faulty_recordings_of_soft_cap_f32_are_outside() {
    recordings("soft_cap_f32", true);
}

#[test]
fn faults_of_soft_cap_f32_are_named() {
    faults("soft_cap_f32", &[["x_nocap", "left-out", "tanh.1 = tanh("]]);
}

#[test]
fn honest_recordings_of_softmax_bf16_conform() {
    recordings("softmax_bf16", false);
}

#[test]
fn faulty_recordings_of_softmax_bf16_are_outside() {
    recordings("softmax_bf16", true);
}

#[test]
fn faults_of_softmax_bf16_are_named() {
    faults("softmax_bf16", &[["x_swap", "other-row", "row 1 has the values of row 2"]]);
}

#[test]
fn honest_recordings_of_swiglu_f32_conform() {
    recordings("swiglu_f32", false);
}

#[test]
fn faulty_recordings_of_swiglu_f32_are_outside() {
    recordings("swiglu_f32", true);
}

#[test]
fn faults_of_swiglu_f32_are_named() {
    faults("swiglu_f32", &[["x_swapped", "exchanged", "a_1_.1 and a_2_.1 are exchanged"]]);
}

#[test]
fn honest_recordings_of_batch_norm_f32_conform() {
    recordings("batch_norm_f32", false);
}

#[test]
fn faulty_recordings_of_batch_norm_f32_are_outside() {
    recordings("batch_norm_f32", true);
}

#[test]
fn honest_recordings_of_momentum_f32_conform() {
    recordings("momentum_f32", false);
}

#[test]
fn faulty_recordings_of_momentum_f32_are_outside() {
    recordings("momentum_f32", true);
}

#[test]
fn honest_recordings_of_weight_norm_f32_conform() {
    recordings("weight_norm_f32", false);
}

#[test]
fn faulty_recordings_of_weight_norm_f32_are_outside() {
    recordings("weight_norm_f32", true);
}
