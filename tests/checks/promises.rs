//! Results of the emulated machine are inside its own promise: over modes, programs and compiled fusions.

use std::fmt::Write;

use ulpgate::check::Outcome;
use ulpgate::hlo::{lower, parse};
use ulpgate::input::{self, Argument, InputKey, InputSpec};
use ulpgate::ir::Program;

use crate::{Bench, none};

pub const MODES: [&str; 11] = [
    "xla-cpu/default/as-compiled",
    "xla-cpu/default/as-compiled+reduce=chain",
    "xla-cpu/default/as-compiled+reduce=lanes",
    "cpu/default/as-compiled",
    "cpu/default/as-compiled+reduce=tree32",
    "v5e/default/as-compiled",
    "v5e/default/as-compiled+reduce=chain",
    "v5e/default/as-compiled+narrow=bf16",
    "v6e/highest/as-compiled",
    "v4/high/as-compiled",
    "tpu7x/default/as-compiled",
];

/// Programs over rows of this many elements, as a compiler writes them: `body` in a fusion, or without one.
fn compiled([rows, width]: [usize; 2], init: &str, kind: Option<&str>, (parameters, body): (usize, &str)) -> Program {
    let mut text =
        "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n".to_string();
    let shape = format!("f32[{rows},{width}]");
    let body = body.replace("SHAPE", &shape).replace("TYPE", &format!("[{rows},{width}]"));
    let declared: String = (0..parameters).map(|at| format!(" p{at} = {shape} parameter({at})\n")).collect();
    let sum = format!(
        "{body} init = f32[] constant({init})\n ROOT sum = f32[{rows}] reduce(term, init), dimensions={{1}}, to_apply=add\n}}\n"
    );
    let given: Vec<String> = (0..parameters).map(|at| format!("p{at}")).collect();
    match kind {
        None => write!(text, "ENTRY main {{\n{declared}{sum}").unwrap(),
        Some(kind) => {
            let config = match kind {
                "kCustom" => ", backend_config={\"fusion_config\":{\"kind\":\"__ynn_fusion\"}}",
                _ => "",
            };
            write!(text, "fused {{\n{declared}{sum}ENTRY main {{\n{declared}").unwrap();
            let given = given.join(", ");
            writeln!(text, " ROOT out = f32[{rows}] fusion({given}), kind={kind}, calls=fused{config}\n}}").unwrap();
        }
    }
    lower(&parse(&text).unwrap()).unwrap_or_else(|error| panic!("{error}\n{text}")).program
}

/// Terms of a sum: numbers, products that are added before they are rounded, and terms of two products.
const TERMS: [(usize, &str); 6] = [
    (1, " term = SHAPE negate(p0)\n"),
    (1, " term = SHAPE multiply(p0, p0)\n"),
    (2, " term = SHAPE multiply(p0, p1)\n"),
    (2, " product = SHAPE multiply(p0, p1)\n term = SHAPE negate(product)\n"),
    (2, " one = SHAPE multiply(p0, p0)\n other = SHAPE multiply(p1, p1)\n term = SHAPE subtract(one, other)\n"),
    (2, " less = SHAPE subtract(p0, p1)\n term = SHAPE multiply(less, less)\n"),
];

/// The outcome of `bound` for the program of a text.
pub fn outcome_of_text(text: &str, mode: &str, input: &str) -> Outcome {
    let program = lower(&parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")));
    outcome(program.unwrap_or_else(|error| panic!("{error}\n{text}")).program, mode, input)
}

fn outcome(program: Program, mode: &str, input: &str) -> Outcome {
    let taken = Argument::of_program(&program);
    let input: InputSpec = input.parse().unwrap();
    let key = InputKey { suite: "promises".into(), input: input.to_string(), n: 1, seed: 0 };
    let arguments = input::generate(&input, &key, &taken, 0..taken[0].dims[0] as u64).unwrap();
    let spec = "softmax[dtype=f32]".parse().unwrap();
    let bench = Bench { spec, n: 1, mode: mode.parse().unwrap(), program, arguments };
    bench.outcome("bound", &none(), &bench.run())
}

#[test]
fn sums_are_inside_the_promise_of_their_order() {
    let (mut passed, mut all) = (0, 0);
    for mode in MODES {
        for kind in [None, Some("kLoop"), Some("kCustom")] {
            for term in TERMS {
                for (sizes, init) in [
                    ([8, 3], "0"),
                    ([4, 6], "0"),
                    ([3, 33], "0.5"),
                    ([16, 8], "0"),
                    ([2, 1000], "0"),
                    ([3, 4100], "-3"),
                ] {
                    for input in ["ramp", "normal"] {
                        let outcome = outcome(compiled(sizes, init, kind, term), mode, input);
                        let what = format!("{mode} {kind:?} {} {sizes:?} {input}", term.1);
                        assert_ne!(outcome, Outcome::Finding, "{what}");
                        (passed, all) = (passed + usize::from(outcome == Outcome::Pass), all + 1);
                    }
                }
            }
        }
    }
    // Terms of two products have no promise where they join a sum one product after the other.
    assert!(passed * 10 > all * 9, "{passed} of {all}");
}

/// A fusion whose order is LLVM's and not the windows that XLA would have cut before: 262,144 terms.
#[test]
fn a_long_sum_in_a_fusion_has_the_promise_of_its_own_order() {
    for term in [TERMS[1], TERMS[2]] {
        let program = compiled([8, 262_144], "0", Some("kLoop"), term);
        assert_eq!(outcome(program, "xla-cpu/default/as-compiled", "ramp"), Outcome::Pass, "{}", term.1);
    }
}

/// Operands of a bit more than bf16 holds lose it on their way into the matrix unit; those of its own bits lose nothing.
#[test]
fn operands_of_the_matrix_unit_are_exact_up_to_the_bits_of_bf16() {
    for bits in [5, 7, 8, 9, 12] {
        let text = format!(
            "HloModule m\nENTRY main {{\n x = f32[8,4] parameter(0)\n y = f32[8,4] parameter(1)\n a = f32[8,4] reduce-precision(x), \
             exponent_bits=8, mantissa_bits={bits}\n b = f32[8,4] reduce-precision(y), exponent_bits=8, mantissa_bits={bits}\n \
             ROOT r = f32[8,8] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n}}\n"
        );
        for mode in ["v5e/default/as-compiled", "v4/default/as-compiled", "v6e/high/as-compiled"] {
            assert_eq!(outcome_of_text(&text, mode, "normal"), Outcome::Pass, "{mode}, {bits} bits");
        }
    }
}
