//! The truth of a chain of matmuls with tanh between them, beside the same chain in plain f64, on one thread.
//!
//! Results of the chain are asked for as the program stores them: correctly rounded to f32, or said to be undecided.

#![allow(unsafe_code, reason = "the rivals take pointers")]

use rug::Float;
use ulpgate::ir::{Builder, Precision, Program, Unary};
use ulpgate::oracle::{Demand, FloatTruth, Oracle, Stats, TruthTensor};
use ulpgate::tensor::{DType, Data, Tensor};
use ulpgate_benches::{Contender, contest};

const N: usize = 512;
const LAYERS: usize = 8;
const ROUNDS: usize = 3;
/// Bits in which some rows are computed once more, one operation after the other.
const BITS: u32 = 400;
const ROWS: [usize; 2] = [3, 400];

/// `f32[512,512]` of about `scale`, without the library's own generators: sums of twelve uniform numbers.
fn matrix(seed: u64, scale: f64) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..N * N).map(|_| (scale * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)) as f32).collect()
}

/// `tanh(... tanh(x w1) w2 ...) w8`, all of f32.
fn chain() -> Program {
    let mut b = Builder::new("chain");
    let mut value = b.parameter("x", DType::F32, &[N, N]).expect("a parameter");
    for layer in 0..LAYERS {
        let weights = b.parameter(&format!("w{layer}"), DType::F32, &[N, N]).expect("a parameter");
        value = b.matmul(value, weights, Precision::Highest, DType::F32).expect("a matmul");
        if layer + 1 < LAYERS {
            value = b.unary(Unary::Tanh, value).expect("tanh of floats");
        }
    }
    b.finish(&[("y", value)]).expect("a program")
}

fn plain(matrices: &[Vec<f64>], out: &mut Vec<f64>) {
    let stride = N as isize;
    let mut value = matrices[0].clone();
    for (layer, weights) in matrices[1..].iter().enumerate() {
        let (c, a, b) = (out.as_mut_ptr(), value.as_ptr(), weights.as_ptr());
        // SAFETY: all three are [N,N], row-major, and the output overlaps no operand.
        unsafe {
            let one = gemm::Parallelism::None;
            gemm::gemm(N, N, N, c, 1, stride, false, a, 1, stride, b, 1, stride, 0.0, 1.0, false, false, false, one);
        }
        if layer + 1 < LAYERS {
            value.iter_mut().zip(out.iter()).for_each(|(v, o)| *v = o.tanh());
        }
    }
}

/// One row of the chain, in MPFR.
fn row(matrices: &[Vec<f32>], row: usize) -> Vec<f32> {
    let mut value: Vec<Float> = matrices[0][row * N..][..N].iter().map(|v| Float::with_val(BITS, *v)).collect();
    for (layer, weights) in matrices[1..].iter().enumerate() {
        let dot = |j: usize| {
            let mut sum = Float::with_val(BITS, 0.0);
            value.iter().enumerate().for_each(|(p, v)| sum += v * Float::with_val(BITS, weights[p * N + j]));
            if layer + 1 < LAYERS { sum.tanh() } else { sum }
        };
        value = (0..N).map(dot).collect();
    }
    value.iter().map(Float::to_f32).collect()
}

fn main() {
    let mut matrices = vec![matrix(1, 1.0)];
    matrices.extend((0..LAYERS as u64).map(|layer| matrix(layer + 2, (N as f64).powf(-0.5))));
    let wide: Vec<Vec<f64>> = matrices.iter().map(|m| m.iter().map(|v| f64::from(*v)).collect()).collect();
    let arguments: Vec<Tensor> = matrices.iter().map(|m| Tensor::new(&[N, N], Data::F32(m.clone()))).collect();
    let (program, oracle) = (chain(), Oracle::default());
    let mut out = vec![0.0; N * N];
    let mut truth: Option<(FloatTruth, Stats)> = None;
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread to start");
    let contenders = vec![
        Contender::new("gemm: f64, uncertified, with std's tanh", || plain(&wide, &mut out)),
        Contender::new("certified, rounded to f32", || {
            let found = one_thread.install(|| oracle.evaluate(&program, &arguments, &[Demand::Stored]));
            let mut found = found.expect("a program with a truth");
            if let Some(TruthTensor::Float(result)) = found.outputs.pop() {
                truth = Some((result, found.stats));
            }
        }),
    ];
    let title = format!("{LAYERS} matmuls [{N},{N}] x [{N},{N}] with tanh between them");
    contest(&title, (LAYERS * N * N * N) as f64, "MAC", ROUNDS, contenders);
    let (truth, stats) = truth.expect("a float result");
    println!("  {} of {} undecided; {stats:?}", truth.open.len(), N * N);
    let differ = |at: usize, real: f32| !truth.open.contains(&at) && truth.rounded[at] != f64::from(real);
    let wrong: usize = ROWS
        .iter()
        .map(|at| row(&matrices, *at).into_iter().enumerate().filter(|(j, real)| differ(at * N + j, *real)).count())
        .sum();
    println!("  {wrong} of {} differ from MPFR at {BITS} bits", ROWS.len() * N);
}
