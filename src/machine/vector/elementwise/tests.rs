use super::super::{Estimate, Eup, Implementation};
use super::*;

const TPU: VectorUnit = VectorUnit {
    flush: true,
    divide: Divide::ByReciprocal,
    zero_tie: ZeroTie::Second,
    eup: Eup::V5,
    implementation: Implementation::Default,
    packed: false,
    error: ErrorModel::CorrectlyRounded,
    estimate: Estimate::Zen4,
};
const CPU: VectorUnit =
    VectorUnit { flush: false, divide: Divide::Exact, zero_tie: ZeroTie::Ieee, eup: Eup::Exact, ..TPU };

fn one(op: Binary, a: f32, b: f32, unit: &VectorUnit) -> f32 {
    binary_scalar(op, a, b, unit)
}

/// FACTS 3.3 and 3.4.
#[test]
fn zeros_subnormals_and_division_as_documented() {
    assert!(one(Binary::Maximum, 0.0, -0.0, &TPU).is_sign_negative());
    assert!(one(Binary::Maximum, -0.0, 0.0, &TPU).is_sign_positive());
    assert!(one(Binary::Minimum, 0.0, -0.0, &TPU).is_sign_negative());
    assert!(one(Binary::Minimum, -0.0, 0.0, &TPU).is_sign_positive());
    assert!(one(Binary::Maximum, 0.0, -0.0, &CPU).is_sign_positive());
    assert!(one(Binary::Maximum, -0.0, 0.0, &CPU).is_sign_positive());
    assert_eq!(one(Binary::Add, 1e-40, 0.0, &TPU), 0.0);
    assert_eq!(one(Binary::Add, 1e-40, 0.0, &CPU), 1e-40);
    assert!(one(Binary::Multiply, 1e-40, f32::INFINITY, &TPU).is_nan());
    assert_eq!(one(Binary::Divide, 1.0, 3e38, &TPU), 0.0);
    assert!(one(Binary::Divide, f32::INFINITY, 3e38, &TPU).is_nan());
    assert!(one(Binary::Divide, 1.0, 3e38, &CPU) > 0.0);
    let above = |unit| {
        let sides = [Side::whole(&[1e-40]), Side::whole(&[0.0])];
        compare(Compare::Gt, CompareOrder::Partial, 1, sides[0], sides[1], unit)
    };
    assert_eq!(above(&TPU), [false]);
    assert_eq!(above(&CPU), [true]);
}

/// Measured on jaxlib 0.10.2, on a CPU.
#[test]
fn a_cpu_takes_the_smaller_zero_for_a_minimum() {
    assert!(one(Binary::Minimum, 0.0, -0.0, &CPU).is_sign_negative());
    assert!(one(Binary::Minimum, -0.0, 0.0, &CPU).is_sign_negative());
    assert!(extreme(&[-0.0, 0.0], f32::INFINITY, false, &CPU).is_sign_negative());
}

/// Measured on jaxlib 0.10.2, on a CPU, for 1e-40 and -1e-40.
#[test]
fn functions_of_subnormals_are_those_of_zeros_but_for_the_odd_ones() {
    let unit = VectorUnit { flush: true, ..CPU };
    let tiny = 1e-40f32;
    let measured = [
        (Unary::Abs, [tiny, tiny]),
        (Unary::Ceil, [0.0, -0.0]),
        (Unary::Exponential, [1.0, 1.0]),
        (Unary::ExponentialMinusOne, [tiny, -tiny]),
        (Unary::Floor, [0.0, -0.0]),
        (Unary::Log, [f32::NEG_INFINITY, f32::NEG_INFINITY]),
        (Unary::LogPlusOne, [0.0, -0.0]),
        (Unary::Logistic, [0.5, 0.5]),
        (Unary::Negate, [-tiny, tiny]),
        (Unary::Rsqrt, [f32::INFINITY, f32::NEG_INFINITY]),
        (Unary::Sign, [0.0, -0.0]),
        (Unary::Sqrt, [0.0, -0.0]),
        (Unary::Tanh, [tiny, -tiny]),
    ];
    for (op, expected) in measured {
        let mut values = [tiny, -tiny];
        unary(op, DType::F32, &mut values, &unit);
        assert_eq!(values.map(f32::to_bits), expected.map(f32::to_bits), "{op:?}: {values:?}");
    }
}

/// Measured on jaxlib 0.10.2 and 0.12.0.1, on a CPU, for 5e-324 and -5e-324 (FACTS 3.4).
#[test]
fn subnormals_of_f64_are_zeros_to_some_functions() {
    let unit = VectorUnit { flush: true, ..CPU };
    let tiny = f64::from_bits(1);
    let infinity = f64::INFINITY;
    let measured = [
        (Unary::Abs, [tiny, tiny]),
        (Unary::Cbrt, [0.0, -0.0]),
        (Unary::Ceil, [0.0, -0.0]),
        (Unary::Cosine, [1.0, 1.0]),
        (Unary::Erf, [0.0, -0.0]),
        (Unary::Exponential, [1.0, 1.0]),
        (Unary::ExponentialMinusOne, [tiny, -tiny]),
        (Unary::Floor, [0.0, -0.0]),
        (Unary::Log, [-infinity, -infinity]),
        (Unary::LogPlusOne, [0.0, -0.0]),
        (Unary::Logistic, [0.5, 0.5]),
        (Unary::Negate, [-tiny, tiny]),
        (Unary::RoundNearestAfz, [0.0, -0.0]),
        (Unary::RoundNearestEven, [0.0, -0.0]),
        (Unary::Rsqrt, [infinity, -infinity]),
        (Unary::Sign, [0.0, -0.0]),
        (Unary::Sine, [tiny, -tiny]),
        (Unary::Sqrt, [0.0, -0.0]),
        (Unary::Tan, [tiny, -tiny]),
        (Unary::Tanh, [0.0, -0.0]),
    ];
    for (op, expected) in measured {
        let mut values = [tiny, -tiny];
        unary_f64(op, &mut values, &unit);
        assert_eq!(values.map(f64::to_bits), expected.map(f64::to_bits), "{op:?}: {values:?}");
    }
    let pairs = [
        (Binary::Add, [tiny, 0.0], 0.0),
        (Binary::Multiply, [-tiny, 2.0], -0.0),
        (Binary::Maximum, [-1.0, tiny], 0.0),
        (Binary::Minimum, [1.0, -tiny], -0.0),
        (Binary::Power, [tiny, 1e-39], 1.0),
        (Binary::Power, [tiny, 1.0], 0.0),
        (Binary::Remainder, [tiny, 1.0], tiny),
        (Binary::Remainder, [tiny, f64::MIN_POSITIVE], tiny),
    ];
    for (op, [a, b], expected) in pairs {
        assert_eq!(binary_f64(op, &[a], &[b], &unit)[0].to_bits(), f64::to_bits(expected), "{op:?} of {a:e} and {b:e}");
    }
    assert!(binary_f64(Binary::Remainder, &[1.0], &[tiny], &unit)[0].is_nan());
}

/// FACTS 3.3: a reciprocal equal to the smallest normal number is flushed too.
#[test]
fn the_smallest_normal_reciprocal_is_flushed() {
    let y = 2f32.powi(126);
    assert_eq!(one(Binary::Divide, 1.0, y, &TPU), 0.0);
    assert!(one(Binary::Divide, 1.0, y / 2.0, &TPU) > 0.0);
}

#[test]
fn a_nan_wins_every_maximum() {
    for unit in [TPU, CPU] {
        assert!(one(Binary::Maximum, f32::NAN, 1.0, &unit).is_nan());
        assert!(one(Binary::Minimum, 1.0, f32::NAN, &unit).is_nan());
        assert!(extreme(&[1.0, f32::NAN, 2.0], f32::NEG_INFINITY, true, &unit).is_nan());
    }
}

const SPECIAL: [f64; 12] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1.5,
    -2.5,
    0.5,
    1e-310,
    -1e-310,
    f64::MAX,
    f64::MIN_POSITIVE,
];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// The processor's own, subnormals kept or flushed before and after; a remainder takes its divisor alone as zero.
#[test]
fn operations_of_f64_are_those_of_ieee() {
    type Operation = fn(f64, f64) -> f64;
    let operations: [(Binary, Operation); 5] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Subtract, |a, b| a - b),
        (Binary::Multiply, |a, b| a * b),
        (Binary::Divide, |a, b| a / b),
        (Binary::Remainder, |a, b| a % b),
    ];
    let flush = |x: f64| if x.abs() < f64::MIN_POSITIVE { 0.0f64.copysign(x) } else { x };
    for (op, of) in operations {
        for (a, b) in SPECIAL.iter().flat_map(|a| SPECIAL.iter().map(move |b| (*a, *b))) {
            assert!(same(binary_f64(op, &[a], &[b], &CPU)[0], of(a, b)), "{a} {op:?} {b}");
            let flushed = if op == Binary::Remainder { of(a, flush(b)) } else { flush(of(flush(a), flush(b))) };
            assert!(same(binary_f64(op, &[a], &[b], &TPU)[0], flushed), "{a} {op:?} {b}");
        }
    }
    // IEEE 754-2019 9.6: NaN first, +0 above -0; a TPU takes the second of two zeros.
    for (a, b) in SPECIAL.iter().flat_map(|a| SPECIAL.iter().map(move |b| (*a, *b))) {
        let [maximum, minimum] = [Binary::Maximum, Binary::Minimum].map(|op| binary_f64(op, &[a], &[b], &CPU)[0]);
        let order = [a, b].map(|v| if v.is_nan() { None } else { Some(v) });
        match order {
            [Some(x), Some(y)] => {
                let (low, high) = if x.total_cmp(&y).is_lt() { (x, y) } else { (y, x) };
                assert!(same(maximum, high) && same(minimum, low), "{a} {b}: {maximum} {minimum}");
            }
            _ => assert!(maximum.is_nan() && minimum.is_nan(), "{a} {b}"),
        }
    }
    for op in [Binary::Maximum, Binary::Minimum] {
        assert!(
            same(binary_f64(op, &[0.0], &[-0.0], &TPU)[0], -0.0) && same(binary_f64(op, &[-0.0], &[0.0], &TPU)[0], 0.0)
        );
    }
}

#[test]
fn functions_of_f64_are_the_nearest() {
    let of = |unary, x: f64, unit: &VectorUnit| {
        let mut values = [x];
        unary_f64(unary, &mut values, unit);
        values[0]
    };
    let known = [
        (Unary::Abs, -2.5, 2.5),
        (Unary::Negate, 0.0, -0.0),
        (Unary::Ceil, -0.5, -0.0),
        (Unary::Floor, -0.5, -1.0),
        (Unary::RoundNearestAfz, 2.5, 3.0),
        (Unary::RoundNearestEven, 2.5, 2.0),
        (Unary::Sign, -2.5, -1.0),
        (Unary::Sign, -0.0, -0.0),
        (Unary::Sign, f64::NAN, f64::NAN),
        (Unary::Exponential, 1.0, std::f64::consts::E),
        (Unary::ExponentialMinusOne, 1e-20, 1e-20),
        (Unary::Log, std::f64::consts::E, 1.0),
        (Unary::LogPlusOne, 1e-20, 1e-20),
        (Unary::Tanh, f64::INFINITY, 1.0),
        (Unary::Rsqrt, 4.0, 0.5),
        (Unary::Sqrt, 2.25, 1.5),
        (Unary::Logistic, 0.0, 0.5),
        (Unary::Logistic, f64::NEG_INFINITY, 0.0),
        // 1 / (1 + e^-1), to 17 digits.
        (Unary::Logistic, 1.0, 0.731_058_578_630_004_9),
    ];
    for (unary, x, y) in known {
        assert!(same(of(unary, x, &CPU), y), "{unary:?} {x}: {}", of(unary, x, &CPU));
    }
    assert!([&TPU, &CPU].iter().all(|unit| same(of(Unary::Negate, 1e-310, unit), -1e-310)));
    assert!(same(of(Unary::Negate, f64::MIN_POSITIVE, &TPU), -f64::MIN_POSITIVE));
}

#[test]
fn comparisons_of_f64_flush_unless_they_are_total() {
    let less = |order, a, b, unit: &VectorUnit| compare_f64(Compare::Lt, order, &[a], &[b], unit)[0];
    assert!(less(CompareOrder::Partial, 0.0, 1e-310, &CPU) && !less(CompareOrder::Partial, 0.0, 1e-310, &TPU));
    assert!(less(CompareOrder::Total, 0.0, 1e-310, &TPU) && less(CompareOrder::Total, -0.0, 0.0, &CPU));
    assert!(!less(CompareOrder::Partial, -0.0, 0.0, &CPU) && !less(CompareOrder::Partial, f64::NAN, 1.0, &CPU));
    assert!(less(CompareOrder::Total, 1.0, f64::NAN, &CPU));
}

/// The quick way and the plain one agree, whatever the row holds.
#[test]
fn extremes_are_folds_of_maximum_and_minimum() {
    let rows: [&[f32]; 11] = [
        &[],
        &[1.0, 3.0, -2.0],
        &[-0.0, 0.0, -0.0],
        &[1e-40, -1e-40],
        &[-1.0, -5.0],
        &[1.0, 3.0, 2.0],
        &[-1.0, -3.0],
        &[0.0, -0.0],
        &[1e-40, -1e-40, -0.0],
        &[1.0, f32::NAN, 2.0],
        &[f32::NEG_INFINITY, f32::INFINITY],
    ];
    for unit in [&CPU, &TPU] {
        for row in rows {
            for (init, largest) in [(f32::NEG_INFINITY, true), (f32::INFINITY, false), (0.5, true), (f32::NAN, false)] {
                let op = if largest { Binary::Maximum } else { Binary::Minimum };
                let steps = row.iter().fold(init, |best, v| one(op, best, *v, unit));
                let got = extreme(row, init, largest, unit);
                assert!(
                    got.to_bits() == steps.to_bits() || got.is_nan() && steps.is_nan(),
                    "{row:?}: {got} is not {steps}"
                );
            }
        }
    }
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    assert_eq!([one(Binary::Remainder, 5.5, 2.0, &CPU), one(Binary::Remainder, -5.5, 2.0, &TPU)], [1.5, -1.5]);
    assert!(one(Binary::Remainder, 1.0, 0.0, &CPU).is_nan());
}

/// Zeros, infinities and NaN of a quotient are the unit's own; others err, by less than their bound.
#[test]
fn quotients_err_within_their_bound_alone() {
    let unit = VectorUnit { error: ErrorModel::Worst, ..TPU };
    let quotient = |a: f32, b: f32| {
        let mut values = [a];
        binary(Binary::Divide, DType::F32, &mut values, Side::whole(&[b]), &unit);
        values[0]
    };
    assert_eq!([quotient(0.0, 3.0), quotient(1.0, 0.0), quotient(-1.0, f32::INFINITY)], [0.0, f32::INFINITY, -0.0]);
    assert!(quotient(0.0, 0.0).is_nan() && quotient(f32::INFINITY, f32::INFINITY).is_nan());
    for (a, b) in [(1.0f32, 3.0f32), (-7.0, 5.0), (1e20, 3e-5)] {
        let off = (f64::from(quotient(a, b)) / (f64::from(a) / f64::from(b)) - 1.0).abs();
        assert!(off > 0.0 && off < 1e-5, "{a} / {b} is off by {off}");
    }
}
