//! Integers that a predicate keeps or makes zero: a product and a choice are one of integers, and two of floats.

use crate::{Random, ask, differing, is_same, read};

const MODES: [&str; 3] = ["v5e/default/as-compiled", "xla-cpu/default/as-compiled", "cpu/default/off"];
const INTEGERS: [&str; 12] = ["s2", "s4", "s8", "s16", "s32", "s64", "u2", "u4", "u8", "u16", "u32", "u64"];

/// Whether both are called the same; if so, random inputs must agree.
#[track_caller]
fn same(one: &str, other: &str, mode: &str) -> bool {
    let same = is_same(&ask(one, other, mode, &[]));
    if same {
        assert_eq!(differing(&read(one), &read(other), mode, 20, &mut Random(11)).1, 0, "{mode}\n{one}\n{other}");
    }
    same
}

/// A program of integers `x` and `y` and of predicates `p` and `q`, with what both are as numbers of the type.
fn program(dtype: &str, body: &str) -> String {
    let text = format!(
        "HloModule m\nENTRY main {{\n x = T[64] parameter(0)\n y = T[64] parameter(1)\n k = s32[64] parameter(2)\n \
         l = s32[64] parameter(3)\n p = pred[64] compare(k, l), direction=GT\n c = s32[] constant(7)\n \
         cs = s32[64] broadcast(c), dimensions={{}}\n q = pred[64] compare(k, cs), direction=LT\n not = pred[64] not(p)\n \
         both = pred[64] and(q, p)\n zero = T[] constant(0)\n zeros = T[64] broadcast(zero), dimensions={{}}\n \
         one = T[] constant(1)\n ones = T[64] broadcast(one), dimensions={{}}\n \
         np = T[64] convert(p)\n nq = T[64] convert(q)\n {body}\n}}\n"
    );
    text.replace("T[", &format!("{dtype}["))
}

/// A product with a converted predicate is a choice between the other factor and zero, of integers of any type.
#[test]
fn a_product_with_a_predicate_is_a_choice_of_integers() {
    let chosen = |sides: &str| format!("ROOT r = T[64] select({sides})");
    for mode in MODES {
        for dtype in INTEGERS {
            let is = |one: &str, other: &str| same(&program(dtype, one), &program(dtype, other), mode);
            for product in ["multiply(np, x)", "multiply(x, np)"] {
                let product = format!("ROOT r = T[64] {product}");
                assert!(is(&product, &chosen("p, x, zeros")), "{mode} {dtype}");
                assert!(is(&product, &chosen("not, zeros, x")), "{mode} {dtype}");
                // One type is enough: each of these takes a search for an input.
                let others = ["p, zeros, x", "q, x, zeros", "p, y, zeros", "p, x, ones"];
                for other in others.into_iter().filter(|_| dtype == "s32") {
                    assert!(!is(&product, &chosen(other)), "{mode} {dtype} {other}");
                }
            }
            assert!(is("ROOT r = T[64] convert(p)", &chosen("p, ones, zeros")), "{mode} {dtype}");
        }
        let [one, other] =
            ["convert(p)", "select(p, zeros, ones)"].map(|op| program("s32", &format!("ROOT r = T[64] {op}")));
        assert!(!same(&one, &other, mode), "{mode}");
    }
}

/// Two predicates that mask one product are both asked, in whichever order they come.
#[test]
fn two_predicates_mask_a_product_together() {
    let masked = "m = T[64] multiply(x, y)\n ROOT r = T[64] select(both, m, zeros)";
    let forms = [
        "a = T[64] multiply(np, x)\n b = T[64] multiply(y, nq)\n ROOT r = T[64] multiply(a, b)",
        "m = T[64] multiply(y, x)\n a = T[64] multiply(m, nq)\n ROOT r = T[64] select(p, a, zeros)",
        "n = T[64] multiply(np, nq)\n a = T[64] multiply(n, x)\n ROOT r = T[64] multiply(a, y)",
        "n = T[64] select(q, np, zeros)\n m = T[64] multiply(y, x)\n ROOT r = T[64] multiply(n, m)",
    ];
    let others = [
        "a = T[64] multiply(np, x)\n ROOT r = T[64] multiply(y, a)",
        "a = T[64] multiply(np, x)\n b = T[64] multiply(x, nq)\n ROOT r = T[64] multiply(a, b)",
        "a = T[64] multiply(np, x)\n b = T[64] multiply(y, nq)\n ROOT r = T[64] add(a, b)",
    ];
    for mode in MODES {
        for dtype in INTEGERS {
            let is = |other: &str| same(&program(dtype, masked), &program(dtype, other), mode);
            for form in forms {
                assert!(is(form), "{mode} {dtype} {form}");
            }
            for other in others.iter().filter(|_| dtype == "s32") {
                assert!(!is(other), "{mode} {dtype} {other}");
            }
        }
    }
}

/// Of floats a product with zero has a sign, and of infinities and NaN it is NaN.
#[test]
fn a_product_with_a_predicate_is_no_choice_of_floats() {
    for mode in MODES {
        for dtype in ["bf16", "f16", "f32"] {
            let [one, other] =
                ["multiply(np, x)", "select(p, x, zeros)"].map(|op| program(dtype, &format!("ROOT r = T[64] {op}")));
            assert!(!same(&one, &other, mode), "{mode} {dtype}");
        }
    }
}

/// A sum of converted predicates is that of choices, as counts of tokens are.
#[test]
fn a_count_is_a_sum_of_choices() {
    let count = |term: &str| {
        program("s32", &format!("t = T[64] {term}\n ROOT r = s32[] reduce(t, zero), dimensions={{0}}, to_apply=add"))
            .replace(
                "ENTRY",
                "add {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT s = s32[] add(a, b)\n}\nENTRY",
            )
    };
    for mode in MODES {
        assert!(same(&count("multiply(nq, np)"), &count("select(p, nq, zeros)"), mode));
        assert!(!same(&count("multiply(nq, np)"), &count("select(p, nq, ones)"), mode));
    }
}
