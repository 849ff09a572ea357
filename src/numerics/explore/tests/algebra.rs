//! Rows of programs that XLA's algebraic simplifier rewrites whatever the flag says (FACTS 9.1).

use crate::ir::{Builder, Program, ValueId};
use crate::machine::{self, Mode};
use crate::tensor::{DType, Tensor};

use super::super::{Answer, Settings, explore};
use super::*;

fn modes() -> Vec<String> {
    and_compiled(&["v5e/default/off", "cpu/f32/off"], "f32/off")
}

/// A constant for all elements of a shape.
fn all(b: &mut Builder, value: f64, dims: &[usize]) -> ValueId {
    let scalar = b.constant(DType::F32, value).unwrap();
    if dims.is_empty() { scalar } else { b.broadcast(scalar, dims, &[]).unwrap() }
}

/// The largest element of each row, and which elements are not below what the same expression is in another form.
fn told(b: Builder, a: ValueId, other: ValueId) -> Program {
    let mut b = b;
    let largest = b.argmax(a, 1).unwrap();
    let is_above = b.compare(Compare::Ge, a, other).unwrap();
    b.finish(&[("largest", largest), ("is_above", is_above)]).unwrap()
}

/// `(x * 0.1) * 0.7` beside `x * 0.07`.
fn scaled() -> Program {
    let mut b = Builder::new("scaled");
    let dims = [8, 64];
    let x = b.parameter("x", DType::F32, &dims).unwrap();
    let constants = [0.1, 0.7, f64::from(0.1f32 * 0.7f32)].map(|value| all(&mut b, value, &dims));
    let once = b.binary(Binary::Multiply, x, constants[0]).unwrap();
    let a = b.binary(Binary::Multiply, once, constants[1]).unwrap();
    let other = b.binary(Binary::Multiply, x, constants[2]).unwrap();
    told(b, a, other)
}

fn is_reachable(answer: &Answer) -> bool {
    matches!(answer, Answer::Reachable(_))
}

fn is_proven(answer: &Answer) -> bool {
    matches!(answer, Answer::Proven { .. })
}

#[test]
fn folded_constants_are_reached() {
    let program = scaled();
    let arguments = drawn(&program, "normal", 1);
    for mode in modes() {
        for any_mode in [false, true] {
            let settings = Settings { any_mode, ..Settings::new(mode.parse().unwrap()) };
            let found = explore(&program, &arguments, &[], &settings).unwrap();
            assert_eq!(count(&found.answers, is_reachable), 8, "{mode} {:?}", found.answers);
            for answer in &found.answers {
                let Answer::Reachable(witness) = answer else { continue };
                let again = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, &arguments).unwrap();
                let differs = witness.differs;
                assert_eq!(again[differs.output].data().get_f64(differs.element), differs.chosen);
                assert_ne!(differs.chosen, differs.declared);
            }
        }
        // The other families have no say in it.
        let others = settings(&mode, &["rounding", "narrowing", "order", "contraction", "reciprocal", "mesh"]);
        let found = explore(&program, &arguments, &[], &others).unwrap();
        assert_eq!(count(&found.answers, is_proven), 8, "{mode}");
    }
}

/// The two largest are one ulp apart, so that 128 rows have a token that the folded constant may change.
#[test]
fn neighbours_are_told_apart_by_no_form() {
    let mut b = Builder::new("neighbours");
    let dims = [64, 128];
    let x = b.parameter("x", DType::F32, &dims).unwrap();
    let constants = [0.7, 0.3].map(|value| all(&mut b, value, &dims));
    let quotient = b.binary(Binary::Divide, x, constants[0]).unwrap();
    let a = b.binary(Binary::Multiply, quotient, constants[1]).unwrap();
    let largest = b.argmax(a, 1).unwrap();
    let program = b.finish(&[("largest", largest)]).unwrap();
    let mut draw = Draw(3 << 40);
    let mut xs = Vec::new();
    for _ in 0..64 {
        let top = 2.0 + draw.below(1 << 20) as f32 / 1e6;
        let row: Vec<f32> = (0..128).map(|at| [top.next_down(), top].get(at).copied().unwrap_or(1.0)).collect();
        xs.extend(row);
    }
    let xs: Vec<f64> = xs.into_iter().map(f64::from).collect();
    let arguments = [tensor(DType::F32, &dims, &xs)];
    for mode in modes() {
        for any_mode in [false, true] {
            let settings = Settings { any_mode, ..Settings::new(mode.parse().unwrap()) };
            let found = explore(&program, &arguments, &[], &settings).unwrap();
            assert_eq!(count(&found.answers, is_proven), 0, "{mode}");
            assert!(count(&found.answers, is_reachable) > 4, "{mode}");
        }
    }
    // Rows that are not close stay proven, and so do ties.
    for (other, kept) in [(0.999, 64), (1.0, 64)] {
        let xs: Vec<f64> = (0..64 * 128).map(|at| [3.0, 3.0 * other].get(at % 128).copied().unwrap_or(1.0)).collect();
        for mode in modes() {
            let settings = Settings::new(mode.parse().unwrap());
            let found = explore(&program, &[tensor(DType::F32, &dims, &xs)], &[], &settings).unwrap();
            assert_eq!(count(&found.answers, is_proven), kept, "{mode} {other}");
        }
    }
}

/// Each expression beside what XLA makes of it (FACTS 9.1): x, y and z are [4, 64]. Whatever the machine gives for the second
/// lies in the enclosure of the first, and some of it elsewhere than where it is declared.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn every_rewritten_form_is_enclosed() {
    type Form = fn(&mut Builder, [ValueId; 3]) -> ValueId;
    let dims = [4, 64];
    fn two(b: &mut Builder, binary: Binary, x: ValueId, y: ValueId) -> ValueId {
        b.binary(binary, x, y).unwrap()
    }
    fn by(b: &mut Builder, binary: Binary, x: ValueId, c: f64) -> ValueId {
        let c = all(b, c, &[4, 64]);
        b.binary(binary, x, c).unwrap()
    }
    fn one(b: &mut Builder, unary: Unary, x: ValueId) -> ValueId {
        b.unary(unary, x).unwrap()
    }
    use Binary::{Add, Divide, Multiply, Power, Subtract};
    use Unary::{Exponential, Log, Negate, Rsqrt, Sqrt};
    let forms: &[(&str, Form, Form)] = &[
        (
            "(x*c)*d",
            |b, [x, ..]| {
                let a = by(b, Multiply, x, 0.1);
                by(b, Multiply, a, 0.7)
            },
            |b, [x, ..]| by(b, Multiply, x, f64::from(0.1f32 * 0.7f32)),
        ),
        (
            "(x*c)/d",
            |b, [x, ..]| {
                let a = by(b, Multiply, x, 0.1);
                by(b, Divide, a, 0.1)
            },
            |_, [x, ..]| x,
        ),
        (
            "(x/c)*d",
            |b, [x, ..]| {
                let a = by(b, Divide, x, 0.7);
                by(b, Multiply, a, 0.3)
            },
            |b, [x, ..]| by(b, Multiply, x, f64::from((1.0 / 0.7f32) * 0.3f32)),
        ),
        (
            "(x+c)+d",
            |b, [x, ..]| {
                let a = by(b, Add, x, 0.1);
                by(b, Add, a, 0.7)
            },
            |b, [x, ..]| by(b, Add, x, f64::from(0.1f32 + 0.7f32)),
        ),
        (
            "(x-c)+c",
            |b, [x, ..]| {
                let a = by(b, Subtract, x, 700.3);
                by(b, Add, a, 700.3)
            },
            |_, [x, ..]| x,
        ),
        (
            "(x/y)/z",
            |b, [x, y, z]| {
                let a = two(b, Divide, x, y);
                two(b, Divide, a, z)
            },
            |b, [x, y, z]| {
                let a = two(b, Multiply, y, z);
                two(b, Divide, x, a)
            },
        ),
        (
            "x/(y/z)",
            |b, [x, y, z]| {
                let a = two(b, Divide, y, z);
                two(b, Divide, x, a)
            },
            |b, [x, y, z]| {
                let a = two(b, Multiply, x, z);
                two(b, Divide, a, y)
            },
        ),
        (
            "y/sqrt(x)",
            |b, [x, y, _]| {
                let a = one(b, Sqrt, x);
                two(b, Divide, y, a)
            },
            |b, [x, y, _]| {
                let a = one(b, Rsqrt, x);
                two(b, Multiply, y, a)
            },
        ),
        (
            "sqrt(y)/sqrt(x)",
            |b, [x, y, _]| {
                let (a, c) = (one(b, Sqrt, x), one(b, Sqrt, y));
                two(b, Divide, c, a)
            },
            |b, [x, y, _]| {
                let (a, c) = (one(b, Rsqrt, x), one(b, Sqrt, y));
                two(b, Multiply, c, a)
            },
        ),
        (
            "sqrt(x*x)",
            |b, [x, ..]| {
                let a = two(b, Multiply, x, x);
                one(b, Sqrt, a)
            },
            |_, [x, ..]| x,
        ),
        (
            "exp(x)*exp(y)",
            |b, [x, y, _]| {
                let (a, c) = (one(b, Exponential, x), one(b, Exponential, y));
                two(b, Multiply, a, c)
            },
            |b, [x, y, _]| {
                let a = two(b, Add, x, y);
                one(b, Exponential, a)
            },
        ),
        (
            "exp(x)/exp(y)",
            |b, [x, y, _]| {
                let (a, c) = (one(b, Exponential, x), one(b, Exponential, y));
                two(b, Divide, a, c)
            },
            |b, [x, y, _]| {
                let a = two(b, Subtract, x, y);
                one(b, Exponential, a)
            },
        ),
        (
            "x/exp(y)",
            |b, [x, y, _]| {
                let a = one(b, Exponential, y);
                two(b, Divide, x, a)
            },
            |b, [x, y, _]| {
                let a = one(b, Negate, y);
                let a = one(b, Exponential, a);
                two(b, Multiply, x, a)
            },
        ),
        (
            "log(exp(x))",
            |b, [x, ..]| {
                let a = one(b, Exponential, x);
                one(b, Log, a)
            },
            |_, [x, ..]| x,
        ),
        (
            "log(sqrt(x))",
            |b, [x, ..]| {
                let a = one(b, Sqrt, x);
                one(b, Log, a)
            },
            |b, [x, ..]| {
                let a = one(b, Log, x);
                by(b, Multiply, a, 0.5)
            },
        ),
        (
            "x^3",
            |b, [x, ..]| by(b, Power, x, 3.0),
            |b, [x, ..]| {
                let a = two(b, Multiply, x, x);
                two(b, Multiply, x, a)
            },
        ),
        (
            "x^-1",
            |b, [x, ..]| by(b, Power, x, -1.0),
            |b, [x, ..]| {
                let a = all(b, 1.0, &[4, 64]);
                two(b, Divide, a, x)
            },
        ),
        (
            "x*z+y*z",
            |b, [x, y, z]| {
                let (a, c) = (two(b, Multiply, x, z), two(b, Multiply, y, z));
                two(b, Add, a, c)
            },
            |b, [x, y, z]| {
                let a = two(b, Add, x, y);
                two(b, Multiply, a, z)
            },
        ),
        (
            "x*c+x*d",
            |b, [x, ..]| {
                let (a, c) = (by(b, Multiply, x, 0.1), by(b, Multiply, x, 0.7));
                two(b, Add, a, c)
            },
            |b, [x, ..]| by(b, Multiply, x, f64::from(0.1f32 + 0.7f32)),
        ),
    ];
    let mut draw = Draw(9 << 40);
    let mut changed = Vec::new();
    for (name, declared, rewritten) in forms {
        let made = |form: Form| {
            let mut b = Builder::new("form");
            let arguments = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &dims).unwrap());
            let out = form(&mut b, arguments);
            b.finish(&[("out", out)]).unwrap()
        };
        let (declared, rewritten) = (made(*declared), made(*rewritten));
        let arguments = [(); 3].map(|()| {
            let values: Vec<f64> = (0..256).map(|_| f64::from(0.25 + draw.below(1 << 22) as f32 / 1e6)).collect();
            tensor(DType::F32, &dims, &values)
        });
        let mut has_changed = false;
        for mode in
            ["v5e/default/off", "v6e/f32/off", "cpu/f32/off", "v5e/default/off+exp=cr", "v5e/default/off+exp=worst"]
        {
            let parsed: Mode = mode.parse().unwrap();
            let result: Vec<Tensor> = machine::evaluate(&rewritten, &parsed, &arguments).unwrap();
            let own = machine::evaluate(&declared, &parsed, &arguments).unwrap();
            has_changed |= own != result;
            for any_mode in [false, true] {
                let settings = Settings { any_mode, ..Settings::new(parsed.clone()) };
                let (_, enclosed) = enclose(&declared, &arguments, &settings).unwrap();
                let found = outside(&enclosed, &result);
                assert!(found[0].elements.is_empty(), "{name} in {mode}: {} outside", found[0].elements.len());
                // Nothing is promised of a power where functions err.
                let is_known = any_mode || found[0].unknown == 0 || name.starts_with("x^") && mode.ends_with("worst");
                assert!(is_known, "{name} in {mode}: {} may be anything", found[0].unknown);
            }
        }
        changed.extend(has_changed.then_some(*name));
    }
    assert!(changed.len() * 4 >= forms.len() * 3, "{changed:?}");
}

/// Values that no rule joins stay as narrow as they were: the norms and gates of models.
#[test]
fn what_no_rule_joins_is_not_widened() {
    let dims = [4, 64];
    let mut b = Builder::new("norm");
    let x = b.parameter("x", DType::F32, &dims).unwrap();
    let w = b.parameter("w", DType::F32, &dims).unwrap();
    let squares = b.binary(Binary::Multiply, x, x).unwrap();
    let scaled = b.binary(Binary::Multiply, squares, w).unwrap();
    let half = all(&mut b, 0.3, &dims);
    let gate = b.binary(Binary::Multiply, scaled, half).unwrap();
    let barrier = b.op(Op::OptimizationBarrier, &[gate]).unwrap();
    let again = b.binary(Binary::Multiply, barrier, half).unwrap();
    let program = b.finish(&[("gate", gate), ("again", again)]).unwrap();
    let arguments = drawn(&program, "normal", 4);
    let with = Settings::new("v5e/default/off".parse().unwrap());
    let without = settings("v5e/default/off", &["rounding", "narrowing", "order", "contraction", "reciprocal", "mesh"]);
    let [with, without] = [with, without].map(|settings| enclose(&program, &arguments, &settings).unwrap().1);
    assert_eq!(with, without);
}

/// A number that one form does not reach, another may: an infinity, or a zero.
#[test]
fn what_overflows_or_underflows_in_some_form_is_enclosed() {
    let mut b = Builder::new("quotients");
    let [x, y, z] = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &[3]).unwrap());
    let quotient = b.binary(Binary::Divide, y, z).unwrap();
    let out = b.binary(Binary::Divide, x, quotient).unwrap();
    let program = b.finish(&[("out", out)]).unwrap();
    let arguments = [(); 3].map(|()| tensor(DType::F32, &[3], &[1e30, 3.0, 4e19]));
    let mut b = Builder::new("products");
    let x = b.parameter("x", DType::F32, &[2]).unwrap();
    let [small, large] = [1e-30, 1e30].map(|value| all(&mut b, value, &[2]));
    let product = b.binary(Binary::Multiply, x, small).unwrap();
    let out = b.binary(Binary::Multiply, product, large).unwrap();
    let products = b.finish(&[("out", out)]).unwrap();
    let tiny = [tensor(DType::F32, &[2], &[1e-10, 1e-5])];
    // Two constants whose product overflows, and an argument that makes 2^40 of both.
    let mut b = Builder::new("large");
    let x = b.parameter("x", DType::F32, &[1]).unwrap();
    let large = all(&mut b, 2f64.powi(70), &[1]);
    let product = b.binary(Binary::Multiply, x, large).unwrap();
    let out = b.binary(Binary::Multiply, product, large).unwrap();
    let overflowing = b.finish(&[("out", out)]).unwrap();
    for mode in modes() {
        let argument = tensor(DType::F32, &[1], &[2f64.powi(-100)]);
        let (_, enclosed) = enclose(&overflowing, &[argument], &Settings::new(mode.parse().unwrap())).unwrap();
        let found = outside(&enclosed, &[tensor(DType::F32, &[1], &[f64::INFINITY])]);
        assert!(found[0].elements.is_empty() && found[0].unknown == 1, "{mode} {enclosed:?}");
        let settings = Settings::new(mode.parse().unwrap());
        let (_, enclosed) = enclose(&program, &arguments, &settings).unwrap();
        // (x z) / y: an infinity, 3, and one where no more than the product overflows.
        let found = outside(&enclosed, &[tensor(DType::F32, &[3], &[f64::INFINITY, 3.0, f64::INFINITY])]);
        assert!(found[0].elements.is_empty() && found[0].unknown == 2, "{mode} {found:?}");
        // x times 1: what the first product loses below the normal numbers is still there.
        let (_, enclosed) = enclose(&products, &tiny, &settings).unwrap();
        let found = outside(&enclosed, &tiny);
        assert!(found[0].elements.is_empty() && found[0].unknown == 0, "{mode} {enclosed:?}");
    }
}

/// Conversions and moves between two products hide no form: their constants may still meet, and overflow.
#[test]
fn what_overflows_in_some_form_is_enclosed_behind_conversions_and_moves() {
    type Between = fn(&mut Builder, ValueId) -> ValueId;
    let between: [(&str, Between); 5] = [
        ("nothing", |_, x| x),
        ("conversions", |b, x| {
            let narrow = b.convert(x, DType::BF16).unwrap();
            b.convert(narrow, DType::F32).unwrap()
        }),
        ("a copy", |b, x| b.op(Op::Copy, &[x]).unwrap()),
        ("a reshape", |b, x| b.reshape(x, &[2, 1]).unwrap()),
        ("a transpose", |b, x| b.op(Op::Transpose { permutation: vec![1, 0] }, &[x]).unwrap()),
    ];
    for (name, between) in between {
        let mut b = Builder::new("large");
        let x = b.parameter("x", DType::F32, &[1, 2]).unwrap();
        let large = all(&mut b, 2f64.powi(70), &[1, 2]);
        let product = b.binary(Binary::Multiply, x, large).unwrap();
        let moved = between(&mut b, product);
        let dims = b.shape(moved).dims().to_vec();
        let large = all(&mut b, 2f64.powi(70), &dims);
        let out = b.binary(Binary::Multiply, moved, large).unwrap();
        let program = b.finish(&[("out", out)]).unwrap();
        let argument = tensor(DType::F32, &[1, 2], &[2f64.powi(-100), 2f64.powi(-99)]);
        // Also where no conversion may be left out.
        for settings in [Settings::new("v5e/default/off".parse().unwrap()), settings("v5e/default/off", &["algebra"])] {
            let (_, enclosed) = enclose(&program, std::slice::from_ref(&argument), &settings).unwrap();
            let found = outside(&enclosed, &[tensor(DType::F32, &dims, &[f64::INFINITY; 2])]);
            assert!(found[0].elements.is_empty() && found[0].unknown == 2, "{name}: {enclosed:?}");
        }
    }
}

/// (x + c) + d is x + (c + d), whose constant is rounded where it is large: a small result errs by that.
#[test]
fn a_sum_errs_by_the_magnitudes_that_it_adds() {
    let [c, d] = [700.3f32, 0.0123];
    let mut b = Builder::new("sums");
    let x = b.parameter("x", DType::F32, &[1]).unwrap();
    let [first, second] = [c, d].map(|value| all(&mut b, f64::from(value), &[1]));
    let sum = b.binary(Binary::Add, x, first).unwrap();
    let out = b.binary(Binary::Add, sum, second).unwrap();
    let program = b.finish(&[("out", out)]).unwrap();
    let arguments = [tensor(DType::F32, &[1], &[f64::from(-c)])];
    let folded = f64::from(-c + (c + d));
    assert!((folded - f64::from(d)).abs() > 1e-6, "{folded}");
    for mode in modes() {
        let (_, enclosed) = enclose(&program, &arguments, &Settings::new(mode.parse().unwrap())).unwrap();
        let found = outside(&enclosed, &[tensor(DType::F32, &[1], &[folded])]);
        assert!(found[0].elements.is_empty() && found[0].unknown == 0, "{mode} {enclosed:?}");
    }
}

/// x + 0 is x, of either zero, and a product with a predicate is picked: a zero of no sign where x is negative.
#[test]
fn zeros_lose_their_signs() {
    let mut b = Builder::new("signs");
    let x = b.parameter("x", DType::F32, &[2, 1]).unwrap();
    let zero = all(&mut b, 0.0, &[2, 1]);
    let sum = b.binary(Binary::Add, x, zero).unwrap();
    let above = b.compare(Compare::Gt, x, zero).unwrap();
    let flag = b.convert(above, DType::F32).unwrap();
    let product = b.binary(Binary::Multiply, x, flag).unwrap();
    let program = b.finish(&[("sum", sum), ("product", product)]).unwrap();
    let arguments = [tensor(DType::F32, &[2, 1], &[-0.0, 2.0])];
    for mode in modes() {
        for result in ["sum", "product"] {
            let found =
                explore(&program, &arguments, &[result.to_string()], &Settings::new(mode.parse().unwrap())).unwrap();
            assert!(
                !is_proven(&found.answers[0]) && is_proven(&found.answers[1]),
                "{mode} {result} {:?}",
                found.answers
            );
        }
    }
}

/// Each form that witnesses take, evaluated, is among those that are enclosed: a constant that divides is its reciprocal, one that is
/// subtracted its negative.
#[test]
fn forms_that_witnesses_take_lie_in_the_enclosure() {
    use Binary::{Add, Divide, Multiply, Subtract};
    let scales = [Multiply, Divide].into_iter().flat_map(|first| [Multiply, Divide].map(|second| (first, second)));
    let shifts = [Add, Subtract].into_iter().flat_map(|first| [Add, Subtract].map(|second| (first, second)));
    let values: Vec<f64> = (0..64).map(|at| f64::from(0.37f32 + at as f32 * 0.71)).collect();
    for (first, second) in scales.chain(shifts) {
        let mut b = Builder::new("forms");
        let x = b.parameter("x", DType::F32, &[64]).unwrap();
        let [c, d] = [0.7, 0.3].map(|value| all(&mut b, value, &[64]));
        let inner = b.binary(first, x, c).unwrap();
        let out = b.binary(second, inner, d).unwrap();
        let program = b.finish(&[("out", out)]).unwrap();
        let arguments = [tensor(DType::F32, &[64], &values)];
        for mode in modes() {
            let algebra = settings(&mode, &["algebra"]);
            let (choices, enclosed) = enclose(&program, &arguments, &algebra).unwrap();
            let declared = machine::evaluate(&program, &algebra.mode, &arguments).unwrap();
            assert_eq!(choices.points.len(), 1, "{first:?} {second:?} {mode}");
            let taken = machine::evaluate(&choices.take(&[1]), &algebra.mode, &arguments).unwrap();
            assert_ne!(taken, declared, "{first:?} {second:?} {mode}");
            let found = outside(&enclosed, &taken);
            assert!(found[0].elements.is_empty() && found[0].unknown == 0, "{first:?} {second:?} {mode} {found:?}");
        }
    }
}
