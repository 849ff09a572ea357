mod algebra;
mod any_mode;
mod arithmetic;
mod loops;
mod mesh;

use crate::input::{Argument, InputKey, InputSpec, generate};
use crate::ir::{Binary, Builder, Compare, Op, Precision, Program, Unary, ValueId};
use crate::machine::mxu::Accumulation;
use crate::machine::{self, Mode};
use crate::mode::{and_compiled, emulated_compilers};
use crate::program::ProgramSpec;
use crate::tensor::{DType, Data, Tensor};

use super::{Answer, ExploreError, Seen, Settings, counterexample, enclose, explore, find_family, outside, permitted};

pub(super) fn built(spec: &str, n: usize) -> Program {
    let spec: ProgramSpec = spec.parse().unwrap();
    spec.build(n, spec.batch(n)).unwrap()
}

pub(super) fn drawn(program: &Program, input: &str, seed: u64) -> Vec<Tensor> {
    let input: InputSpec = input.parse().unwrap();
    let key = InputKey { suite: "explore".into(), input: input.to_string(), n: 0, seed };
    let taken = Argument::of_program(program);
    generate(&input, &key, &taken, 0..taken[0].rows() as u64).unwrap()
}

pub(super) fn settings(mode: &str, families: &[&str]) -> Settings {
    let families = families.iter().map(|name| find_family(name).unwrap()).collect();
    Settings { families, ..Settings::new(mode.parse().unwrap()) }
}

fn tensor(dtype: DType, dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(dtype, values).unwrap())
}

fn count(answers: &[Answer], wanted: fn(&Answer) -> bool) -> usize {
    answers.iter().filter(|answer| wanted(answer)).count()
}

/// FACTS 1.5: in about two rows of five a filter that must keep the most probable token may lose it; behind a guard in none.
#[test]
fn the_dropped_token_is_reachable_and_its_guard_is_proven() {
    let rounding = settings("v5e/default/off", &["rounding"]);
    let program = built("keep_max[rows=16]", 128);
    let arguments = drawn(&program, "normal", 1);
    let found = explore(&program, &arguments, &[], &rounding).unwrap();
    let reachable = count(&found.answers, |answer| matches!(answer, Answer::Reachable(_)));
    // One reader or the other may see more bits, so that rounding up or down may lose it.
    assert!(reachable > 8, "{reachable}");
    // With the choice of policy `cpu`, the left side of the comparison sees more: two rows of five.
    let is_left = |answer: &&Answer| matches!(answer, Answer::Reachable(witness) if witness.differs.declared == 1.0);
    assert!(found.answers.iter().filter(is_left).count() >= 3);
    assert!(found.searched.is_exhaustive);
    let guarded = built("keep_max[rows=16,guard=reduce_precision]", 128);
    for families in [&["rounding"][..], &["rounding", "narrowing", "order"]] {
        let found = explore(&guarded, &arguments, &[], &settings("v5e/default/off", families)).unwrap();
        let proven = count(&found.answers, |answer| matches!(answer, Answer::Proven { .. }));
        let reachable = count(&found.answers, |answer| matches!(answer, Answer::Reachable(_)));
        // Behind the guard other tokens may still become equal to the largest, and join it.
        assert!(proven >= 12 && proven + reachable == 16, "{families:?}: {proven} proven, {reachable} reachable");
    }
}

/// A witness is a program of its own, which gives on the machine what the witness says.
#[test]
fn witnesses_hold_when_they_are_run_again() {
    let program = built("keep_max[rows=16]", 128);
    let arguments = drawn(&program, "normal", 1);
    let found = explore(&program, &arguments, &[], &settings("v5e/default/off", &["rounding", "narrowing"])).unwrap();
    let mut witnesses = 0;
    for (row, answer) in found.answers.iter().enumerate() {
        let Answer::Reachable(witness) = answer else { continue };
        let taken = found.choices.take(&witness.taken);
        let again = machine::evaluate(&taken, &witness.mode, &arguments).unwrap();
        let differs = witness.differs;
        assert_eq!(again[differs.output].data().get_f64(differs.element), differs.chosen);
        let declared = machine::evaluate(&program, &witness.mode, &arguments).unwrap();
        assert_eq!(declared[differs.output].data().get_f64(differs.element), differs.declared);
        assert_eq!(differs.element / 128, row);
        assert_ne!(differs.declared, differs.chosen);
        witnesses += 1;
    }
    assert!(witnesses > 2);
}

/// The program of choices gives the bits of the declared program, as it stands and with the first options taken.
#[test]
fn the_first_options_are_the_declared_program() {
    for mode in and_compiled(&["v5e/default/off", "v6e/default/off"], "default/off") {
        let mode: Mode = mode.parse().unwrap();
        for (spec, n) in [
            ("keep_max[rows=4]", 64),
            ("top_p[rows=4]", 64),
            ("prob_max[rows=4]", 64),
            ("sampler[rows=4]", 64),
            ("router[rows=4]", 16),
        ] {
            let program = built(spec, n);
            let arguments = drawn(&program, "normal", 3);
            let all = Settings::new(mode.clone());
            let choices = permitted(&program, &all);
            let declared = machine::evaluate(&program, &mode, &arguments).unwrap();
            for same in [choices.program.clone(), choices.take(&vec![0; choices.points.len()])] {
                let results = machine::evaluate(&same, &all.computed(), &arguments).unwrap();
                for (name, (a, b)) in program.output_names.iter().zip(declared.iter().zip(&results)) {
                    assert!((0..a.len()).all(|at| a.data().bits(at) == b.data().bits(at)), "{spec} {name} {mode}");
                }
            }
        }
    }
}

/// SplitMix64.
fn mixed(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Numbers drawn one after the other.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 += 1;
        (mixed(self.0) % limit as u64) as usize
    }
}

/// The extents of what drawn programs compute.
const DIMS: [usize; 2] = [4, 12];

/// A program of `[4, 12]` arrays in bf16 and f32, with conversions between them, row sums and maxima, guards, moves, and
/// predicates and tokens as results.
fn random_program(draw: &mut Draw) -> Program {
    let mut b = Builder::new("random");
    let mut values: Vec<ValueId> = Vec::new();
    for (name, dtype) in [("x", DType::BF16), ("y", DType::F32), ("z", DType::BF16)] {
        values.push(b.parameter(name, dtype, &DIMS).unwrap());
    }
    let count = 6 + draw.below(14);
    random_values(draw, &mut b, &mut values, count);
    let results = random_results(draw, &mut b, &values);
    let results: Vec<(&str, ValueId)> = results.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    b.finish(&results).unwrap()
}

/// So many values more, each of some of the last ones.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn random_values(draw: &mut Draw, b: &mut Builder, values: &mut Vec<ValueId>, count: usize) {
    for _ in 0..count {
        let x = values[values.len() - 1 - draw.below(values.len().min(5))];
        let dtype = b.shape(x).dtype().unwrap();
        let other = |draw: &mut Draw, b: &mut Builder| {
            let y = values[draw.below(values.len())];
            if b.shape(y).dtype() == Some(dtype) { y } else { b.convert(y, dtype).unwrap() }
        };
        let new = match draw.below(13) {
            0 | 1 => b.convert(x, if dtype == DType::BF16 { DType::F32 } else { DType::BF16 }).unwrap(),
            2 => {
                let binary = [Binary::Add, Binary::Subtract, Binary::Multiply][draw.below(3)];
                let y = other(draw, b);
                b.binary(binary, x, y).unwrap()
            }
            3 => {
                let unary =
                    [Unary::Exponential, Unary::Tanh, Unary::Logistic, Unary::Negate, Unary::Abs][draw.below(5)];
                // So that exponentials stay finite.
                let bounded = b.unary(Unary::Tanh, x).unwrap();
                b.unary(unary, bounded).unwrap()
            }
            4 | 5 => {
                let binary = if draw.below(2) == 0 { Binary::Maximum } else { Binary::Add };
                let init = if binary == Binary::Add { 0.0 } else { f64::NEG_INFINITY };
                let row = b.reduce(binary, x, init, &[1]).unwrap();
                let row = b.broadcast(row, &DIMS, &[0]).unwrap();
                let binary = [Binary::Subtract, Binary::Maximum, Binary::Multiply][draw.below(3)];
                b.binary(binary, x, row).unwrap()
            }
            6 => {
                // A softmax: the divisor is a sum of what is positive.
                let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1]).unwrap();
                let max = b.broadcast(max, &DIMS, &[0]).unwrap();
                let shifted = b.binary(Binary::Subtract, x, max).unwrap();
                let e = b.unary(Unary::Exponential, shifted).unwrap();
                let wide = b.convert(e, DType::F32).unwrap();
                let sum = b.reduce(Binary::Add, wide, 0.0, &[1]).unwrap();
                let sum = b.convert(sum, dtype).unwrap();
                let sum = b.broadcast(sum, &DIMS, &[0]).unwrap();
                b.binary(Binary::Divide, e, sum).unwrap()
            }
            7 => b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[x]).unwrap(),
            8 => b.op(Op::Reverse { dims: vec![1] }, &[x]).unwrap(),
            9 => {
                let y = other(draw, b);
                let is_above = b.compare(Compare::Gt, x, y).unwrap();
                b.select(is_above, x, y).unwrap()
            }
            10 => {
                let y = other(draw, b);
                let y = b.op(Op::Transpose { permutation: vec![1, 0] }, &[y]).unwrap();
                let products = b.matmul(x, y, Precision::Default, dtype).unwrap();
                let sum = b.reduce(Binary::Maximum, products, f64::NEG_INFINITY, &[1]).unwrap();
                b.broadcast(sum, &DIMS, &[0]).unwrap()
            }
            11 => {
                let divisor = b.constant(dtype, [3.0, 7.0, 41.0, 0.7][draw.below(4)]).unwrap();
                let divisor = b.splat(divisor, &DIMS).unwrap();
                b.binary(Binary::Divide, x, divisor).unwrap()
            }
            _ => {
                let y = other(draw, b);
                b.binary(Binary::Maximum, x, y).unwrap()
            }
        };
        values.push(new);
    }
}

/// Tokens, kept sets and floats of the last values.
fn random_results(draw: &mut Draw, b: &mut Builder, values: &[ValueId]) -> Vec<(String, ValueId)> {
    let mut results: Vec<(String, ValueId)> = Vec::new();
    for at in 0..2 {
        let x = values[values.len() - 1 - draw.below(4)];
        let token = b.argmax(x, 1).unwrap();
        results.push((format!("token{at}"), token));
        let wide = b.convert(x, DType::F32).unwrap();
        let max = b.reduce(Binary::Maximum, wide, f64::NEG_INFINITY, &[1]).unwrap();
        let max = b.broadcast(max, &DIMS, &[0]).unwrap();
        let keep = b.compare(Compare::Ge, wide, max).unwrap();
        results.push((format!("keep{at}"), keep));
        results.push((format!("x{at}"), x));
    }
    results
}

/// Orders in which dots may be summed.
const ORDERS: [Accumulation; 5] =
    [Accumulation::Block, Accumulation::Chain, Accumulation::Pairwise, Accumulation::Tiled, Accumulation::Running];

/// Each result of any choice, in any order of sums and dots, lies in the enclosure of all of them; and a row that is proven has no
/// other outcome under any choice drawn.
#[test]
fn whatever_is_chosen_lies_in_the_enclosure() {
    let modes = [
        "v5e/default/off",
        "v6e/default/off",
        "tpu7x/default/off",
        "cpu/f32/off",
        "v5e/default/off+exp=worst+reduce=chain",
    ];
    let programs: u64 = std::env::var("ULPGATE_EXPLORE_PROGRAMS").ok().and_then(|v| v.parse().ok()).unwrap_or(60);
    let (mut decided, mut proven, mut evaluated, mut points) = (0, 0, 0, 0);
    for seed in 0..programs {
        let mut draw = Draw(seed << 32);
        let program = random_program(&mut draw);
        let settings =
            Settings { enclosures: 8, choices: 64, ..Settings::new(modes[draw.below(modes.len())].parse().unwrap()) };
        let arguments = drawn(&program, ["normal", "ties", "logits"][draw.below(3)], seed);
        let (choices, enclosed) = enclose(&program, &arguments, &settings).unwrap();
        let explored = explore(&program, &arguments, &[], &settings).unwrap();
        let declared = machine::evaluate(&program, &settings.mode, &arguments).unwrap();
        points += choices.points.len();
        for round in 0..24 {
            let option = |point: &crate::rewrite::Point| draw.below(point.options());
            let taken: Vec<usize> = match round {
                0 => vec![0; choices.points.len()],
                1 => choices.points.iter().map(|point| point.options() - 1).collect(),
                _ => choices.points.iter().map(option).collect(),
            };
            let mut mode = settings.computed();
            let orders = machine::vector::SumOrder::ALL;
            mode.choices.reduce = orders[draw.below(orders.len())];
            mode.choices.acc = ORDERS[draw.below(ORDERS.len())];
            let results = machine::evaluate(&choices.take(&taken), &mode, &arguments).unwrap();
            evaluated += 1;
            let wrong = outside(&enclosed, &results).into_iter().find(|result| !result.elements.is_empty());
            assert_eq!(wrong, None, "seed {seed} {mode} {taken:?}\n{}", choices.program);
            for (row, answer) in explored.answers.iter().enumerate() {
                let Answer::Proven { .. } = answer else { continue };
                for output in &explored.outputs {
                    let width = results[*output].len() / 4;
                    let differs = (row * width..(row + 1) * width)
                        .find(|at| results[*output].data().bits(*at) != declared[*output].data().bits(*at));
                    assert_eq!(
                        differs, None,
                        "seed {seed} row {row} result {output} {mode} {taken:?}\n{}",
                        choices.program
                    );
                }
            }
        }
        proven += count(&explored.answers, |answer| matches!(answer, Answer::Proven { .. }));
        decided += explored.answers.len() - count(&explored.answers, |answer| matches!(answer, Answer::Open { .. }));
    }
    println!("{programs} programs, {points} points, {evaluated} evaluations: {proven} rows proven, {decided} decided");
    assert!(points as u64 > 3 * programs && proven as u64 > programs, "{points} {proven}");
}

/// A row that another chip computes otherwise names that chip. The decision of a row tells how close it is.
#[test]
fn a_row_that_another_mode_flips_has_it_as_witness() {
    let program = built("greedy_head[d=96,dtype=f32]", 96);
    let arguments = drawn(&program, "normal", 1);
    let own = settings("v5e/highest/off", &["order"]);
    let found = explore(&program, &arguments, &[], &Settings { margins: true, ..own.clone() }).unwrap();
    let any = explore(&program, &arguments, &[], &Settings { any_mode: true, ..own }).unwrap();
    let proven = |answers: &[Answer]| count(answers, |answer| matches!(answer, Answer::Proven { .. }));
    // One bf16 pass may change what six may not.
    assert!(proven(&any.answers) < proven(&found.answers), "{:?}", any.answers);
    for (answer, decision) in any.answers.iter().zip(&any.decisions) {
        match answer {
            Answer::Proven { .. } => assert_eq!(*decision, None),
            Answer::Open { .. } => assert!(decision.as_ref().is_some_and(|gap| gap.enclosed_ulp <= 0.0)),
            Answer::Reachable(witness) => assert_ne!(witness.mode, "v5e/highest/off".parse().unwrap()),
        }
    }
    for (row, (answer, decision)) in found.answers.iter().zip(&found.decisions).enumerate() {
        let decision = decision.as_ref().unwrap();
        let token = found.declared[0].data().get_f64(row) as usize;
        assert_eq!(decision.candidates[0], token);
        assert!(decision.declared_ulp >= decision.enclosed_ulp, "{decision:?}");
        assert_eq!(decision.enclosed_ulp > 0.0, matches!(answer, Answer::Proven { .. }), "{decision:?}");
        assert_eq!(decision.candidates.len() > 1, decision.enclosed_ulp <= 0.0, "{decision:?}");
    }
}

/// One number of one row is not its own rounding: squared, and read once rounded and once not. Below it, the policy `cpu` flips it;
/// above, only a maximum that is not rounded does, which that policy rounds. A build that emulates no compiler has the witness alone.
#[test]
fn a_planted_flip_is_all_that_is_left_of_an_input() {
    let mut b = Builder::new("planted");
    let x = b.parameter("x", DType::BF16, &[4, 64]).unwrap();
    let square = b.binary(Binary::Multiply, x, x).unwrap();
    let max = b.reduce(Binary::Maximum, square, f64::NEG_INFINITY, &[1]).unwrap();
    let max = b.convert(max, DType::F32).unwrap();
    let max = b.broadcast(max, &[4, 64], &[0]).unwrap();
    let wide = b.convert(square, DType::F32).unwrap();
    let keep = b.compare(Compare::Ge, wide, max).unwrap();
    let program = b.finish(&[("keep", keep)]).unwrap();
    let settings = settings("v5e/default/off", &["rounding"]);
    let has_compiler = !emulated_compilers().is_empty();
    for (planted, left, seen) in [(137.0, 137.0, Seen::Compiled), (131.0, 130.0, Seen::WrittenOut)] {
        let seen = if has_compiler { seen } else { Seen::Witnessed };
        // 0 and 1 have exact squares.
        let mut values = vec![0.0; 256];
        (values[2 * 64 + 37], values[3 * 64 + 5]) = (planted / 128.0, 1.0);
        let arguments = [Tensor::new(&[4, 64], Data::from_f64s(DType::BF16, &values).unwrap())];
        let found = explore(&program, &arguments, &[], &settings).unwrap();
        let small = counterexample(&program, &arguments, &[], &settings, &found).unwrap().unwrap();
        assert_eq!((small.row, small.elements, small.seen), (2, [256, 1], seen));
        assert_eq!((small.arguments[0].dims(), small.arguments[0].data().get_f64(0)), (&[1, 1][..], left / 128.0));
        // It flips again, and so does the choice written out.
        let again = explore(&small.program, &small.arguments, &[], &settings).unwrap();
        assert!(matches!(again.answers[..], [Answer::Reachable(_)]));
        let written = machine::evaluate(&small.written_out(), &small.mode, &small.arguments).unwrap();
        assert_eq!(written[0], small.outcome[0].chosen);
        assert_ne!(small.outcome[0].chosen, small.outcome[0].declared);
    }
}

/// The time is over when choices are about to be evaluated: what one enclosure proves is told, the rest stays open.
#[test]
fn a_search_that_is_out_of_time_keeps_what_is_proven() {
    let program = built("keep_max[rows=4]", 64);
    let arguments = drawn(&program, "normal", 0);
    let whole = explore(&program, &arguments, &[], &settings("v5e/default/off", &["rounding"])).unwrap();
    assert!(whole.answers.iter().any(|answer| matches!(answer, Answer::Reachable(_))) && whole.out_of_time.is_none());
    let time = std::time::Duration::from_secs(2);
    let until = std::time::Instant::now().checked_add(time);
    let late = Settings {
        until,
        announce: |_| std::thread::sleep(std::time::Duration::from_millis(2100)),
        ..settings("v5e/default/off", &["rounding"])
    };
    let found = explore(&program, &arguments, &[], &late).unwrap();
    assert!(found.out_of_time.is_some() && !found.searched.is_exhaustive);
    for (late, whole) in found.answers.iter().zip(&whole.answers) {
        match whole {
            Answer::Proven { enclosures: 1 } => assert_eq!(late, whole),
            _ => assert!(matches!(late, Answer::Open { .. }), "{late:?} {whole:?}"),
        }
    }
    let over = Settings { until: Some(std::time::Instant::now()), ..settings("v5e/default/off", &["rounding"]) };
    assert!(matches!(explore(&program, &arguments, &[], &over), Err(ExploreError::OutOfTime(_))));
}
