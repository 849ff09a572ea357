//! The elementwise and selection paths on a whole program: `top_p` over 64 rows of 131072 logits in bf16, on one thread
//! and on two. `benches/top_p_jax.py` times the like function in JAX on the same machine.
//!
//! For one thread that nothing else shares: `taskset -c 0 cargo bench --bench vector`.

#[allow(dead_code, reason = "shared by all benches, and not each uses all of it")]
mod contest;

use contest::{Contender, contest};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

const ROWS: usize = 64;
const N: usize = 131_072;

/// Logits with the spread of a normal distribution of standard deviation 3, without the library's own generators: sums
/// of twelve uniform numbers from a linear congruence.
fn logits() -> Tensor {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let values: Vec<f64> = (0..ROWS * N).map(|_| 3.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect();
    Tensor::new(&[ROWS, N], Data::from_f64s(DType::BF16, &values).expect("bf16 is a float"))
}

fn main() {
    let program: Program = "top_p".parse::<ProgramSpec>().expect("a built-in").build(N, ROWS).expect("a valid size");
    let arguments = [logits()];
    let pools = [1, 2].map(|threads| {
        (threads, rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads to start"))
    });
    let modes = ["v5e/default/off", "v5e/default/tpu", "xla-cpu/default/cpu"];
    let contenders = pools.iter().flat_map(|(threads, pool)| {
        let (program, arguments) = (&program, &arguments);
        modes.map(|text| {
            let mode: Mode = text.parse().expect("a mode");
            Contender::new(format!("{text}, {threads} threads"), move || {
                let results = pool.install(|| subject::evaluate(program, &mode, arguments));
                std::hint::black_box(results.expect("a supported program"));
            })
        })
    });
    contest("top_p [64, 131072] bf16", (ROWS * N) as f64, "element", 5, contenders.collect());
}
