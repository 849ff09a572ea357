//! Built-in programs against what XLA's CPU backend really computed (`tests/data/hlo/cpu`, FACTS 3.12): with excess
//! precision off and on, probabilities and maxima bit for bit, indices equal, and the same rows losing their maximum.
//! Functions of f32 bit for bit.

use std::path::PathBuf;

use ulpgate::file::safetensors;
use ulpgate::ir::{Binary, Builder, Unary};
use ulpgate::machine::{self, Mode};
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate::tensor::{DType, Tensor};

fn tensors(name: &str) -> Vec<Tensor> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo/cpu").join(name);
    safetensors::read(&path).unwrap().into_iter().map(|(_, tensor)| tensor).collect()
}

/// The results of a built-in program for the reference inputs, and XLA's.
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
/// (FACTS 3.12).
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

/// Ends of ranges, seams between formulas, special values and random arguments, each function's results to the bit. They
/// were made on x86-64 with fused multiply-adds.
#[test]
fn functions_are_xlas_bit_for_bit() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo/cpu/functions.safetensors");
    let tensors = safetensors::read(&path).unwrap();
    let named = |name: &str, part: &str| {
        let name = format!("{name}.{part}");
        tensors.iter().find(|(n, _)| *n == name).map(|(_, tensor)| tensor.clone()).unwrap()
    };
    let mode: Mode = "xla-cpu/default/off".parse().unwrap();
    for unary in
        [Unary::Exponential, Unary::ExponentialMinusOne, Unary::Log, Unary::LogPlusOne, Unary::Logistic, Unary::Tanh]
    {
        let (x, xla) = (named(unary.name(), "x"), named(unary.name(), "y"));
        let mut b = Builder::new(unary.name());
        let parameter = b.parameter("x", DType::F32, x.dims()).unwrap();
        let result = b.unary(unary, parameter).unwrap();
        let program = b.finish(&[("y", result)]).unwrap();
        let ours = machine::evaluate(&program, &mode, std::slice::from_ref(&x)).unwrap().remove(0);
        for i in 0..x.len() {
            let (argument, a, b) = (x.data().get_f64(i), ours.data().get_f64(i), xla.data().get_f64(i));
            let same = ours.data().bits(i) == xla.data().bits(i) || a.is_nan() && b.is_nan();
            assert!(same, "{}({argument:e}) = {a:e}, not {b:e}", unary.name());
        }
    }
}

/// XLA hands this sum to a library that adds in an order of its own, so its last bits are not ours. All else is: in every
/// row one reciprocal of a sum, a few units in the last place from ours, gives XLA's probabilities: 98 of 100 to the bit,
/// the others within two units. For a difference and its exponential together XLA dumps no kernel of its own, and 185 of
/// these 8192 exponentials differ from those of the exponential alone: a library computes them too.
#[test]
fn softmax_f32_is_xlas_but_for_the_order_of_its_sum() {
    let shift_and_exp = |rows: usize, n: usize| {
        let mut b = Builder::new("exponentials");
        let x = b.parameter("x", DType::F32, &[rows, n]).unwrap();
        let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1]).unwrap();
        let max = b.broadcast(max, &[rows, n], &[0]).unwrap();
        let shifted = b.binary(Binary::Subtract, x, max).unwrap();
        let exp = b.unary(Unary::Exponential, shifted).unwrap();
        b.finish(&[("exp", exp)]).unwrap()
    };
    for excess in ["on", "off"] {
        let (ours, xla) = both("softmax[dtype=f32]", "softmax_f32", excess);
        let [rows, n] = xla[0].dims().try_into().unwrap();
        let mode: Mode = "xla-cpu/default/off".parse().unwrap();
        let arguments = tensors("softmax_f32.inputs.safetensors");
        let exp = machine::evaluate(&shift_and_exp(rows, n), &mode, &arguments).unwrap().remove(0);
        let [exp, ours, xla] = [&exp, &ours[0], &xla[0]].map(|t| t.data().to_f32s());
        let mut equal = 0;
        for row in 0..rows {
            let span = row * n..(row + 1) * n;
            // The largest exponential is 1, so the largest probability is the reciprocal itself.
            let top = span.clone().find(|i| exp[*i] == 1.0).unwrap();
            let apart = i64::from(ours[top].to_bits()) - i64::from(xla[top].to_bits());
            assert!(apart.abs() <= 8, "excess {excess}, row {row}: reciprocals are {apart} units apart");
            for i in span {
                let apart = i64::from((exp[i] * xla[top]).to_bits()) - i64::from(xla[i].to_bits());
                assert!(apart.abs() <= 2, "excess {excess}, row {row}, element {i}: {apart} units apart");
                equal += usize::from(apart == 0);
            }
        }
        assert!(equal * 100 >= rows * n * 97, "excess {excess}: {equal} probabilities are equal");
    }
}
