//! The verdict of each check on results that are small enough to work out by hand: every figure, the note and the evidence.

use std::fmt::Write;

use ulpgate::check::{Context, Judgement, Outcome, Settings, find_check, judge_of};
use ulpgate::subject::{self, Call, Function};
use ulpgate::tensor::{DType, Data, Tensor};

use super::{Bench, FIRST_ROW, against, none};

/// A case over these rows of logits.
fn bench(program: &str, mode: &str, rows: &[&[f64]]) -> Bench {
    let mut bench = Bench::new(program, rows[0].len(), mode, "normal");
    let dtype = bench.arguments[0].dtype();
    bench.arguments[0] = floats(dtype, rows);
    bench
}

fn floats(dtype: DType, rows: &[&[f64]]) -> Tensor {
    Tensor::new(&[rows.len(), rows[0].len()], Data::from_f64s(dtype, &rows.concat()).unwrap())
}

fn column(dtype: DType, values: &[f64]) -> Tensor {
    Tensor::new(&[values.len()], Data::from_f64s(dtype, values).unwrap())
}

fn integers(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::new(dims, Data::S32(values.to_vec()))
}

fn mask(rows: &[&[i64]]) -> Tensor {
    let kept = rows.concat().iter().map(|v| *v != 0).collect();
    Tensor::new(&[rows.len(), rows[0].len()], Data::Pred(kept))
}

/// A judgement as text; every figure must be one that the check documents.
fn said(check: &str, judged: &Judgement) -> String {
    let documented = find_check(check).unwrap().figures();
    let mut text = format!("{}:", judged.outcome.name());
    for (name, value) in &judged.figures {
        assert!(documented.iter().any(|figure| figure.name == *name), "{check}: {name}");
        write!(text, " {name}={value}").unwrap();
    }
    write!(text, "\n{}", judged.note).unwrap();
    judged.evidence.iter().for_each(|line| write!(text, "\n- {line}").unwrap());
    text
}

#[track_caller]
fn says(bench: &Bench, check: &str, settings: &Settings, got: &[Tensor], expected: &str) {
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(said(check, &bench.judge(check, settings, got)), expected.join("\n"));
}

fn allowing(allowance: f64) -> Settings {
    Settings { allowance: Some(allowance), ..none() }
}

#[test]
fn agreement_counts_elements_and_rows() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0, 1.0], &[f64::NAN, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 0.0]];
    let bench = bench("softmax[dtype=f32,rows=3]", "cpu/f32/off", &rows);
    let own = bench.run();
    let changed = |changes: &[(usize, f64)]| {
        let mut values = own[0].data().to_f64s();
        changes.iter().for_each(|(at, value)| values[*at] = *value);
        [Tensor::new(&[3, 4], Data::from_f64s(DType::F32, &values).unwrap())]
    };
    let itself = against("cpu/f32/off");
    says(
        &bench,
        "agreement",
        &itself,
        &own,
        "
        pass: differing=0 differing_rows=0 max_difference=0
        0 of 12 elements differ, in 0 of 3 rows
    ",
    );
    // A quarter becomes three eighths and an eighth.
    let two = changed(&[(9, 0.375), (11, 0.125)]);
    says(
        &bench,
        "agreement",
        &itself,
        &two,
        "
        finding: differing=2 differing_rows=1 max_difference=0.125
        2 of 12 elements differ, in 1 of 3 rows
        - p, row 42, element 1: 0.375 (0x3ec00000) against 0.25 (0x3e800000)
        - p, row 42, element 3: 0.125 (0x3e000000) against 0.25 (0x3e800000)
    ",
    );
    let outcome = |allowance| {
        bench.outcome("agreement", &Settings { allowance: Some(allowance), ..against("cpu/f32/off") }, &two)
    };
    assert_eq!((outcome(0.1), outcome(2.0 / 12.0), outcome(0.2)), (Outcome::Finding, Outcome::Pass, Outcome::Pass));
    // A number where the other side has NaN differs, and by no number.
    says(
        &bench,
        "agreement",
        &itself,
        &changed(&[(5, 1.0)]),
        "
        finding: differing=1 differing_rows=1 max_difference=inf
        1 of 12 elements differ, in 1 of 3 rows
        - p, row 41, element 1: 1 (0x3f800000) against NaN (0x7fc00000)
    ",
    );
}

/// Only the chosen result is compared, and of integers the first difference of a row is shown, the other side's token first.
#[test]
fn agreement_is_asked_of_the_chosen_result() {
    let rows: [&[f64]; 2] = [&[1.0, 2.0, 0.0, 3.0], &[4.0, 0.0, 1.0, 0.5]];
    let case = bench("prob_max[dtype=f32,rows=2]", "cpu/f32/off", &rows);
    let mut results = case.run();
    results[2] = integers(&[2], &[1, 0]);
    let chosen = |output: &str| Settings { output: Some(output.into()), ..against("cpu/f32/off") };
    for output in ["p", "max", "sum"] {
        assert_eq!(case.outcome("agreement", &chosen(output), &results), Outcome::Pass, "{output}");
    }
    let judged = case.judge("agreement", &chosen("token"), &results);
    let [witness] = &judged.witnesses[..] else { panic!("{judged:?}") };
    let tokens: Vec<u64> = witness.tokens.iter().map(|scored| scored.token).collect();
    assert_eq!((judged.outcome, witness.row, tokens), (Outcome::Finding, FIRST_ROW as u64, vec![3, 1]));
    let case = bench("top_k[dtype=f32,rows=2,k=4]", "cpu/f32/off", &rows);
    let mut results = case.run();
    assert_eq!(results[1].data().to_i64s(), [3, 1, 0, 2, 0, 2, 3, 1]);
    results[1] = integers(&[2, 4], &[3, 2, 0, 9, 0, 2, 3, 1]);
    let judged = case.judge("agreement", &chosen("indices"), &results);
    assert_eq!(judged.witnesses[0].index, FIRST_ROW as u64 * 4 + 1, "{judged:?}");
}

/// A row alone has all other arguments, and its own number in the case.
#[test]
fn rows_alone_are_asked_for_with_their_numbers() {
    let case = Bench::new("mlp[dtype=f32,rows=3]", 4, "cpu/f32/off", "normal");
    assert_eq!(case.outcome("agreement", &against("alone"), &case.run()), Outcome::Pass);
    let asked = std::sync::Mutex::new(Vec::new());
    let mode = case.mode.clone();
    let subject = Function::new("mine", mode.clone(), |call: &Call| {
        asked.lock().unwrap().push(call.first_row);
        Ok(subject::evaluate(call.program, &mode, call.arguments)?)
    });
    let judged = case.judge_subject(&subject, "agreement", &against("alone"), &case.run());
    assert_eq!(judged.outcome, Outcome::Pass);
    assert_eq!(*asked.lock().unwrap(), [FIRST_ROW, FIRST_ROW + 1, FIRST_ROW + 2]);
}

/// Results in another order of additions than the mode's are honest.
#[test]
fn honest_results_may_add_in_another_order() {
    let program = "matmul[lhs=16xn,rhs=nx16]";
    let of_mode = |mode: &str| Bench::new(program, 2048, mode, "normal");
    let chain = of_mode("v5e/highest/off+acc=chain").run();
    let exact = of_mode("v5e/highest/off+acc=exact");
    assert_eq!(exact.outcome("criterion", &against("honest"), &chain), Outcome::Pass);
    let one_pass = of_mode("v5e/default/off+acc=exact").run();
    assert_eq!(exact.outcome("criterion", &against("honest"), &one_pass), Outcome::Finding);
}

#[test]
fn dropped_token_tells_flips_from_ties() {
    let rows: [&[f64]; 4] =
        [&[1.0, 1.0, 0.0, 0.0], &[3.0, 1.0, 2.0, 0.0], &[0.0, 5.0, 1.0, 5.5], &[0.0, 0.0, 0.0, 2.0]];
    let bench = bench("argmax[dtype=f32,rows=4]", "cpu/f32/off", &rows);
    says(
        &bench,
        "dropped_token",
        &none(),
        &bench.run(),
        "
        pass: lost=0 lost_share_low=0 lost_share_high=0.6023646356164747 flips=0 rounding_ties=0 exact_ties=1
        0 of 4 rows lost their most probable token
    ",
    );
    let got = [integers(&[4], &[1, 2, 1, 3])];
    says(&bench, "dropped_token", &none(), &got, "
        finding: lost=2 lost_share_low=0.06758598648854298 lost_share_high=0.932414013511457 flips=2 rounding_ties=0 exact_ties=1 least_margin_ulp=1048576
        2 of 4 rows lost their most probable token
        - row 41: token 0 is the most probable, 4194304 ulp ahead, declared score 3 (0x40400000); token 2 with declared score 2 (0x40000000) was emitted instead
        - row 42: token 3 is the most probable, 1048576 ulp ahead, declared score 5.5 (0x40b00000); token 1 with declared score 5 (0x40a00000) was emitted instead
    ");
    let outcome = |allowance| bench.outcome("dropped_token", &allowing(allowance), &got);
    assert_eq!((outcome(0.4), outcome(0.5), outcome(0.6)), (Outcome::Finding, Outcome::Pass, Outcome::Pass));
}

#[test]
fn dropped_token_sees_ties_that_rounding_makes() {
    // In bf16 0.7 x + 0.1 is one number for both.
    let rows: [&[f64]; 2] = [&[1.515625, 1.5234375, 0.0], &[0.0, 4.0, 2.0]];
    let bench = bench("affine_greedy[rows=2]", "cpu/f32/off", &rows);
    let own = bench.run();
    let names = &bench.program.output_names;
    let got: Vec<Tensor> = names
        .iter()
        .zip(&own)
        .map(|(name, own)| if name == "token" { integers(&[2], &[0, 2]) } else { own.clone() })
        .collect();
    says(&bench, "dropped_token", &none(), &got, "
        finding: lost=2 lost_share_low=0.15811388300841903 lost_share_high=1 flips=1 rounding_ties=1 exact_ties=0 least_margin_ulp=0.69921875
        2 of 2 rows lost their most probable token
        - row 40: token 1 is the most probable, 0.69921875 ulp ahead, declared score 1.1640625 (0x3f95); token 0 with declared score 1.1640625 (0x3f95) was emitted instead
        - row 41: token 1 is the most probable, 89.5 ulp ahead, declared score 2.890625 (0x4039); token 2 with declared score 1.5 (0x3fc0) was emitted instead
    ");
}

#[test]
fn dropped_token_looks_at_kept_sets() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0], &[3.0, 1.0, 2.0], &[0.0, 0.0, 4.0]];
    let bench = bench("keep_max[dtype=f32,rows=3]", "cpu/f32/off", &rows);
    let mut got = bench.run();
    let keep = bench.program.output("keep").unwrap();
    got[keep] = mask(&[&[1, 1, 0], &[0, 1, 1], &[0, 0, 0]]);
    says(&bench, "dropped_token", &none(), &got, "
        finding: lost=2 lost_share_low=0.0942993240502461 lost_share_high=0.9915962413403874 flips=2 rounding_ties=0 exact_ties=0 least_margin_ulp=7045120
        2 of 3 rows lost their most probable token
        - row 41: token 0 is the most probable, 7045120 ulp ahead, declared score 0.6652408838272095 (0x3f2a4d3a); it is not in the kept set
        - row 42: token 2 is the most probable, 15859712 ulp ahead, declared score 0.9646632075309753 (0x3f76f42b); it is not in the kept set
    ");
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        finding: inconsistent=1
        1 of 3 rows disagree with themselves
        - row 42: nothing is kept, not even the maximum
    ",
    );
}

#[test]
fn dropped_token_follows_the_order_of_a_nucleus() {
    // Most probable first; what is kept ends at the first token that is not.
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0], &[3.0, 1.0, 2.0], &[0.0, 0.0, 4.0]];
    let bench = bench("top_p[dtype=f32,rows=3]", "cpu/f32/off", &rows);
    let got = [integers(&[3, 3], &[1, 0, 2, 2, 1, 0, 0, 2, 1]), mask(&[&[1, 1, 1], &[1, 1, 0], &[1, 1, 0]])];
    says(&bench, "dropped_token", &none(), &got, "
        finding: lost=1 lost_share_low=0.008403758659612641 lost_share_high=0.9057006759497539 flips=1 rounding_ties=0 exact_ties=0 least_margin_ulp=7045120
        1 of 3 rows lost their most probable token
        - row 41: token 0 is the most probable, 7045120 ulp ahead, declared score 0.6652408838272095 (0x3f2a4d3a); it is not in the kept set
    ");
}

/// The witness of a lost token is its own flag: of a mask in an order, at the token's place in that order.
#[test]
fn the_witness_of_a_mask_is_the_token_s_own_flag() {
    let row: [&[f64]; 1] = [&[3.0, 1.0, 2.0]];
    let bench = bench("top_p[dtype=f32,rows=1]", "cpu/f32/off", &row);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let got = [integers(&[1, 3], &order), mask(&[&[0, 0, 0]])];
        let place = order.iter().position(|token| *token == 0).unwrap();
        for check in ["dropped_token", "self_consistency"] {
            let judged = bench.judge(check, &none(), &got);
            let [witness] = &judged.witnesses[..] else { panic!("{check}: {judged:?}") };
            let place = (FIRST_ROW * 3 + place) as u64;
            assert_eq!((witness.result.as_str(), witness.index), ("keep", place), "{check}, {order:?}");
        }
    }
}

#[test]
fn dropped_token_meets_thresholds() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0], &[3.0, 1.0, 2.0], &[0.0, 0.0, 4.0]];
    let bench = bench("prob_max[dtype=f32,rows=3]", "cpu/f32/off", &rows);
    let mut got = bench.run();
    let max = bench.program.output("max").unwrap();
    let most = Settings { output: Some("max".into()), ..none() };
    says(
        &bench,
        "dropped_token",
        &most,
        &got,
        "
        pass: lost=0 lost_share_low=0 lost_share_high=0.7075982261787134 flips=0 rounding_ties=0 exact_ties=0
        0 of 3 rows lost their most probable token
    ",
    );
    let values = got[max].data().to_f64s();
    got[max] = column(DType::F32, &[values[0] * 1.001, values[1], values[2] * 0.999]);
    says(&bench, "dropped_token", &most, &got, "
        finding: lost=1 lost_share_low=0.008403758659612641 lost_share_high=0.9057006759497539 flips=1 rounding_ties=0 exact_ties=0 least_margin_ulp=7045120
        1 of 3 rows lost their most probable token
        - row 40: token 1 is the most probable, 7045120 ulp ahead, declared score 0.6652409434318542 (0x3f2a4d3b); its p = 0.6652409434318542 is below max = 0.6659061908721924
    ");
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        finding: inconsistent=2
        2 of 3 rows disagree with themselves
        - row 40: p[1] = 0.6652409434318542, but max = 0.6659061908721924
        - row 42: p[2] = 0.9646632075309753, but max = 0.9636985659599304
    ",
    );
}

#[test]
fn self_consistency_compares_tokens() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 0.0], &[3.0, 1.0, 2.0], &[0.0, 0.0, 4.0]];
    let bench = bench("token_two_ways[dtype=f32,rows=3]", "cpu/f32/off", &rows);
    let got = [integers(&[3], &[1, 0, 2]), integers(&[3, 1], &[1, 0, 1])];
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        finding: inconsistent=1
        1 of 3 rows disagree with themselves
        - row 42: token = 2, but greedy = 1
    ",
    );
    says(
        &bench,
        "dropped_token",
        &none(),
        &got,
        "
        pass: lost=0 lost_share_low=0 lost_share_high=0.7075982261787134 flips=0 rounding_ties=0 exact_ties=0
        0 of 3 rows lost their most probable token
    ",
    );
}

#[test]
fn a_nan_at_the_token_is_the_maximum() {
    let rows: [&[f64]; 2] = [&[1.0, f64::NAN, 0.0], &[3.0, 1.0, 2.0]];
    let bench = bench("greedy_head[d=64,dtype=f32,rows=2]", "cpu/f32/off", &[&[0.0; 64], &[0.0; 64]]);
    let at = |name: &str| bench.program.output(name).unwrap();
    let mut got = bench.run();
    let n = bench.n;
    let mut logits = vec![0.0; 2 * n];
    for (row, values) in rows.iter().enumerate() {
        logits[row * n..row * n + 3].copy_from_slice(values);
    }
    got[at("logits")] = Tensor::new(&[2, n], Data::from_f64s(DType::F32, &logits).unwrap());
    got[at("token")] = integers(&[2], &[1, 0]);
    got[at("max")] = column(DType::F32, &[f64::NAN, 3.0]);
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        pass: inconsistent=0
        0 of 2 rows disagree with themselves
    ",
    );
    got[at("max")] = column(DType::F32, &[1.0, f64::NAN]);
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        finding: inconsistent=2
        2 of 2 rows disagree with themselves
        - row 40: logits[1] = NaN, but max = 1
        - row 41: logits[0] = 3, but max = NaN
    ",
    );
    // A token that is none has no score.
    got[at("token")] = integers(&[2], &[n as i32, -1]);
    says(
        &bench,
        "self_consistency",
        &none(),
        &got,
        "
        pass: inconsistent=0
        0 of 2 rows disagree with themselves
    ",
    );
}

/// Logits of three rows: a tie for the first place, a tie of all, and one token far ahead.
const NUCLEI: &[&[f64]] = &[&[5.0, 5.0, 0.0, -3.0], &[0.0, 0.0, 0.0, 0.0], &[9.0, 0.0, 1.0, 0.0]];

/// The results of top-p that keep these tokens of [`NUCLEI`].
fn nucleus(rows: &[&[i64]]) -> [Tensor; 2] {
    [integers(&[3, 4], &[0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 1, 3]), mask(rows)]
}

fn nucleus_says(bench: &Bench, got: &[Tensor], expected: &str) {
    says(bench, "nucleus", &none(), got, expected);
}

#[test]
fn nucleus_counts_what_is_kept() {
    let bench = bench("top_p[dtype=f32,rows=3]", "cpu/f32/off", NUCLEI);
    let own = bench.run();
    nucleus_says(
        &bench,
        &own,
        "
        pass: all_kept=0 rows_beyond=0 kept_extra=0 kept_lost=0 truth_kept=7
        0 of 3 rows keep everything, 0 go beyond the allowance
    ",
    );
    let more = nucleus(&[&[1, 1, 1, 0], &[1, 1, 1, 1], &[1, 1, 1, 1]]);
    nucleus_says(
        &bench,
        &more,
        "
        finding: all_kept=1 rows_beyond=2 kept_extra=4 kept_lost=0 truth_kept=7
        1 of 3 rows keep everything, 2 go beyond the allowance
        - row 40: truth keeps 2 of 4, 1 more are kept and 0 are missing
        - row 42: truth keeps 1 of 4, 3 more are kept and 0 are missing
    ",
    );
    let less = nucleus(&[&[1, 0, 0, 0], &[1, 1, 1, 1], &[0, 1, 0, 0]]);
    nucleus_says(
        &bench,
        &less,
        "
        finding: all_kept=0 rows_beyond=2 kept_extra=1 kept_lost=2 truth_kept=7
        0 of 3 rows keep everything, 2 go beyond the allowance
        - row 40: truth keeps 2 of 4, 0 more are kept and 1 are missing
        - row 42: truth keeps 1 of 4, 1 more are kept and 1 are missing
    ",
    );
    // One token is within any allowance at all; of two kept ones, two are not within a half.
    for (rows, allowance, expected) in [
        ([&[1, 1, 1, 0], &[1, 1, 1, 1], &[1, 0, 0, 0]], 0.01, Outcome::Pass),
        ([&[0, 0, 1, 0], &[1, 1, 1, 1], &[1, 0, 0, 0]], 0.5, Outcome::Finding),
        ([&[1, 0, 1, 0], &[1, 1, 1, 1], &[1, 0, 0, 0]], 0.5, Outcome::Finding),
        ([&[1, 0, 1, 0], &[1, 1, 1, 1], &[1, 0, 0, 0]], 1.0, Outcome::Pass),
    ] as [([&[i64]; 3], f64, Outcome); 4]
    {
        assert_eq!(bench.outcome("nucleus", &allowing(allowance), &nucleus(&rows)), expected, "{rows:?} {allowance}");
    }
}

/// Everything but the tokens that the truth keeps is not the whole vocabulary.
#[test]
fn nucleus_finds_a_complement() {
    let bench = bench("top_p[dtype=f32,rows=3]", "cpu/f32/off", NUCLEI);
    let complement = nucleus(&[&[0, 0, 1, 1], &[1, 1, 1, 1], &[1, 0, 0, 0]]);
    nucleus_says(
        &bench,
        &complement,
        "
        finding: all_kept=0 rows_beyond=1 kept_extra=2 kept_lost=2 truth_kept=7
        0 of 3 rows keep everything, 1 go beyond the allowance
        - row 40: truth keeps 2 of 4, 2 more are kept and 2 are missing
    ",
    );
}

#[test]
fn overflow_counts_what_leaves_the_range() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // softmax of two numbers: a half each, e^-60 and 1, NaN where the truth is.
    let rows: [&[f64]; 4] = [&[0.0, 0.0], &[-60.0, 0.0], &[0.0, nan], &[0.0, 0.0]];
    let bench = bench("softmax[dtype=f32,rows=4]", "cpu/f32/off", &rows);
    says(
        &bench,
        "overflow",
        &none(),
        &bench.run(),
        "
        pass: overflows=0 underflows=0 rows_out=0
        0 of 4 rows leave the range of f32
    ",
    );
    // A zero beside a number is no row lost, and what the truth of a NaN is says nothing.
    let got = floats(DType::F32, &[&[inf, nan], &[0.0, 1.0], &[inf, 0.0], &[0.0, -0.0]]);
    says(
        &bench,
        "overflow",
        &Settings { output: Some("p".into()), ..none() },
        &[got],
        "
        finding: overflows=2 underflows=3 rows_out=2
        2 of 4 rows leave the range of f32
        - row 40: 2 of 2 elements overflow, 0 are lost to zero
        - row 43: 0 of 2 elements overflow, 2 are lost to zero
    ",
    );
}

#[test]
fn ties_are_read_row_by_row() {
    let rows: [&[f64]; 3] = [&[1.0, 2.0, 2.0], &[3.0, 1.0, 3.0], &[0.0, 4.0, 0.0]];
    let bench = bench("top_k[dtype=f32,k=3,rows=3]", "cpu/f32/off", &rows);
    says(
        &bench,
        "ties",
        &none(),
        &bench.run(),
        "
        pass: misplaced=0
        0 of 3 rows are not in the declared order
    ",
    );
    let values = floats(DType::F32, &[&[2.0, 2.0, 1.0], &[3.0, 3.0, 1.0], &[4.0, 0.0, 0.0]]);
    let indices = integers(&[3, 3], &[1, 2, 0, 0, 2, 1, 1, 2, 0]);
    says(
        &bench,
        "ties",
        &none(),
        &[values.clone(), indices.clone()],
        "
        finding: misplaced=1
        1 of 3 rows are not in the declared order
        - row 42: equal values out of order in [1, 2, 0]
    ",
    );
    let equals = Settings { equals: Some(vec![1, 2, 0]), ..none() };
    says(
        &bench,
        "ties",
        &equals,
        &[values, indices],
        "
        finding: misplaced=1
        1 of 3 rows are not in the declared order
        - row 41: [0, 2, 1] instead of [1, 2, 0]
    ",
    );
}

/// Greedy decoding takes the first place: of equal values the lower index stands there.
#[test]
fn a_tie_for_the_first_place_has_an_order() {
    let bench = bench("top_k[dtype=f32,k=3]", "cpu/f32/off", &[&[1.0, 2.0, 2.0]]);
    let values = floats(DType::F32, &[&[2.0, 2.0, 1.0]]);
    says(
        &bench,
        "ties",
        &none(),
        &[values, integers(&[1, 3], &[2, 1, 0])],
        "
        finding: misplaced=1
        1 of 1 rows are not in the declared order
        - row 40: equal values out of order in [2, 1, 0]
    ",
    );
}

#[test]
fn recall_counts_the_true_top() {
    let rows: [&[f64]; 2] = [&[1.0, 2.0, 3.0, 4.0, 5.0], &[9.0, 2.0, 9.0, 7.0, 8.0]];
    let bench = bench("approx_max_k[k=2,rows=2]", "cpu/f32/off", &rows);
    says(
        &bench,
        "recall",
        &none(),
        &bench.run(),
        "
        pass: recall_observed=1 recall_expected=1 recall_z=0 bins=5 broken_rows=0
        recall 1.0000, expected 1.0000 (z = 0.0), 0 of 2 rows break an invariant
    ",
    );
    let values = floats(DType::F32, &[&[5.0, 3.0], &[9.0, 9.0]]);
    says(
        &bench,
        "recall",
        &none(),
        &[values, integers(&[2, 2], &[4, 2, 0, 2])],
        "
        finding: recall_observed=0.75 recall_expected=1 recall_z=-inf bins=5 broken_rows=0
        recall 0.7500, expected 1.0000 (z = -inf), 0 of 2 rows break an invariant
    ",
    );
    let increasing = floats(DType::F32, &[&[4.0, 5.0], &[9.0, 9.0]]);
    says(
        &bench,
        "recall",
        &none(),
        &[increasing, integers(&[2, 2], &[3, 4, 0, 2])],
        "
        finding: recall_observed=1 recall_expected=1 recall_z=0 bins=5 broken_rows=1
        recall 1.0000, expected 1.0000 (z = 0.0), 1 of 2 rows break an invariant
        - row 40: values increase
    ",
    );
    let short = floats(DType::F32, &[&[5.0], &[9.0]]);
    says(
        &bench,
        "recall",
        &none(),
        &[short, integers(&[2, 1], &[4, 0])],
        "
        finding: recall_observed=0.5 recall_expected=1 recall_z=-inf bins=5 broken_rows=2
        recall 0.5000, expected 1.0000 (z = -inf), 2 of 2 rows break an invariant
        - row 40: 1 results for k = 2
        - row 41: 1 results for k = 2
    ",
    );
    // Only a bin that saw nothing holds the init, and only where bins come back as they are.
    let empty = floats(DType::F32, &[&[5.0, f64::NEG_INFINITY], &[9.0, 9.0]]);
    says(
        &bench,
        "recall",
        &none(),
        &[empty, integers(&[2, 2], &[4, -1, 0, 2])],
        "
        finding: recall_observed=0.75 recall_expected=1 recall_z=-inf bins=5 broken_rows=1
        recall 0.7500, expected 1.0000 (z = -inf), 1 of 2 rows break an invariant
        - row 40: index -1 is out of range
    ",
    );
}

/// A filter that reads one value twice, the same behind a guard, and what neither any permitted rounding nor any mode changes.
#[test]
fn same_holds_a_program_against_others_for_all_inputs() {
    let judged = |program: &str, mode: &str, settings: &Settings| {
        let bench = Bench::new(program, 64, mode, "normal");
        bench.judge("same", settings, &bench.run())
    };
    let alone = judged("softmax[rows=4]", "v5e/default/off", &against("alone"));
    assert_eq!((alone.outcome, &alone.figures[..]), (Outcome::Pass, &[("inputs_tried", 4.0)][..]), "{}", alone.note);
    assert!(alone.note.contains("for all inputs"), "{}", alone.note);
    let rewritten = judged("softmax[rows=4]", "v5e/default/off", &against("v5e/default/tpu"));
    assert_eq!(rewritten.outcome, Outcome::Finding);
    assert!(rewritten.evidence[0].starts_with("they part at "), "{:?}", rewritten.evidence);
    let [witness] = &rewritten.witnesses[..] else { panic!("{:?}", rewritten.witnesses) };
    let bits = |hex: &str| u64::from_str_radix(&hex[2..], 16).unwrap();
    let value = DType::BF16.format().unwrap().decode(bits(&witness.value_hex));
    let other = f64::from_bits(bits(&witness.truth_hex));
    assert!((value / other - 1.0).abs() < 0.05 && value != other, "{value} against {other}");
    // Quotients in bf16 are equal both ways, which nothing here proves.
    let open = judged("softmax[rows=4]", "v5e/default/off", &against("v6e/default/off"));
    assert_eq!(open.outcome, Outcome::Undecided);
    // A turn that has begun to look beside a place where results change comes to its end.
    let [("inputs_tried", tried)] = open.figures[..] else { panic!("{:?}", open.figures) };
    assert!((64.0..192.0).contains(&tried), "{tried}");
    assert!(open.evidence[0].contains("no bit differed"), "{:?}", open.evidence);
    let refused = judged("softmax[rows=4]", "v5e/default/off", &against("argmax[rows=4]"));
    assert_eq!(refused.outcome, Outcome::Abstain);
    assert!(refused.note.contains("result 0"), "{}", refused.note);
}

#[test]
fn permitted_tells_what_a_compiler_may_change() {
    let judged = |program: &str, settings: &Settings| {
        let bench = Bench::new(program, 64, "v5e/default/off", "normal");
        bench.judge("permitted", settings, &bench.run())
    };
    let changed = judged("keep_max[rows=8]", &none());
    assert_eq!(changed.outcome, Outcome::Finding);
    assert!(changed.evidence.iter().all(|line| line.contains(": keep has ")), "{:?}", changed.evidence);
    for (program, settings) in [
        ("keep_max[rows=8,guard=reduce_precision]", none()),
        ("prob_max[rows=8]", none()),
        ("prob_max[rows=8]", against("any-mode")),
        ("argmax[rows=8]", against("any-mode")),
    ] {
        let judgement = judged(program, &settings);
        assert_eq!(judgement.outcome, Outcome::Pass, "{program}: {}", judgement.note);
        assert_eq!(judgement.figures[..2], [("proven", 8.0), ("reachable", 0.0)], "{program}");
    }
    // What is neither proven nor reached is no pass, and says of which rows.
    let bench = Bench::new("top_p[rows=2]", 32, "v5e/default/off", "normal");
    let of_kept = Settings { output: Some("keep".to_string()), ..none() };
    let open = bench.judge("permitted", &of_kept, &bench.run());
    assert_eq!(open.outcome, Outcome::Undecided, "{}", open.note);
    assert!(open.evidence[0].contains("not decided by one enclosure"), "{:?}", open.evidence);
    let bench = Bench::new("softmax[rows=8]", 64, "v5e/default/off", "normal");
    let context = Context { spec: &bench.spec, n: bench.n, mode: &bench.mode, program: &bench.program };
    let refused = |settings: &Settings| judge_of("permitted", settings, &context).err().unwrap().to_string();
    assert!(refused(&none()).contains("no result of integers or predicates"));
    assert!(refused(&against("v5e")).contains("`any-mode`, or nothing"));
}
