//! Every check fires on a deliberately worse result and is silent on exactly rounded truth; every bound is nearly reached
//! by some input.

mod answers;
mod drawn_promises;
mod promises;
mod questions;
mod registry;
mod sequences;

use ulpgate::check::{Batch, Context, Judgement, Outcome, Scale, Settings, Tally, growth, judge_of};
use ulpgate::input::{self, Argument, InputKey, InputSpec};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::program::ProgramSpec;
use ulpgate::subject::{self, Emulated, Subject};
use ulpgate::tensor::{Data, Tensor};

/// The number of a batch's first row in the whole case.
const FIRST_ROW: usize = 40;

struct Bench {
    spec: ProgramSpec,
    n: usize,
    mode: Mode,
    program: Program,
    arguments: Vec<Tensor>,
}

impl Bench {
    fn new(program: &str, n: usize, mode: &str, input: &str) -> Bench {
        let spec: ProgramSpec = program.parse().unwrap();
        let built = spec.build(n, spec.rows).unwrap();
        let taken = Argument::of_program(&built);
        let input: InputSpec = input.parse().unwrap();
        let key = InputKey { suite: "checks".into(), input: input.to_string(), n: n as u64, seed: 0 };
        let rows = 0..taken[0].dims[0] as u64;
        let arguments = input::generate(&input, &key, &taken, rows).unwrap();
        Bench { spec, n, mode: mode.parse().unwrap(), program: built, arguments }
    }

    /// The mode's results.
    fn run(&self) -> Vec<Tensor> {
        subject::evaluate(&self.program, &self.mode, &self.arguments).unwrap()
    }

    /// The formula's results, rounded once to each result's type.
    fn truth(&self) -> Vec<Tensor> {
        let demands = vec![Demand::Rounded; self.program.output_names.len()];
        let truth = Oracle::default().evaluate(&self.program, &self.arguments, &demands).unwrap();
        let shapes = self.program.outputs().into_iter().map(|id| &self.program.entry().instructions[id].shape);
        let tensor = |(truth, shape): (&TruthTensor, &ulpgate::ir::Shape)| {
            let dtype = shape.dtype().unwrap();
            let data = match truth {
                TruthTensor::Float(float) => Data::from_f64s(dtype, &float.rounded).unwrap(),
                TruthTensor::Integer { values, .. } => {
                    Data::from_i64s(dtype, &values.iter().map(|v| v.unwrap()).collect::<Vec<_>>()).unwrap()
                }
                TruthTensor::Predicate { values, .. } => Data::Pred(values.iter().map(|v| v.unwrap()).collect()),
                TruthTensor::Skipped => panic!("everything was demanded"),
            };
            Tensor::new(shape.dims(), data)
        };
        truth.outputs.iter().zip(shapes).map(tensor).collect()
    }

    fn judge(&self, check: &str, settings: &Settings, got: &[Tensor]) -> Judgement {
        self.judge_subject(&Emulated(self.mode.clone()), check, settings, got)
    }

    fn judge_subject(&self, subject: &dyn Subject, check: &str, settings: &Settings, got: &[Tensor]) -> Judgement {
        let context = Context { spec: &self.spec, n: self.n, mode: &self.mode, program: &self.program };
        let judge = judge_of(check, settings, &context).unwrap();
        let mut demands = vec![Demand::None; self.program.output_names.len()];
        judge.demands().into_iter().for_each(|(output, demand)| demands[output] = demand);
        let truth = Oracle::default().evaluate(&self.program, &self.arguments, &demands).unwrap();
        let scores = self.spec.scores(self.n, self.spec.rows).unwrap().filter(|_| judge.needs_scores());
        let scores = scores
            .map(|p| Oracle::default().evaluate(&p, &self.arguments, &[Demand::Order]).unwrap().outputs.remove(0));
        let scores = match &scores {
            Some(TruthTensor::Float(scores)) => Some(scores),
            _ => None,
        };
        let batch = Batch {
            spec: &self.spec,
            n: self.n,
            subject,
            program: &self.program,
            arguments: &self.arguments,
            got,
            truth: &truth,
            scale: &Scale::new(&self.program, &self.arguments),
            scores,
            beside: None,
            first_row: FIRST_ROW,
        };
        let mut tally = Tally::default();
        judge.observe(&batch, &mut tally).unwrap();
        judge.conclude(&tally)
    }

    fn outcome(&self, check: &str, settings: &Settings, got: &[Tensor]) -> Outcome {
        self.judge(check, settings, got).outcome
    }
}

fn against(what: &str) -> Settings {
    Settings { against: Some(what.into()), ..Settings::default() }
}

fn none() -> Settings {
    Settings::default()
}

#[test]
fn bound() {
    for (program, input) in [
        ("matmul[lhs=16xn,rhs=nx16]", "normal"),
        ("softmax[rows=4]", "normal[scale=4]"),
        ("softmax[dtype=f32,rows=4]", "normal[scale=4]"),
    ] {
        let bench = Bench::new(program, 256, "v5e/highest/off", input);
        assert_eq!(bench.outcome("bound", &none(), &bench.truth()), Outcome::Pass, "{program}");
        assert_eq!(bench.outcome("bound", &none(), &bench.run()), Outcome::Pass, "{program}");
        // A hundredth off is more than any of them allows.
        let worse: Vec<f64> = bench.truth()[0].data().to_f64s().iter().map(|v| v * 1.1).collect();
        let truth = &bench.truth()[0];
        let worse = Tensor::new(truth.dims(), Data::from_f64s(truth.dtype(), &worse).unwrap());
        assert_eq!(bench.outcome("bound", &none(), &[worse]), Outcome::Finding, "{program}");
    }
    // One pass is found out by the bound of six and of f32.
    let bench = Bench::new("matmul[lhs=16xn,rhs=nx16]", 256, "v5e/default/off", "normal");
    for declared in ["highest", "f32"] {
        let settings = Settings { declared: Some(declared.into()), ..none() };
        assert_eq!(bench.outcome("bound", &settings, &bench.run()), Outcome::Finding, "{declared}");
    }
    // Where no bound is derived, it says so.
    let bench = Bench::new("affine_greedy", 64, "v5e/default/off", "normal");
    assert_eq!(bench.outcome("bound", &none(), &bench.run()), Outcome::Pass);
}

/// Each criterion accepts rounded truth and rejects a tenth more; that with power alone finds three passes in the place of f32.
#[test]
fn criterion() {
    let bench = Bench::new("matmul[lhs=16xn,rhs=nx16]", 256, "v5e/high/off", "normal");
    let truth = &bench.truth()[0];
    let worse: Vec<f64> = truth.data().to_f64s().iter().map(|v| v * 1.1).collect();
    let worse = Tensor::new(truth.dims(), Data::from_f64s(truth.dtype(), &worse).unwrap());
    for name in ["honest", "tosa-dot", "netlib", "allclose", "nmse"] {
        let outcome = |results: &[Tensor]| bench.outcome("criterion", &against(name), results);
        assert_eq!(outcome(&bench.truth()), Outcome::Pass, "{name}");
        assert_eq!(outcome(std::slice::from_ref(&worse)), Outcome::Finding, "{name}");
    }
    let as_f32 = |name: &str| Settings { declared: Some("f32".into()), ..against(name) };
    assert_eq!(bench.outcome("criterion", &against("honest"), &bench.run()), Outcome::Pass);
    assert_eq!(bench.outcome("criterion", &as_f32("honest"), &bench.run()), Outcome::Finding);
    assert_eq!(bench.outcome("criterion", &as_f32("tosa-dot"), &bench.run()), Outcome::Pass);
    let context = Context { spec: &bench.spec, n: 256, mode: &bench.mode, program: &bench.program };
    let refused = |settings: &Settings| judge_of("criterion", settings, &context).err().unwrap().to_string();
    assert!(refused(&none()).contains("`against` is needed: honest, tosa-dot, netlib, allclose or nmse"));
    assert!(refused(&against("tosa")).starts_with("unknown criterion `tosa`"), "{}", refused(&against("tosa")));
    let bench = Bench::new("softmax", 8, "v5e/high/off", "normal");
    let context = Context { spec: &bench.spec, n: 8, mode: &bench.mode, program: &bench.program };
    let refused = judge_of("criterion", &against("honest"), &context).err().unwrap().to_string();
    assert!(refused.contains("is no plain matmul of its arguments"), "{refused}");
}

/// TOSA's limits for operands of eight bits are not those of wider ones.
#[test]
fn operands_of_eight_bits_have_limits_of_their_own() {
    for (dtype, outcome) in [("f8e4m3fn", Outcome::Pass), ("f8e5m2", Outcome::Pass), ("f32", Outcome::Finding)] {
        let mut bench =
            Bench::new(&format!("matmul[dtype={dtype},out=f32,lhs=2xn,rhs=nx2]"), 8, "v5e/default/off", "normal");
        let ones = |tensor: &Tensor| {
            Tensor::new(tensor.dims(), Data::from_f64s(tensor.dtype(), &vec![1.0; tensor.len()]).unwrap())
        };
        bench.arguments = bench.arguments.iter().map(ones).collect();
        // 100 roundings of f32 off, where a sum of eight products is permitted 16.
        let wrong = Tensor::new(&[2, 2], Data::F32(vec![8.0 * (1.0 + 100.0 * 2f32.powi(-24)); 4]));
        assert_eq!(bench.outcome("criterion", &against("tosa-dot"), &[wrong]), outcome, "{dtype}");
    }
}

/// Operands that one bf16 pass rounds as badly as it can bring the error to 99 % of the bound, and f32 products of the
/// worst kind to 60 %.
#[test]
fn bounds_are_nearly_reached() {
    let reach = |mode: &str, value: f32| {
        let mut bench = Bench::new("matmul[lhs=2xn,rhs=nx2]", 1, mode, "normal");
        bench.arguments =
            vec![Tensor::new(&[2, 1], Data::F32(vec![value; 2])), Tensor::new(&[1, 2], Data::F32(vec![value; 2]))];
        let judged = bench.judge("bound", &none(), &bench.run());
        assert_eq!(judged.outcome, Outcome::Pass, "{mode}");
        judged.figures.iter().find(|(name, _)| *name == "error_over_bound").unwrap().1
    };
    // 1 + 2^-8 lies half way between two bf16 numbers and rounds down to 1.
    let ratio = reach("v5e/default/off+dsr=off", 1.0 + 2f32.powi(-8));
    assert!(ratio > 0.98, "{ratio}");
    // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost whole, half an ulp of f32.
    let ratio = reach("cpu/f32/off", 1.0 + 2f32.powi(-12));
    assert!(ratio > 0.6, "{ratio}");
    // A truncated high part with all lower bits set leaves the most for three passes to lose.
    let ratio = reach("v5e/high/off+dsr=off", f32::from_bits(0x3f80_ffff));
    assert!(ratio > 0.3, "{ratio}");
}

#[test]
fn dropped_token_and_self_consistency() {
    for check in ["dropped_token", "self_consistency"] {
        let sound = Bench::new("keep_max[rows=64]", 512, "v5e/default/off", "normal[scale=4]");
        assert_eq!(sound.outcome(check, &none(), &sound.truth()), Outcome::Pass, "{check}");
        assert_eq!(sound.outcome(check, &none(), &sound.run()), Outcome::Pass, "{check}");
        let worse = Bench::new("keep_max[rows=64]", 512, "v5e/default/cpu", "normal[scale=4]");
        assert_eq!(worse.outcome(check, &none(), &worse.run()), Outcome::Finding, "{check}");
    }
    // A token that ties exactly with the best is no finding, whichever it is; the next best one is.
    let bench = Bench::new("argmax[dtype=f32]", 8, "v5e/default/off", "fixture-two-maxima");
    let token = |at: i32| [Tensor::new(&[1], Data::S32(vec![at]))];
    assert_eq!(bench.outcome("dropped_token", &none(), &token(2)), Outcome::Pass);
    assert_eq!(bench.outcome("dropped_token", &none(), &token(5)), Outcome::Pass);
    assert_eq!(bench.outcome("dropped_token", &none(), &token(7)), Outcome::Finding);
    assert_eq!(bench.outcome("dropped_token", &none(), &token(-1)), Outcome::Finding);
}

#[test]
fn nucleus() {
    let sound = Bench::new("top_p[dtype=f32,rows=4]", 512, "cpu/f32/off", "normal[scale=2]");
    assert_eq!(sound.outcome("nucleus", &none(), &sound.truth()), Outcome::Pass);
    let saturating = Bench::new("top_p[mass=bf16,rows=4]", 8192, "v5e/default/off", "normal");
    let judged = saturating.judge("nucleus", &Settings { allowance: Some(0.5), ..none() }, &saturating.run());
    assert_eq!(judged.outcome, Outcome::Finding);
    assert!(judged.figures.contains(&("all_kept", 4.0)), "{judged:?}");
    // One token too many is beyond an allowance of nothing.
    let mut got = sound.truth();
    let mut keep = match got[1].data() {
        Data::Pred(keep) => keep.clone(),
        other => panic!("{other:?}"),
    };
    let first_dropped = keep.iter().position(|k| !k).unwrap();
    keep[first_dropped] = true;
    got[1] = Tensor::new(got[1].dims(), Data::Pred(keep));
    assert_eq!(sound.outcome("nucleus", &none(), &got), Outcome::Finding);
}

#[test]
fn recall_is_held_on_both_sides() {
    let n = 2048;
    let bench = Bench::new("approx_max_k[k=32,rows=256]", n, "v5e/default/off", "uniform");
    let got = bench.run();
    assert_eq!(bench.outcome("recall", &none(), &got), Outcome::Pass);
    // Too good is a finding as well: this is not what those bins give.
    assert_eq!(bench.outcome("recall", &none(), &bench.truth()), Outcome::Finding);
    // Half of the winners, and below them elements that are none: in order, and far too few.
    let x = bench.arguments[0].data().to_f64s();
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for row in x.chunks_exact(n) {
        let mut ranked: Vec<usize> = (0..row.len()).collect();
        ranked.sort_unstable_by(|a, b| row[*b].total_cmp(&row[*a]));
        for at in ranked[..16].iter().chain(&ranked[64..80]) {
            values.push(row[*at] as f32);
            indices.push(*at as i32);
        }
    }
    let dims = got[0].dims();
    let poor = [Tensor::new(dims, Data::F32(values)), Tensor::new(dims, Data::S32(indices))];
    let judged = bench.judge("recall", &none(), &poor);
    assert_eq!(judged.outcome, Outcome::Finding);
    assert!(
        judged.figures.contains(&("broken_rows", 0.0)) && judged.figures.contains(&("recall_observed", 0.5)),
        "{judged:?}"
    );
    let exact = Bench::new("approx_max_k[k=32,rows=8]", n, "cpu/f32/off", "uniform");
    assert_eq!(exact.outcome("recall", &none(), &exact.truth()), Outcome::Pass);
}

#[test]
fn recall_tells_each_broken_invariant() {
    let n = 2048;
    let bench = Bench::new("approx_max_k[k=32,rows=8]", n, "v5e/default/off", "uniform");
    let got = bench.run();
    let broken = |change: &dyn Fn(&mut Vec<f32>, &mut Vec<i32>)| {
        let (mut values, mut indices) = match (got[0].data(), got[1].data()) {
            (Data::F32(values), Data::S32(indices)) => (values.clone(), indices.clone()),
            other => panic!("{other:?}"),
        };
        change(&mut values, &mut indices);
        let dims = got[0].dims();
        let results = [Tensor::new(dims, Data::F32(values)), Tensor::new(dims, Data::S32(indices))];
        let judged = bench.judge("recall", &none(), &results);
        assert_eq!(judged.outcome, Outcome::Finding);
        assert!(judged.figures.contains(&("broken_rows", 1.0)), "{judged:?}");
    };
    broken(&|_, indices| indices[3] = n as i32);
    broken(&|_, indices| indices[3] = indices[4]);
    broken(&|values, _| values[3] += 1.0);
    broken(&|values, indices| {
        values.swap(3, 4);
        indices.swap(3, 4);
    });
    broken(&|values, indices| {
        values[0] = values[31];
        indices[0] = -1;
    });
}

/// Off a TPU an approximate top-k is an exact one: every winner is expected.
#[test]
fn recall_expects_everything_of_an_exact_top_k() {
    for (mode, all) in [("cpu/f32/off", true), ("v5e/default/off", false)] {
        let bench = Bench::new("approx_max_k[k=32,rows=8]", 2048, mode, "uniform");
        let judged = bench.judge("recall", &none(), &bench.run());
        let expected = judged.figures.iter().find(|(name, _)| *name == "recall_expected").unwrap().1;
        assert_eq!((judged.outcome, expected == 1.0), (Outcome::Pass, all), "{judged:?}");
    }
}

#[test]
fn self_consistency_needs_a_value_that_is_shown_twice() {
    let shows = |program: &str| {
        let bench = Bench::new(program, 4, "cpu/f32/off", "normal");
        let context = Context { spec: &bench.spec, n: bench.n, mode: &bench.mode, program: &bench.program };
        judge_of("self_consistency", &none(), &context).map(|_| ()).map_err(|error| error.to_string())
    };
    for program in ["top_p", "keep_max", "prob_max", "token_two_ways", "affine_greedy[store=false]"] {
        assert_eq!(shows(program), Ok(()), "{program}");
    }
    for program in ["softmax", "argmax", "sort"] {
        assert_eq!(shows(program), Err(format!("{program} shows no value twice")));
    }
}

#[test]
fn ties() {
    let bench = Bench::new("top_k[dtype=f32,k=3]", 6, "v5e/default/off", "fixture-tied-second");
    let equals = |indices: &[i64]| Settings { equals: Some(indices.to_vec()), ..none() };
    assert_eq!(bench.outcome("ties", &equals(&[0, 1, 2]), &bench.run()), Outcome::Pass);
    assert_eq!(bench.outcome("ties", &equals(&[0, 2, 1]), &bench.run()), Outcome::Finding);
    let mut got = bench.run();
    assert_eq!(bench.outcome("ties", &none(), &got), Outcome::Pass);
    got[1] = Tensor::new(&[1, 3], Data::S32(vec![0, 2, 1]));
    assert_eq!(bench.outcome("ties", &none(), &got), Outcome::Finding);
}

/// The sum of a wide f16 softmax is infinite, and all its probabilities are zero; bf16 has the range.
#[test]
fn overflow() {
    for (dtype, outcome) in [("f16", Outcome::Finding), ("bf16", Outcome::Pass)] {
        let bench = Bench::new(&format!("softmax[dtype={dtype}]"), 131072, "v5e/default/off", "normal[scale=0.1]");
        assert_eq!(bench.outcome("overflow", &none(), &bench.run()), outcome, "{dtype}");
        assert_eq!(bench.outcome("overflow", &none(), &bench.truth()), Outcome::Pass, "{dtype}");
    }
}

#[test]
fn agreement() {
    let bench = Bench::new("greedy_head[d=64,dtype=f32,rows=4]", 256, "v5e/default/off", "normal");
    assert_eq!(bench.outcome("agreement", &against("v5e/default/off"), &bench.run()), Outcome::Pass);
    assert_eq!(bench.outcome("agreement", &against("v5e/highest/off"), &bench.run()), Outcome::Finding);
    assert_eq!(bench.outcome("agreement", &against("alone"), &bench.run()), Outcome::Finding);
    let bench = Bench::new("sampler[rows=16]", 512, "v5e/default/cpu", "normal[scale=4]");
    assert_eq!(bench.outcome("agreement", &against("sampler[with=output]"), &bench.run()), Outcome::Pass);
    assert_eq!(bench.outcome("agreement", &against("sampler[with=barrier]"), &bench.run()), Outcome::Finding);
}

#[test]
fn growth_fits_powers() {
    let points = |power: f64| (2..8).map(|i| (4f64.powi(i), 1e-7 * 4f64.powi(i).powf(power))).collect::<Vec<_>>();
    assert_eq!(growth::judge(&points(0.5), 0.5).outcome, Outcome::Pass);
    assert_eq!(growth::judge(&points(1.0), 0.5).outcome, Outcome::Finding);
    assert_eq!(growth::judge(&points(0.0), 0.5).outcome, Outcome::Pass);
    assert_eq!(growth::judge(&points(1.0)[..3], 0.5).outcome, Outcome::Abstain);
    let mut zeros = points(1.0);
    zeros.iter_mut().skip(3).for_each(|p| p.1 = 0.0);
    assert_eq!(growth::judge(&zeros, 0.5).outcome, Outcome::Abstain);
    // Four sizes are enough, and only finite errors above zero are among them.
    zeros[3].1 = points(1.0)[3].1;
    zeros[4].1 = f64::INFINITY;
    let four = growth::judge(&zeros, 0.5);
    assert_eq!((four.outcome, four.used), (Outcome::Finding, 4));
    // A size that is dropped is told.
    assert!(four.note.contains("over 4 of 6 sizes (without n = 4096, 16384), expected 0.5"), "{}", four.note);
    let few = growth::judge(&[(8.0, 1.0), (16.0, f64::NAN), (32.0, 2.0)], 0.5).note;
    assert_eq!(few, "2 of 3 sizes with a finite error above zero (without n = 16); four are needed");
    assert_eq!(growth::judge(&points(1.0)[..4], 0.5).used, 4);
}
