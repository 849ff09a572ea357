//! Every function of MPFR's that truths are made of, at precisions from 2 to 4096 bits and at arguments near which its
//! algorithms change or cancel. That this ends shows that none of them ends the process or runs on; and what it says at one
//! precision must agree with what it says at another.

use rug::float::{Constant, Round};
use rug::{Float, Integer};

use super::super::Mpfr;
use crate::arithmetic::{Bivariate, Field};
use crate::between::Between;
use crate::ir::Unary;
use crate::turn::Cosine;

const UNARY: [Unary; 21] = [
    Unary::Abs,
    Unary::Cbrt,
    Unary::Ceil,
    Unary::Cosine,
    Unary::Erf,
    Unary::Exponential,
    Unary::ExponentialMinusOne,
    Unary::Floor,
    Unary::Log,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Negate,
    Unary::RoundNearestAfz,
    Unary::RoundNearestEven,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sine,
    Unary::Sqrt,
    Unary::Tan,
    Unary::Tanh,
    Unary::Not,
];

const PRECISIONS: [u32; 20] =
    [2, 3, 4, 5, 7, 8, 11, 24, 53, 64, 107, 128, 200, 512, 1020, 1021, 1024, 1500, 2048, 4096];

/// Numbers, of both signs, with as many bits as the precision or with those of an f64.
fn arguments(bits: u32) -> Vec<Float> {
    let root = |square: u32, bits: u32| Float::with_val(bits, square).sqrt();
    let power = |exponent: i32| Float::with_val(bits, Float::i_exp(1, exponent));
    let pi = Float::with_val(bits, Constant::Pi);
    let mut all: Vec<Float> =
        [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 10.0, 27.0, 40.0, 53.5, 1e5, 1e22, 1e300, 5e-324, f64::INFINITY]
            .iter()
            .map(|value| Float::with_val(53, *value))
            .collect();
    // Near the zeros of partial sums of erf's series, at turning points of sines, beside one, and at both ends of the range.
    all.extend([root(3, bits), root(3, 24), root(3, 53), root(3, bits + 40), root(2, bits), root(10, bits)]);
    all.extend([
        pi.clone(),
        Float::with_val(bits, &pi / 2u32),
        Float::with_val(bits, &pi * 1000u32),
        Float::with_val(bits, &pi / 6u32),
    ]);
    let one = Float::with_val(bits, 1);
    let (mut above, mut below) = (one.clone(), one);
    above.next_up();
    below.next_down();
    all.extend([above, below, power(-(bits as i32)), power(-(bits as i32) / 2), power(bits as i32 / 2 + 1)]);
    all.extend([
        power(13_000),
        power(20_000),
        power(1 << 29),
        power(-(1 << 29)),
        power((1 << 30) - 2),
        power(-(1 << 30) + 2),
    ]);
    let negative: Vec<Float> = all.iter().map(|value| -value.clone()).collect();
    all.extend(negative);
    all.push(Float::with_val(53, f64::NAN));
    all
}

/// An argument as it is, and as the end of an enclosure.
fn operands(value: &Float) -> [Between; 3] {
    let (mut above, mut below) = (value.clone(), value.clone());
    above.next_up();
    below.next_down();
    if !value.is_finite() || !above.is_finite() || !below.is_finite() {
        return [Between::Exact(value.clone()), Between::Exact(value.clone()), Between::Unknown];
    }
    [Between::Exact(value.clone()), Between::real(value.clone(), above), Between::real(below, value.clone())]
}

/// Two enclosures of one value may not lie apart, nor may one be NaN and the other a number.
#[track_caller]
fn assert_agree(one: &Between, other: &Between, what: &dyn Fn() -> String) {
    let unknown = |value: &Between| matches!(value, Between::Unknown);
    if unknown(one) || unknown(other) {
        return;
    }
    assert_eq!(one.is_nan(), other.is_nan(), "{}: {one:?} and {other:?}", what());
    let (Some((a, b)), Some((c, d))) = (one.ends(), other.ends()) else { return };
    assert!(a <= b && c <= d && a <= d && c <= b, "{}: {one:?} and {other:?}", what());
}

#[test]
fn no_function_of_one_number_ends_the_process() {
    for bits in PRECISIONS {
        let (here, finer) = (Mpfr::new(bits), Mpfr::new(2 * bits + 60));
        // The ends of enclosures are numbers, too.
        let kinds = if bits > 512 { 1 } else { 3 };
        for value in arguments(bits) {
            for operand in operands(&value).into_iter().take(kinds) {
                for unary in UNARY {
                    let what = || format!("{} of {operand:?} at {bits} bits", unary.name());
                    // Where the truth's own arithmetic takes long, it is asked once.
                    let one = here.function(unary, &operand);
                    if bits <= 200 {
                        assert_agree(&one, &finer.function(unary, &operand), &what);
                    }
                }
            }
        }
    }
}

#[test]
fn no_function_of_two_numbers_ends_the_process() {
    for bits in [2, 5, 24, 64, 128, 1021, 4096] {
        let (here, finer) = (Mpfr::new(bits), Mpfr::new(bits + 70));
        let all = arguments(bits);
        for (at, x) in all.iter().enumerate() {
            for (step, y) in all.iter().enumerate() {
                // At many bits not every pair.
                let each = [1, 7, 31][usize::from(bits > 200) + usize::from(bits > 2000)];
                if !(at + step).is_multiple_of(each) {
                    continue;
                }
                let [x, y] = [&operands(x)[step % 3], &operands(y)[at % 3]];
                for function in [Bivariate::Atan2, Bivariate::Power] {
                    let what = || format!("{function:?} of {x:?} and {y:?} at {bits} bits");
                    assert_agree(&here.bivariate(function, x, y), &finer.bivariate(function, x, y), &what);
                }
                for field in [Field::Add, Field::Subtract, Field::Multiply, Field::Divide] {
                    let what = || format!("{field:?} of {x:?} and {y:?} at {bits} bits");
                    assert_agree(&here.binary(field, x, y), &finer.binary(field, x, y), &what);
                }
            }
        }
    }
}

#[test]
fn cosines_of_turns_agree_at_all_precisions() {
    for bits in PRECISIONS {
        let (here, finer) = (Mpfr::new(bits), Mpfr::new(2 * bits + 60));
        for (numerator, denominator) in
            [(1, 5), (1, 7), (2, 9), (1, 8), (1, 16384), (4095, 16384), (1, u64::from(u32::MAX))]
        {
            let Some(Cosine::Of { turn, is_negative: false }) = Cosine::new(numerator, denominator) else {
                panic!("{numerator} / {denominator} is such a turn")
            };
            for factor in [1, -1, 2] {
                let (one, other) = (here.cosine(turn, factor), finer.cosine(turn, factor));
                assert_agree(&one, &other, &|| format!("{turn:?} at {bits} bits"));
                let angle = Float::with_val(bits + 80, Constant::Pi) * 2u32 * Integer::from(numerator)
                    / Integer::from(denominator);
                let exact = Between::Exact(Float::with_val_round(bits + 60, angle.cos(), Round::Nearest).0 * factor);
                let Some((lo, hi)) = one.ends() else { panic!("a cosine is a number") };
                let width = Float::with_val(64, hi - lo);
                let Between::Exact(near) = &exact else { panic!("it is exact") };
                assert!(Float::with_val(64, near - lo).abs() <= width.clone() * 2u32 && width > 0);
            }
        }
    }
}
