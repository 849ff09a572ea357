//! Cases that `bound` must find and cases that it must let pass: results that conform to the mode are never findings,
//! and wrong ones are, as far as the bound is tight.

use std::sync::Arc;

use super::bench::Bench;
use ulpgate::check::{Judgement, Outcome};
use ulpgate::ir::{Binary, Builder, Op, Precision, Program, ResultAccuracy, Setting, ShapeError, Unary, ValueId};
use ulpgate::machine::Mode;
use ulpgate::num;
use ulpgate::tensor::{DType, Data, Tensor};

/// A program over parameters of these types and dims, with one result.
fn program(
    parameters: &[(DType, &[usize])],
    body: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, ShapeError>,
) -> Program {
    let mut b = Builder::new("case");
    let made = parameters.iter().enumerate();
    let ids: Vec<ValueId> =
        made.map(|(i, (dtype, dims))| b.parameter(&format!("p{i}"), *dtype, dims).unwrap()).collect();
    let root = body(&mut b, &ids).unwrap();
    b.finish(&[("result", root)]).unwrap()
}

fn tensor(dtype: DType, dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(dtype, values).unwrap())
}

fn mode(text: &str) -> Mode {
    text.parse().unwrap()
}

/// The verdict of `bound` on the mode's own result.
fn own(program: &Program, text: &str, arguments: &[Tensor]) -> Judgement {
    let bench = Bench { program, mode: mode(text), arguments };
    bench.judge(&bench.run())
}

/// The verdict of `bound` on `values` as the mode's result.
fn of(program: &Program, text: &str, arguments: &[Tensor], values: &[f64]) -> Judgement {
    let bench = Bench { program, mode: mode(text), arguments };
    let like = &bench.run()[0];
    bench.judge(&[tensor(like.dtype(), like.dims(), values)])
}

fn ratio(judged: &Judgement) -> f64 {
    judged.figures.iter().find(|(name, _)| *name == "error_over_bound").unwrap_or_else(|| panic!("{judged:?}")).1
}

fn conforms(program: &Program, text: &str, arguments: &[Tensor]) -> f64 {
    let judged = own(program, text, arguments);
    assert_eq!(judged.outcome, Outcome::Pass, "{text}: {judged:?}");
    ratio(&judged)
}

/// A generator of numbers in [0, 1): SplitMix64.
fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn binary(op: Binary, dtype: DType, count: usize) -> Program {
    program(&[(dtype, &[count]), (dtype, &[count])], |b, p| b.binary(op, p[0], p[1]))
}

fn sum(op: Binary, dtype: DType, dims: &[usize], init: f64) -> Program {
    program(&[(dtype, dims)], |b, p| b.reduce(op, p[0], init, &[dims.len() - 1]))
}

fn matmul(dtypes: [DType; 2], [m, k, n]: [usize; 3], precision: Precision) -> Program {
    let parameters: [(DType, &[usize]); 2] = [(dtypes[0], &[m, k]), (dtypes[1], &[k, n])];
    program(&parameters, |b, p| b.matmul(p[0], p[1], precision, DType::F32))
}

/// NaN, both infinities and a finite number, as truth and as result.
#[test]
fn only_a_nan_is_a_nan_and_only_the_same_infinity_an_infinity() {
    let kinds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3.0];
    let add = binary(Binary::Add, DType::F32, 1);
    let dot = matmul([DType::F32; 2], [1, 1, 1], Precision::Default);
    for (i, exact) in kinds.iter().enumerate() {
        for (j, value) in kinds.iter().enumerate() {
            let expected = if i == j { Outcome::Pass } else { Outcome::Finding };
            for text in ["cpu/f32/off", "v5e/default/off", "v5e/high/off+dsr=off"] {
                let arguments = [tensor(DType::F32, &[1], &[*exact]), tensor(DType::F32, &[1], &[0.0])];
                let judged = of(&add, text, &arguments, &[*value]);
                assert_eq!(judged.outcome, expected, "{text}: {value} for the sum {exact}");
                let arguments = [tensor(DType::F32, &[1, 1], &[*exact]), tensor(DType::F32, &[1, 1], &[1.0])];
                let judged = of(&dot, text, &arguments, &[*value]);
                assert_eq!(judged.outcome, expected, "{text}: {value} for the dot {exact}");
            }
        }
    }
    // A row of a softmax with an infinity is NaN throughout, one with -inf is not.
    let shifted = program(&[(DType::F32, &[2, 3])], |b, p| {
        let max = b.reduce(Binary::Maximum, p[0], f64::NEG_INFINITY, &[1])?;
        let max = b.broadcast(max, &[2, 3], &[0])?;
        let x = b.binary(Binary::Subtract, p[0], max)?;
        let e = b.unary(Unary::Exponential, x)?;
        let total = b.reduce(Binary::Add, e, 0.0, &[1])?;
        let total = b.broadcast(total, &[2, 3], &[0])?;
        b.binary(Binary::Divide, e, total)
    });
    let logits = [1.0, f64::NEG_INFINITY, 2.0, 1.0, f64::INFINITY, 2.0];
    let arguments = [tensor(DType::F32, &[2, 3], &logits)];
    for text in ["cpu/f32/off", "v5e/default/off", "xla-cpu/f32/off"] {
        conforms(&shifted, text, &arguments);
        let judged = of(&shifted, text, &arguments, &[0.269, 0.0, 0.731, 0.0, 1.0, 0.0]);
        assert_eq!(judged.outcome, Outcome::Finding, "{text}");
    }
}

/// An element of which nothing is promised passes no difference: a divisor that the unit may take for zero.
#[test]
fn a_bound_that_says_nothing_is_a_refusal() {
    let divide = binary(Binary::Divide, DType::F32, 2);
    let arguments = [tensor(DType::F32, &[2], &[1.0, 1.0]), tensor(DType::F32, &[2], &[1e-40, 4.0])];
    let judged = own(&divide, "v5e/default/off", &arguments);
    assert_eq!(judged.outcome, Outcome::Abstain, "{judged:?}");
    // What is wrong beside it is found all the same.
    let judged = of(&divide, "v5e/default/off", &arguments, &[f64::INFINITY, 0.3]);
    assert_eq!(judged.outcome, Outcome::Finding, "{judged:?}");
}

/// e e / e - e is zero, which no precision shows; beside it there is a number.
#[test]
fn what_the_oracle_leaves_open_is_undecided() {
    let program = program(&[(DType::F32, &[2]), (DType::F32, &[2])], |b, p| {
        let e = b.unary(Unary::Exponential, p[0])?;
        let square = b.binary(Binary::Multiply, e, e)?;
        let quotient = b.binary(Binary::Divide, square, e)?;
        let scaled = b.binary(Binary::Multiply, e, p[1])?;
        b.binary(Binary::Subtract, quotient, scaled)
    });
    let arguments = [tensor(DType::F32, &[2], &[1.0, 1.0]), tensor(DType::F32, &[2], &[1.0, 0.5])];
    let half = std::f64::consts::E / 2.0;
    for (results, expected) in [
        ([0.0, half], Outcome::Undecided),
        ([1000.0, half], Outcome::Undecided),
        ([0.0, half * 1.001], Outcome::Finding),
    ] {
        let judged = of(&program, "cpu/f32/off", &arguments, &results);
        assert_eq!(judged.outcome, expected, "{results:?}: {judged:?}");
    }
}

#[test]
fn reduce_precision_rounds_to_its_own_bits() {
    let reduced = |dtype: DType, exponent_bits, mantissa_bits, count| {
        program(&[(dtype, &[count])], |b, p| b.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[p[0]]))
    };
    let mut next = numbers(1);
    let values: Vec<f64> = (0..4096).map(|_| (next() - 0.5) * 2f64.powi((next() * 40.0) as i32 - 20)).collect();
    for (dtype, exponent_bits, mantissa_bits) in
        [(DType::F32, 8, 7), (DType::F32, 5, 10), (DType::F32, 8, 0), (DType::BF16, 8, 3), (DType::F16, 4, 3)]
    {
        let program = reduced(dtype, exponent_bits, mantissa_bits, 4096);
        let inside = |v: &f64| if exponent_bits == 4 { v % 16.0 } else { v % 60_000.0 };
        let arguments = [tensor(dtype, &[4096], &values.iter().map(inside).collect::<Vec<_>>())];
        let reached = conforms(&program, "cpu/f32/off", &arguments);
        // A tie above a power of two is off by u / (1 + u) of itself.
        let nearest = 1.0 / (1.0 + 2f64.powi(-1 - mantissa_bits as i32));
        assert!(reached > 0.95 * nearest, "{dtype} ({exponent_bits}, {mantissa_bits}): {reached}");
    }
    // An error just inside its bound, and one just beyond.
    let program = reduced(DType::F32, 8, 7, 1);
    let x = 1.0 + 2f64.powi(-12);
    let off = |part: f64| of(&program, "cpu/f32/off", &[tensor(DType::F32, &[1], &[x])], &[x * (1.0 + part / 256.0)]);
    assert_eq!(off(0.99).outcome, Outcome::Pass);
    assert_eq!(off(1.01).outcome, Outcome::Finding);
    // One bit less than promised.
    let arguments = [tensor(DType::F32, &[1], &[1.0 + 3.0 * 2f64.powi(-9)])];
    assert_eq!(of(&program, "cpu/f32/off", &arguments, &[1.0]).outcome, Outcome::Finding);
}

#[test]
fn sums_round_as_the_mode_rounds_each_addition() {
    let mut next = numbers(2);
    let values: Vec<f64> = (0..64 * 200).map(|_| next() + 0.25).collect();
    for dtype in [DType::BF16, DType::F16] {
        let arguments = [tensor(dtype, &[64, 200], &values)];
        let program = sum(Binary::Add, dtype, &[64, 200], 0.0);
        for text in [
            "xla-cpu/f32/off",
            "cpu/f32/off+narrow=bf16+reduce=lanes",
            "v5e/default/off+narrow=bf16",
            "v5e/default/off",
        ] {
            conforms(&program, text, &arguments);
        }
        // Those of f32, rounded once, are held to f32: a sum rounded at each addition is beyond them.
        let rounded = Bench { program: &program, mode: mode("xla-cpu/f32/off"), arguments: &arguments }.run();
        let bench = Bench { program: &program, mode: mode("xla-cpu/f32/off+narrow=f32"), arguments: &arguments };
        assert_eq!(bench.judge(&rounded).outcome, Outcome::Finding, "{dtype}");
    }
}

#[test]
fn an_init_is_one_more_term() {
    let mut next = numbers(3);
    let values: Vec<f64> = (0..16 * 100).map(|_| next() - 0.5).collect();
    let arguments = [tensor(DType::F32, &[16, 100], &values)];
    for init in [1.0, -1e6, 1e-30, 0.1] {
        let program = sum(Binary::Add, DType::F32, &[16, 100], init);
        for text in ["v5e/default/off", "cpu/f32/off", "xla-cpu/f32/off", "cpu/f32/off+reduce=tree32"] {
            conforms(&program, text, &arguments);
        }
        // Without the init the sum is wrong.
        if init.abs() > 0.05 {
            let bare = sum(Binary::Add, DType::F32, &[16, 100], 0.0);
            let dropped = Bench { program: &bare, mode: mode("v5e/default/off"), arguments: &arguments }.run();
            let bench = Bench { program: &program, mode: mode("v5e/default/off"), arguments: &arguments };
            assert_eq!(bench.judge(&dropped).outcome, Outcome::Finding, "{init}");
        }
    }
    for (op, init) in [(Binary::Maximum, 0.25), (Binary::Minimum, -0.25)] {
        let program = sum(op, DType::F32, &[16, 100], init);
        conforms(&program, "v5e/default/off", &arguments);
        let judged = of(&program, "v5e/default/off", &arguments, &[0.0; 16]);
        assert_eq!(judged.outcome, Outcome::Finding, "{op:?}");
    }
}

/// A flushed operand loses all of its product, however large the other one is.
#[test]
fn what_flushing_takes_is_the_operand() {
    let tiny = f64::from(f32::from_bits(0x007f_fff0));
    let x = [tiny, -tiny, 1e-40, 3e-39];
    let y = [1e38, 1e30, 2.0, -1e10];
    let arguments = |dtype| [tensor(dtype, &[4], &x), tensor(dtype, &[4], &y)];
    for text in ["v5e/default/off", "xla-cpu/f32/off"] {
        for dtype in [DType::F32, DType::BF16] {
            for op in [Binary::Multiply, Binary::Divide, Binary::Add] {
                conforms(&binary(op, dtype, 4), text, &arguments(dtype));
            }
            let extremes = [tensor(dtype, &[4], &x), tensor(dtype, &[4], &[1e-41, -1e-40, 2e-40, -1.0])];
            for op in [Binary::Maximum, Binary::Minimum] {
                conforms(&binary(op, dtype, 4), text, &extremes);
            }
            conforms(
                &sum(Binary::Maximum, dtype, &[1, 3], f64::NEG_INFINITY),
                text,
                &[tensor(dtype, &[1, 3], &[-1e-40, 1e-40, 1e-39])],
            );
        }
    }
    // Of two normal numbers the sum is flushed, and so is an exponential.
    let normal = 2f64.powi(-126);
    let close = [tensor(DType::F32, &[1, 2], &[1.5 * normal, -normal])];
    conforms(&sum(Binary::Add, DType::F32, &[1, 2], 0.0), "v5e/default/off", &close);
    let exponential = program(&[(DType::F32, &[3])], |b, p| b.unary(Unary::Exponential, p[0]));
    let small = [tensor(DType::F32, &[3], &[-87.5, -90.0, -1000.0])];
    for text in ["v5e/default/off", "xla-cpu/f32/off", "cpu/f32/off+exp=xla"] {
        conforms(&exponential, text, &small);
    }
    assert_eq!(of(&exponential, "cpu/f32/off", &small, &[0.0; 3]).outcome, Outcome::Finding);
    // A unit that keeps subnormals may not lose them.
    let product = binary(Binary::Multiply, DType::F32, 4);
    let kept = x.iter().zip(y).map(|(x, y)| x * y * 0.99).collect::<Vec<f64>>();
    assert_eq!(of(&product, "cpu/f32/off", &arguments(DType::F32), &kept).outcome, Outcome::Finding);
    assert_eq!(of(&product, "cpu/f32/off", &arguments(DType::F32), &[0.0; 4]).outcome, Outcome::Finding);
    // Nor may one that flushes lose normal numbers.
    let ones = [tensor(DType::F32, &[1], &[2f64.powi(-120)]), tensor(DType::F32, &[1], &[1.0])];
    let product = binary(Binary::Multiply, DType::F32, 1);
    assert_eq!(of(&product, "v5e/default/off", &ones, &[0.0]).outcome, Outcome::Finding);
}

/// Functions and quotients that use up their bounds come near them, and no mode without them may.
#[test]
fn published_errors_are_allowed_where_the_mode_has_them() {
    let mut next = numbers(7);
    let x: Vec<f64> = (0..200).map(|_| next() + 0.5).collect();
    let arguments =
        [tensor(DType::F32, &[200], &x), tensor(DType::F32, &[200], &x.iter().map(|x| 3.0 - x).collect::<Vec<_>>())];
    let exponential = program(&[(DType::F32, &[200])], |b, p| b.unary(Unary::Exponential, p[0]));
    let divide = binary(Binary::Divide, DType::F32, 200);
    for chip in ["v4", "v5e", "v6e"] {
        for (program, arguments) in [(&exponential, &arguments[..1]), (&divide, &arguments[..])] {
            let worst = format!("{chip}/default/off+exp=worst");
            assert!(conforms(program, &worst, arguments) > 0.4, "{chip}");
            let result = Bench { program, mode: mode(&worst), arguments }.run();
            let judged = Bench { program, mode: mode(&format!("{chip}/default/off")), arguments }.judge(&result);
            // A reciprocal within a unit in the last place is half a unit from one that is correctly rounded.
            let may_be_inside = chip == "v4" && arguments.len() == 2;
            assert!(judged.outcome == Outcome::Finding || may_be_inside, "{chip}");
        }
    }
}

/// A function of which the highest accuracy is asked is bound by the implementation that the compiler takes for it.
#[test]
fn the_highest_accuracy_has_a_bound_of_its_own() {
    let mut next = numbers(8);
    let arguments = [tensor(DType::F32, &[200], &(0..200).map(|_| next() + 0.5).collect::<Vec<f64>>())];
    let exponential = program(&[(DType::F32, &[200])], |b, p| b.unary(Unary::Exponential, p[0]));
    let mut highest = exponential.clone();
    let entry = highest.entry;
    for instruction in &mut highest.computations[entry].instructions {
        if matches!(instruction.op, Op::Unary(_)) {
            instruction.settings = Some(Arc::new([Setting::Accuracy(ResultAccuracy::Highest)]));
        }
    }
    for chip in ["v4", "v5e", "v6e"] {
        for errors in ["worst", "seeded"] {
            let text = format!("{chip}/default/off+exp={errors}");
            conforms(&highest, &text, &arguments);
            let result = Bench { program: &exponential, mode: mode(&text), arguments: &arguments }.run();
            let judged = Bench { program: &highest, mode: mode(&text), arguments: &arguments }.judge(&result);
            assert_eq!(judged.outcome, Outcome::Finding, "{text}");
        }
    }
}

#[test]
fn dots_flush_operands_and_lose_low_parts() {
    let tiny = f64::from(f32::from_bits(0x007f_ffff));
    for (text, value) in [
        ("xla-cpu/f32/off", tiny),
        ("v5e/f32/off", tiny),
        // One part of 2^-130 underflows; so do the low parts of a number that is not that small.
        ("v5e/default/off+dsr=off", tiny / 9.0),
        ("v5e/high/off+dsr=off", 2f64.powi(-122) * 1.017_3),
        ("v5e/high/off+split=rne", 2f64.powi(-122) * 1.017_3),
        ("v5e/highest/off+split=trunc", 2f64.powi(-115) * 1.017_301_25),
        ("v5e/highest/off", 2f64.powi(-115) * 1.017_301_25),
        // With a vector operand the vector unit multiplies, and flushes.
        ("v5e/default/off", tiny),
    ] {
        for sizes in [[2, 3, 2], [1, 3, 2]] {
            let [m, k, n] = sizes;
            let dot = matmul([DType::F32; 2], sizes, Precision::Default);
            let arguments =
                [tensor(DType::F32, &[m, k], &vec![value; m * k]), tensor(DType::F32, &[k, n], &vec![1.3e20; k * n])];
            conforms(&dot, text, &arguments);
            // Products that underflow.
            let arguments = [
                tensor(DType::F32, &[m, k], &vec![1.1e-20; m * k]),
                tensor(DType::F32, &[k, n], &vec![1.3e-20; k * n]),
            ];
            conforms(&dot, text, &arguments);
        }
    }
}

/// FACTS 3.3: before v6e a quotient is a product with a reciprocal, which is zero beyond 2^126.
#[test]
fn a_reciprocal_may_be_flushed() {
    let y = [2f64.powi(126), 3e38, -2f64.powi(127), 2f64.powi(125), 3.0];
    let x = [1e38, 3e38, 1e30, 1e38, 1.0];
    let divide = binary(Binary::Divide, DType::F32, 5);
    let arguments = [tensor(DType::F32, &[5], &x), tensor(DType::F32, &[5], &y)];
    for text in ["v5e/default/off", "v5e/default/off+exp=worst", "v4/default/off+exp=seeded", "v6e/default/off"] {
        conforms(&divide, text, &arguments);
    }
    // v6e divides at once: nothing may be lost there.
    let lost = [0.0, 0.0, 0.0, x[3] / y[3], x[4] / y[4]];
    assert_eq!(of(&divide, "v5e/default/off", &arguments, &lost).outcome, Outcome::Pass);
    assert_eq!(of(&divide, "v6e/default/off", &arguments, &lost).outcome, Outcome::Finding);
    // On XLA:CPU only a divisor that is spread is inverted; in f16 its reciprocal is rounded to f16.
    let spread = |dtype| {
        program(&[(dtype, &[64]), (dtype, &[])], |b, p| {
            let y = b.splat(p[1], &[64])?;
            b.binary(Binary::Divide, p[0], y)
        })
    };
    let mut next = numbers(4);
    let x: Vec<f64> = (0..64).map(|_| next() * 60_000.0).collect();
    for (dtype, y) in [(DType::F16, 3.0), (DType::F16, 50_000.0), (DType::F16, 1234.0), (DType::F32, 3.3e38)] {
        let arguments = [tensor(dtype, &[64], &x), tensor(dtype, &[], &[y])];
        conforms(&spread(dtype), "xla-cpu/f32/off", &arguments);
    }
    // A reciprocal that overflows promises nothing.
    let arguments = [tensor(DType::F16, &[64], &vec![0.001; 64]), tensor(DType::F16, &[], &[2f64.powi(-20)])];
    assert_eq!(own(&spread(DType::F16), "xla-cpu/f32/off", &arguments).outcome, Outcome::Abstain);
}

/// 61 x / 61 is x over the reals, and may be a number of bf16; what the machine has is none.
#[test]
fn operands_are_bf16_where_the_machine_has_them_so() {
    let chained = program(&[(DType::F32, &[16, 32])], |b, p| {
        let by = b.constant(DType::F32, 61.0)?;
        let by = b.splat(by, &[16, 32])?;
        let x = b.binary(Binary::Multiply, p[0], by)?;
        let x = b.binary(Binary::Divide, x, by)?;
        let y = b.op(Op::Transpose { permutation: vec![1, 0] }, &[x])?;
        b.matmul(x, y, Precision::High, DType::F32)
    });
    let mut next = numbers(5);
    let values: Vec<f64> = (0..512).map(|_| next() - 0.5).collect();
    let whole: Vec<f64> = values.iter().map(|v| num::round_f64(&num::BF16, *v, num::Direction::NearestEven)).collect();
    for text in ["v5e/high/off", "v5e/default/off", "v5e/highest/off"] {
        conforms(&chained, text, &[tensor(DType::F32, &[16, 32], &whole)]);
    }
    // A value that was rounded to bf16 is one of bf16, however far it is from the truth: only its own error counts.
    let narrow = program(&[(DType::BF16, &[64, 1]), (DType::F32, &[1, 64])], |b, p| {
        let x = b.binary(Binary::Multiply, p[0], p[0])?;
        let x = b.convert(x, DType::F32)?;
        b.matmul(x, p[1], Precision::Default, DType::F32)
    });
    let arguments = [tensor(DType::BF16, &[64, 1], &values[..64]), tensor(DType::F32, &[1, 64], &whole[..64])];
    let reached = conforms(&narrow, "v5e/default/off+dsr=off", &arguments);
    assert!(reached > 0.7, "{reached}");
}

/// Conversions round once, but for the one to bf16 that goes through f32; a wider type takes them as they are.
#[test]
fn conversions_are_held_to_their_last_rounding() {
    let count = 512;
    let mut next = numbers(6);
    let values: Vec<f64> = (0..count).map(|_| (1.0 + next()) * 2f64.powi((next() * 12.0) as i32 - 6)).collect();
    for to in [DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2, DType::F32] {
        let convert = program(&[(DType::F64, &[count])], |b, p| b.convert(p[0], to));
        let arguments = [tensor(DType::F64, &[count], &values)];
        let format = to.format().unwrap();
        let nearest = 1.0 / (1.0 + format.unit_roundoff());
        assert!(conforms(&convert, "xla-cpu/f32/off", &arguments) > 0.9 * nearest, "{to}");
        // Three times the rounding is too much.
        let off: Vec<f64> = values.iter().map(|v| v + 1.6 * format.ulp(*v)).collect();
        assert_eq!(of(&convert, "xla-cpu/f32/off", &arguments, &off).outcome, Outcome::Finding, "{to}");
    }
}
