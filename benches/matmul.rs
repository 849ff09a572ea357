//! Emulated matmuls beside f32 library products, all on one thread: `cargo bench -p ulpgate-benches --bench matmul`.
//! After `--`, `square`, `thin` or `depth` ask for one part.

#![allow(unsafe_code, reason = "the rivals take pointers")]

use std::hint::black_box;
use std::num::NonZeroUsize;

use ulpgate::machine::mxu::{Accumulation, Instructions, Passes, Split, Unit, matmul_on};
use ulpgate_benches::{Contender, contest};

const TPU: Unit = Unit {
    block: NonZeroUsize::new(128).unwrap(),
    accumulation: Accumulation::Block,
    split: Split::Mixed,
    flush: false,
    fused: false,
    k_block: None,
};

/// Numbers in [-1, 1) without a pattern.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn narrow(values: &[f32]) -> Vec<f32> {
    values.iter().map(|v| f32::from_bits(v.to_bits() & 0xffff_0000)).collect()
}

/// Operands and sizes of one product.
struct Problem {
    lhs: Vec<f32>,
    rhs: Vec<f32>,
    sizes: [usize; 3],
}

impl Problem {
    fn new(sizes @ [m, k, n]: [usize; 3]) -> Problem {
        Problem { lhs: noise(m * k, 1), rhs: noise(k * n, 2), sizes }
    }

    fn narrow(&self) -> Problem {
        Problem { lhs: narrow(&self.lhs), rhs: narrow(&self.rhs), sizes: self.sizes }
    }

    fn operations(&self) -> f64 {
        2.0 * self.sizes.iter().product::<usize>() as f64
    }

    fn output(&self) -> Vec<f32> {
        vec![0.0; self.sizes[0] * self.sizes[2]]
    }

    fn ours<'a>(
        &'a self,
        name: &str,
        instructions: Instructions,
        passes: Passes,
        accumulation: Accumulation,
    ) -> Contender<'a> {
        let unit = Unit { accumulation, ..TPU };
        let mut out = self.output();
        Contender::new(name, move || {
            matmul_on(instructions, black_box(&self.lhs), &self.rhs, self.sizes, passes, &unit, &mut out);
            black_box(&mut out);
        })
    }

    fn gemm(&self) -> Contender<'_> {
        let [m, k, n] = self.sizes;
        let mut out = self.output();
        Contender::new("gemm 0.19, f32", move || {
            // SAFETY: the pointers are to row-major matrices of m x n, m x k and k x n numbers, as the strides say.
            unsafe {
                gemm::gemm(
                    m,
                    n,
                    k,
                    out.as_mut_ptr(),
                    1,
                    n as isize,
                    false,
                    black_box(&self.lhs).as_ptr(),
                    1,
                    k as isize,
                    self.rhs.as_ptr(),
                    1,
                    n as isize,
                    0.0f32,
                    1.0f32,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
            black_box(&mut out);
        })
    }

    fn matrixmultiply(&self) -> Contender<'_> {
        let [m, k, n] = self.sizes;
        let mut out = self.output();
        Contender::new("matrixmultiply 0.3, sgemm", move || {
            let [row_a, row_b] = [k as isize, n as isize];
            // SAFETY: as for gemm.
            unsafe {
                let (a, b) = (black_box(&self.lhs).as_ptr(), self.rhs.as_ptr());
                matrixmultiply::sgemm(m, k, n, 1.0, a, row_a, 1, b, row_b, 1, 0.0, out.as_mut_ptr(), row_b, 1);
            }
            black_box(&mut out);
        })
    }
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    // One thread for the emulation as well: its rows are shared among as many as the pool has.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    println!("vector instructions: {}", Instructions::best().name());
    let parts: [(&str, fn()); 3] = [("square", square), ("thin", thin), ("depth", depth)];
    for (name, part) in parts {
        if only.is_empty() || only.iter().any(|o| o == name) {
            part();
        }
    }
}

/// Every mode at one size.
fn square() {
    let best = Instructions::best();
    let block = Accumulation::Block;

    let wide = Problem::new([1024, 1024, 1024]);
    let bf16 = wide.narrow();
    let mut contenders = vec![wide.gemm(), wide.matrixmultiply()];
    for instructions in Instructions::available() {
        let name = format!("default, bf16 operands, {}", instructions.name());
        contenders.push(bf16.ours(&name, instructions, Passes::Exact, block));
        let passes = [("default", Passes::One), ("high", Passes::Three), ("highest", Passes::Six)];
        contenders.extend(passes.map(|(name, passes)| {
            wide.ours(&format!("{name}, f32 operands, {}", instructions.name()), instructions, passes, block)
        }));
    }
    contenders.extend([
        wide.ours("f32, chain", best, Passes::F32, Accumulation::Chain),
        bf16.ours("bf16, chain", best, Passes::Exact, Accumulation::Chain),
        bf16.ours("bf16, trunc", best, Passes::Exact, Accumulation::Trunc),
        bf16.ours("bf16, pairwise", best, Passes::Exact, Accumulation::Pairwise),
        bf16.ours("bf16, exact", best, Passes::Exact, Accumulation::Exact),
        wide.ours("f32, trunc", best, Passes::F32, Accumulation::Trunc),
        wide.ours("f32, pairwise", best, Passes::F32, Accumulation::Pairwise),
        wide.ours("f32, exact", best, Passes::F32, Accumulation::Exact),
    ]);
    contest("1024 x 1024 x 1024, one thread", wide.operations(), "FLOP", 7, contenders);
}

/// Sizes with little to compute for what is read and written.
fn thin() {
    let best = Instructions::best();
    let block = Accumulation::Block;
    let d = 4096;
    for sizes @ [m, k, n] in [[d, 4, d], [4, d, 4], [4, d, d], [d, d, 4], [1, d, d], [d, d, 1], [1, d, 1], [16, d, 16]]
    {
        let problem = Problem::new(sizes);
        let bf16 = problem.narrow();
        let mut contenders = vec![problem.gemm()];
        for instructions in Instructions::available() {
            let name = format!("default, bf16 operands, {}", instructions.name());
            contenders.push(bf16.ours(&name, instructions, Passes::Exact, block));
        }
        contenders.extend([
            problem.ours("default, f32 operands", best, Passes::One, block),
            problem.ours("high (three passes)", best, Passes::Three, block),
            problem.ours("highest (six passes)", best, Passes::Six, block),
            problem.ours("f32, chain", best, Passes::F32, Accumulation::Chain),
        ]);
        contest(&format!("[{m},{k}] x [{k},{n}], one thread"), problem.operations(), "FLOP", 20, contenders);
    }
}

/// Whether a longer K costs more than its work: a time beyond twice the one before grows faster than that.
fn depth() {
    let best = Instructions::best();
    let block = Accumulation::Block;
    let problems = [512, 1024, 2048].map(|k| (Problem::new([512, k, 512]), k));
    for (name, passes) in [("default", Passes::One), ("highest", Passes::Six), ("f32", Passes::F32)] {
        let contenders = problems
            .iter()
            .map(|(p, k)| p.ours(&format!("{name}, K = {k}"), best, passes, block).of_work(p.operations()))
            .collect();
        contest("512 x K x 512, one thread: time by K", problems[0].0.operations(), "FLOP", 15, contenders);
    }
}
