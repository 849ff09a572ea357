//! Negations, which round nothing, and sums of one value over and over.

use ulpgate::machine::{Mode, evaluate};
use ulpgate::tensor::{DType, Data, Tensor};

use super::{import, lines, of_texts};

/// A program of x and y, f32 of eight elements each.
fn program(instructions: &str) -> String {
    format!(
        "HloModule m\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\nENTRY main {{\n  \
         x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  zero = f32[] constant(0)\n  {}\n}}\n",
        instructions.replace("; ", "\n  ")
    )
}

fn of(before: &str, after: &str) -> Vec<String> {
    lines(&of_texts(&program(before), &program(after)))
}

/// The bits, but for a NaN's sign, that XLA:CPU would compute of numbers that are equal, opposite, zeros of both signs and infinite.
fn bits(instructions: &str) -> Vec<u64> {
    let import = import(&program(instructions));
    let given = |values: [f64; 8]| Tensor::new(&[8], Data::from_f64s(DType::F32, &values).unwrap());
    let x = given([1.1, 0.1, -3.3, 0.0, -0.0, 0.0, f64::INFINITY, 7.7]);
    let y = given([1.1, 0.3, 3.3, 0.0, 0.0, -0.0, 2.5, -1e-3]);
    let mode: Mode = "xla-cpu/default/off".parse().unwrap();
    let result = evaluate(&import.program, &mode, &[x, y]).unwrap().remove(0);
    let of = |i: usize| if result.data().get_f64(i).is_nan() { u64::MAX } else { result.data().bits(i) };
    (0..result.len()).map(of).collect()
}

const NOTHING: [&str; 0] = [];

/// A pair without a change has the same bits, zeros' signs among them.
#[test]
fn signs_that_no_bit_shows_are_no_change() {
    for (before, after) in [
        ("n = f32[8] negate(y); ROOT r = f32[8] add(x, n)", "ROOT r = f32[8] subtract(x, y)"),
        ("n = f32[8] negate(y); ROOT r = f32[8] subtract(x, n)", "ROOT r = f32[8] add(x, y)"),
        (
            "n = f32[8] negate(x); ROOT r = f32[8] multiply(n, y)",
            "m = f32[8] multiply(x, y); ROOT r = f32[8] negate(m)",
        ),
        ("n = f32[8] negate(y); ROOT r = f32[8] divide(x, n)", "m = f32[8] divide(x, y); ROOT r = f32[8] negate(m)"),
        (
            "n = f32[8] negate(x); m = f32[8] negate(y); ROOT r = f32[8] subtract(n, m)",
            "ROOT r = f32[8] subtract(y, x)",
        ),
        (
            "n = f32[8] negate(x); m = f32[8] negate(y); p = pred[8] compare(x, y), direction=LT; ROOT r = f32[8] select(p, n, m)",
            "p = pred[8] compare(x, y), direction=LT; s = f32[8] select(p, x, y); ROOT r = f32[8] negate(s)",
        ),
        (
            "n = f32[8] negate(x); m = f32[8] negate(y); p = pred[8] compare(n, m), direction=LT; ROOT r = f32[8] select(p, x, y)",
            "p = pred[8] compare(x, y), direction=GT; ROOT r = f32[8] select(p, x, y)",
        ),
        (
            "k = f32[] constant(-3); b = f32[8] broadcast(k), dimensions={}; ROOT r = f32[8] multiply(x, b)",
            "k = f32[] constant(3); b = f32[8] broadcast(k), dimensions={}; m = f32[8] multiply(x, b); ROOT r = f32[8] negate(m)",
        ),
    ] {
        assert_eq!(of(before, after), NOTHING, "{before}");
        assert_eq!(bits(before), bits(after), "{before}");
    }
}

/// A negation that zeros show is reported, and bits differ; any other negation makes another value.
#[test]
fn signs_that_zeros_show_are_told_of() {
    let told = ["negated before it, which zeros show", "negated after it, if at all, which zeros show"];
    for (name, before, after) in [
        ("r", "ROOT r = f32[8] subtract(y, x)", "s = f32[8] subtract(x, y); ROOT r = f32[8] negate(s)"),
        (
            "r",
            "n = f32[8] negate(x); m = f32[8] negate(y); ROOT r = f32[8] add(n, m)",
            "s = f32[8] add(x, y); ROOT r = f32[8] negate(s)",
        ),
        (
            "s",
            "d = f32[8] subtract(x, x); n = f32[8] negate(d); ROOT s = f32[] reduce(n, zero), dimensions={0}, to_apply=add",
            "d = f32[8] subtract(x, x); s = f32[] reduce(d, zero), dimensions={0}, to_apply=add; ROOT r = f32[] negate(s)",
        ),
    ] {
        let line = |[from, to]: [&str; 2]| vec![format!("operation-changed {name}: {from} -> {to}")];
        let found = of(before, after);
        assert!(found == line(told) || found == line([told[1], told[0]]), "{found:?}");
        if name == "r" {
            assert_ne!(bits(before), bits(after), "{before}");
        }
    }
    let plain = "ROOT r = f32[8] multiply(x, y)";
    let negated = "n = f32[8] negate(x); ROOT r = f32[8] multiply(n, y)";
    assert_eq!(of(plain, negated), ["operation-changed r: not negated -> negated"]);
    let used = |root: &str| format!("s = f32[8] subtract({root}); ROOT r = f32[8] exponential(s)");
    assert_ne!(of(&used("x, y"), &used("y, x")), NOTHING);
    // A factor that is another one, and has another sign besides.
    let by = |number: &str| {
        format!(
            "k = f32[] constant({number}); b = f32[8] broadcast(k), dimensions={{}}; ROOT r = f32[8] multiply(x, b)"
        )
    };
    assert_eq!(of(&by("-3"), &by("2.5")), ["precision-changed r: multiply by -3 -> multiply by 2.5"]);
}

/// A sum of eight equal numbers rounds seven times, a product with eight never.
#[test]
fn a_sum_of_equals_is_a_multiple() {
    let sum = |of: &str| {
        format!(
            "e = f32[8] exponential(x); b = f32[8,3] broadcast(e), dimensions={{0}}; {of}; ROOT r = f32[8] reduce(g, zero), dimensions={{1}}, to_apply=add"
        )
    };
    let product = |number: &str| {
        format!(
            "e = f32[8] exponential(x); k = f32[] constant({number}); b = f32[8] broadcast(k), dimensions={{}}; ROOT r = f32[8] multiply(e, b)"
        )
    };
    let (plain, negated) = (sum("g = f32[8,3] copy(b)"), sum("g = f32[8,3] negate(b)"));
    assert_eq!(of(&plain, &product("3")), ["precision-changed r: sum of 3 equals -> multiply by 3"]);
    assert_eq!(of(&negated, &product("-3")), ["precision-changed r: sum of 3 equals -> multiply by -3"]);
    assert_eq!(of(&plain, &plain), NOTHING);
    // As many others would be another sum.
    assert_eq!(of(&plain, &product("4")), ["precision-changed r: sum of 3 equals -> multiply by 4"]);
    // Along the other dim the numbers differ, also where there are more than are followed one by one.
    let along = |dim: &str, size: &str| {
        format!(
            "e = f32[8] exponential(x); b = f32[8,8] broadcast(e), dimensions={{{dim}}}; ROOT r = f32[{size}] reduce(b, zero), dimensions={{1}}, to_apply=add"
        )
    };
    assert_ne!(of(&along("0", "8"), &along("1", "8")), NOTHING);
    let many = |dim: &str| {
        along(dim, "8").replace("f32[8,8]", "f32[8,8,200000]").replace("dimensions={1}, to", "dimensions={1,2}, to")
    };
    assert_eq!(of(&many("0"), &many("0")), NOTHING);
    assert_eq!(
        of(&many("0"), &many("1")),
        ["precision-changed r: sum of 1600000 equals -> reduce", "operation-changed b: broadcast -> another broadcast"]
    );
}
