//! Whole HLO files: `top_p.before.hlo` of the reference set, its 1024 columns made 131072, on one thread.
//! `benches/top_p_jax.py 8` times the same function in JAX on the same machine.
//!
//! For one thread that nothing else shares: `taskset -c 0 cargo bench -p ulpgate-benches --bench hlo_eval`.

use ulpgate::hlo::{lower, parse};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate_benches::{Contender, contest, logits};

const ROWS: usize = 8;
const N: usize = 131_072;

fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/hlo/cpu/top_p.before.hlo");
    let text = std::fs::read_to_string(path).expect("the reference set");
    let text = text.replace("1024", &N.to_string()).replace("1023", &(N - 1).to_string());
    let program = lower(&parse(&text).expect("HLO")).expect("a program").program;
    let arguments = [logits(ROWS, N)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread to start");
    let contenders = ["v5e/default/off", "v5e/default/tpu", "xla-cpu/default/cpu"].map(|text| {
        let (program, arguments, pool) = (&program, &arguments, &pool);
        let mode: Mode = text.parse().expect("a mode");
        Contender::new(text, move || {
            std::hint::black_box(pool.install(|| subject::evaluate(program, &mode, arguments)).expect("a result"));
        })
    });
    contest(&format!("top_p.before.hlo at [{ROWS}, {N}]"), (ROWS * N) as f64, "element", 5, contenders.into());
}
