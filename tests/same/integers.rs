//! Programs whose integer results part for negative numbers, or at the ends of a type alone.

use ulpgate::same::{Settings, Verdict, compare};

use crate::{ask, read, settings};

const MODE: &str = "v5e/default/as-compiled";

/// A program of one array of eight numbers; `#` stands for their type.
fn of_eight(dtype: &str, body: &str) -> String {
    format!("HloModule m\nENTRY main {{\n x = #[8] parameter(0)\n {body}\n}}\n").replace('#', dtype)
}

/// `x` and a constant of its shape as the operands of an operation.
fn with_constant(operation: &str, constant: &str) -> String {
    format!("c = #[] constant({constant})\n d = #[8] broadcast(c), dimensions={{}}\n ROOT r = #[8] {operation}(x, d)")
}

fn part(one: &str, other: &str) {
    let answer = ask(one, other, MODE, &[]);
    assert!(matches!(answer.verdict, Verdict::Part(_)), "{one}{other}{:?}", answer.verdict);
}

/// A quotient by two is cut toward zero, a shift goes down: of the negative odd numbers alone they differ.
#[test]
fn a_shift_is_no_quotient_of_negative_numbers() {
    for dtype in ["s8", "s16", "s32", "s64"] {
        let [quotient, shifted] = [("divide", "2"), ("shift-right-arithmetic", "1")]
            .map(|(operation, constant)| of_eight(dtype, &with_constant(operation, constant)));
        part(&quotient, &shifted);
    }
}

/// A shift without sign differs from one with the sign for negative numbers, which are the large ones of an unsigned type.
#[test]
fn shifts_with_and_without_sign_part() {
    for dtype in ["s4", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"] {
        let [with, without] = ["shift-right-arithmetic", "shift-right-logical"]
            .map(|operation| of_eight(dtype, &with_constant(operation, "1")));
        part(&with, &without);
    }
}

/// A sum passes the end of its type at the largest number alone, a negation at the least one.
#[test]
fn the_ends_of_a_type_are_tried() {
    for dtype in ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"] {
        let following = "c = #[] constant(1)\n d = #[8] broadcast(c), dimensions={}\n y = #[8] add(x, d)\n ";
        let [above, always] = ["compare(y, x), direction=GT", "compare(x, x), direction=EQ"]
            .map(|compared| of_eight(dtype, &format!("{following}ROOT r = pred[8] {compared}")));
        part(&above, &always);
    }
    for dtype in ["s8", "s16", "s32", "s64"] {
        let zero = "c = #[] constant(0)\n d = #[8] broadcast(c), dimensions={}\n n = #[8] negate(x)\n ";
        let [negated, itself] = ["compare(n, d), direction=LT", "compare(x, d), direction=GT"]
            .map(|compared| of_eight(dtype, &format!("{zero}ROOT r = pred[8] {compared}")));
        part(&negated, &itself);
    }
}

/// A loop counts to an argument, or to its magnitude: it ends, as no large number is tried, and a negative one parts the two.
#[test]
fn a_loop_that_counts_to_an_argument_ends() {
    let counting_to = |count: &str| {
        format!(
            "HloModule m\nbody {{\n p = (s32[], s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n \
             n = s32[] get-tuple-element(p), index=1\n x = f32[4] get-tuple-element(p), index=2\n o = s32[] constant(1)\n \
             j = s32[] add(i, o)\n y = f32[4] multiply(x, x)\n ROOT t = (s32[], s32[], f32[4]) tuple(j, n, y)\n}}\n\
             condition {{\n p = (s32[], s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n \
             n = s32[] get-tuple-element(p), index=1\n ROOT c = pred[] compare(i, n), direction=LT\n}}\n\
             ENTRY main {{\n n = s32[] parameter(0)\n x = f32[4] parameter(1)\n z = s32[] constant(0)\n k = s32[] {count}\n \
             t = (s32[], s32[], f32[4]) tuple(z, k, x)\n \
             w = (s32[], s32[], f32[4]) while(t), condition=condition, body=body\n \
             ROOT r = f32[4] get-tuple-element(w), index=2\n}}\n"
        )
    };
    part(&counting_to("copy(n)"), &counting_to("abs(n)"));
    // No input parts these two. With two to the 31st trips the first large number would take all the time that there is.
    let (one, other) = (counting_to("copy(n)"), counting_to("maximum(n, z)"));
    let few = Settings { trials: 24, elements: 0, ..settings(MODE) };
    let answer = compare(&read(&one), &read(&other), &few).unwrap();
    let Verdict::Open(missing) = &answer.verdict else { panic!("{:?}", answer.verdict) };
    assert!(
        answer.tried >= 24 && !missing.iter().any(|line| line.contains("given up")),
        "{} {missing:?}",
        answer.tried
    );
}
