//! `hlo eval --exact` as a multiple of the plain evaluation, for programs that no dot or sum alone makes slow: running
//! reductions by a region of one's own, chains of matmuls until nothing but MPFR tells, gradients of masked rows.
//! `cargo bench -p ulpgate-benches --bench exact_cliffs`.
//!
//! A multiple that grows with the size is a cliff.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Binary, Builder, DotDims, Op, Precision, Program, Unary};
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};
use ulpgate_benches::{Contender, contest};

fn main() {
    for n in [64, 256, 1024] {
        measure(&format!("cumlogsumexp [4,{n}]"), &from_text(&running(n)), &[numbers(1, &[4, n])]);
    }
    for steps in [1, 3, 5] {
        measure(
            &format!("{steps} steps of Newton and Schulz [64,64]"),
            &newton_schulz(64, steps),
            &[numbers(2, &[64, 64])],
        );
    }
    for n in [8, 16, 32] {
        let arguments = [3, 4, 5, 6].map(|seed| numbers(seed, &[n, n]));
        measure(&format!("gradient of causal attention [{n},{n}]"), &from_text(&masked(n)), &arguments);
    }
}

fn measure(name: &str, program: &Program, arguments: &[Tensor]) {
    let mode: Mode = "xla-cpu/default/off".parse().expect("a mode");
    let demands = vec![Demand::Rounded; program.output_names.len()];
    let oracle = Oracle::default();
    let plain = || {
        std::hint::black_box(subject::evaluate(program, &mode, arguments).expect("a result"));
    };
    let exact = || {
        std::hint::black_box(oracle.evaluate(program, arguments, &demands).expect("a truth"));
    };
    let contenders = vec![Contender::new("plain", plain), Contender::new("exact", exact)];
    let best = contest(name, 1.0, "program", 3, contenders);
    println!("{name}: exact takes {:.0} times the plain evaluation", best[1] / best[0]);
}

/// Numbers between -1 and 1, from none of the library's generators.
fn numbers(seed: u64, dims: &[usize]) -> Tensor {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) as f32
    };
    Tensor::new(dims, Data::F32((0..dims.iter().product()).map(|_| draw()).collect()))
}

fn from_text(text: &str) -> Program {
    lower(&parse(text).expect("HLO")).expect("a program").program
}

fn running(n: usize) -> String {
    format!(
        "HloModule cumlogsumexp
         step {{ a = f32[] parameter(0)
           b = f32[] parameter(1)
           d = f32[] subtract(a, b)
           nan = pred[] compare(d, d), direction=NE
           s = f32[] add(a, b)
           m = f32[] maximum(a, b)
           abs = f32[] abs(d)
           neg = f32[] negate(abs)
           e = f32[] exponential(neg)
           l = f32[] log-plus-one(e)
           t = f32[] add(m, l)
           ROOT r = f32[] select(nan, s, t) }}
         ENTRY main {{
           x = f32[4,{n}] parameter(0)
           init = f32[] constant(-inf)
           ROOT r = f32[4,{n}] reduce-window(x, init), window={{size=1x{n} pad=0_0x{}_0}}, to_apply=step }}",
        n - 1
    )
}

/// `x <- a x + (b g + c g g) x` with `g = x x^T`, from a matrix scaled by its own norm.
fn newton_schulz(n: usize, steps: usize) -> Program {
    let [a, b, c] = [3.4375, -4.78125, 2.03125];
    let mut builder = Builder::new("newton_schulz");
    let build = |builder: &mut Builder| {
        let given = builder.parameter("x", DType::F32, &[n, n])?;
        let square = builder.binary(Binary::Multiply, given, given)?;
        let sum = builder.reduce(Binary::Add, square, 0.0, &[0, 1])?;
        let norm = builder.unary(Unary::Sqrt, sum)?;
        let norm = builder.broadcast(norm, &[n, n], &[])?;
        let mut x = builder.binary(Binary::Divide, given, norm)?;
        let precision = [Precision::Highest; 2];
        for _ in 0..steps {
            let gram = DotDims { lhs_contracting: vec![1], rhs_contracting: vec![1], ..DotDims::matmul() };
            let g = builder.op(Op::Dot { dims: gram, precision }, &[x, x])?;
            let scaled = |builder: &mut Builder, factor: f64, value| {
                let constant = builder.constant(DType::F32, factor)?;
                let constant = builder.broadcast(constant, &[n, n], &[])?;
                builder.binary(Binary::Multiply, value, constant)
            };
            let gg = builder.matmul(g, g, Precision::Highest, DType::F32)?;
            let (bg, cgg, ax) = (scaled(builder, b, g)?, scaled(builder, c, gg)?, scaled(builder, a, x)?);
            let polynomial = builder.binary(Binary::Add, bg, cgg)?;
            let rest = builder.matmul(polynomial, x, Precision::Highest, DType::F32)?;
            x = builder.binary(Binary::Add, ax, rest)?;
        }
        Ok::<_, ulpgate::ir::ShapeError>(x)
    };
    let x = build(&mut builder).expect("shapes that fit");
    builder.finish(&[("x", x)]).expect("a program")
}

/// The gradient of `sum(softmax(mask(q k^T)) v g)` by q. The mask is a finite number, as JAX has it: what it leaves of the
/// first row is no zero, and no precision tells its sign.
fn masked(n: usize) -> String {
    format!(
        "HloModule masked
         add {{ a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT r = f32[] add(a, b) }}
         max {{ a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT r = f32[] maximum(a, b) }}
         where {{ m = pred[{n},{n}] parameter(0)
           s = f32[{n},{n}] parameter(1)
           low = f32[] constant(-2.38197633e+38)
           lows = f32[{n},{n}] broadcast(low), dimensions={{}}
           ROOT r = f32[{n},{n}] select(m, s, lows) }}
         ENTRY main {{
           q = f32[{n},{n}] parameter(0)
           k = f32[{n},{n}] parameter(1)
           v = f32[{n},{n}] parameter(2)
           g = f32[{n},{n}] parameter(3)
           i = s32[{n},{n}] iota(), iota_dimension=0
           j = s32[{n},{n}] iota(), iota_dimension=1
           m = pred[{n},{n}] compare(i, j), direction=GE
           qk = f32[{n},{n}] dot(q, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
           s = f32[{n},{n}] call(m, qk), to_apply=where
           inf = f32[] constant(-inf)
           zero = f32[] constant(0)
           top = f32[{n}] reduce(s, inf), dimensions={{1}}, to_apply=max
           tops = f32[{n},{n}] broadcast(top), dimensions={{0}}
           d = f32[{n},{n}] subtract(s, tops)
           e = f32[{n},{n}] exponential(d)
           sum = f32[{n}] reduce(e, zero), dimensions={{1}}, to_apply=add
           sums = f32[{n},{n}] broadcast(sum), dimensions={{0}}
           p = f32[{n},{n}] divide(e, sums)
           dp = f32[{n},{n}] dot(g, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
           pdp = f32[{n},{n}] multiply(p, dp)
           mean = f32[{n}] reduce(pdp, zero), dimensions={{1}}, to_apply=add
           means = f32[{n},{n}] broadcast(mean), dimensions={{0}}
           off = f32[{n},{n}] subtract(dp, means)
           ds = f32[{n},{n}] multiply(off, p)
           zeros = f32[{n},{n}] broadcast(zero), dimensions={{}}
           dm = f32[{n},{n}] select(m, ds, zeros)
           ROOT r = f32[{n},{n}] dot(dm, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"
    )
}
