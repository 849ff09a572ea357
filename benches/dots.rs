//! Certified dot products against plain matrix multiplications and a naive loop in MPFR, on one thread.
//!
//! `cargo bench -p ulpgate-benches --bench dots` times; with `-- memory` behind it, one product of the largest size that is
//! meant to fit into 2 GiB is certified, and the most memory that the process ever had is printed.

#![allow(unsafe_code, reason = "the rivals take pointers")]

use half::bf16;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rug::{Assign, Float};
use ulpgate::oracle::dot::{Counts, certified_tiles, exact_dot};
use ulpgate::oracle::interval::Interval;
use ulpgate_benches::{Contender, contest};

/// Side of the square matrices.
const N: usize = 1024;
const ROUNDS: usize = 7;
/// Bits of the naive loop's accumulator.
const BITS: u32 = 200;

/// A standard normal number by the polar method (Marsaglia and Bray, SIAM Review 6(3), 1964).
fn normal(rng: &mut impl Rng) -> f32 {
    loop {
        let (x, y) = (2.0 * rng.random::<f64>() - 1.0, 2.0 * rng.random::<f64>() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return (x * (-2.0 * square.ln() / square).sqrt()) as f32;
        }
    }
}

fn normals(count: usize, rng: &mut impl Rng) -> Vec<f32> {
    (0..count).map(|_| normal(rng)).collect()
}

/// `[m,k]` and `[k,n]` whose dots have a condition of about `condition`: half of the terms cancel the other half, but
/// for a last one. Infinite: all of them.
fn cancelling(m: usize, k: usize, n: usize, condition: f64, rng: &mut impl Rng) -> (Vec<f32>, Vec<f32>) {
    let (mut lhs, mut rhs) = (normals(m * k, rng), normals(k * n, rng));
    let half = (k - 1) / 2;
    for row in lhs.chunks_exact_mut(k) {
        for p in 0..half {
            row[half + p] = -row[p];
        }
        row[2 * half..].fill(0.0);
        row[k - 1] = ((half as f64).sqrt() / condition) as f32;
    }
    for p in 0..half {
        rhs.copy_within(p * n..(p + 1) * n, (half + p) * n);
    }
    (lhs, rhs)
}

/// The naive loop at its best: one 200-bit fused multiply-add a term, operands assigned to 24-bit numbers made once.
fn naive(lhs: &[f32], rhs: &[f32], k: usize, n: usize, out: &mut [f64]) {
    let (mut x, mut y, mut sum) = (Float::new(24), Float::new(24), Float::new(BITS));
    for (i, row) in lhs.chunks_exact(k).enumerate() {
        for j in 0..n {
            sum.assign(0.0);
            for (p, a) in row.iter().enumerate() {
                x.assign(*a);
                y.assign(rhs[p * n + j]);
                sum += &x * &y;
            }
            out[i * n + j] = sum.to_f64();
        }
    }
}

/// The share of the outputs that each rung certified.
fn shares(counts: &Counts) -> String {
    let total = counts.total() as f64;
    let parts = [
        ("grid", counts.grid),
        ("sliced", counts.sliced),
        ("dot2", counts.dot2),
        ("superaccumulator", counts.superaccumulator),
        ("mpfr", counts.mpfr),
    ];
    let shown = parts.iter().filter(|(_, count)| *count > 0);
    shown.map(|(name, count)| format!("{name} {:.3} %", 100.0 * *count as f64 / total)).collect::<Vec<_>>().join(", ")
}

fn ladder(lhs: &[f32], rhs: &[f32], m: usize, k: usize, n: usize, out: &mut [f64], counts: &mut Counts) {
    *counts = certified_tiles(lhs, rhs, m, k, n, |tile| {
        for (i, outputs) in tile.rows.zip(tile.outputs.chunks_exact(tile.columns.len())) {
            for (to, output) in out[i * n + tile.columns.start..].iter_mut().zip(outputs) {
                *to = output.rounded;
            }
        }
    });
}

/// The number of 1000 sampled outputs that are not MPFR's sum, correctly rounded.
fn wrong([lhs, rhs]: [&[f32]; 2], k: usize, n: usize, out: &[f64], rng: &mut impl Rng) -> usize {
    let differs = |_: &usize| {
        let at = rng.random_range(0..out.len());
        let row = lhs[at / n * k..][..k].iter().map(|v| f64::from(*v));
        let column = (0..k).map(|p| f64::from(rhs[p * n + at % n]));
        exact_dot(row, column).to_f64() != out[at]
    };
    (0..1000).filter(differs).count()
}

/// The largest product of the plan: operands, a machine's output and the truth's enclosures held at once.
fn memory() {
    const SIDE: usize = 4096;
    const K: usize = 16384;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (lhs, rhs) = (normals(SIDE * K, &mut rng), normals(K * SIDE, &mut rng));
    let machine = vec![1.0f32; SIDE * SIDE];
    let mut truth = vec![Interval::exact(0.0); SIDE * SIDE];
    let started = std::time::Instant::now();
    let counts = certified_tiles(&lhs, &rhs, SIDE, K, SIDE, |tile| {
        for (i, outputs) in tile.rows.zip(tile.outputs.chunks_exact(tile.columns.len())) {
            for (to, output) in truth[i * SIDE + tile.columns.start..].iter_mut().zip(outputs) {
                *to = output.enclosure;
            }
        }
    });
    println!("[{SIDE},{K}] x [{K},{SIDE}] in {:.1} s: {}", started.elapsed().as_secs_f64(), shares(&counts));
    println!(
        "  {} bytes of operands, machine output and truth",
        4 * (lhs.len() + rhs.len() + machine.len()) + 16 * truth.len()
    );
    std::hint::black_box(&machine);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("  {}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("peak memory is not known here"));
}

#[expect(clippy::too_many_lines, reason = "the steps of one program, in order")]
fn main() {
    if std::env::args().any(|argument| argument == "memory") {
        return memory();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (a, b) = (normals(N * N, &mut rng), normals(N * N, &mut rng));
    let narrow = |values: &[f32]| -> Vec<f32> { values.iter().map(|v| bf16::from_f32(*v).to_f32()).collect() };
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|v| f64::from(*v)).collect() };
    let (a_bf16, b_bf16) = (narrow(&a), narrow(&b));
    let (a_f64, b_f64) = (wide(&a), wide(&b));
    // Rows of the left operand, all N unless they take long.
    let mut families =
        vec![("bf16 normal", N, a_bf16.clone(), b_bf16.clone()), ("f32 normal", N, a.clone(), b.clone())];
    for (name, rows, condition) in [
        ("f32, condition 1e10", N, 1e10),
        ("f32, condition 1e20", N / 16, 1e20),
        ("f32, exact cancellation", N, f64::INFINITY),
    ] {
        let (lhs, rhs) = cancelling(rows, N, N, condition, &mut rng);
        families.push((name, rows, lhs, rhs));
    }
    let mut outs = vec![vec![0.0f64; N * N]; 3];
    outs.extend(families.iter().map(|(_, rows, ..)| vec![0.0; rows * N]));
    let mut counts = vec![Counts::default(); families.len()];
    let (plain, ours) = outs.split_at_mut(3);
    let [gemm_out, mm_out, naive_out] = plain else { return };
    // One row in 256 for the naive loop.
    const NAIVE_ROWS: usize = 4;
    let stride = N as isize;
    let mut contenders = vec![
        // SAFETY: all three are [N,N], row-major, and the output overlaps no operand.
        Contender::new("gemm: dgemm, uncertified", || unsafe {
            let (c, a, b) = (gemm_out.as_mut_ptr(), a_f64.as_ptr(), b_f64.as_ptr());
            let one = gemm::Parallelism::None;
            gemm::gemm(N, N, N, c, 1, stride, false, a, 1, stride, b, 1, stride, 0.0, 1.0, false, false, false, one);
        }),
        // SAFETY: as above.
        Contender::new("matrixmultiply: dgemm, uncertified", || unsafe {
            let (c, a, b) = (mm_out.as_mut_ptr(), a_f64.as_ptr(), b_f64.as_ptr());
            matrixmultiply::dgemm(N, N, N, 1.0, a, stride, 1, b, stride, 1, 0.0, c, stride, 1);
        }),
        Contender::new("rug: 200-bit fma loop", || naive(&a[..NAIVE_ROWS * N], &b, N, N, naive_out))
            .on_share(NAIVE_ROWS as f64 / N as f64),
    ];
    for (((name, rows, lhs, rhs), out), counts) in families.iter().zip(ours.iter_mut()).zip(&mut counts) {
        let run = || ladder(lhs, rhs, *rows, N, N, out, counts);
        contenders.push(Contender::new(format!("certified, {name}"), run).on_share(*rows as f64 / N as f64));
    }
    let work = (N * N * N) as f64;
    let best = contest("[1024,1024] x [1024,1024], one thread", work, "MAC", ROUNDS, contenders);
    let (gemm_time, naive_time) = (best[0], best[2]);
    println!();
    for ((((name, _, lhs, rhs), out), counts), seconds) in families.iter().zip(ours).zip(&counts).zip(&best[3..]) {
        println!(
            "  {name:<24} {:>8.2} x gemm {:>8.0} times faster than rug",
            seconds / gemm_time,
            naive_time / seconds
        );
        println!("  {:<24} certified: {}", "", shares(counts));
        println!("  {:<24} {} of 1000 differ from MPFR", "", wrong([lhs, rhs], N, N, out, &mut rng));
    }
    for k in [256, 1024, 4096, 16384, 65536] {
        let side = 256;
        let (lhs, rhs) = (normals(side * k, &mut rng), normals(k * side, &mut rng));
        let (lhs_bf16, rhs_bf16) = (narrow(&lhs), narrow(&rhs));
        let mut out = vec![0.0; side * side];
        let mut out_bf16 = out.clone();
        let (mut counts, mut counts_bf16) = (Counts::default(), Counts::default());
        contest(
            &format!("[{side},{k}] x [{k},{side}]"),
            (side * side * k) as f64,
            "MAC",
            3,
            vec![
                Contender::new("f32 normal", || ladder(&lhs, &rhs, side, k, side, &mut out, &mut counts)),
                Contender::new("bf16 normal", || {
                    ladder(&lhs_bf16, &rhs_bf16, side, k, side, &mut out_bf16, &mut counts_bf16)
                }),
            ],
        );
        println!("  certified: f32 {}; bf16 {}", shares(&counts), shares(&counts_bf16));
    }
}
