//! Clamps of floats, in each type, as `min(max(low, x), high)`.

use ulpgate::ir::{Builder, Op};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

/// Results of XLA:CPU (jaxlib 0.10.2) in f64 and f32: a NaN of either bound is the result, and the higher bound decides where the
/// lower one is above it.
#[test]
fn a_nan_of_any_operand_is_the_result_of_a_clamp() {
    const NAN: f64 = f64::NAN;
    let operands = [
        [NAN, 0.0, 0.0, -0.0, 0.0, NAN, 2.0, -1.0, -1.0, -1.0],
        [1.0, NAN, 1.0, 0.0, -0.0, NAN, 1.5, -3.0, 3.0, 0.5],
        [2.0, 2.0, NAN, 1.0, 1.0, NAN, 1.0, 2.0, 2.0, 2.0],
    ];
    let expected = [NAN, NAN, NAN, 0.0, 0.0, NAN, 1.0, -1.0, 2.0, 0.5];
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16] {
        let n = expected.len();
        let mut b = Builder::new("clamp");
        let parameters = ["low", "x", "high"].map(|name| b.parameter(name, dtype, &[n]).unwrap());
        let clamped = b.op(Op::Clamp, &parameters).unwrap();
        let program = b.finish(&[("clamped", clamped)]).unwrap();
        let arguments = operands.map(|values| Tensor::new(&[n], Data::from_f64s(dtype, &values).unwrap()));
        let results = subject::evaluate(&program, &mode, &arguments).unwrap();
        for (at, (own, expected)) in results[0].data().to_f64s().into_iter().zip(expected).enumerate() {
            let is_same = own.to_bits() == expected.to_bits() || own.is_nan() && expected.is_nan();
            assert!(is_same, "{dtype} {at}: {own} against {expected}");
        }
    }
}

/// One bound for all elements is that bound for each.
#[test]
fn a_bound_of_one_element_holds_for_all() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    for dtype in [DType::F64, DType::F32] {
        let mut b = Builder::new("clamp");
        let low = b.parameter("low", dtype, &[]).unwrap();
        let x = b.parameter("x", dtype, &[4]).unwrap();
        let high = b.parameter("high", dtype, &[]).unwrap();
        let clamped = b.op(Op::Clamp, &[low, x, high]).unwrap();
        let program = b.finish(&[("clamped", clamped)]).unwrap();
        let tensor = |dims: &[usize], values: &[f64]| Tensor::new(dims, Data::from_f64s(dtype, values).unwrap());
        let arguments = [tensor(&[], &[-1.0]), tensor(&[4], &[-2.0, 0.5, f64::NAN, 7.0]), tensor(&[], &[2.0])];
        let own = subject::evaluate(&program, &mode, &arguments).unwrap()[0].data().to_f64s();
        assert_eq!((own[0], own[1], own[2].is_nan(), own[3]), (-1.0, 0.5, true, 2.0), "{dtype}");
    }
}
