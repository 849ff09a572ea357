//! The cost of a verdict on a million outputs at K = 4096, beside one f32 matmul of that size by `matrixmultiply`.
//! `cargo bench -p ulpgate-benches --bench judge`.

#![allow(unsafe_code, reason = "the rival takes pointers")]

use std::hint::black_box;

use rayon::ThreadPoolBuilder;
use ulpgate::ir::{Builder, Precision, Program};
use ulpgate::judge::{Recording, Settings, Verdict, judge};
use ulpgate::tensor::{DType, Data, Tensor};

use ulpgate_benches::{Contender, contest, logits};

const SIDE: usize = 1000;
const K: usize = 4096;

/// A plain product of two arguments of a type, in f32.
fn product(dtype: DType) -> Program {
    let mut b = Builder::new("product");
    let x = b.parameter("x", dtype, &[SIDE, K]).expect("a shape");
    let y = b.parameter("y", dtype, &[K, SIDE]).expect("a shape");
    let z = b.matmul(x, y, Precision::Default, DType::F32).expect("operands that fit");
    b.finish(&[("z", z)]).expect("a program")
}

/// Numbers of this type: those of bf16, or with the bits of an f32.
fn drawn(dtype: DType, dims: [usize; 2]) -> Tensor {
    let values = logits(dims[0], dims[1]).data().to_f64s();
    let full =
        |(at, x): (usize, &f64)| if dtype == DType::F32 { x * (1.0 + (at * 7919 % 1009) as f64 * 1e-6) } else { *x };
    let values: Vec<f64> = values.iter().enumerate().map(full).collect();
    Tensor::new(&dims, Data::from_f64s(dtype, &values).expect("a float"))
}

/// The product by `matrixmultiply`.
fn rival(x: &[f32], y: &[f32]) -> Vec<f32> {
    let mut z = vec![0.0f32; SIDE * SIDE];
    let (side, k) = (SIDE as isize, K as isize);
    // SAFETY: the strides are those of row-major arrays of these sizes.
    unsafe {
        matrixmultiply::sgemm(SIDE, K, SIDE, 1.0, x.as_ptr(), k, 1, y.as_ptr(), side, 1, 0.0, z.as_mut_ptr(), side, 1);
    }
    z
}

fn main() {
    ThreadPoolBuilder::new().num_threads(1).build_global().expect("no pool yet");
    for dtype in [DType::F32, DType::BF16] {
        let (program, arguments) = (product(dtype), [drawn(dtype, [SIDE, K]), drawn(dtype, [K, SIDE])]);
        let [x, y] = arguments.each_ref().map(|tensor| tensor.data().to_f32s());
        let given = Tensor::new(&[SIDE, SIDE], Data::F32(rival(&x, &y)));
        let judging = || {
            let recording = Recording::of_arrays(vec![("z".to_string(), given.clone())]);
            let judged =
                judge(&program, &arguments, &recording, &Settings::default()).expect("a program that is known");
            assert!(matches!(judged.verdict(), Verdict::Bits | Verdict::Conforming), "{judged:?}");
            black_box(judged);
        };
        let contenders = vec![
            Contender::new("matrixmultiply, once", || {
                black_box(rival(&x, &y));
            }),
            Contender::new("judge", judging),
        ];
        let title = format!("judge, [{SIDE},{K}] by [{K},{SIDE}] of {}", dtype.name());
        contest(&title, (SIDE * SIDE * K) as f64, "product", 3, contenders);
    }
}
