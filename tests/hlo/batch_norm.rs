//! Batch normalization and its gradients, in both worlds, against their definitions.

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

fn floats(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(DType::F64, values).unwrap())
}

/// Two features of three elements each, next to each other.
const X: [f64; 6] = [1.0, 10.0, 3.0, 2.0, 8.0, 6.0];
const SCALE: [f64; 2] = [2.0, -0.5];
const OFFSET: [f64; 2] = [1.0, 4.0];
/// Variances whose sums with epsilon have exact square roots.
const VARIANCE: [f64; 2] = [3.75, 15.75];
const MEAN: [f64; 2] = [4.0, 6.0];

fn text(parameters: usize, root: &str) -> String {
    let list: String = (1..parameters).map(|p| format!("  p{p} = f64[2] parameter({p})\n")).collect();
    format!("HloModule m\n\nENTRY e {{\n  x = f64[3,2] parameter(0)\n{list}{root}}}\n")
}

/// The results of the machine, which are within 2^-50 of truth relative to 1.
#[track_caller]
fn results(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(text), arguments);
    near(&machine, &truth);
    truth
}

#[track_caller]
fn near(one: &[Vec<f64>], other: &[Vec<f64>]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        assert!((one - other).abs() <= 2f64.powi(-50) * (1.0 + other.abs()) * 16.0, "{one} and {other}");
    }
}

fn sum(feature: usize, of: impl Fn(usize) -> f64) -> f64 {
    (0..3).map(|row| of(2 * row + feature)).sum()
}

#[test]
fn an_array_is_normalized_by_given_numbers() {
    let root = "  ROOT r = f64[3,2] batch-norm-inference(x, p1, p2, p3, p4), epsilon=0.25, feature_index=1\n";
    let arguments = [&SCALE, &OFFSET, &MEAN, &VARIANCE].map(|values| floats(&[2], values));
    let arguments = [vec![floats(&[3, 2], &X)], arguments.to_vec()].concat();
    let expected = (0..6).map(|at| {
        let feature = at % 2;
        (X[at] - MEAN[feature]) / (VARIANCE[feature] + 0.25).sqrt() * SCALE[feature] + OFFSET[feature]
    });
    assert_eq!(results(&text(5, root), &arguments), [expected.collect::<Vec<f64>>()]);
}

#[test]
fn an_array_is_normalized_by_its_own_mean_and_variance() {
    let root = "  ROOT r = (f64[3,2], f64[2], f64[2]) batch-norm-training(x, p1, p2), epsilon=0.25, feature_index=1\n";
    let arguments = [floats(&[3, 2], &X), floats(&[2], &SCALE), floats(&[2], &OFFSET)];
    let mean = [0, 1].map(|feature| sum(feature, |at| X[at]) / 3.0);
    let variance = [0, 1].map(|feature| sum(feature, |at| (X[at] - mean[feature]).powi(2)) / 3.0);
    let normalized = (0..6).map(|at| {
        let feature = at % 2;
        (X[at] - mean[feature]) / (variance[feature] + 0.25).sqrt() * SCALE[feature] + OFFSET[feature]
    });
    let expected = [normalized.collect(), mean.to_vec(), variance.to_vec()];
    near(&results(&text(3, root), &arguments), &expected);
    // The mean of squares less the square of the mean: in f32 it cancels, as XLA's does.
    let narrow = text(3, root).replace("f64", "f32");
    let f32s = |dims: &[usize], values: &[f64]| Tensor::new(dims, Data::from_f64s(DType::F32, values).unwrap());
    let far = X.map(|x| x + 4096.0);
    let arguments = [f32s(&[3, 2], &far), f32s(&[2], &SCALE), f32s(&[2], &OFFSET)];
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(&narrow), &arguments);
    assert!((machine[2][0] - truth[2][0]).abs() > 0.25, "{} and {}", machine[2][0], truth[2][0]);
}

#[test]
fn gradients_are_those_of_the_normalized_array() {
    let root = "  g = f64[3,2] parameter(4)\n  ROOT r = (f64[3,2], f64[2], f64[2]) batch-norm-grad(x, p1, p2, p3, g), \
                epsilon=0.25, feature_index=1\n";
    let given = [0.5, -1.0, 2.0, 0.25, -1.5, 3.0];
    let mean = [0, 1].map(|feature| sum(feature, |at| X[at]) / 3.0);
    let arguments = [
        floats(&[3, 2], &X),
        floats(&[2], &SCALE),
        floats(&[2], &mean),
        floats(&[2], &VARIANCE),
        floats(&[3, 2], &given),
    ];
    let deviation = VARIANCE.map(|variance| (variance + 0.25).sqrt());
    let normalized = |at: usize| (X[at] - mean[at % 2]) / deviation[at % 2];
    let of_offset = [0, 1].map(|feature| sum(feature, |at| given[at]));
    let of_scale = [0, 1].map(|feature| sum(feature, |at| given[at] * normalized(at)));
    // The derivative through mean and variance.
    let of_x = (0..6).map(|at| {
        let feature = at % 2;
        let rest = given[at] - of_offset[feature] / 3.0 - normalized(at) * of_scale[feature] / 3.0;
        SCALE[feature] / deviation[feature] * rest
    });
    let expected = [of_x.collect(), of_scale.to_vec(), of_offset.to_vec()];
    near(&results(&text(4, root), &arguments), &expected);
}

#[test]
fn what_is_wrong_is_said() {
    for (root, why) in [
        ("batch-norm-inference(x, p1, p2, p3), epsilon=0.25, feature_index=1", "mean and variance are needed"),
        (
            "batch-norm-inference(x, p1, p2, p3, p4), epsilon=0.25, feature_index=2",
            "is no array of floats with a dim 2",
        ),
        ("batch-norm-inference(x, p1, p2, p3, p4), epsilon=much, feature_index=1", "epsilon is a number"),
        ("batch-norm-inference(x, p1, p2, p3, p4), epsilon=0.25", "the attribute feature_index is missing"),
    ] {
        let text = text(5, &format!("  ROOT r = f64[3,2] {root}\n"));
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
