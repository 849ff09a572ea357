//! Pairs that are alike but for a zero's sign, a subnormal, a rounding or the side of an operand: none is proven the same.

use ulpgate::machine::Mode;
use ulpgate::same::{Settings, Verdict, compare};

use crate::{ask, is_same, read, settings};

const V5E: &str = "v5e/default/as-compiled";
const CPU: &str = "xla-cpu/default/as-compiled";

fn program(body: &str) -> String {
    format!(
        "HloModule m\nless {{\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] subtract(a, b)\n}}\n\
         largest {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b)\n}}\n\
         narrow {{\n a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n ROOT r = bf16[] add(a, b)\n}}\n\
         wide {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}}\nENTRY main {{\n {body}\n}}\n"
    )
}

/// A difference of integers begins from its init: the init and a term are not exchanged, although the terms are.
#[test]
fn a_chain_of_differences_has_one_first_number() {
    let from = |init: &str, term: &str| {
        program(&format!(
            "n = s32[] parameter(0)\n m = s32[] parameter(1)\n x = s32[2] parameter(2)\n t = s32[1] reshape({term})\n \
             terms = s32[3] concatenate(t, x), dimensions={{0}}\n ROOT r = s32[] reduce(terms, {init}), dimensions={{0}}, to_apply=less"
        ))
    };
    assert!(is_same(&ask(&from("n", "m"), &from("n", "m"), V5E, &[])));
    assert!(!is_same(&ask(&from("n", "m"), &from("m", "n"), V5E, &[])));
}

/// The largest of subnormals is a zero where the unit flushes, and one of them where it does not.
#[test]
fn a_largest_number_is_that_of_its_unit() {
    let text = program(
        "x = f32[3] parameter(0)\n l = f32[] constant(-inf)\n ROOT r = f32[] reduce(x, l), dimensions={0}, to_apply=largest",
    );
    let modes = [V5E, CPU].map(|mode| mode.parse::<Mode>().unwrap());
    let answer = compare(&read(&text), &read(&text), &Settings { modes, ..settings(V5E) }).unwrap();
    assert!(!matches!(answer.verdict, Verdict::Same), "{answer:?}");
}

/// A sum of two zeros below zero is one, and with a zero that is added it is none: an input shows it.
#[test]
fn a_sum_may_be_minus_zero() {
    let sum = "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n s = f32[4] add(x, y)\n z = f32[] constant(0)\n \
               zs = f32[4] broadcast(z), dimensions={}\n ";
    for mode in [V5E, CPU] {
        let [one, other] = ["copy(s)", "add(s, zs)"].map(|last| program(&format!("{sum}ROOT r = f32[4] {last}")));
        let answer = ask(&one, &other, mode, &[]);
        assert!(matches!(answer.verdict, Verdict::Part(_)), "{mode}: {answer:?}");
    }
}

/// A total order sees subnormals on a unit that flushes, which a partial one takes as zeros.
#[test]
fn a_total_order_sees_subnormals() {
    let compared = |of: &str, order: &str| {
        program(&format!(
            "x = f32[4] parameter(0)\n i = f32[] constant(1)\n is = f32[4] broadcast(i), dimensions={{}}\n p = f32[4] multiply(x, is)\n \
             z = f32[] constant(0)\n zs = f32[4] broadcast(z), dimensions={{}}\n \
             ROOT r = pred[4] compare({of}, zs), direction=GT{order}"
        ))
    };
    let same = |order: &str| is_same(&ask(&compared("x", order), &compared("p", order), V5E, &[]));
    assert_eq!([same(""), same(", type=TOTALORDER")], [true, false]);
}

/// A sum of bf16 is rounded when it is stored.
#[test]
fn a_narrow_sum_is_rounded() {
    let [one, other] = [
        "x = bf16[8] parameter(0)\n z = bf16[] constant(0)\n s = bf16[] reduce(x, z), dimensions={0}, to_apply=narrow\n \
         ROOT r = f32[] convert(s)",
        "x = bf16[8] parameter(0)\n y = f32[8] convert(x)\n z = f32[] constant(0)\n \
         ROOT r = f32[] reduce(y, z), dimensions={0}, to_apply=wide",
    ]
    .map(program);
    for mode in [V5E, "tpu7x/default/as-compiled", CPU] {
        assert!(!is_same(&ask(&one, &other, mode, &[])), "{mode}");
    }
}

/// One of two programs calls a kernel without a meaning here: no input can be run, and nothing is said of them, whichever is first.
#[test]
fn a_program_that_calls_a_kernel_alone_is_left_open() {
    let [sum, kernel] = ["add(x, x)", "custom-call(x), custom_call_target=\"SomeKernel\""].map(|last| {
        let text = program(&format!("x = f32[4] parameter(0)\n ROOT r = f32[4] {last}"));
        ulpgate::hlo::lower_with_opaque(&ulpgate::hlo::parse(&text).unwrap()).unwrap()
    });
    for [one, other] in [[&sum, &kernel], [&kernel, &sum]] {
        let answer = compare(one, other, &settings(V5E)).unwrap();
        let Verdict::Open(missing) = &answer.verdict else { panic!("{answer:?}") };
        assert!(missing.iter().any(|one| one.contains("SomeKernel")), "{missing:?}");
        assert_eq!(answer.tried, 0);
    }
}

/// A setting of both headers that no machine follows is a premise of their proof.
#[test]
fn a_proof_rests_on_what_both_headers_ask() {
    let text = program("x = f32[4] parameter(0)\n ROOT r = f32[4] add(x, x)");
    let asks = text.replace("HloModule m", "HloModule m, some_new_option=true");
    let answer = ask(&asks, &asks, V5E, &[]);
    assert!(is_same(&answer), "{answer:?}");
    assert!(answer.rests_on.iter().any(|one| one.contains("some_new_option")), "{answer:?}");
    let answer = ask(&asks, &text, V5E, &[]);
    let Verdict::Open(missing) = &answer.verdict else { panic!("{answer:?}") };
    assert!(missing.iter().any(|one| one.contains("some_new_option") && one.contains("the module")), "{missing:?}");
}
