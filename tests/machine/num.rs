//! Proofs of `num`: formats against their codes, rounding against searches that share no code with it.

use std::cmp::Ordering;

use half::{bf16, f16};
use proptest::prelude::*;
use rug::Float;
use rug::float::Round;
use ulpgate::num::{
    BF16, Direction, F4E2M1FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F16,
    F32, F64, FORMATS, Format, Specials, TF32, TOY6, bf16_nearest, bf16_truncate, exp2i, find_format, flush_f32, round,
    round_f64, round_mpfr,
};

use Direction::{NearestEven, TowardZero};

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The finite numbers from +0 up with their codes, and the power of two (or gap) where overflow begins.
fn magnitudes(format: &Format) -> Vec<(f64, u64)> {
    let mut values: Vec<(f64, u64)> = (0..1 << (format.exponent_bits + format.fraction_bits))
        .map(|code| (format.decode(code), code))
        .filter(|v| v.0.is_finite())
        .collect();
    let (last, before) = (values[values.len() - 1], values[values.len() - 2]);
    values.push((last.0 + (last.0 - before.0), last.1 + 1));
    values
}

/// The nearest number, ties to the even code, found by comparing a positive real number with midpoints; these are exact
/// in f64 for all formats but f64.
fn nearest(format: &Format, values: &[(f64, u64)], compare: impl Fn(f64) -> Ordering) -> f64 {
    let above = values.partition_point(|(value, _)| compare(*value) != Ordering::Less);
    if above == values.len() {
        return overflow(format);
    }
    let (low, high) = (values[above - 1], values[above]);
    let up = match compare((low.0 + high.0) / 2.0) {
        Ordering::Less => false,
        Ordering::Equal => low.1 & 1 == 1,
        Ordering::Greater => true,
    };
    match (up, above == values.len() - 1) {
        (true, true) => overflow(format),
        (true, false) => high.0,
        (false, _) => low.0,
    }
}

fn overflow(format: &Format) -> f64 {
    match format.specials {
        Specials::Ieee => f64::INFINITY,
        Specials::Finite => format.max_finite(),
        Specials::OneNan | Specials::NegativeZeroNan | Specials::PowersOfTwo => f64::NAN,
    }
}

/// A magnitude with the sign of `x`, where the format has that.
fn with_sign(format: &Format, magnitude: f64, x: f64) -> f64 {
    if magnitude == 0.0 && !format.has_negative_zero() { magnitude } else { magnitude.copysign(x) }
}

/// The formats that have numbers of both signs; powers of two alone are in `small_floats`.
fn signed() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| format.has_negative_numbers())
}

#[test]
fn formats_are_found_by_name() {
    for format in FORMATS {
        assert_eq!(find_format(format.name), Some(*format));
    }
    assert_eq!(find_format("f7"), None);
}

#[test]
fn every_code_of_16_bits_is_that_of_half() {
    for code in 0..=u16::MAX {
        for (format, by_half) in [(&BF16, bf16::from_bits(code).to_f64()), (&F16, f16::from_bits(code).to_f64())] {
            let value = format.decode(code.into());
            assert!(same(value, by_half), "{} {code:#06x}: {value} {by_half}", format.name);
            if !value.is_nan() {
                assert_eq!(format.encode(value), u64::from(code), "{} {value:e}", format.name);
            }
        }
    }
}

#[test]
fn every_code_of_8_bits_is_as_ofp8_defines_it() {
    for code in 0..=u8::MAX {
        // E5M2 is the upper byte of binary16.
        let e5m2 = f16::from_bits(u16::from(code) << 8).to_f64();
        // OFP8 v1.0, section 5.2: bias 7; S.1111.111 is NaN; no infinities.
        let (exponent, mantissa) = (i32::from(code >> 3 & 15), f64::from(code & 7));
        let magnitude = match (exponent, mantissa) {
            (15, 7.0) => f64::NAN,
            (0, _) => mantissa * 2f64.powi(-9),
            _ => (8.0 + mantissa) * 2f64.powi(exponent - 10),
        };
        let e4m3 = if code < 128 { magnitude } else { -magnitude };
        for (format, expected) in [(&F8E5M2, e5m2), (&F8E4M3FN, e4m3)] {
            let value = format.decode(code.into());
            assert!(same(value, expected), "{} {code:#04x}: {value} {expected}", format.name);
            if !value.is_nan() {
                assert_eq!(format.encode(value), u64::from(code), "{} {value:e}", format.name);
            }
        }
    }
}

#[test]
fn codes_ascend_between_the_documented_limits() {
    let limits = [
        (&BF16, 3.3895313892515355e38, 2f64.powi(-126), 2f64.powi(-133)),
        (&F16, 65504.0, 2f64.powi(-14), 2f64.powi(-24)),
        (&F8E5M2, 57344.0, 2f64.powi(-14), 2f64.powi(-16)),
        (&F8E5M2FNUZ, 57344.0, 2f64.powi(-15), 2f64.powi(-17)),
        (&F8E4M3FN, 448.0, 2f64.powi(-6), 2f64.powi(-9)),
        (&F8E4M3, 240.0, 2f64.powi(-6), 2f64.powi(-9)),
        (&F8E4M3FNUZ, 240.0, 2f64.powi(-7), 2f64.powi(-10)),
        (&F8E4M3B11FNUZ, 30.0, 2f64.powi(-10), 2f64.powi(-13)),
        (&F8E3M4, 15.5, 0.25, 2f64.powi(-6)),
        (&F4E2M1FN, 6.0, 1.0, 0.5),
        (&TOY6, 14.0, 0.25, 0.0625),
    ];
    for (format, largest, min_normal, min_subnormal) in limits {
        let values = magnitudes(format);
        assert!(values.is_sorted_by(|a, b| a.0 < b.0), "{}", format.name);
        assert_eq!((values[1].0, values[values.len() - 2].0), (min_subnormal, largest), "{}", format.name);
        assert_eq!((format.min_subnormal(), format.max_finite()), (min_subnormal, largest), "{}", format.name);
        assert_eq!(format.min_normal(), min_normal, "{}", format.name);
        // The ulp is the distance to the next number.
        for pair in values.windows(2) {
            assert_eq!(format.ulp(pair[0].0), pair[1].0 - pair[0].0, "{} {:e}", format.name, pair[0].0);
        }
    }
    assert_eq!((F32.max_finite(), F32.min_subnormal()), (f64::from(f32::MAX), 2f64.powi(-149)));
    assert_eq!((F64.max_finite(), F64.min_normal()), (f64::MAX, f64::MIN_POSITIVE));
    assert_eq!(TF32.max_finite(), (2.0 - 2f64.powi(-10)) * 2f64.powi(127));
}

/// Half an ulp of 1, and so what a sum of 1 and it loses in a tie.
#[test]
fn the_unit_roundoff_is_half_an_ulp_of_one() {
    for format in FORMATS {
        assert_eq!(format.unit_roundoff(), format.ulp(1.0) / 2.0, "{}", format.name);
    }
    assert_eq!((BF16.unit_roundoff(), F32.unit_roundoff()), (2f64.powi(-8), 2f64.powi(-24)));
}

#[test]
fn a_format_contains_its_numbers_and_no_others() {
    for format in FORMATS {
        assert!(format.contains(format.max_finite()) && format.contains(1.0));
        assert_eq!(format.contains(f64::NAN), *format != &F4E2M1FN, "{}", format.name);
        assert_eq!([-0.0, 0.0, -1.0].map(|v| format.contains(v)), [*format != &F8E8M0FNU; 3], "{}", format.name);
        assert_eq!(format.contains(f64::INFINITY), format.specials == Specials::Ieee, "{}", format.name);
        // The middle between 1 and the next number is a number of f64 alone, where no f64 lies in the middle.
        let middle = 1.0 + format.unit_roundoff();
        assert_eq!(format.contains(middle), middle == 1.0, "{}", format.name);
    }
}

/// By halving and doubling, which are exact down to the last subnormal.
#[test]
fn powers_of_two_reach_both_ends_of_f64() {
    let (mut down, mut up) = (1.0, 1.0);
    for exponent in 0..=1100 {
        assert_eq!((exp2i(-exponent), exp2i(exponent)), (down, up), "{exponent}");
        (down, up) = (down / 2.0, up * 2.0);
    }
}

/// Fewer bits than the format keeps: they move up, and none is lost.
#[test]
fn short_significands_are_exact() {
    let wide = signed().filter(|format| format.fraction_bits > 1);
    for (format, direction) in wide.flat_map(|format| [(format, NearestEven), (format, TowardZero)]) {
        for exponent in [-2, -1, 0, 1] {
            let value = round(format, true, 3, exponent, false, direction);
            assert_eq!(value, -3.0 * 2f64.powi(exponent as i32), "{} {exponent}", format.name);
        }
    }
    // A tail below bits that all stay is cut off toward zero.
    assert_eq!(round(&F32, false, 3, 0, true, TowardZero), 3.0);
}

/// Exponents that no i32 holds overflow and vanish like all others.
#[test]
fn exponents_have_no_limit() {
    for format in signed() {
        let (infinity, largest) = (overflow(format), format.max_finite());
        assert!(same(round(format, false, 1, 1 << 40, false, NearestEven), infinity), "{}", format.name);
        assert_eq!(round(format, true, 1, 1 << 40, false, TowardZero), -largest, "{}", format.name);
        assert!(same(round(format, true, 1, -(1 << 40), false, NearestEven), with_sign(format, 0.0, -1.0)));
    }
}

#[test]
fn nan_and_infinity_keep_their_kind() {
    for format in FORMATS {
        for direction in [NearestEven, TowardZero] {
            let nan = if format.has_nan() { f64::NAN } else { -0.0 };
            assert!(same(round_f64(format, f64::NAN, direction), nan), "{}", format.name);
            assert!(same(format.decode(format.encode(f64::NAN)), nan), "{}", format.name);
            for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
                let expected = with_sign(format, overflow(format), infinity);
                assert!(same(round_f64(format, infinity, direction), expected), "{}", format.name);
                assert!(same(round_mpfr(format, &Float::with_val(60, infinity), Ordering::Equal, direction), expected));
                let coded = if format.has_nan() { expected } else { -0.0 };
                assert!(same(format.decode(format.encode(infinity)), coded), "{}", format.name);
            }
        }
    }
}

/// Each pair of toy6 values through MPFR at the fewest bits allowed, against a search that knows quotients as fractions.
#[test]
fn every_pair_of_toy6_values_is_rounded_as_by_search() {
    type Operation = (fn(f64, f64) -> f64, fn(&Float, &Float, u32) -> (Float, Ordering), fn(f64, f64) -> (f64, f64));
    let operations: [Operation; 4] = [
        (|a, b| a + b, |a, b, p| Float::with_val_round(p, a + b, Round::Nearest), |a, b| (a + b, 1.0)),
        (|a, b| a - b, |a, b, p| Float::with_val_round(p, a - b, Round::Nearest), |a, b| (a - b, 1.0)),
        (|a, b| a * b, |a, b, p| Float::with_val_round(p, a * b, Round::Nearest), |a, b| (a * b, 1.0)),
        (|a, b| a / b, |a, b, p| Float::with_val_round(p, a / b, Round::Nearest), |a, b| (a, b)),
    ];
    let values = magnitudes(&TOY6);
    for (a, b) in (0..64).flat_map(|a| (0..64).map(move |b| (TOY6.decode(a), TOY6.decode(b)))) {
        for (ieee, mpfr, fraction) in &operations {
            let in_f64 = ieee(a, b);
            let expected = if in_f64 == 0.0 || !in_f64.is_finite() {
                // Signs and specials are those of any IEEE format.
                in_f64
            } else {
                let (numerator, denominator) = fraction(a, b);
                let (numerator, denominator) = (numerator.abs(), denominator.abs());
                let magnitude = nearest(&TOY6, &values, |x| numerator.total_cmp(&(x * denominator)));
                magnitude.copysign(in_f64)
            };
            let (value, ternary) = mpfr(&Float::with_val(3, a), &Float::with_val(3, b), TOY6.fraction_bits + 3);
            let result = round_mpfr(&TOY6, &value, ternary, NearestEven);
            assert!(same(result, expected), "{a} {b}: {result}, not {expected} ({in_f64})");
        }
    }
}

#[test]
fn fast_bf16_rounding_is_the_rounding_function() {
    for upper in 0..=u16::MAX {
        for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let x = f32::from_bits(u32::from(upper) << 16 | lower);
            for (fast, direction) in [(bf16_nearest(x), NearestEven), (bf16_truncate(x), TowardZero)] {
                let expected = match (x.is_infinite(), direction) {
                    (true, _) => f64::from(x),
                    _ => round_f64(&BF16, x.into(), direction),
                };
                assert!(same(fast.into(), expected), "{:#010x}: {fast:e}, not {expected:e}", x.to_bits());
                assert_eq!(fast.to_bits() & 0xffff, 0);
                assert_eq!(fast.is_sign_negative(), x.is_sign_negative());
            }
            let flushed = if x.is_subnormal() { 0f32.copysign(x) } else { x };
            assert_eq!(flush_f32(x).to_bits(), flushed.to_bits());
        }
    }
}

/// Why conversions from f64 do not go through `half`: it looks at the upper half of the bits alone.
#[test]
fn a_tie_broken_by_a_late_bit_goes_up() {
    let x = 1.003_906_25 + 2f64.powi(-50);
    assert_eq!(bf16::from_f64(x).to_f64(), 1.0);
    assert_eq!(round_f64(&BF16, x, NearestEven), 1.007_812_5);
    assert_eq!(round_f64(&BF16, 1.003_906_25, NearestEven), 1.0);
    assert_eq!(round_f64(&BF16, x, TowardZero), 1.0);
}

#[test]
fn overflow_follows_format_and_direction() {
    for (x, expected) in [(448.0, 448.0), (463.9, 448.0), (464.0, 448.0), (464.1, f64::NAN), (1e300, f64::NAN)] {
        assert!(same(round_f64(&F8E4M3FN, x, NearestEven), expected), "{x}");
        assert_eq!(round_f64(&F8E4M3FN, -x, TowardZero), -448.0);
    }
    assert_eq!(round_f64(&F16, 65519.99, NearestEven), 65504.0);
    assert_eq!(round_f64(&F16, -65520.0, NearestEven), f64::NEG_INFINITY);
    assert_eq!(round_f64(&F16, -1e9, TowardZero), -65504.0);
    assert_eq!(round_f64(&F32, f64::MAX, TowardZero), f64::from(f32::MAX));
}

/// Any f64, and numbers at, around and between those of a format.
fn near_a_format() -> impl Strategy<Value = (&'static Format, f64)> {
    let formats: Vec<&'static Format> = signed().collect();
    (0..formats.len(), any::<u64>(), any::<u64>(), -2i64..3, 0u8..6).prop_map(move |(row, code, other, steps, kind)| {
        let format = formats[row];
        let (low, high) = (format.decode(code), format.decode(code.wrapping_add(1)));
        let step = |x: f64| if x.is_finite() { f64::from_bits(x.to_bits().wrapping_add_signed(steps)) } else { x };
        let x = match kind {
            0 => f64::from_bits(other),
            1 => step(low),
            2 | 3 => step(low / 2.0 + high / 2.0),
            4 => low * (f64::from_bits(0x3ff0 << 48 | other >> 12) - 0.5),
            _ => format.max_finite() * (1.0 + (other % 64) as f64 * format.unit_roundoff() / 16.0),
        };
        (format, x)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30_000))]

    /// No neighbour in the format is nearer, and a tie went to the even code; distances are exact in MPFR.
    #[test]
    fn f64_is_rounded_to_the_nearest((format, x) in near_a_format()) {
        let rounded = round_f64(format, x, NearestEven);
        if x.is_nan() {
            prop_assert!(rounded.is_nan() || *format == F4E2M1FN);
            return Ok(());
        }
        let limit = Float::with_val(64, format.max_finite()) + Float::with_val(64, format.ulp(format.max_finite())) / 2u32;
        // All ones, and so odd, is the largest significand of a format, but for `fn` ones: a tie there overflows.
        let overflows = match x.abs().partial_cmp(&limit) {
            Some(Ordering::Equal) => format.specials != Specials::OneNan,
            ordering => ordering == Some(Ordering::Greater),
        };
        if overflows {
            prop_assert!(same(rounded, overflow(format).copysign(x)));
            return Ok(());
        }
        prop_assert!(same(rounded, with_sign(format, rounded.abs(), x)));
        let code = format.encode(rounded);
        prop_assert!(same(format.decode(code), rounded), "{} {x:e} -> {rounded:e} is not in the format", format.name);
        prop_assert!(format.contains(rounded));
        let distance = |y: f64| (Float::with_val(2200, x) - y).abs();
        let mut neighbours = vec![format.decode(code + 1)];
        neighbours.push(if rounded == 0.0 { -neighbours[0] } else { format.decode(code - 1) });
        for neighbour in neighbours.into_iter().filter(|y| y.is_finite()) {
            match distance(rounded).partial_cmp(&distance(neighbour)) {
                Some(Ordering::Less) => {}
                Some(Ordering::Equal) => prop_assert_eq!(code & 1, 0, "{} {:e} -> {:e}", format.name, x, rounded),
                _ => prop_assert!(false, "{} {x:e} -> {rounded:e}, but {neighbour:e} is nearer", format.name),
            }
        }
        if format.width() <= 16 {
            let searched = nearest(format, &magnitudes(format), |y| x.abs().total_cmp(&y));
            prop_assert!(same(with_sign(format, searched, x), rounded));
        }
        if *format == F32 {
            prop_assert!(same(rounded, f64::from(x as f32)));
        }
    }

    /// The largest magnitude of the format that is not above the value's.
    #[test]
    fn toward_zero_is_the_largest_not_above((format, x) in near_a_format()) {
        let rounded = round_f64(format, x, TowardZero);
        if !x.is_finite() {
            prop_assert!(!rounded.is_finite() || *format == F4E2M1FN);
            return Ok(());
        }
        prop_assert!(same(rounded, with_sign(format, rounded.abs(), x)));
        prop_assert!(rounded.abs() <= x.abs() && format.contains(rounded));
        let next = format.decode(format.encode(rounded.abs()) + 1);
        prop_assert!(rounded.abs() == format.max_finite() || next > x.abs(), "{} {x:e} -> {rounded:e}", format.name);
    }

    /// Few bits and the ternary value are as good as 200 bits: nothing is rounded twice.
    #[test]
    fn few_bits_with_ternary_round_as_many((format, x) in near_a_format(), (_, y) in near_a_format(), tail in -200i32..0) {
        let (x, y) = (x.clamp(-f64::MAX, f64::MAX), y.clamp(-f64::MAX, f64::MAX));
        if x.is_nan() || y.is_nan() {
            return Ok(());
        }
        let (a, b) = (Float::with_val(53, x), Float::with_val(53, y));
        // A tail far below the last place, which few bits only leave in the ternary value.
        let small = Float::with_val(53, x * 2f64.powi(tail));
        type Operation = fn(u32, &Float, &Float, &Float) -> (Float, Ordering);
        let operations: [(&str, Operation); 7] = [
            ("value", |p, a, _, _| Float::with_val_round(p, a, Round::Nearest)),
            ("plus tail", |p, a, _, small| Float::with_val_round(p, a + small, Round::Nearest)),
            ("minus tail", |p, a, _, small| Float::with_val_round(p, a - small, Round::Nearest)),
            ("times", |p, a, b, _| Float::with_val_round(p, a * b, Round::Nearest)),
            ("over", |p, a, b, _| Float::with_val_round(p, a / b, Round::Nearest)),
            ("root", |p, a, _, _| Float::with_val_round(p, a.sqrt_ref(), Round::Nearest)),
            ("exp", |p, a, _, _| Float::with_val_round(p, a.exp_ref(), Round::Nearest)),
        ];
        for (name, operation) in operations {
            let (many, many_ternary) = operation(400, &a, &b, &small);
            // MPFR itself leaves its range for exponentials of large numbers.
            if many.is_zero() && many_ternary != Ordering::Equal || many.is_infinite() {
                continue;
            }
            for direction in [NearestEven, TowardZero] {
                let (few, ternary) = operation(format.fraction_bits + 3, &a, &b, &small);
                let (few, many) =
                    (round_mpfr(format, &few, ternary, direction), round_mpfr(format, &many, many_ternary, direction));
                prop_assert!(same(few, many), "{} {name} {x:e} {y:e} {direction:?}: {few:e} {many:e}", format.name);
            }
        }
        // A value that f64 holds is rounded alike both ways.
        let by_mpfr = round_mpfr(format, &Float::with_val(format.fraction_bits.max(50) + 3, x), Ordering::Equal, NearestEven);
        prop_assert!(same(by_mpfr, round_f64(format, x, NearestEven)));
    }
}
