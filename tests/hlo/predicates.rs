//! Products of predicates, and their bytes, in both worlds.

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{Data, Tensor};

use crate::worlds::{self, program};

fn predicates(dims: &[usize], ones: &str) -> Tensor {
    Tensor::new(dims, Data::Pred(ones.bytes().map(|byte| byte == b'1').collect()))
}

/// The results in both worlds, which are equal.
#[track_caller]
fn results(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(text), arguments);
    assert_eq!(machine, truth, "{text}");
    machine
}

/// As `jnp.dot` of booleans asks.
#[test]
fn a_dot_of_predicates_says_whether_any_pair_meets() {
    let text = "HloModule m\n\nENTRY e {\n  a = pred[2,3] parameter(0)\n  b = pred[3,2] parameter(1)\n  \
                ROOT r = pred[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
    let given = [predicates(&[2, 3], "110001"), predicates(&[3, 2], "101001")];
    assert_eq!(results(text, &given), [[1.0, 0.0, 0.0, 1.0]]);
    // Of 256 pairs a sum of bytes would be 0.
    let long = "HloModule m\n\nENTRY e {\n  a = pred[256] parameter(0)\n  \
                ROOT r = pred[] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}\n";
    assert_eq!(results(long, &[predicates(&[256], &"1".repeat(256))]), [[1.0]]);
}

#[test]
fn a_convolution_of_predicates_says_whether_any_pair_meets() {
    let text = "HloModule m\n\nENTRY e {\n  x = pred[1,4,1] parameter(0)\n  w = pred[2,1,1] parameter(1)\n  \
                ROOT r = pred[1,3,1] convolution(x, w), window={size=2}, dim_labels=b0f_0io->b0f\n}\n";
    assert_eq!(results(text, &[predicates(&[1, 4, 1], "1001"), predicates(&[2, 1, 1], "11")]), [[1.0, 0.0, 1.0]]);
}

/// A predicate is a byte, 0 or 1; the lowest byte comes first.
#[test]
fn the_bytes_of_predicates_are_seen_as_wider_types() {
    let to = |shape: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  p = pred[2,4] parameter(0)\n  ROOT r = {shape}[2] bitcast-convert(p)\n}}\n"
        )
    };
    let given = [predicates(&[2, 4], "10100001")];
    assert_eq!(results(&to("u32"), &given), [[65537.0, 16_777_216.0]]);
    let floats = [0x0001_0001, 0x0100_0000].map(|bits| f64::from(f32::from_bits(bits)));
    assert_eq!(results(&to("f32"), &given), [floats]);
    let back = "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = pred[2,4] bitcast-convert(x)\n}\n";
    let error = lower(&parse(back).unwrap()).unwrap_err().to_string();
    assert!(error.contains("of f32 to predicates is not supported: a byte of it may be neither 0 nor 1"), "{error}");
}
