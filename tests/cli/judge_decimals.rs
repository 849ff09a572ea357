//! Constants that are decimals: 0.507 of a program in Python is another number than the f32 that its HLO text names.

use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::judge::{JudgedResult, Recording, Settings, Verdict, judge};
use ulpgate::tensor::{Data, Tensor};

/// The judgement of `x * 0.507` in f32, whose constant errs by nearly half an ulp: each element is the product by `factor`, rounded once.
fn product_by(factor: f64) -> JudgedResult {
    let text = "HloModule m\nENTRY e { x = f32[256] parameter(0) c = f32[] constant(0.507) \
        w = f32[256] broadcast(c), dimensions={} ROOT r = f32[256] multiply(x, w) }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let values: Vec<f32> = (0..256).map(|at| (at * 7919 % 1009) as f32 / 503.0 - 1.003).collect();
    let products = values.iter().map(|x| (f64::from(*x) * factor) as f32).collect();
    let recording = Recording::of_arrays(vec![("out0".to_string(), Tensor::new(&[256], Data::F32(products)))]);
    let arguments = [Tensor::new(&[256], Data::F32(values))];
    judge(&import.program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0)
}

/// The product by the decimal errs twice as much as the f32 program does, and no choice of a compiler gives it. Beside the decimal's own
/// truth it is as accurate as the program is.
#[test]
fn a_decimal_beside_a_rounded_constant_is_no_fault() {
    let own = product_by(f64::from(0.507f32));
    assert_eq!(own.verdict, Verdict::Bits, "{own:?}");
    let decimal = product_by(0.507);
    assert!(decimal.outside.elements > 64, "{decimal:?}");
    assert_eq!(decimal.verdict, Verdict::Conforming, "{decimal:?}");
    assert!(decimal.because.iter().any(|why| why.contains("decimals")), "{decimal:?}");
    // An f32 beside the constant is neither.
    for other in [0.507f32.next_up(), 0.507f32.next_down(), 0.508] {
        let found = product_by(f64::from(other));
        assert_eq!(found.verdict, Verdict::Outside, "{other}: {found:?}");
    }
}
