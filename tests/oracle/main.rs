//! The oracle's promises: answers do not depend on where the precision starts, ties are decided, what cannot be decided
//! is said so.

use std::path::Path;

use rayon::prelude::*;
use rug::Float;
use ulpgate::ir::{Binary, Builder, Compare, CompareOrder, Op, Program, Shape, Unary};
use ulpgate::oracle::{Demand, Oracle, Rung, Stats, Truth, TruthTensor};
use ulpgate::program::ProgramSpec;
use ulpgate::run;
use ulpgate::suite::{self, Problem};
use ulpgate::tensor::{DType, Data, Tensor};

mod answers;
mod ask;
mod cliffs;
mod edges;
mod fourier;
mod identities;
mod networks;
mod operations;
mod programs;
mod reductions;
mod zeros;

/// Every way to start.
fn oracles() -> [Oracle; 6] {
    let of = |start_bits, first| Oracle { start_bits, first, ..Oracle::default() };
    let mpfr = |start_bits| of(start_bits, Some(Rung::Mpfr));
    [mpfr(200), mpfr(8), mpfr(24), of(8, Some(Rung::Intervals)), of(8, Some(Rung::Pairs)), Oracle::default()]
}

/// On the smallest subjects of every suite, 4 rows of each, whole records are the same wherever the precision starts. Those
/// with a model of weights would keep MPFR busy for minutes.
#[test]
fn records_do_not_depend_on_the_starting_precision() {
    let mut suites = suite::load_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("suites")).unwrap();
    for Problem { program, .. } in suites.iter_mut().flat_map(|s| &mut s.cases).map(|case| &mut case.problem) {
        // A program in a file takes its rows so many at a time.
        let at_once = program.file().map_or(1, |file| file.rows());
        *program = program.over(program.rows.min(4usize.next_multiple_of(at_once)));
    }
    let smallest = suites.iter().flat_map(|suite| {
        let cases: Vec<_> = suite.cases.iter().filter(|c| !c.slow).collect();
        let mut groups: Vec<run::Group> = run::groups(&cases).into_values().collect();
        let numbers = |group: &run::Group| -> usize {
            let Problem { program, n, .. } = &group.cases[0].problem;
            let program = program.build(*n, program.rows).unwrap();
            program.entry().parameter_shapes().iter().map(|shape| shape.elements()).sum()
        };
        groups.retain(|group| numbers(group) < 1 << 16);
        let size = |problem: &Problem| problem.n * problem.program.rows;
        groups.sort_by_key(|group| size(&group.cases[0].problem));
        groups.into_iter().take(2)
    });
    let escalated = |group: run::Group| {
        let outcomes: Vec<_> = oracles().par_iter().map(|oracle| run::evaluate(&group, oracle).unwrap()).collect();
        for other in &outcomes[1..] {
            assert_eq!(other.records, outcomes[0].records, "{}", group.cases[0].id);
        }
        outcomes.iter().map(|outcome| outcome.stats.escalations).sum::<u64>()
    };
    let escalations = smallest.par_bridge().map(escalated).sum::<u64>();
    // Eight bits decide next to nothing but what is rational: the precision had to rise.
    assert!(escalations >= suites.len() as u64, "{escalations}");
}

fn program(text: &str, n: usize, rows: usize) -> Program {
    text.parse::<ProgramSpec>().unwrap().build(n, rows).unwrap()
}

fn f32s(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

/// The answers that all starting points agree on, and the statistics of the one that starts at eight bits.
fn agreed(program: &Program, arguments: &[Tensor], demands: &[Demand]) -> (Truth, Stats) {
    let truths = oracles().map(|oracle| oracle.evaluate(program, arguments, demands).unwrap());
    for other in &truths[1..] {
        // As text: a NaN equals no NaN.
        assert_eq!(format!("{:?}", other.outputs), format!("{:?}", truths[0].outputs));
    }
    let stats = truths[1].stats;
    let [first, ..] = truths;
    (first, stats)
}

fn rounded(truth: &Truth, output: usize) -> &[f64] {
    match &truth.outputs[output] {
        TruthTensor::Float(float) if float.open.is_empty() => &float.rounded,
        other => panic!("{other:?}"),
    }
}

/// softmax against plain 300-bit arithmetic, rounded once.
#[test]
fn softmax_is_correctly_rounded() {
    let x: Vec<f32> = (0..64).map(|i| ((i * 37 % 64) as f32 - 20.0) * 0.31).collect();
    let (truth, stats) = agreed(&program("softmax[dtype=f32]", 64, 1), &[f32s(&[1, 64], &x)], &[Demand::Rounded]);
    let wide: Vec<Float> = x.iter().map(|v| Float::with_val(300, Float::with_val(300, *v).exp_ref())).collect();
    let sum = Float::with_val(300, Float::sum(wide.iter()));
    for (got, e) in rounded(&truth, 0).iter().zip(&wide) {
        assert_eq!(*got, Float::with_val(300, e / &sum).to_f64());
    }
    assert!(stats.escalations >= 1, "{stats:?}");
}

/// 1 + 2^-53 + 2^-200 lies just above the middle of two f64 numbers, 1 + 2^-53 - 2^-200 just below. What is rational is
/// known exactly at any precision; the exponential of 2^-53 - 2^-107 + 2^-159 is not, and lies 2^-159 above the middle.
#[test]
fn sums_near_a_rounding_boundary_are_decided() {
    let mut b = Builder::new("near");
    let x = b.parameter("x", DType::F64, &[3]).unwrap();
    let s = b.reduce(Binary::Add, x, 0.0, &[0]).unwrap();
    let e = b.unary(Unary::Exponential, s).unwrap();
    let program = b.finish(&[("sum", s), ("exp", e)]).unwrap();
    for (tail, expected) in [(2f64.powi(-200), 1.0 + 2f64.powi(-52)), (-2f64.powi(-200), 1.0), (0.0, 1.0)] {
        let x = Tensor::new(&[3], Data::F64(vec![1.0, 2f64.powi(-53), tail]));
        let (truth, _) = agreed(&program, &[x], &[Demand::Rounded, Demand::None]);
        assert_eq!(rounded(&truth, 0), [expected]);
    }
    let x = Tensor::new(&[3], Data::F64(vec![2f64.powi(-53), -2f64.powi(-107), 2f64.powi(-159)]));
    let (truth, stats) = agreed(&program, std::slice::from_ref(&x), &[Demand::None, Demand::Rounded]);
    assert_eq!(rounded(&truth, 1), [1.0 + 2f64.powi(-52)]);
    assert!(stats.escalations > 0 && stats.highest_bits >= 128, "{stats:?}");
    // The default start has to rise as well: 128 bits do not hold the sum.
    let default = Oracle::default().evaluate(&program, &[x], &[Demand::None, Demand::Rounded]).unwrap();
    assert!(default.stats.highest_bits > 128, "{:?}", default.stats);
}

/// Equal logits have equal probabilities, which no interval can show; the maximum is among its own row.
#[test]
fn exact_ties_and_identities_are_decided() {
    let x = f32s(&[2, 6], &[0.1, 3.7, -2.0, 3.7, 3.6, 3.7, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let (truth, _) = agreed(&program("softmax[dtype=f32]", 6, 2), std::slice::from_ref(&x), &[Demand::Order]);
    let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
    assert_eq!(float.tops[0].best, [1, 3, 5]);
    assert_eq!(float.tops[0].runner_up, Some(4));
    assert_eq!(float.tops[1].best, [0, 1, 2, 3, 4, 5]);
    assert_eq!(float.tops[1].runner_up, None);
    assert!(float.tops.iter().all(|t| t.decided));
    let (truth, _) = agreed(&program("keep_max[dtype=f32]", 6, 2), &[x], &[Demand::Order]);
    let TruthTensor::Predicate { values, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
    let kept: Vec<usize> = (0..12).filter(|i| values[*i] == Some(true)).collect();
    assert_eq!(kept, [1, 3, 5, 6, 7, 8, 9, 10, 11]);
    assert!(values.iter().all(Option::is_some));
}

/// Logits 2^-60 apart: the order of their probabilities is theirs, and the margin is a real number of ulps.
#[test]
fn order_follows_the_logits_however_close() {
    let x = Tensor::new(&[1, 3], Data::F64(vec![2f64.powi(-60), 0.0, -1.0]));
    let mut b = Builder::new("close");
    let p = b.parameter("x", DType::F64, &[1, 3]).unwrap();
    let e = b.unary(Unary::Exponential, p).unwrap();
    let program = b.finish(&[("e", e)]).unwrap();
    let (truth, _) = agreed(&program, &[x], &[Demand::Order]);
    let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
    assert_eq!((float.tops[0].best.as_slice(), float.tops[0].runner_up), (&[0][..], Some(1)));
    // exp(2^-60) - 1 = 2^-60, and an ulp at 1 is 2^-52.
    assert_eq!(float.tops[0].margin_ulp, Some(2f64.powi(-8)));
}

/// exp(x) exp(-x) is 1, but nothing here knows that: the comparison stays open and is said to be.
#[test]
fn the_undecidable_is_not_guessed() {
    let mut b = Builder::new("identity");
    let x = b.parameter("x", DType::F64, &[1]).unwrap();
    let up = b.unary(Unary::Exponential, x).unwrap();
    let down = b.unary(Unary::Negate, x).unwrap();
    let down = b.unary(Unary::Exponential, down).unwrap();
    let product = b.binary(Binary::Multiply, up, down).unwrap();
    let one = b.constant(DType::F64, 1.0).unwrap();
    let one = b.splat(one, &[1]).unwrap();
    let equal = b.compare(Compare::Eq, product, one).unwrap();
    let program = b.finish(&[("equal", equal)]).unwrap();
    let x = Tensor::new(&[1], Data::F64(vec![0.7]));
    let (truth, stats) = agreed(&program, &[x], &[Demand::Order]);
    assert_eq!(truth.outputs[0], TruthTensor::Predicate { dims: vec![1], values: vec![None] });
    assert_eq!(stats.undecided, 1);
}

/// The running mass of a nucleus, by the formula.
#[test]
fn nucleus_is_kept_while_the_mass_before_is_below_p() {
    let x = f32s(&[1, 5], &[0.0, 2.0, 1.0, -1.0, 2.0]);
    let (truth, _) = agreed(&program("top_p[dtype=f32,p=0.7]", 5, 1), &[x], &[Demand::Order, Demand::Order]);
    let TruthTensor::Integer { values: tokens, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
    let TruthTensor::Predicate { values: keep, .. } = &truth.outputs[1] else { panic!("{truth:?}") };
    // e^2 = 7.389 twice, e = 2.718, 1, 0.368: shares .391, .391, .144, .053, .019.
    assert_eq!(tokens.iter().flatten().copied().collect::<Vec<_>>(), [1, 4, 2, 0, 3]);
    assert_eq!(keep.iter().flatten().copied().collect::<Vec<_>>(), [true, true, false, false, false]);
}

/// Infinities, NaN and signed zeros go through as IEEE has them.
#[test]
fn special_values_are_ieee() {
    let row = |values: &[f32]| f32s(&[1, values.len()], values);
    let softmax = |values: &[f32]| {
        let (truth, _) = agreed(&program("softmax[dtype=f32]", values.len(), 1), &[row(values)], &[Demand::Rounded]);
        rounded(&truth, 0).to_vec()
    };
    assert!(softmax(&[1.0, f32::INFINITY]).iter().all(|v| v.is_nan()));
    assert!(softmax(&[1.0, f32::NAN]).iter().all(|v| v.is_nan()));
    assert!(softmax(&[f32::NEG_INFINITY; 2]).iter().all(|v| v.is_nan()));
    assert_eq!(softmax(&[f32::NEG_INFINITY, 3.0]), [0.0, 1.0]);
    let argmax = |values: &[f32]| {
        let (truth, _) = agreed(&program("argmax[dtype=f32]", values.len(), 1), &[row(values)], &[Demand::Order]);
        truth.outputs[0].clone()
    };
    let token = |at| TruthTensor::Integer { dims: vec![1], values: vec![Some(at)] };
    assert_eq!(argmax(&[1.0, f32::NAN, 3.0, f32::NAN]), token(1));
    assert_eq!(argmax(&[-0.0, 0.0]), token(0));
    assert_eq!(argmax(&[0.0, 1e-40]), token(1));
    let (truth, _) =
        agreed(&program("top_k[dtype=f32,k=4]", 4, 1), &[row(&[-0.0, 0.0, -0.0, 0.0])], &[Demand::None, Demand::Order]);
    let indices = [1, 3, 0, 2].map(Some).to_vec();
    assert_eq!(truth.outputs[1], TruthTensor::Integer { dims: vec![1, 4], values: indices });
}

/// Falling functions reverse the order: the largest of -x is the smallest x, and 1 / x falls over the positive numbers.
#[test]
fn falling_functions_reverse_the_order() {
    let mut b = Builder::new("falling");
    let x = b.parameter("x", DType::F32, &[1, 4]).unwrap();
    let negated = b.unary(Unary::Negate, x).unwrap();
    let root = b.unary(Unary::Rsqrt, x).unwrap();
    let one = b.constant(DType::F32, 1.0).unwrap();
    let one = b.splat(one, &[1, 4]).unwrap();
    let inverse = b.binary(Binary::Divide, one, x).unwrap();
    let program = b.finish(&[("negated", negated), ("root", root), ("inverse", inverse)]).unwrap();
    let (truth, _) = agreed(&program, &[f32s(&[1, 4], &[3.0, 0.7, 5.0, 0.7])], &[Demand::Order; 3]);
    for output in &truth.outputs {
        let TruthTensor::Float(float) = output else { panic!("{output:?}") };
        assert_eq!((float.tops[0].best.as_slice(), float.tops[0].runner_up), (&[1, 3][..], Some(0)));
    }
}

/// `jnp.sort` of -p, and back: the k-th largest of p is an element of p, so that `p >= kth` is decided, ties and all.
#[test]
fn negating_twice_leads_back() {
    let n = 40;
    let mut b = Builder::new("kth");
    let x = b.parameter("x", DType::BF16, &[1, n]).unwrap();
    let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1]).unwrap();
    let max = b.broadcast(max, &[1, n], &[0]).unwrap();
    let shifted = b.binary(Binary::Subtract, x, max).unwrap();
    let e = b.unary(Unary::Exponential, shifted).unwrap();
    let sum = b.reduce(Binary::Add, e, 0.0, &[1]).unwrap();
    let sum = b.broadcast(sum, &[1, n], &[0]).unwrap();
    let p = b.binary(Binary::Divide, e, sum).unwrap();
    let negated = b.unary(Unary::Negate, p).unwrap();
    let sorted = b.sort(&[negated], 1, true, Compare::Lt, CompareOrder::Total).unwrap();
    let fifth = b.op(Op::Slice { start: vec![0, 4], limit: vec![1, 5], stride: vec![1, 1] }, &[sorted]).unwrap();
    let fifth = b.unary(Unary::Negate, fifth).unwrap();
    let fifth = b.reshape(fifth, &[1]).unwrap();
    let fifth = b.broadcast(fifth, &[1, n], &[0]).unwrap();
    let keep = b.compare(Compare::Ge, p, fifth).unwrap();
    let program = b.finish(&[("keep", keep)]).unwrap();
    // Each value stands twice: the fifth largest is the third largest of them.
    let values: Vec<f64> = (0..n).map(|i| ((i / 2 * 7) % 20) as f64 / 8.0).collect();
    let x = Tensor::new(&[1, n], Data::from_f64s(DType::BF16, &values).unwrap());
    let (truth, _) = agreed(&program, &[x], &[Demand::Rounded]);
    let TruthTensor::Predicate { values: keep, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
    let expected: Vec<Option<bool>> = values.iter().map(|v| Some(*v >= 17.0 / 8.0)).collect();
    assert_eq!(*keep, expected);
}

/// Rows that try every branch: ordinary ones, ties, wide spreads, underflow, masks, infinities, NaN, signed zeros.
fn hard_rows(n: usize) -> Vec<Vec<f64>> {
    let spread = |scale: f64| (0..n).map(|i| (((i * 37 + 11) % 101) as f64 - 50.0) * scale).collect::<Vec<f64>>();
    let mut rows = vec![spread(0.13), spread(17.3), spread(1e-30), vec![1.25; n]];
    for special in [&[-1e30][..], &[f64::NEG_INFINITY], &[f64::INFINITY], &[f64::NAN], &[0.0, -0.0], &[3e38, 1e-45]] {
        let mut row = spread(0.7);
        row.iter_mut().skip(1).step_by(3).enumerate().for_each(|(i, v)| *v = special[i % special.len()]);
        rows.push(row);
    }
    rows
}

/// Every built-in program, every hard row: what f64 answers is what MPFR alone answers.
#[test]
fn programs_have_the_truth_that_mpfr_alone_gives() {
    let names: Vec<&str> = ulpgate::program::PROGRAMS.iter().map(|p| p.name()).collect();
    let specs: Vec<String> = names.iter().flat_map(|name| [name.to_string(), format!("{name}[dtype=f32]")]).collect();
    // The longest test of these by far: it takes all cores.
    let (mut compared, mut answered) = (0, Stats::default());
    for (count, stats) in specs.par_iter().map(|spec| compared_with_mpfr(spec)).collect::<Vec<_>>() {
        compared += count;
        answered.merge(&stats);
    }
    assert!(compared > 200, "{compared}");
    assert!(answered.fast > 0 && answered.pairs > 0 && answered.mpfr > 0, "{answered:?}");
}

/// Compares the truths of a program on all hard rows with those of MPFR alone; their number, and the rungs that found them. None
/// where the program has no such type.
fn compared_with_mpfr(spec: &str) -> (usize, Stats) {
    let (n, mut compared, mut answered) = (16, 0, Stats::default());
    let Ok(Ok(program)) = spec.parse::<ProgramSpec>().map(|s| s.build(n, 1)) else { return (compared, answered) };
    for row in hard_rows(n) {
        let argument = |shape: &Shape| {
            let dtype = shape.dtype().unwrap();
            let values: Vec<f64> = (0..shape.elements()).map(|i| row[i % n]).collect();
            let data = if dtype.is_float() {
                Data::from_f64s(dtype, &values)
            } else {
                Data::from_i64s(dtype, &values.iter().map(|v| *v as i64 % 7).collect::<Vec<_>>())
            };
            Tensor::new(shape.dims(), data.unwrap())
        };
        let arguments: Vec<Tensor> = program.entry().parameter_shapes().into_iter().map(argument).collect();
        for demand in [Demand::Rounded, Demand::Order] {
            let demands = vec![demand; program.output_names.len()];
            let of = |first| {
                // Enough for what can be decided here; the rest stays open either way.
                let oracle = Oracle { first, max_bits: 512, ..Oracle::default() };
                oracle.evaluate(&program, &arguments, &demands)
            };
            match (of(None), of(Some(Rung::Mpfr))) {
                (Ok(truth), Ok(mpfr)) => {
                    answered.merge(&truth.stats);
                    assert_eq!(format!("{:?}", truth.outputs), format!("{:?}", mpfr.outputs), "{spec} {row:?}");
                    compared += 1;
                }
                (truth, mpfr) => assert_eq!(truth.err(), mpfr.err(), "{spec}"),
            }
        }
    }
    (compared, answered)
}

/// Functions at arguments of all kinds, in f64: every rung gives the same correctly rounded values.
#[test]
fn functions_have_the_value_that_mpfr_alone_gives() {
    let mut values = vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 5e-324, 1e-310];
    values.extend([709.7, 709.9, -745.0, -745.2, -708.5, 40.5, 81.5, 1e10, 1e-20, 1.0 + f64::EPSILON, 0.25, 9.0]);
    values.extend((0..300).map(|i| (f64::from(i) - 150.0) * 0.37 + 0.001));
    let n = values.len();
    let mut b = Builder::new("functions");
    let x = b.parameter("x", DType::F64, &[1, n]).unwrap();
    let y = b.parameter("y", DType::F64, &[1, n]).unwrap();
    let mut results = Vec::new();
    for unary in [
        Unary::Exponential,
        Unary::ExponentialMinusOne,
        Unary::Log,
        Unary::LogPlusOne,
        Unary::Logistic,
        Unary::Rsqrt,
        Unary::Sqrt,
        Unary::Tanh,
        Unary::Abs,
        Unary::Floor,
        Unary::Sign,
    ] {
        results.push(("f", b.unary(unary, x).unwrap()));
    }
    for binary in [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide] {
        results.push(("g", b.binary(binary, x, y).unwrap()));
    }
    // Squares have exact roots, and x y / y is x.
    let square = b.binary(Binary::Multiply, x, x).unwrap();
    results.push(("root", b.unary(Unary::Sqrt, square).unwrap()));
    let product = b.binary(Binary::Multiply, x, y).unwrap();
    results.push(("back", b.binary(Binary::Divide, product, y).unwrap()));
    let program = b.finish(&results).unwrap();
    let reversed: Vec<f64> = values.iter().rev().copied().collect();
    let tensors = [values, reversed].map(|v| Tensor::new(&[1, n], Data::F64(v)));
    let demands = vec![Demand::Rounded; results.len()];
    let of =
        |first| Oracle { first, max_bits: 1024, ..Oracle::default() }.evaluate(&program, &tensors, &demands).unwrap();
    let (truth, mpfr) = (of(None), of(Some(Rung::Mpfr)));
    for ((got, expected), (name, _)) in truth.outputs.iter().zip(&mpfr.outputs).zip(&results) {
        let (TruthTensor::Float(got), TruthTensor::Float(expected)) = (got, expected) else { panic!("{name}") };
        for at in 0..n {
            // What is exact in f64 may be decided here and stay open there, never the other way round.
            if expected.open.contains(&at) {
                continue;
            }
            assert!(!got.open.contains(&at), "{name} at {at}");
            let (got, expected) = (got.rounded[at], expected.rounded[at]);
            assert!(
                got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                "{name} at {at}: {got}, {expected}"
            );
        }
    }
}

/// One of two numbers, it is not known which: nothing is claimed that holds for one only.
#[test]
fn an_open_choice_claims_nothing() {
    let mut b = Builder::new("choice");
    let x = b.parameter("x", DType::F64, &[3]).unwrap();
    let y = b.parameter("y", DType::F64, &[3]).unwrap();
    let up = b.unary(Unary::Exponential, x).unwrap();
    let down = b.unary(Unary::Negate, x).unwrap();
    let down = b.unary(Unary::Exponential, down).unwrap();
    let product = b.binary(Binary::Multiply, up, down).unwrap();
    let one = b.constant(DType::F64, 1.0).unwrap();
    let one = b.splat(one, &[3]).unwrap();
    // Equal, which nothing here can know.
    let equal = b.compare(Compare::Eq, product, one).unwrap();
    let negated = b.unary(Unary::Negate, y).unwrap();
    let inverse = b.binary(Binary::Divide, one, y).unwrap();
    let choices = [b.select(equal, y, negated).unwrap(), b.select(equal, one, inverse).unwrap()];
    let finite = b.unary(Unary::IsFinite, choices[1]).unwrap();
    let program = b.finish(&[("sign", choices[0]), ("finite", finite)]).unwrap();
    let tensors = [vec![0.7; 3], vec![0.0, -0.0, 0.5]].map(|v| Tensor::new(&[3], Data::F64(v)));
    let (truth, _) = agreed(&program, &tensors, &[Demand::Rounded, Demand::Order]);
    let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
    assert_eq!(float.open, [0, 1, 2]);
    assert_eq!(truth.outputs[1], TruthTensor::Predicate { dims: vec![3], values: vec![None, None, Some(true)] });
}
