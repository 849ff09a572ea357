//! Functions of complex numbers at infinities, NaN and zeros, and the accuracy of their small parts.

use ulpgate::hlo::{lower, parse};
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn program(opcode: &str, dtype: &str, n: usize) -> ulpgate::ir::Program {
    let complex = if dtype == "f32" { "c64" } else { "c128" };
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  a = {dtype}[{n}] parameter(0)\n  b = {dtype}[{n}] parameter(1)\n  x = {complex}[{n}] \
         complex(a, b)\n  r = {complex}[{n}] {opcode}(x)\n  re = {dtype}[{n}] real(r)\n  im = {dtype}[{n}] imag(r)\n  ROOT t = \
         ({dtype}[{n}], {dtype}[{n}]) tuple(re, im)\n}}\n"
    );
    lower(&parse(&text).unwrap()).unwrap().program
}

fn arguments(dtype: &str, points: &[[f64; 2]]) -> [Tensor; 2] {
    [0, 1].map(|side| {
        let values: Vec<f64> = points.iter().map(|point| point[side]).collect();
        let data = match dtype {
            "f32" => Data::F32(values.iter().map(|value| *value as f32).collect()),
            _ => Data::F64(values),
        };
        Tensor::new(&[points.len()], data)
    })
}

/// The parts of each result over the real numbers, all of them decided.
fn truth(opcode: &str, dtype: &str, points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let program = program(opcode, dtype, points.len());
    let truth = Oracle::default().evaluate(&program, &arguments(dtype, points), &[Demand::Rounded; 2]).unwrap();
    assert_eq!(truth.stats.undecided, 0, "{opcode} of {dtype}");
    let [re, im] = [0, 1].map(|side| match &truth.outputs[side] {
        TruthTensor::Float(float) => float.rounded.clone(),
        other => panic!("{other:?}"),
    });
    re.into_iter().zip(im).map(|(re, im)| [re, im]).collect()
}

fn machine(opcode: &str, dtype: &str, points: &[[f64; 2]], mode: &str) -> Vec<[f64; 2]> {
    let mode: Mode = mode.parse().unwrap();
    let results = subject::evaluate(&program(opcode, dtype, points.len()), &mode, &arguments(dtype, points)).unwrap();
    let [re, im] = [0, 1].map(|side| results[side].data().to_f64s());
    re.into_iter().zip(im).map(|(re, im)| [re, im]).collect()
}

/// By their bits; every NaN is one.
fn bits(point: [f64; 2]) -> [u64; 2] {
    point.map(|part| if part.is_nan() { NAN.to_bits() } else { part.to_bits() })
}

/// A number and its function, real and imaginary part each.
type Case = ([f64; 2], [f64; 2]);

/// C17 annex G: ctanh (G.6.2.6), ctan as `-i ctanh(iz)`, cexp (G.6.3.1) less one, csqrt (G.6.4.2) and its reciprocal, csin and
/// ccos as `-i csinh(iz)` and `ccosh(iz)` (G.6.2.5, G.6.2.4). Where the sign of a zero or an infinity is not specified it is
/// positive, or that of the operand.
const SPECIAL: &[(&str, &[Case])] = &[
    (
        "tanh",
        &[
            ([INF, INF], [1.0, 0.0]),
            ([INF, NAN], [1.0, 0.0]),
            ([INF, 2.0], [1.0, -0.0]),
            ([INF, 1.0], [1.0, 0.0]),
            ([-INF, 1.0], [-1.0, 0.0]),
            ([-INF, INF], [-1.0, 0.0]),
            ([NAN, 0.0], [NAN, 0.0]),
            ([NAN, -0.0], [NAN, -0.0]),
            ([NAN, 1.0], [NAN, NAN]),
            ([NAN, NAN], [NAN, NAN]),
            ([1.0, INF], [NAN, NAN]),
            ([1.0, NAN], [NAN, NAN]),
            ([0.0, INF], [0.0, NAN]),
            ([-0.0, NAN], [-0.0, NAN]),
            ([0.0, -0.0], [0.0, -0.0]),
            ([1e30, 1.0], [1.0, 0.0]),
            ([-1e30, -1.0], [-1.0, -0.0]),
        ],
    ),
    (
        "tan",
        &[
            ([INF, INF], [0.0, 1.0]),
            ([NAN, -INF], [0.0, -1.0]),
            ([1.0, INF], [0.0, 1.0]),
            ([2.0, -INF], [-0.0, -1.0]),
            ([0.0, NAN], [0.0, NAN]),
            ([NAN, 1.0], [NAN, NAN]),
            ([INF, 0.0], [NAN, 0.0]),
            ([1.0, 1e30], [0.0, 1.0]),
        ],
    ),
    (
        "exponential-minus-one",
        &[
            ([-INF, INF], [-1.0, 0.0]),
            ([-INF, NAN], [-1.0, 0.0]),
            ([-INF, 1.0], [-1.0, 0.0]),
            ([-INF, -1.0], [-1.0, -0.0]),
            ([INF, INF], [INF, NAN]),
            ([INF, NAN], [INF, NAN]),
            ([INF, 0.0], [INF, 0.0]),
            ([INF, 2.0], [-INF, INF]),
            ([NAN, 0.0], [NAN, 0.0]),
            ([NAN, 1.0], [NAN, NAN]),
            ([1.0, INF], [NAN, NAN]),
            ([1.0, NAN], [NAN, NAN]),
            ([0.0, -0.0], [0.0, -0.0]),
        ],
    ),
    (
        "sqrt",
        &[
            ([0.0, -0.0], [0.0, -0.0]),
            ([-0.0, 0.0], [0.0, 0.0]),
            ([1.0, INF], [INF, INF]),
            ([NAN, -INF], [INF, -INF]),
            ([1.0, NAN], [NAN, NAN]),
            ([-INF, 1.0], [0.0, INF]),
            ([-INF, -1.0], [0.0, -INF]),
            ([INF, -1.0], [INF, -0.0]),
            ([-INF, NAN], [NAN, INF]),
            ([INF, NAN], [INF, NAN]),
            ([-4.0, 0.0], [0.0, 2.0]),
            ([-4.0, -0.0], [0.0, -2.0]),
            ([3.0, -4.0], [2.0, -1.0]),
        ],
    ),
    (
        "rsqrt",
        &[
            ([-1.0, 0.0], [0.0, -1.0]),
            ([-1.0, -0.0], [0.0, 1.0]),
            ([4.0, 0.0], [0.5, -0.0]),
            ([INF, 1.0], [0.0, -0.0]),
            ([-INF, -1.0], [0.0, 0.0]),
            ([1.0, INF], [0.0, -0.0]),
            ([NAN, -INF], [0.0, 0.0]),
            ([INF, NAN], [0.0, -0.0]),
            ([1.0, NAN], [NAN, NAN]),
            ([NAN, 0.0], [NAN, NAN]),
            ([0.0, 0.0], [INF, NAN]),
        ],
    ),
    (
        "sine",
        &[
            ([0.0, INF], [0.0, INF]),
            ([-0.0, NAN], [-0.0, NAN]),
            ([INF, -INF], [NAN, -INF]),
            ([NAN, 0.0], [NAN, 0.0]),
            ([2.0, INF], [INF, -INF]),
            ([1.0, NAN], [NAN, NAN]),
        ],
    ),
    (
        "cosine",
        &[
            ([0.0, INF], [INF, -0.0]),
            ([0.0, -INF], [INF, 0.0]),
            ([INF, -INF], [INF, NAN]),
            ([2.0, INF], [-INF, -INF]),
            ([1.0, NAN], [NAN, NAN]),
        ],
    ),
    ("log-plus-one", &[([-1.0, 0.0], [-INF, 0.0]), ([NAN, INF], [INF, NAN]), ([INF, NAN], [INF, NAN])]),
    ("sign", &[([-0.0, 0.0], [-0.0, 0.0]), ([3.0, 4.0], [0.6, 0.8])]),
];

#[test]
fn special_numbers_go_as_annex_g_says() {
    for (opcode, cases) in SPECIAL {
        let points: Vec<[f64; 2]> = cases.iter().map(|(point, _)| *point).collect();
        for dtype in ["f32", "f64"] {
            let exact = truth(opcode, dtype, &points);
            for ((point, expected), got) in cases.iter().zip(&exact) {
                assert_eq!(bits(*got), bits(*expected), "{opcode}{point:?} of {dtype}: {got:?}");
            }
            for mode in ["xla-cpu/default/as-compiled", "v6e/default/as-compiled"] {
                if dtype == "f64" && mode.starts_with("v6e") {
                    // A TPU has no f64.
                    continue;
                }
                for ((point, expected), got) in cases.iter().zip(machine(opcode, dtype, &points, mode)) {
                    let near = if dtype == "f32" { expected.map(|part| f64::from(part as f32)) } else { *expected };
                    assert_eq!(bits(got), bits(near), "{opcode}{point:?} of {dtype} in {mode}: {got:?}");
                }
            }
        }
    }
}

/// A point, its value in truth, and the parts that XLA:CPU gives instead, if others.
type ByWorld = (Case, Option<[f64; 2]>);

/// C17 annex G: cexp (G.6.3.1), clog (G.6.3.2), and of `1 / (1 + cexp(-z))` the limits. Where a sign is not specified it is
/// positive. The third pair is XLA:CPU's of jax 0.10.2 where it is another one: the machine keeps it.
const BY_WORLD: &[(&str, &[ByWorld])] = &[
    (
        "exponential",
        &[
            (([INF, INF], [INF, NAN]), Some([NAN, NAN])),
            (([INF, NAN], [INF, NAN]), Some([NAN, NAN])),
            (([-INF, INF], [0.0, 0.0]), Some([NAN, NAN])),
            (([-INF, NAN], [0.0, 0.0]), Some([NAN, NAN])),
            (([1.0, INF], [NAN, NAN]), None),
            (([1.0, NAN], [NAN, NAN]), None),
            (([NAN, 1.0], [NAN, NAN]), None),
            (([NAN, INF], [NAN, NAN]), None),
            (([NAN, 0.0], [NAN, 0.0]), None),
            (([NAN, -0.0], [NAN, -0.0]), Some([NAN, 0.0])),
            (([INF, 0.0], [INF, 0.0]), None),
            (([INF, 2.0], [-INF, INF]), None),
            (([-INF, 2.0], [-0.0, 0.0]), None),
            (([-INF, -1.0], [0.0, -0.0]), None),
            (([0.0, -0.0], [1.0, -0.0]), Some([1.0, 0.0])),
            (([0.0, 0.0], [1.0, 0.0]), None),
        ],
    ),
    (
        "log",
        &[
            (([INF, NAN], [INF, NAN]), Some([NAN, NAN])),
            (([-INF, NAN], [INF, NAN]), Some([NAN, NAN])),
            (([NAN, INF], [INF, NAN]), Some([NAN, NAN])),
            (([NAN, -INF], [INF, NAN]), Some([NAN, NAN])),
            (([1.0, NAN], [NAN, NAN]), None),
            (([NAN, 1.0], [NAN, NAN]), None),
            (([0.0, 0.0], [-INF, 0.0]), None),
            (([0.0, -0.0], [-INF, -0.0]), None),
            (([-0.0, 0.0], [-INF, std::f64::consts::PI]), None),
            (([-INF, 2.0], [INF, std::f64::consts::PI]), None),
            (([INF, -2.0], [INF, -0.0]), None),
            (([1.0, INF], [INF, std::f64::consts::FRAC_PI_2]), None),
            (([INF, INF], [INF, std::f64::consts::FRAC_PI_4]), None),
            (([1.0, -0.0], [0.0, -0.0]), None),
        ],
    ),
    (
        "logistic",
        &[
            (([INF, INF], [1.0, 0.0]), Some([NAN, NAN])),
            (([INF, NAN], [1.0, 0.0]), Some([NAN, NAN])),
            (([-INF, INF], [0.0, 0.0]), Some([NAN, NAN])),
            (([-INF, NAN], [0.0, 0.0]), Some([NAN, NAN])),
            (([INF, 2.0], [1.0, 0.0]), None),
            (([-INF, 2.0], [-0.0, 0.0]), None),
            (([1.0, NAN], [NAN, NAN]), None),
            (([0.0, -0.0], [0.5, -0.0]), Some([0.5, 0.0])),
        ],
    ),
];

#[test]
fn truth_has_annex_g_where_the_formulas_of_xla_cpu_have_others() {
    for (opcode, cases) in BY_WORLD {
        let points: Vec<[f64; 2]> = cases.iter().map(|((point, _), _)| *point).collect();
        for dtype in ["f32", "f64"] {
            let near = |parts: [f64; 2]| if dtype == "f32" { parts.map(|part| f64::from(part as f32)) } else { parts };
            let exact = truth(opcode, dtype, &points);
            let computed = machine(opcode, dtype, &points, "xla-cpu/default/as-compiled");
            for ((((point, annex), formula), exact), computed) in cases.iter().zip(&exact).zip(&computed) {
                assert_eq!(bits(near(*exact)), bits(near(*annex)), "{opcode}{point:?} of {dtype}: {exact:?}");
                let formula = near(formula.unwrap_or(*annex));
                assert_eq!(bits(*computed), bits(formula), "{opcode}{point:?} of {dtype} on xla-cpu: {computed:?}");
            }
        }
    }
}

/// C17 G.6.4.1 (cabs is hypot) and G.5.1 (the quotient's own code, by hand), with XLA:CPU's where it is another one.
#[test]
fn magnitudes_and_quotients_go_as_annex_g_says() {
    let magnitudes = [
        ([INF, NAN], INF, NAN),
        ([NAN, -INF], INF, NAN),
        ([-INF, 1.0], INF, INF),
        ([-INF, INF], INF, INF),
        ([NAN, 1.0], NAN, NAN),
        ([NAN, 0.0], NAN, NAN),
        ([-0.0, -0.0], 0.0, 0.0),
        ([3.0, -4.0], 5.0, 5.0),
    ];
    let points = magnitudes.map(|(point, ..)| point);
    let n = points.len();
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  a = f32[{n}] parameter(0)\n  b = f32[{n}] parameter(1)\n  x = c64[{n}] complex(a, b)\n  \
         ROOT r = f32[{n}] abs(x)\n}}\n"
    );
    let abs = lower(&parse(&text).unwrap()).unwrap().program;
    let [exact, computed] = both_worlds(&abs, &arguments("f32", &points));
    for (at, (point, annex, formula)) in magnitudes.into_iter().enumerate() {
        assert_eq!(bits([exact[0][at], 0.0]), bits([annex, 0.0]), "|{point:?}|");
        assert_eq!(bits([computed[0][at], 0.0]), bits([formula, 0.0]), "|{point:?}| on xla-cpu");
    }

    // Dividend, divisor, quotient.
    let quotients = [
        ([1.0, 1.0], [INF, NAN], [0.0, 0.0]),
        ([1.0, 1.0], [INF, INF], [0.0, 0.0]),
        ([1.0, -1.0], [-INF, 1.0], [-0.0, 0.0]),
        ([INF, NAN], [1.0, 1.0], [INF, -INF]),
        ([INF, INF], [1.0, 0.0], [INF, INF]),
        ([INF, 1.0], [0.0, 2.0], [NAN, -INF]),
        ([NAN, INF], [1.0, 0.0], [NAN, INF]),
        ([1.0, 0.0], [0.0, 0.0], [INF, NAN]),
        ([1.0, 2.0], [-0.0, 0.0], [-INF, -INF]),
        ([1.0, NAN], [0.0, 0.0], [INF, NAN]),
        ([NAN, NAN], [0.0, 0.0], [NAN, NAN]),
        ([0.0, 0.0], [0.0, 0.0], [NAN, NAN]),
        ([INF, INF], [INF, 1.0], [NAN, NAN]),
        ([NAN, 1.0], [1.0, INF], [NAN, NAN]),
        ([1.0, 0.0], [2.0, 0.0], [0.5, 0.0]),
    ];
    let n = quotients.len();
    let parameters = ["a", "b", "c", "d"].iter().enumerate();
    let parameters: String = parameters.map(|(at, name)| format!("  {name} = f32[{n}] parameter({at})\n")).collect();
    let text = format!(
        "HloModule m\n\nENTRY e {{\n{parameters}  x = c64[{n}] complex(a, b)\n  y = c64[{n}] complex(c, d)\n  q = c64[{n}] \
         divide(x, y)\n  re = f32[{n}] real(q)\n  im = f32[{n}] imag(q)\n  ROOT t = (f32[{n}], f32[{n}]) tuple(re, im)\n}}\n"
    );
    let divide = lower(&parse(&text).unwrap()).unwrap().program;
    let [left, right] = [quotients.map(|(x, ..)| x), quotients.map(|(_, y, _)| y)].map(|side| arguments("f32", &side));
    let [exact, computed] = both_worlds(&divide, &[left, right].concat());
    for (at, (x, y, annex)) in quotients.into_iter().enumerate() {
        assert_eq!(bits([exact[0][at], exact[1][at]]), bits(annex), "{x:?} / {y:?}");
        assert_eq!(bits([computed[0][at], computed[1][at]]), bits(annex), "{x:?} / {y:?} on xla-cpu");
    }
}

/// The results over the real numbers, all of them decided, and on xla-cpu.
fn both_worlds(program: &ulpgate::ir::Program, arguments: &[Tensor]) -> [Vec<Vec<f64>>; 2] {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let computed = subject::evaluate(program, &mode, arguments).unwrap();
    let demands = vec![Demand::Rounded; computed.len()];
    let truth = Oracle::default().evaluate(program, arguments, &demands).unwrap();
    assert_eq!(truth.stats.undecided, 0);
    let rounded = |output: &TruthTensor| match output {
        TruthTensor::Float(float) => float.rounded.clone(),
        other => panic!("{other:?}"),
    };
    [truth.outputs.iter().map(rounded).collect(), computed.iter().map(|result| result.data().to_f64s()).collect()]
}

/// Each part of each result has its own relative error, however small it is beside the other.
#[test]
fn small_parts_are_kept() {
    let points = [
        [10.0, 1.0],
        [-30.0, 2.0],
        [40.0, -0.5],
        [1e-20, 0.75],
        [0.25, 1e-15],
        [-1.0, 1e-20],
        [-2.5, -1e-10],
        [-1e20, 1e-2],
        [1e20, 3e-3],
        [1e-12, 4e5],
        [0.085_339_077, 0.407_281_9],
        [5e-9, 1e-4],
        [-20.0, 3.0],
        [1.5, 50.0],
        [0.5, -35.0],
    ];
    for opcode in ["tanh", "tan", "exponential-minus-one", "rsqrt", "sqrt", "log-plus-one", "sine", "cosine"] {
        for (dtype, mode, epsilon, smallest, largest) in [
            (
                "f32",
                "xla-cpu/default/as-compiled",
                f64::from(f32::EPSILON),
                f64::from(f32::MIN_POSITIVE),
                f64::from(f32::MAX),
            ),
            (
                "f32",
                "v5e/default/as-compiled",
                f64::from(f32::EPSILON),
                f64::from(f32::MIN_POSITIVE),
                f64::from(f32::MAX),
            ),
            ("f64", "xla-cpu/default/as-compiled", f64::EPSILON, f64::MIN_POSITIVE, f64::MAX),
        ] {
            let rounded: Vec<[f64; 2]> = match dtype {
                "f32" => points.iter().map(|point| point.map(|part| f64::from(part as f32))).collect(),
                _ => points.to_vec(),
            };
            let exact = truth(opcode, dtype, &rounded);
            for ((point, exact), got) in rounded.iter().zip(&exact).zip(machine(opcode, dtype, &rounded, mode)) {
                for (side, (exact, got)) in exact.iter().zip(got).enumerate() {
                    // The terms of `e^z - 1` and of `ln |1 + z|` cancel in f64 as they do in XLA:CPU's formulas (FACTS 3.6).
                    let cancels =
                        dtype == "f64" && side == 0 && matches!(opcode, "exponential-minus-one" | "log-plus-one");
                    if cancels || exact.abs() < 4.0 * smallest || exact.abs() > largest / 4.0 {
                        continue;
                    }
                    let error = ((got - exact) / exact).abs() / epsilon;
                    assert!(
                        error <= 4.0,
                        "{opcode}{point:?} of {dtype} in {mode}, part {side}: {got} is {error} ulps from {exact}"
                    );
                }
            }
        }
    }
}
