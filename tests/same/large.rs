//! Programs that are large, in their arguments or in the time that one input takes.

use std::time::{Duration, Instant};

use super::*;

fn embedding(rows: usize, opcode: &str) -> String {
    format!(
        "HloModule m

ENTRY e {{
  table = bf16[{rows},4]{{1,0}} parameter(0)
  ids = s32[8]{{0}} parameter(1)
  bias = bf16[8,4]{{1,0}} parameter(2)
  rows = bf16[8,4]{{1,0}} gather(table, ids), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
         index_vector_dim=1, slice_sizes={{1,4}}
  ROOT r = bf16[8,4]{{1,0}} {opcode}(rows, bias)
}}
"
    )
}

/// An embedding of a large model, of 2 GiB: nothing of one program need be followed element by element, whatever values are
/// called.
#[test]
fn large_programs_are_the_same_at_once() {
    let text = embedding(128_256 * 1024, "add");
    let answer = ask(&text, &text.replace("rows =", "picked =").replace("(rows,", "(picked,"), "v5e/default/off", &[]);
    assert!(is_same(&answer), "{answer:?}");
    assert!(answer.rests_on.iter().any(|one| one.starts_with("both are one program")), "{answer:?}");
    assert_eq!(answer.tried, 0);
}

/// A loop of many trips, whose result no identity decides.
fn loop_of(trips: usize, last: &str) -> String {
    format!(
        "HloModule m

goes_on {{
  t = (s32[], f32[4]{{0}}) parameter(0)
  s = s32[] get-tuple-element(t), index=0
  n = s32[] constant({trips})
  ROOT r = pred[] compare(s, n), direction=LT
}}

next {{
  t = (s32[], f32[4]{{0}}) parameter(0)
  s = s32[] get-tuple-element(t), index=0
  x = f32[4]{{0}} get-tuple-element(t), index=1
  one = s32[] constant(1)
  s1 = s32[] add(s, one)
  x1 = f32[4]{{0}} tanh(x)
  x2 = f32[4]{{0}} cosine(x1)
  ROOT r = (s32[], f32[4]{{0}}) tuple(s1, x2)
}}

ENTRY e {{
  x = f32[4]{{0}} parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[4]{{0}}) tuple(zero, x)
  w = (s32[], f32[4]{{0}}) while(t), condition=goes_on, body=next
  y = f32[4]{{0}} get-tuple-element(w), index=1
  ROOT r = f32[4]{{0}} {last}
}}
"
    )
}

#[test]
fn seconds_hold_within_an_input() {
    let [one, other] = ["abs(y)", "sqrt(y)"].map(|last| loop_of(1_000_000, last));
    let settings = Settings { patience: Duration::from_secs(1), ..settings("v5e/default/off") };
    let begun = Instant::now();
    let answer = compare(&read(&one), &read(&other), &settings).unwrap();
    let Verdict::Open(missing) = &answer.verdict else { panic!("{answer:?}") };
    assert!(missing.iter().any(|one| one.contains("for another input, which was given up")), "{missing:?}");
    assert_eq!(answer.tried, 0);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}
