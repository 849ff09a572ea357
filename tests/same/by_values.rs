//! Functions of one narrow float, whose 65,536 values are run: equal values are one function, however they are computed, and one other
//! value makes another.

use std::time::Duration;

use ulpgate::same::{Settings, Verdict, compare};

use crate::{Random, ask, differing, is_same, read, settings};

const V5E: &str = "v5e/default/as-compiled";
const MODES: [&str; 3] = [V5E, "tpu7x/default/as-compiled", "xla-cpu/default/as-compiled"];

/// Whether both are called the same; if so, random inputs must agree.
#[track_caller]
fn same(one: &str, other: &str, mode: &str) -> bool {
    let same = is_same(&ask(one, other, mode, &[]));
    if same {
        assert_eq!(differing(&read(one), &read(other), mode, 5, &mut Random(5)).1, 0, "{mode}\n{one}\n{other}");
    }
    same
}

/// A program of a narrow float `x`, which is `w` as f32, and of an f32 `y`.
fn of_narrow(dtype: &str, body: &str) -> String {
    let text = "HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n\
                ENTRY main {\n x = T[40] parameter(0)\n y = f32[40] parameter(1)\n w = f32[40] convert(x)\n \
                zero = f32[] constant(0)\n three = f32[] constant(3)\n threes = f32[40] broadcast(three), dimensions={}\n \
                BODY\n}\n";
    text.replace("BODY", body).replace("T[", &format!("{dtype}["))
}

/// Three times a number of 8 bits, in two ways that f32 tells apart only for numbers of more bits.
const SUM: &str = "d = f32[40] add(w, w)\n t = f32[40] add(d, w)\n";
const PRODUCT: &str = "t = f32[40] multiply(w, threes)\n";

#[test]
fn functions_of_equal_values_are_one() {
    let [sum, product] = [SUM, PRODUCT].map(|steps| format!("{steps} ROOT r = bf16[40] convert(t)"));
    let cases = MODES.map(|mode| (mode, "bf16")).into_iter().chain([(V5E, "f16"), (V5E, "f8e4m3fn")]);
    for (mode, dtype) in cases {
        assert!(same(&of_narrow(dtype, &sum), &of_narrow(dtype, &product), mode), "{mode} {dtype}");
    }
    // A third is another function.
    let third = PRODUCT.replace("multiply", "divide");
    assert!(!same(&of_narrow("bf16", &third), &of_narrow("bf16", PRODUCT), V5E));
}

/// Such a function may be given to any operation, and any bf16 number to it.
#[test]
fn a_function_of_equal_values_is_a_part_of_any_program() {
    let reduced = |steps: &str| {
        let sum = "p = f32[40] multiply(t, y)\n ROOT r = f32[] reduce(p, zero), dimensions={0}, to_apply=add";
        of_narrow("bf16", &format!("{steps} {sum}"))
    };
    let rounded = |steps: &str| {
        let given = "s = f32[40] add(y, threes)\n n = bf16[40] convert(s)\n v = f32[40] convert(n)\n";
        of_narrow("bf16", &format!("{given} {} ROOT r = f32[40] add(t, y)", steps.replace('w', "v")))
    };
    for mode in [V5E, "cpu/f32/off"] {
        assert!(same(&reduced(SUM), &reduced(PRODUCT), mode), "{mode}");
        assert!(same(&rounded(SUM), &rounded(PRODUCT), mode), "{mode}");
    }
}

/// Functions of two numbers, of numbers at other places, of another sign, and of an f32 are none.
#[test]
fn other_functions_stay_apart() {
    let with = |body: &str| of_narrow("bf16", body);
    let product = with(&format!("{PRODUCT} ROOT r = f32[40] add(t, w)"));
    for other in [
        "b = f32[40] reverse(w), dimensions={0}\n d = f32[40] add(w, b)\n e = f32[40] add(d, w)\n ROOT r = f32[40] add(e, w)",
        "t = f32[40] multiply(w, threes)\n b = f32[40] reverse(t), dimensions={0}\n ROOT r = f32[40] add(b, w)",
        "t = f32[40] multiply(w, threes)\n n = f32[40] negate(t)\n ROOT r = f32[40] subtract(n, w)",
        "t = f32[40] multiply(y, threes)\n ROOT r = f32[40] add(t, y)",
        "t = f32[40] multiply(w, threes)\n ROOT r = f32[40] add(t, threes)",
    ] {
        assert!(!same(&product, &with(other), V5E), "{other}");
    }
}

/// Two functions that differ for one number of 65,536 part, with that number as the witness.
#[test]
fn one_number_parts_two_functions() {
    let text = |body: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = bf16[8192] parameter(0)\n k = bf16[] constant(-34772055228416.0)\n \
             ks = bf16[8192] broadcast(k), dimensions={{}}\n e = pred[8192] compare(x, ks), direction=EQ\n \
             s = bf16[8192] add(x, ks)\n {body}\n}}\n"
        )
    };
    let (one, other) = (text("ROOT r = bf16[8192] select(e, s, x)"), text("ROOT r = bf16[8192] copy(x)"));
    // On a busy machine the eight inputs that have all numbers take longer than users wait.
    let patient = Settings { patience: Duration::from_secs(60), ..settings(V5E) };
    let answer = compare(&read(&one), &read(&other), &patient).unwrap();
    let Verdict::Part(parting) = answer.verdict else { panic!("not seen to part") };
    let at = parting.result.index[0][0];
    assert_eq!(parting.inputs[0][0].data().get_f64(at), -34772055228416.0);
}
