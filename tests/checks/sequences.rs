//! Checks of sequences: tokens that are fed back, and errors along positions.

use ulpgate::check::{Outcome, PlanFault, Settings};
use ulpgate::ir::{Builder, Program, Unary};
use ulpgate::record::Record;
use ulpgate::run::Question;
use ulpgate::subject::{Call, Function};
use ulpgate::tensor::{DType, Data, Tensor};

use super::{Bench, none};

/// The figures by name.
fn figures(judgement: &ulpgate::check::Judgement) -> Vec<(&str, f64)> {
    judgement.figures.iter().map(|(name, value)| (*name, *value)).collect()
}

#[test]
fn divergence_counts_what_comes_before_the_first_difference() {
    let bench = Bench::new("top_k[dtype=f32,k=4,rows=3]", 16, "cpu/highest/off", "normal");
    let settings = Settings { output: Some("indices".into()), ..none() };
    let truth = bench.truth();
    let sound = bench.judge("divergence", &settings, &truth);
    assert_eq!((sound.outcome, figures(&sound)), (Outcome::Pass, vec![("diverged", 0.0)]));
    // The first row differs at 1 and later, the last one at 3.
    let mut tokens = truth[1].data().to_i64s();
    for at in [1, 2, 11] {
        tokens[at] += 1;
    }
    let mut got = truth.clone();
    got[1] = Tensor::new(&[3, 4], Data::from_i64s(DType::S32, &tokens).unwrap());
    let worse = bench.judge("divergence", &settings, &got);
    assert_eq!(worse.outcome, Outcome::Finding);
    let median = ("median_divergence", 1.0);
    let expected = vec![("diverged", 2.0), ("first_divergence", 1.0), ("mean_divergence", 2.0), median];
    assert_eq!(figures(&worse), expected);
    let due = truth[1].data().get_i64(1);
    assert_eq!(worse.evidence[0], format!("row 40: token {} instead of {due} after 1 that are right", due + 1));
    let floats = Settings { output: Some("values".into()), ..none() };
    let context = ulpgate::check::Context { spec: &bench.spec, n: 16, mode: &bench.mode, program: &bench.program };
    let refused = ulpgate::check::judge_of("divergence", &floats, &context).err().unwrap();
    assert_eq!(refused.setting, Some("output"));
    assert!(refused.to_string().contains("has no tokens in f32[3,4]"), "{refused}");
}

/// Positions of a sequence, eight of two numbers.
fn negated() -> Program {
    let mut b = Builder::new("negated");
    let x = b.parameter("x", DType::F32, &[8, 2]).unwrap();
    let y = b.unary(Unary::Negate, x).unwrap();
    b.finish(&[("y", y)]).unwrap()
}

/// The verdict of `drift` on an error of `error(i)` at position i from 1.
fn drifting(slope: f64, error: fn(f64) -> f64) -> Record {
    let wrong = move |call: &Call| {
        let x = call.arguments[0].data().to_f64s();
        let y: Vec<f64> = x.iter().enumerate().map(|(at, x)| error((at / 2 + 1) as f64) - x).collect();
        Ok(vec![Tensor::new(&[8, 2], Data::from_f64s(DType::F32, &y).ok_or("f32 is a float")?)])
    };
    let settings = Settings { metric: Some("max_abs_error".into()), slope: Some(slope), ..none() };
    let question = Question::about(negated()).unwrap().input("fixture-zeros").unwrap();
    let subject = Function::new("wrong", "cpu/highest/off".parse().unwrap(), wrong);
    question.subject(subject).check("drift", settings).unwrap().ask().unwrap()
}

#[test]
fn drift_fits_errors_along_a_sequence() {
    let figure = |record: &Record, name: &str| record.figures.iter().find(|f| f.name == name).map(|f| f.value);
    let square = drifting(1.0, |at| at * at);
    assert_eq!(square.checks[0].outcome, Outcome::Finding);
    assert!((figure(&square, "drift_slope").unwrap() - 2.0).abs() < 1e-9, "{square:?}");
    assert!(square.checks[0].note.contains("over 16 terms, expected 1"), "{}", square.checks[0].note);
    assert_eq!(drifting(2.0, |at| at * at).checks[0].outcome, Outcome::Pass);
    assert_eq!(drifting(0.0, |_| 0.25).checks[0].outcome, Outcome::Pass);
    let exact = drifting(0.0, |_| 0.0);
    assert_eq!((exact.checks[0].outcome, figure(&exact, "drift_slope")), (Outcome::Abstain, None));
}

#[test]
fn drift_says_what_it_lacks() {
    let bench = Bench::new("softmax[rows=4]", 16, "cpu/highest/off", "normal");
    let context = ulpgate::check::Context { spec: &bench.spec, n: 16, mode: &bench.mode, program: &bench.program };
    let refused = |settings: Settings| ulpgate::check::judge_of("drift", &settings, &context).err().unwrap();
    let given = |metric: &str, slope| Settings { metric: Some(metric.into()), slope, ..none() };
    assert_eq!(refused(none()).setting, Some("metric"));
    assert_eq!(refused(given("componentwise", Some(0.0))).setting, Some("metric"));
    assert_eq!(refused(given("kl_mean", None)).setting, Some("slope"));
    let built_in = refused(given("kl_mean", Some(0.0)));
    assert!(matches!(built_in.fault, PlanFault::Lacks { .. }) && built_in.setting.is_none(), "{built_in}");
}

#[test]
fn margin_tells_ties_and_the_leads_that_were_lost() {
    let bench = Bench::new("greedy_head[dtype=f32,rows=4]", 8, "cpu/highest/off", "normal");
    assert!(bench.program.output("token").is_some(), "{:?}", bench.program.output_names);
    let (token, scores) = (bench.program.output("token").unwrap(), bench.program.output("logits").unwrap());
    let sound = bench.judge("margin", &none(), &bench.truth());
    assert_eq!((sound.outcome, figures(&sound)), (Outcome::Pass, vec![("tied_tops", 0.0)]));
    // Three rows emit another token; in one of them the second best score becomes the best one's.
    let mut got = bench.truth();
    let mut tokens = got[token].data().to_i64s();
    let mut logits = got[scores].data().to_f64s();
    tokens[..3].iter_mut().for_each(|token| *token = (*token + 1) % 8);
    let row = &mut logits[16..24];
    let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row[tokens[2] as usize] = best;
    got[token] = Tensor::new(got[token].dims(), Data::from_i64s(DType::S32, &tokens).unwrap());
    got[scores] = Tensor::new(got[scores].dims(), Data::from_f64s(DType::F32, &logits).unwrap());
    let worse = bench.judge("margin", &none(), &got);
    assert_eq!(worse.outcome, Outcome::Finding);
    let said = figures(&worse);
    assert_eq!(said[0], ("tied_tops", 1.0));
    let names: Vec<&str> = said.iter().map(|(name, _)| *name).collect();
    let quantiles = ["margin_quarter", "margin_median", "margin_three_quarters", "margin_largest"];
    assert_eq!(names[1..], quantiles);
    assert!(0.0 < said[1].1 && said[1].1 < said[2].1 && said[2].1 < said[3].1 && said[3].1 == said[4].1, "{said:?}");
    assert!(worse.evidence[0].starts_with("row 42: tokens ["), "{:?}", worse.evidence);
    assert_eq!(bench.outcome("margin", &Settings { allowance: Some(0.25), ..none() }, &got), Outcome::Pass);
}

#[test]
fn ratio_counts_probabilities_that_differ() {
    let bench = Bench::new("softmax[dtype=f32,rows=4]", 8, "cpu/f32/off", "normal");
    let truth = bench.truth();
    // Any numbers are log-probabilities here; against the truth one is off by a little more and one by less than a hundredth.
    let sound = bench.judge("ratio", &none(), &truth);
    let none_off = vec![
        ("mean_log_ratio", 0.0),
        ("max_log_ratio", 0.0),
        ("ratios_beyond_0.001", 0.0),
        ("ratios_beyond_0.01", 0.0),
    ];
    assert_eq!((sound.outcome, figures(&sound)), (Outcome::Pass, none_off));
    let off = |by: [f32; 3]| {
        let Data::F32(mut values) = truth[0].data().clone() else { panic!("softmax is f32") };
        by.iter().enumerate().for_each(|(at, by)| values[9 * at] += by);
        bench.judge("ratio", &none(), &[Tensor::new(truth[0].dims(), Data::F32(values))])
    };
    let wrong = off([0.00996, -0.01, -0.0005]);
    assert_eq!(wrong.outcome, Outcome::Finding);
    let said = figures(&wrong);
    assert_eq!((said[2].1, said[3].1), (2.0 / 32.0, 1.0 / 32.0));
    assert!((said[1].1 - 0.01).abs() < 1e-6 && (said[0].1 - 0.02046 / 32.0).abs() < 1e-6, "{said:?}");
    assert!(wrong.evidence[0].starts_with("row 40, token 0: log p is "), "{:?}", wrong.evidence);
    // Below, the edge is ln 0.99, above ln 1.01.
    assert_eq!(off([-0.0100, 0.0, 0.0]).outcome, Outcome::Pass);
    assert_eq!(off([-0.0101, 0.0, 0.0]).outcome, Outcome::Finding);
    // Against another program, and against it a row at a time.
    let bench = Bench::new("softmax[dtype=bf16,rows=4]", 64, "cpu/f32/off", "normal");
    let other = |text: &str| bench.judge("ratio", &super::against(text), &bench.run());
    assert_eq!(other("softmax[dtype=bf16,rows=4]").outcome, Outcome::Pass);
    assert_eq!(other("softmax[dtype=bf16,rows=1]").outcome, Outcome::Pass);
    let context = ulpgate::check::Context { spec: &bench.spec, n: 64, mode: &bench.mode, program: &bench.program };
    let refused = ulpgate::check::judge_of("ratio", &super::against("sotfmax"), &context).err().unwrap();
    assert_eq!(refused.setting, Some("against"));
}
