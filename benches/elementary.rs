//! Certified softmax, log_softmax and top-p truth of one row, against MPFR at 200 bits alone; what one function costs
//! on each rung; how the time grows with the row. One thread.

use ulpgate::ir::{Binary, Builder, Program, Unary};
use ulpgate::oracle::{Demand, Oracle, Rung};
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{DType, Data, Tensor};
use ulpgate_benches::{Contender, contest};

const ROWS: [usize; 2] = [131_072, 262_144];
const GROWTH: [usize; 4] = [8192, 32_768, 131_072, 524_288];
/// MPFR alone runs on this many elements.
const SHARE: usize = 4096;

/// The answers that are asked for of one program.
struct Question {
    name: &'static str,
    program: fn(usize) -> Program,
    demands: &'static [Demand],
}

const QUESTIONS: [Question; 3] = [
    Question { name: "softmax", program: softmax, demands: &[Demand::Rounded] },
    Question { name: "log_softmax", program: log_softmax, demands: &[Demand::Rounded] },
    Question { name: "top_p", program: top_p, demands: &[Demand::Order, Demand::Order] },
];

fn softmax(n: usize) -> Program {
    built_in("softmax[dtype=f32]", n)
}

fn top_p(n: usize) -> Program {
    built_in("top_p[dtype=f32]", n)
}

fn built_in(spec: &str, n: usize) -> Program {
    let spec: ProgramSpec = spec.parse().expect("a built-in program");
    spec.build(n, 1).expect("sizes that fit")
}

/// `shifted - log(sum(exp(shifted)))`, as `jax.nn.log_softmax` has it.
fn log_softmax(n: usize) -> Program {
    let dims = [1, n];
    let build = || {
        let mut b = Builder::new("log_softmax");
        let x = b.parameter("x", DType::F32, &dims)?;
        let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1])?;
        let max = b.broadcast(max, &dims, &[0])?;
        let shifted = b.binary(Binary::Subtract, x, max)?;
        let exp = b.unary(Unary::Exponential, shifted)?;
        let sum = b.reduce(Binary::Add, exp, 0.0, &[1])?;
        let log = b.unary(Unary::Log, sum)?;
        let log = b.broadcast(log, &dims, &[0])?;
        let result = b.binary(Binary::Subtract, shifted, log)?;
        b.finish(&[("log_p", result)])
    };
    build().expect("shapes that fit")
}

/// One operation on `x` and, if it is binary, on `y`.
fn one_operation(n: usize, operation: Result<Unary, Binary>) -> Program {
    let build = || {
        let mut b = Builder::new("one");
        let x = b.parameter("x", DType::F32, &[1, n])?;
        let y = b.parameter("y", DType::F32, &[1, n])?;
        let z = match operation {
            Ok(unary) => b.unary(unary, x)?,
            Err(binary) => b.binary(binary, x, y)?,
        };
        b.finish(&[("z", z)])
    };
    build().expect("shapes that fit")
}

/// Normal deviates times `scale`, near enough: twelve uniform ones added up.
fn logits(n: usize, scale: f32, salt: u64) -> Tensor {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ salt;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let values = (0..n).map(|_| ((0..12).map(|_| uniform()).sum::<f32>() - 6.0) * scale).collect();
    Tensor::new(&[1, n], Data::F32(values))
}

fn magnitudes(tensor: &Tensor) -> Tensor {
    let values = tensor.data().to_f64s().iter().map(|v| v.abs() as f32 + 0.001).collect();
    Tensor::new(tensor.dims(), Data::F32(values))
}

fn oracle(fast: bool) -> Oracle {
    if fast { Oracle::default() } else { Oracle { first: Some(Rung::Mpfr), start_bits: 200, ..Oracle::default() } }
}

fn ask(oracle: &Oracle, program: &Program, arguments: &[Tensor], demands: &[Demand]) {
    let truth = oracle.evaluate(program, arguments, demands).expect("a program with a meaning");
    assert_eq!(truth.stats.undecided, 0);
    std::hint::black_box(truth);
}

fn rows() {
    for Question { name, program, demands } in QUESTIONS {
        for n in ROWS {
            let (whole, part) = (program(n), program(SHARE));
            let (row, part_row) = ([logits(n, 4.0, 0)], [logits(SHARE, 4.0, 0)]);
            let (certified, mpfr) = (oracle(true), oracle(false));
            contest(
                &format!("{name}, one row of {n}"),
                n as f64,
                "element",
                7,
                vec![
                    Contender::new("certified", || ask(&certified, &whole, &row, demands)),
                    Contender::new("MPFR at 200 bits", || ask(&mpfr, &part, &part_row, demands))
                        .on_share(SHARE as f64 / n as f64),
                ],
            );
        }
    }
}

fn functions() {
    let n = 16_384;
    let operations = [
        ("exp", Ok(Unary::Exponential)),
        ("log", Ok(Unary::Log)),
        ("tanh", Ok(Unary::Tanh)),
        ("rsqrt", Ok(Unary::Rsqrt)),
        ("logistic", Ok(Unary::Logistic)),
        ("sine", Ok(Unary::Sine)),
        ("cosine", Ok(Unary::Cosine)),
        ("tan", Ok(Unary::Tan)),
        ("erf", Ok(Unary::Erf)),
        ("divide", Err(Binary::Divide)),
        ("power", Err(Binary::Power)),
    ];
    for (name, operation) in operations {
        let (whole, part) = (one_operation(n, operation), one_operation(SHARE, operation));
        let arguments = |n| {
            let (x, y) = (logits(n, 1.0, 0), magnitudes(&logits(n, 1.0, 7)));
            let positive = matches!(operation, Ok(Unary::Log | Unary::Rsqrt) | Err(Binary::Power));
            [if positive { magnitudes(&x) } else { x }, y]
        };
        let (all, some) = (arguments(n), arguments(SHARE));
        let (certified, mpfr) = (oracle(true), oracle(false));
        contest(
            &format!("{name}, {n} elements"),
            n as f64,
            "element",
            9,
            vec![
                Contender::new("pairs, correctly rounded", || ask(&certified, &whole, &all, &[Demand::Rounded])),
                Contender::new("f64 intervals, top of the row", || ask(&certified, &whole, &all, &[Demand::Order])),
                Contender::new("MPFR at 200 bits", || ask(&mpfr, &part, &some, &[Demand::Rounded]))
                    .on_share(SHARE as f64 / n as f64),
            ],
        );
    }
}

fn growth() {
    for Question { name, program, demands } in QUESTIONS {
        let cases: Vec<_> = GROWTH.map(|n| (n, program(n), [logits(n, 4.0, 0)])).into_iter().collect();
        let certified = oracle(true);
        let contenders = cases
            .iter()
            .map(|(n, whole, row)| {
                // Each stands for the work of the largest.
                let share = *n as f64 / GROWTH[GROWTH.len() - 1] as f64;
                Contender::new(format!("rows of {n}"), || ask(&certified, whole, row, demands)).on_share(share)
            })
            .collect();
        contest(&format!("{name}: growth"), GROWTH[GROWTH.len() - 1] as f64, "element", 5, contenders);
    }
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let parts: [(&str, fn()); 3] = [("rows", rows), ("functions", functions), ("growth", growth)];
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    one_thread.install(|| {
        for (name, part) in parts {
            if only.is_empty() || only.iter().any(|o| o == name) {
                part();
            }
        }
    });
}
