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
    let expected = vec![("diverged", 2.0), ("first_divergence", 1.0), ("mean_divergence", 2.0)];
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

/// What `drift` says of an error of `error(i)` at position i from 1.
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
