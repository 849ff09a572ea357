//! The elementwise and selection paths on a whole program: `top_p` over 64 rows of 131072 logits in bf16, on one thread
//! and on two. `benches/top_p_jax.py` times the like function in JAX on the same machine.
//!
//! For one thread that nothing else shares: `taskset -c 0 cargo bench -p ulpgate-benches --bench vector`.

use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate_benches::{Contender, contest, logits};

const ROWS: usize = 64;
const N: usize = 131_072;

fn main() {
    let program: Program = "top_p".parse::<ProgramSpec>().expect("a built-in").build(N, ROWS).expect("a valid size");
    let arguments = [logits(ROWS, N)];
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
