//! Numbers that flushing arithmetic takes for zeros, and products that rounding leaves as they are: `same` looks through both, and no
//! further.

use crate::{Random, ask, differing, is_same, read};

const V5E: &str = "v5e/default/as-compiled";
const CPU: &str = "xla-cpu/default/as-compiled";

/// Whether both are called the same; if so, random inputs must agree.
#[track_caller]
fn same(one: &str, other: &str, mode: &str) -> bool {
    let same = is_same(&ask(one, other, mode, &[]));
    if same {
        assert_eq!(differing(&read(one), &read(other), mode, 100, &mut Random(7)).1, 0, "{one}\n{other}");
    }
    same
}

/// TPUs stack two arrays as a maximum of both, padded with -inf, which flushes: a choice of flushed numbers is the flushed choice, and
/// a choice of which one number alone is flushed is none.
#[test]
fn a_choice_of_flushed_numbers_is_the_flushed_choice() {
    let text = |body: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[64] parameter(0)\n y = f32[64] parameter(1)\n k = s32[64] parameter(2)\n \
             zero = s32[] constant(0)\n zeros = s32[64] broadcast(zero), dimensions={{}}\n c = pred[64] compare(k, zeros), direction=GT\n \
             least = f32[] constant(-inf)\n l = f32[64] broadcast(least), dimensions={{}}\n {body}\n}}\n"
        )
    };
    let (x, y) = ("a = f32[64] maximum(x, l)\n", "b = f32[64] maximum(y, l)\n");
    let after = text("s = f32[64] select(c, x, y)\n ROOT r = f32[64] maximum(s, l)");
    let before = |first: &str, second: &str| text(&format!("{x}{y} ROOT r = f32[64] select(c, {first}, {second})"));
    assert!(same(&before("a", "b"), &after, V5E));
    assert!(!same(&before("a", "y"), &after, V5E));
    assert!(!same(&before("x", "b"), &after, V5E));
    // -inf is no subnormal.
    let masked = text("s = f32[64] select(c, x, l)\n ROOT r = f32[64] maximum(s, l)");
    assert!(same(&before("a", "l"), &masked, V5E));
    assert!(!same(&before("a", "l"), &text("ROOT r = f32[64] select(c, x, l)"), V5E));
}

/// A mean and its epsilon, as norms have them: fused or not they are one number, since a power of two rounds nothing, and below the
/// least normal number the constant is all there is. A constant of that size, and a power that overflows, tell them apart.
#[test]
fn a_mean_and_its_epsilon_are_the_same_fused_or_not() {
    let lines = |by: &str, add: &str, epsilon: &str| {
        format!(
            "x = f32[64] parameter(0)\n p = f32[] constant({by})\n ps = f32[64] broadcast(p), dimensions={{}}\n \
             e = f32[] constant({epsilon})\n es = f32[64] broadcast(e), dimensions={{}}\n \
             m = f32[64] multiply(x, ps)\n ROOT r = f32[64] {add}"
        )
    };
    let both = |by: &str, add: &str, epsilon: &str| {
        let lines = lines(by, add, epsilon);
        let flat = format!("HloModule m\nENTRY main {{\n {lines}\n}}\n");
        let fused = format!(
            "HloModule m, is_scheduled=true\nf {{\n {lines}\n}}\nENTRY main {{\n x = f32[64] parameter(0)\n \
             ROOT r = f32[64] fusion(x), kind=kLoop, calls=f\n}}\n"
        );
        same(&flat, &fused, CPU)
    };
    for add in ["add(m, es)", "add(es, m)", "subtract(m, es)", "subtract(es, m)"] {
        assert!(both("0.00390625", add, "1e-05"), "{add}");
        assert!(both("-0.5", add, "-1e-12"), "{add}");
        for (by, epsilon) in [("0.00390625", "1e-37"), ("0.00390626", "1e-05"), ("4", "-3e+38")] {
            assert!(!both(by, add, epsilon), "{by} {add} {epsilon}");
        }
    }
}
