//! Formulas that people take for each other, and types that a whole program is computed in: recordings with a key, a test a program.

use ulpgate::judge::Verdict;

use super::judge_recordings::{faults, of, recordings};

/// An optimiser whose decays are numbers of Python errs twice as much as the modes do, whose decays are rounded to f32.
#[test]
fn honest_recordings_of_adamw_f32_conform() {
    recordings("adamw_f32", false);
    let found = of("adamw_f32", "h_f64", None);
    assert!(found.because.iter().any(|why| why.contains("decimals")), "{found:?}");
}

#[test]
fn faulty_recordings_of_adamw_f32_are_outside() {
    recordings("adamw_f32", true);
}

#[test]
fn faults_of_adamw_f32_are_named() {
    faults(
        "adamw_f32",
        &[
            ["x_eps_in", "formula", "inside of the root"],
            ["x_l2", "formula", "L2 regularisation in the place of a decoupled decay"],
            ["x_step", "one-more", "has one more everywhere"],
        ],
    );
}

#[test]
fn honest_recordings_of_average_pool_f32_conform() {
    recordings("average_pool_f32", false);
}

#[test]
fn faulty_recordings_of_average_pool_f32_are_outside() {
    recordings("average_pool_f32", true);
}

/// The counts of the places that a window has inside are 9, 6 and 4.
#[test]
fn faults_of_average_pool_f32_are_named() {
    faults("average_pool_f32", &[["x_countpad", "divisor", "are 9 everywhere, the largest of them"]]);
}

#[test]
fn honest_recordings_of_banded_attention_f32_conform() {
    recordings("banded_attention_f32", false);
}

#[test]
fn faulty_recordings_of_banded_attention_f32_are_outside() {
    recordings("banded_attention_f32", true);
}

#[test]
fn faults_of_banded_attention_f32_are_named() {
    faults("banded_attention_f32", &[["x_future", "mask", "shows the place behind those of each row too"]]);
}

/// Attention all of which is computed in f16 errs less than one bf16 pass does, and is no mode's.
#[test]
fn a_program_in_f16_is_told_without_a_mode() {
    let found = of("banded_attention_f32", "x_f16", None);
    let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.verdict, first.kind), (Verdict::Outside, "narrow-type"), "{found:?}");
}

#[test]
fn honest_recordings_of_dequantised_matmul_f32_conform() {
    recordings("dequantised_matmul_f32", false);
}

#[test]
fn faulty_recordings_of_dequantised_matmul_f32_are_outside() {
    recordings("dequantised_matmul_f32", true);
}

#[test]
fn faults_of_dequantised_matmul_f32_are_named() {
    faults(
        "dequantised_matmul_f32",
        &[["x_zp8", "left-out", "8 stands in its place"], ["x_zp_minus1", "one-more", "q.1 has one more everywhere"]],
    );
}

#[test]
fn honest_recordings_of_divergence_f32_conform() {
    recordings("divergence_f32", false);
}

#[test]
fn faulty_recordings_of_divergence_f32_are_outside() {
    recordings("divergence_f32", true);
}

#[test]
fn faults_of_divergence_f32_are_named() {
    faults("divergence_f32", &[["x_ce", "left-out", "the first term of "]]);
}

#[test]
fn honest_recordings_of_group_norm_f32_conform() {
    recordings("group_norm_f32", false);
}

#[test]
fn faulty_recordings_of_group_norm_f32_are_outside() {
    recordings("group_norm_f32", true);
}

#[test]
fn faults_of_group_norm_f32_are_named() {
    faults(
        "group_norm_f32",
        &[["x_eps_outside", "formula", "outside of the root"], ["x_ddof", "constant", "1.27000e2"]],
    );
}

#[test]
fn honest_recordings_of_logsumexp_f32_conform() {
    recordings("logsumexp_f32", false);
}

#[test]
fn faulty_recordings_of_logsumexp_f32_are_outside() {
    recordings("logsumexp_f32", true);
}

/// One element that overflows is all that shows of a maximum that is not subtracted.
#[test]
fn faults_of_logsumexp_f32_are_named() {
    faults("logsumexp_f32", &[["x_nomax", "left-out", "0 stands in its place"]]);
}

#[test]
fn honest_recordings_of_rms_norm_bf16_conform() {
    recordings("rms_norm_bf16", false);
}

#[test]
fn faulty_recordings_of_rms_norm_bf16_are_outside() {
    recordings("rms_norm_bf16", true);
}

#[test]
fn faults_of_rms_norm_bf16_are_named() {
    faults(
        "rms_norm_bf16",
        &[
            ["x_mean_sub", "formula", "the mean along the last dim is subtracted"],
            ["x_mean_for_square", "formula", "is the magnitude and not the square"],
            ["x_trunc", "toward-zero", "the result is rounded toward zero"],
        ],
    );
}

#[test]
fn honest_recordings_of_routing_f32_conform() {
    recordings("routing_f32", false);
}

#[test]
fn faulty_recordings_of_routing_f32_are_outside() {
    recordings("routing_f32", true);
}

#[test]
fn faults_of_routing_f32_are_named() {
    faults("routing_f32", &[["x_top1", "dropped", "the last 1 are left out"]]);
}

/// Numbers of mean 20: the running mean rounds at each step, and errs three times as much as the worst order of the program's sums.
#[test]
fn honest_recordings_of_variance_f32_conform() {
    recordings("variance_f32", false);
    let found = of("variance_f32", "h_welford", None);
    assert!(found.because.iter().any(|why| why.contains("Welford")), "{found:?}");
    // A claimed mode is the one that is named, where others are as near.
    let claimed = of("variance_f32", "h_two", Some("cpu/highest/off"));
    assert_eq!(claimed.nearest.map(|nearest| nearest.mode).as_deref(), Some("cpu/highest/off"));
}

/// A mean of squares less the square of the mean loses eight bits here; one row of sixteen numbers has no plural.
#[test]
fn faulty_recordings_of_variance_f32_are_outside() {
    recordings("variance_f32", true);
    let found = of("variance_f32", "x_onepass", None);
    assert!(found.because.iter().any(|why| why.contains("the search for a cause ended")), "{found:?}");
    assert!(found.pattern.iter().any(|one| one.says == "1 row and 14 of 16 columns"), "{found:?}");
}

#[test]
fn honest_recordings_of_log_softmax_f32_conform() {
    recordings("log_softmax_f32", false);
}

#[test]
fn faulty_recordings_of_log_softmax_f32_are_outside() {
    recordings("log_softmax_f32", true);
}

/// A softmax of probabilities is so even that zeros in the place of the logits explain nearly all of it.
#[test]
fn faults_of_log_softmax_f32_are_named() {
    faults("log_softmax_f32", &[["x_double", "twice", "a softmax of x.1 is taken before that of the program"]]);
}

#[test]
fn honest_recordings_of_token_shift_f32_conform() {
    recordings("token_shift_f32", false);
}

#[test]
fn faulty_recordings_of_token_shift_f32_are_outside() {
    recordings("token_shift_f32", true);
}
