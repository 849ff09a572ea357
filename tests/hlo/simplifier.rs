//! Rules of XLA's simplifier (FACTS 9.1) that the program does not show in its operations on numbers: on complex numbers as wholes, on
//! values that are never negative, and on initial values.

use ulpgate::explore::{Settings, default_families, enclose, outside};
use ulpgate::ir::Program;
use ulpgate::oracle::Enclosed;
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

use crate::worlds::program;

const MODES: [&str; 3] = ["v5e/default/off", "xla-cpu/default/off", "cpu/f32/off"];

fn floats(values: &[f32]) -> Tensor {
    Tensor::new(&[values.len()], Data::F32(values.to_vec()))
}

/// The settings of a mode, with the family `algebra` or without it.
fn settings(mode: &str, algebra: bool) -> Settings {
    let families = default_families().filter(|family| algebra || family.name != "algebra").collect();
    Settings { families, ..Settings::new(mode.parse().unwrap()) }
}

/// A program over complex x and y and constants that gives the parts of `out`.
fn complex(body: &str) -> Program {
    program(&format!(
        "HloModule m\nENTRY main {{\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n c = f32[4] parameter(2)\n d = f32[4] parameter(3)\n \
         x = c64[4] complex(a, b)\n y = c64[4] complex(c, d)\n k0 = c64[] constant((0.1, 0))\n k = c64[4] broadcast(k0), dimensions={{}}\n \
         l0 = c64[] constant((0.7, 0))\n l = c64[4] broadcast(l0), dimensions={{}}\n m0 = c64[] constant(({}, 0))\n \
         m = c64[4] broadcast(m0), dimensions={{}}\n {body}\n p = f32[4] real(out)\n q = f32[4] imag(out)\n \
         ROOT t = (f32[4], f32[4]) tuple(p, q)\n}}\n",
        0.1f32 * 0.7f32
    ))
}

/// Elements of a rewritten program's results that lie outside of what the written one permits, with `algebra` and without it.
fn outside_of(written: &Program, rewritten: &Program, mode: &str) -> [usize; 2] {
    let arguments = [[0.3, -1.7, 2.9, -0.6], [3.7, -4.1, 0.2, 5.0], [1.1, 0.4, -0.9, 2.3], [-0.8, 1.3, 0.6, 0.7]]
        .map(|a| floats(&a));
    let results = subject::evaluate(rewritten, &mode.parse().unwrap(), &arguments).unwrap();
    [true, false].map(|algebra| {
        let (_, enclosed) = enclose(written, &arguments, &settings(mode, algebra)).unwrap();
        outside(&enclosed, &results).iter().map(|found| found.elements.len()).sum()
    })
}

#[test]
fn operations_on_complex_numbers_are_rewritten_as_wholes() {
    let pairs = [
        ("e = c64[4] multiply(x, k)\n out = c64[4] multiply(e, l)", "out = c64[4] multiply(x, m)"),
        ("e = c64[4] exponential(x)\n out = c64[4] log(e)", "out = c64[4] copy(x)"),
        ("e = c64[4] multiply(x, x)\n out = c64[4] sqrt(e)", "e = f32[4] abs(x)\n out = c64[4] convert(e)"),
    ];
    for (written, rewritten) in pairs {
        let mut without = 0;
        for mode in MODES {
            let [with, missed] = outside_of(&complex(written), &complex(rewritten), mode);
            assert_eq!(with, 0, "{written} in {mode}");
            without += missed;
        }
        assert!(without > 0, "{written}: no other form");
    }
    // Forms that differ in last bits, which other families may permit as well.
    let last_bits = [
        (
            "out = c64[4] divide(x, k)",
            "n0 = c64[] constant((10, 0))\n n = c64[4] broadcast(n0), dimensions={}\n out = c64[4] multiply(x, n)",
        ),
        (
            "e = c64[4] multiply(x, y)\n f = c64[4] multiply(y, y)\n out = c64[4] add(e, f)",
            "e = c64[4] add(x, y)\n out = c64[4] multiply(e, y)",
        ),
    ];
    for (written, rewritten) in last_bits {
        for mode in MODES {
            assert_eq!(outside_of(&complex(written), &complex(rewritten), mode)[0], 0, "{written} in {mode}");
        }
    }
}

/// Products that no rule takes together stay as narrow as their parts are.
#[test]
fn products_of_complex_numbers_stay_narrow() {
    let arguments = [(); 4].map(|()| floats(&[0.3, -1.7, 2.9, -0.6]));
    for body in [
        "out = c64[4] multiply(x, y)",
        "out = c64[4] multiply(x, k)",
        "e = c64[4] multiply(x, y)\n out = c64[4] multiply(e, x)",
        "e = c64[4] multiply(x, k)\n f = c64[4] multiply(y, l)\n out = c64[4] add(e, f)",
    ] {
        for mode in MODES {
            let written = complex(body);
            let results = subject::evaluate(&written, &mode.parse().unwrap(), &arguments).unwrap();
            let (_, enclosed) = enclose(&written, &arguments, &settings(mode, true)).unwrap();
            for found in outside(&enclosed, &results) {
                assert!(found.elements.is_empty() && found.unknown == 0, "{body} in {mode}: {} unknown", found.unknown);
            }
        }
    }
}

/// `|x| >= 0` is folded to true, whatever x is.
#[test]
fn what_is_never_negative_is_not_compared_with_zero() {
    let values = [f32::NAN, -0.0, 2.5, f32::NEG_INFINITY, -1e-40];
    for (size, never_negative) in [
        ("abs(x)", true),
        ("multiply(x, x)", true),
        ("exponential(x)", true),
        ("maximum(x, z)", true),
        ("select(is, one, two)", true),
        ("negate(x)", false),
        ("minimum(x, z)", false),
    ] {
        for (compared, direction) in [("s, z", "GE"), ("z, s", "LE"), ("s, z", "GT"), ("s, z", "LT")] {
            let text = format!(
                "HloModule m\nENTRY main {{\n x = f32[5] parameter(0)\n z0 = f32[] constant(0)\n z = f32[5] broadcast(z0), dimensions={{}}\n \
                 is = pred[5] compare(x, x), direction=EQ\n one = f32[5] abs(x)\n two = f32[5] multiply(x, x)\n s = f32[5] {size}\n \
                 ROOT r = pred[5] compare({compared}), direction={direction}\n}}\n"
            );
            let (program, arguments) = (program(&text), [floats(&values)]);
            for mode in MODES {
                let known = |algebra| match &enclose(&program, &arguments, &settings(mode, algebra)).unwrap().1[..] {
                    [Enclosed::Integers(known)] => known.clone(),
                    other => panic!("{other:?}"),
                };
                let (with, without) = (known(true), known(false));
                let is_folded = never_negative && matches!(direction, "GE" | "LE");
                assert_eq!(without[0], Some(0), "{size} {direction} in {mode}");
                assert_eq!(with[0].is_none(), is_folded, "{size} {direction} in {mode}");
                assert_eq!(with[2], without[2], "{size} {direction} in {mode}");
            }
        }
    }
}

/// An initial value that changes a result may be dropped, or taken twice: XLA:CPU does both.
#[test]
fn an_initial_value_that_changes_a_result_is_not_counted_on() {
    let reductions = [
        ("s32", "add", "5", "0"),
        ("s32", "multiply", "2", "1"),
        ("s32", "maximum", "0", "-2147483648"),
        ("s32", "minimum", "0", "2147483647"),
        ("u8", "maximum", "1", "0"),
        ("u8", "minimum", "254", "255"),
        ("s32", "and", "1", "-1"),
        ("s32", "or", "1", "0"),
        ("pred", "and", "false", "true"),
        ("pred", "or", "true", "false"),
        ("f32", "add", "5", "0"),
        ("f32", "maximum", "0", "-inf"),
        ("f32", "minimum", "0", "inf"),
        ("bf16", "maximum", "-3.38953139e+38", "-inf"),
        ("f8e4m3fn", "maximum", "-416", "-448"),
    ];
    for (dtype, opcode, changing, neutral) in reductions {
        for (init, is_neutral) in [(changing, false), (neutral, true)] {
            let text = format!(
                "HloModule m\nf {{\n p = {dtype}[] parameter(0)\n q = {dtype}[] parameter(1)\n ROOT r = {dtype}[] {opcode}(p, q)\n}}\n\
                 ENTRY main {{\n x = f32[3,1] parameter(0)\n y = {dtype}[3,1] convert(x)\n i = {dtype}[] constant({init})\n \
                 ROOT r = {dtype}[3] reduce(y, i), dimensions={{1}}, to_apply=f\n}}\n"
            );
            let (program, arguments) = (program(&text), [Tensor::new(&[3, 1], Data::F32(vec![1.0, 3.0, 0.0]))]);
            for mode in MODES {
                let is_known = match &enclose(&program, &arguments, &settings(mode, true)).unwrap().1[..] {
                    [Enclosed::Integers(known)] => known.iter().all(Option::is_some),
                    [Enclosed::Floats(known)] => known.iter().all(|interval| interval.lo.is_finite()),
                    other => panic!("{other:?}"),
                };
                assert_eq!(is_known, is_neutral, "{dtype} {opcode} {init} in {mode}");
            }
        }
    }
}
