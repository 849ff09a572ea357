//! Built-in programs against what XLA's CPU backend really computed (`tests/data/xla_cpu`, FACTS 9): with excess
//! precision off and on, probabilities and maxima bit for bit, indices equal, and the same rows losing their maximum.

use std::path::PathBuf;

use ulpgate::file::safetensors;
use ulpgate::machine::Mode;
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate::tensor::Tensor;

fn tensors(name: &str) -> Vec<Tensor> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/xla_cpu").join(name);
    safetensors::read(&path).unwrap().into_iter().map(|(_, tensor)| tensor).collect()
}

/// What a built-in program gives for the reference inputs, and what XLA gave.
fn both(program: &str, file: &str, excess: &str) -> (Vec<Tensor>, Vec<Tensor>) {
    let arguments = tensors(&format!("{file}.inputs.safetensors"));
    let [rows, n] = arguments[0].dims().try_into().unwrap();
    let program = program.parse::<ProgramSpec>().unwrap().build(n, rows).unwrap();
    let mode: Mode = format!("xla-cpu/default/{}", if excess == "on" { "cpu" } else { "off" }).parse().unwrap();
    let ours = subject::evaluate(&program, &mode, &arguments).unwrap();
    (ours, tensors(&format!("{file}.excess_{excess}.outputs.safetensors")))
}

/// Asserts that the results of these numbers are the same bits.
fn assert_same_bits(program: &str, file: &str, results: &[usize]) {
    for excess in ["on", "off"] {
        let (ours, xla) = both(program, file, excess);
        for at in results {
            let (ours, xla) = (&ours[*at], &xla[*at]);
            assert_eq!(ours.dims(), xla.dims(), "{file} result {at}");
            let differing: Vec<usize> =
                (0..ours.len()).filter(|i| ours.data().bits(*i) != xla.data().bits(*i)).collect();
            assert!(differing.is_empty(), "{file}, excess {excess}, result {at}: elements {differing:?} differ");
        }
    }
}

#[test]
fn softmax_bf16_is_xlas_bit_for_bit() {
    assert_same_bits("softmax", "softmax_bf16", &[0]);
}

/// Probabilities, their maximum and its index. The f32 sum of probabilities is a reduction in an order of XLA's own and
/// is compared below.
#[test]
fn prob_max_is_xlas_bit_for_bit() {
    assert_same_bits("prob_max", "prob_max", &[0, 1, 2]);
}

#[test]
fn sums_of_probabilities_agree_within_the_order_of_a_sum() {
    for excess in ["on", "off"] {
        let (ours, xla) = both("prob_max", "prob_max", excess);
        for row in 0..ours[3].len() {
            let (a, b) = (ours[3].data().get_f64(row), xla[3].data().get_f64(row));
            // gamma of 1023 additions of terms that sum to about 1.
            assert!((a - b).abs() <= 1023.0 * 2f64.powi(-24) * 1.01, "row {row}: {a} against {b}");
        }
    }
}

/// `p >= max` on what the program itself returns: 6 of 8 rows lose their maximum with excess precision, none without
/// (FACTS 9).
#[test]
fn the_same_rows_lose_their_most_probable_token() {
    let lost = |results: &[Tensor]| -> Vec<usize> {
        let (p, max) = (results[0].data(), results[1].data());
        let width = results[0].dims()[1];
        (0..results[0].dims()[0])
            .filter(|row| (0..width).all(|i| p.get_f64(row * width + i) < max.get_f64(*row)))
            .collect()
    };
    for (excess, rows) in [("on", 6), ("off", 0)] {
        let (ours, xla) = both("prob_max", "prob_max", excess);
        let differs = |results: &[Tensor]| -> Vec<usize> {
            let (p, max) = (results[0].data(), results[1].data());
            let width = results[0].dims()[1];
            let top = |row: usize| (0..width).map(|i| p.get_f64(row * width + i)).fold(0.0, f64::max);
            (0..results[0].dims()[0]).filter(|row| top(*row) != max.get_f64(*row)).collect()
        };
        assert_eq!(lost(&ours), lost(&xla), "excess {excess}");
        assert_eq!(differs(&ours), differs(&xla), "excess {excess}");
        assert_eq!(lost(&xla).len(), rows, "excess {excess}");
    }
}

#[test]
fn affine_greedy_is_xlas_bit_for_bit() {
    assert_same_bits("affine_greedy", "affine_greedy", &[0, 1, 2, 3]);
}

#[test]
fn top_k_is_xlas_bit_for_bit() {
    assert_same_bits("top_k", "top_k", &[0, 1]);
    assert_same_bits("top_k[dtype=f32]", "top_k_f32", &[0, 1]);
}
