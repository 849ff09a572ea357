//! Time against work: truth and emulation of one program at growing sizes, on one thread.
//! `cargo bench -p ulpgate-benches --bench growth`.
//!
//! Work is multiplications for a matmul, and elements else. What grows no faster than its work keeps its time for one.

use ulpgate::ir::Program;
use ulpgate::machine::{self, Mode};
use ulpgate::oracle::{Demand, Oracle};
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{Data, Tensor};
use ulpgate_benches::{Contender, contest, logits};

const ROWS: usize = 8;
/// Rows of a matmul's left operand and columns of its right one.
const SIDE: usize = 256;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread to start");
    let rows = [1 << 14, 1 << 16, 1 << 18];
    let dots = [1 << 10, 1 << 12, 1 << 14];
    pool.install(|| {
        for name in ["softmax", "top_p"] {
            growth(name, &rows, (ROWS, |n| ROWS * n), |n| vec![logits(ROWS, n)]);
        }
        let matmul = format!("matmul[lhs={SIDE}xn,rhs=nx{SIDE}]");
        growth(&matmul, &dots, (1, |n| SIDE * SIDE * n), |n| vec![wide(logits(SIDE, n)), wide(logits(n, SIDE))]);
    });
}

/// bf16 logits with lower bits of their own, in f32.
fn wide(logits: Tensor) -> Tensor {
    let values =
        logits.data().to_f32s().iter().enumerate().map(|(i, x)| x * (1.0 + i as f32 * 2f32.powi(-28))).collect();
    Tensor::new(logits.dims(), Data::F32(values))
}

fn growth(
    name: &str,
    sizes: &[usize],
    (rows, work): (usize, fn(usize) -> usize),
    arguments: impl Fn(usize) -> Vec<Tensor>,
) {
    let spec: ProgramSpec = name.parse().expect("a built-in");
    let mode: Mode = "v5e/default/off".parse().expect("a mode");
    let mut emulation = Vec::new();
    let mut truth = Vec::new();
    for n in sizes {
        let program: Program = spec.build(*n, rows).expect("a valid size");
        let arguments = arguments(*n);
        let demands = vec![Demand::Rounded; program.output_names.len()];
        let best = |what: &str, run: &mut dyn FnMut()| {
            let best =
                contest(&format!("{name}, n = {n}: {what}"), work(*n) as f64, "op", 3, vec![Contender::new(what, run)]);
            best[0] / work(*n) as f64 * 1e9
        };
        emulation.push(best("emulation", &mut || {
            std::hint::black_box(machine::evaluate(&program, &mode, &arguments).expect("a result"));
        }));
        truth.push(best("truth", &mut || {
            std::hint::black_box(Oracle::default().evaluate(&program, &arguments, &demands).expect("a truth"));
        }));
    }
    for (what, times) in [("emulation", emulation), ("truth", truth)] {
        let times: Vec<String> = times.iter().map(|t| format!("{t:.3}")).collect();
        println!("{name}: {what} takes {} ns an operation at n = {sizes:?}", times.join(", "));
    }
}
