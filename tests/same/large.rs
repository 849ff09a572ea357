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

/// One large program on two machines is not proven at once: they may round otherwise.
#[test]
fn one_large_program_is_two_on_two_machines() {
    let text =
        "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n ROOT r = f32[16777217] broadcast(x), dimensions={}\n}\n";
    let modes = ["v5e/default/off", "cpu/default/off"].map(|mode| mode.parse::<Mode>().unwrap());
    let settings = Settings { budget: 1 << 10, ..settings("v5e/default/off") };
    assert!(is_same(&compare(&read(text), &read(text), &settings).unwrap()));
    // It is too large to be followed, and that is told.
    let error = compare(&read(text), &read(text), &Settings { modes, ..settings }).unwrap_err().to_string();
    assert!(error.contains("too large to be followed element by element"), "{error}");
}

/// A kernel without a meaning here is a premise of a proof, also where both are one program.
#[test]
fn one_large_program_rests_on_what_is_not_understood() {
    let text = embedding(128_256 * 1024, "add").replace(
        "ROOT r = bf16[8,4]{1,0} add(rows, bias)",
        "ROOT r = bf16[8,4]{1,0} custom-call(rows, bias), custom_call_target=\"SomeKernel\"",
    );
    let import = ulpgate::hlo::lower_with_opaque(&parse(&text).unwrap()).unwrap();
    let answer = compare(&import, &import, &settings("v5e/default/off")).unwrap();
    assert!(is_same(&answer), "{answer:?}");
    assert!(answer.rests_on.iter().any(|one| one.contains("SomeKernel")), "{answer:?}");
}

/// Values that no result depends on are neither laid out nor followed, in an entry or below it: programs that differ in it alone are
/// one, and no element of them is computed. The large table is an argument, or made by the program itself.
#[test]
fn dead_values_cost_nothing() {
    let text = |table: &str, dead: &str, inner: &str| {
        format!(
            "HloModule m

sum {{
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  {inner}
  ROOT s = bf16[] add(a, b)
}}

ENTRY e {{
  ids = s32[8]{{0}} parameter(0)
  bias = bf16[8,4,2]{{2,1,0}} parameter(1)
  one = bf16[] constant(1)
  table = bf16[4194432,4]{{1,0}} {table}
  {dead}
  rows = bf16[8,4]{{1,0}} gather(table, ids), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
         index_vector_dim=1, slice_sizes={{1,4}}
  sums = bf16[8,4]{{1,0}} reduce(bias, one), dimensions={{2}}, to_apply=sum
  ROOT r = bf16[8,4]{{1,0}} add(rows, sums)
}}
"
        )
    };
    let wide = |number: usize| {
        format!(
            "dead = bf16[] constant({number})\n  wide = bf16[4194432,4]{{1,0}} broadcast(dead), dimensions={{}}\n  \
             sum = bf16[4194432,4]{{1,0}} add(wide, table)"
        )
    };
    let settings = Settings { budget: 0, ..settings("v5e/default/off") };
    for table in ["parameter(2)", "broadcast(one), dimensions={}"] {
        let live = read(&text(table, "", ""));
        for (dead, inner) in [(&wide(2)[..], ""), ("", "unused = bf16[] exponential(a)")] {
            let answer = compare(&live, &read(&text(table, dead, inner)), &settings);
            assert!(is_same(&answer.unwrap()), "{table}; {dead}; {inner}");
        }
        let [one, other] = [2, 3].map(|number| read(&text(table, &wide(number), "")));
        assert!(is_same(&compare(&one, &other, &settings).unwrap()), "{table}");
    }
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
