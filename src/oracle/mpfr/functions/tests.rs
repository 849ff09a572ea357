use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const UNARY: [Unary; 5] = [Unary::Cbrt, Unary::Cosine, Unary::Erf, Unary::Sine, Unary::Tan];

fn wide(value: f64) -> Float {
    Float::with_val(2200, value)
}

/// A function of one number, nearly exactly.
fn unary(function: Unary, x: &Float) -> Float {
    const BITS: u32 = 400;
    match function {
        Unary::Cbrt => Float::with_val(BITS, x.cbrt_ref()),
        Unary::Cosine => Float::with_val(BITS, x.cos_ref()),
        Unary::Erf => Float::with_val(BITS, x.erf_ref()),
        Unary::Sine => Float::with_val(BITS, x.sin_ref()),
        Unary::Tan => Float::with_val(BITS, x.tan_ref()),
        other => panic!("{other:?}"),
    }
}

/// Any sign and magnitude, mostly of the order of one, and often at a quarter of a turn.
fn number(rng: &mut ChaCha8Rng) -> f64 {
    let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
    sign * match rng.random_range(0..6) {
        0 => f64::from(rng.random_range(0..9u32)),
        1 => f64::from(rng.random_range(0..40u32)) * std::f64::consts::FRAC_PI_2,
        2 => 2f64.powi(rng.random_range(-1070..1020)) * rng.random_range(1.0..2.0),
        3 => rng.random_range(0.0..1e6),
        _ => rng.random_range(0.0..7.0),
    }
}

/// From nothing to some turns wide.
fn reach(rng: &mut ChaCha8Rng, x: f64) -> f64 {
    match rng.random_range(0..4) {
        0 => 0.0,
        1 => x.abs() * 2f64.powi(rng.random_range(-53..-1)),
        2 => rng.random_range(0.0..4.0),
        _ => rng.random_range(0.0..0.1),
    }
}

fn inside(rng: &mut ChaCha8Rng, lo: &Float, hi: &Float) -> Float {
    match rng.random_range(0..4) {
        0 => lo.clone(),
        1 => hi.clone(),
        _ => wide(rng.random_range(0.0..1.0)) * Float::with_val(2200, hi - lo) + lo,
    }
}

/// Whether an interval holds a number that is known up to 2^-390 of it, or an infinity.
fn holds(interval: Interval, value: &Float) -> bool {
    if value.is_infinite() {
        return interval.lo <= *value && *value <= interval.hi;
    }
    let slack = Float::with_val(400, value.clone().abs()) * Float::with_val(64, Float::i_exp(1, -390));
    let above = Float::with_val(2200, value + &slack);
    let below = Float::with_val(2200, value - &slack);
    interval.lo <= above && below <= interval.hi
}

fn holds_pair(pair: Pair, value: &Float) -> bool {
    if pair.error == f64::INFINITY {
        return true;
    }
    let off = (Float::with_val(2200, value - pair.hi) - pair.lo).abs();
    let slack = Float::with_val(400, value.clone().abs()) * Float::with_val(64, Float::i_exp(1, -390));
    off <= slack + pair.error
}

/// Every number inside goes to a number inside, in intervals and in pairs.
#[test]
fn functions_of_one_number_are_enclosed() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut open = 0;
    for round in 0..3_000 {
        let function = UNARY[round % UNARY.len()];
        let x = number(&mut rng);
        let reach = reach(&mut rng, x);
        let interval = Interval { lo: x - reach, hi: x + reach };
        let result = of_interval(function, interval);
        let pair = Pair { hi: x, lo: 0.0, error: reach };
        let paired = of_pair(function, pair);
        open += usize::from(result == Interval::UNKNOWN);
        for _ in 0..4 {
            let at = inside(&mut rng, &wide(interval.lo), &wide(interval.hi));
            assert!(holds(result, &unary(function, &at)), "{function:?} of {at} in {interval:?}: {result:?}");
            let at = inside(&mut rng, &(wide(x) - reach), &(wide(x) + reach));
            assert!(holds_pair(paired, &unary(function, &at)), "{function:?} of {at} in {pair:?}: {paired:?}");
        }
    }
    assert!(open < 300, "{open}: only tangents may have a pole");
}

/// An argument known to the last bit has a result known to about the last bit, also beside an extremum.
#[test]
fn narrow_arguments_have_narrow_results() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..4000 {
        let function = UNARY[round % UNARY.len()];
        let x = rng.random_range(-6.0..6.0f64);
        let result = of_interval(function, Interval { lo: x, hi: x.next_up() });
        let slope = if function == Unary::Tan { 1.0 + x.tan() * x.tan() } else { 3.0 + x.abs().recip() };
        assert!(result.hi - result.lo <= 1e-14 * slope.max(result.hi.abs()), "{function:?} of {x}: {result:?}");
        let exact = of_interval(function, Interval::exact(x));
        assert!(exact.hi <= exact.lo.next_up(), "{function:?} of {x}: {exact:?}");
        let pair = of_pair(function, Pair::exact(x));
        assert!(pair.error <= 2f64.powi(-104) * pair.hi.abs(), "{function:?} of {x}: {pair:?}");
    }
    let top = of_interval(Unary::Cosine, Interval { lo: -1e-9, hi: 2e-9 });
    assert!(top.hi == 1.0 && top.lo > 1.0 - 1e-15, "{top:?}");
    let bottom = of_interval(Unary::Sine, Interval { lo: -1.58, hi: -1.57 });
    assert!(bottom.lo == -1.0 && bottom.hi < -0.9999, "{bottom:?}");
    let turn = of_interval(Unary::Sine, Interval { lo: 0.0, hi: 7.0 });
    assert_eq!([turn.lo, turn.hi], [-1.0, 1.0]);
}

#[test]
fn functions_of_two_numbers_are_enclosed() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut open = 0;
    for round in 0..12_000 {
        let function = [Bivariate::Atan2, Bivariate::Power][round % 2];
        let small = |rng: &mut ChaCha8Rng| {
            let x = match rng.random_range(0..4) {
                0 => f64::from(rng.random_range(-8..9i32)),
                _ => rng.random_range(-9.0..9.0),
            };
            let reach = if rng.random_bool(0.5) { 0.0 } else { reach(rng, x).min(2.0) };
            Interval { lo: x - reach, hi: x + reach }
        };
        let (x, y) = (small(&mut rng), small(&mut rng));
        let result = of_intervals(function, x, y);
        let paired = of_pairs(function, Pair::from_interval(x), Pair::from_interval(y));
        open += usize::from(result == Interval::UNKNOWN);
        for _ in 0..4 {
            let a = inside(&mut rng, &wide(x.lo), &wide(x.hi));
            let b = inside(&mut rng, &wide(y.lo), &wide(y.hi));
            let value = match function {
                Bivariate::Atan2 => Float::with_val(400, a.atan2_ref(&b)),
                Bivariate::Power => Float::with_val(400, (&a).pow(&b)),
            };
            if value.is_nan() {
                assert!(result == Interval::UNKNOWN || result.is_nan(), "{a} {function:?} {b}: {result:?}");
                continue;
            }
            assert!(holds(result, &value), "{a} {function:?} {b} is {value}, not in {result:?}");
            assert!(value.is_infinite() || holds_pair(paired, &value), "{a} {function:?} {b}: {value}, {paired:?}");
        }
    }
    assert!((100..4000).contains(&open), "{open}");
}

/// C17 F.10.4.4 and F.10.1.4, and the parts of them that hold for numbers that are not exactly known.
#[test]
fn powers_and_angles_have_their_special_values() {
    let power = |x: Interval, y: Interval| of_intervals(Bivariate::Power, x, y);
    let exact = Interval::exact;
    let some = |lo: f64, hi: f64| Interval { lo, hi };
    let is =
        |result: Interval, value: f64| result.lo.to_bits() == value.to_bits() && result.hi.to_bits() == value.to_bits();
    for unknown in [Interval::UNKNOWN, Interval::NAN, some(-1.0, 1.0), exact(f64::INFINITY)] {
        assert!(is(power(unknown, exact(0.0)), 1.0) && is(power(unknown, exact(-0.0)), 1.0), "{unknown:?}");
        assert!(is(power(exact(1.0), unknown), 1.0), "{unknown:?}");
    }
    assert!(power(some(2.0, 3.0), Interval::NAN).is_nan() && power(Interval::NAN, some(2.0, 3.0)).is_nan());
    assert!(power(some(-3.0, -2.0), exact(0.5)).is_nan() && power(exact(-2.0), exact(0.5)).is_nan());
    assert_eq!(power(some(-3.0, 2.0), exact(0.5)), Interval::UNKNOWN);
    assert_eq!(power(some(-3.0, 2.0), exact(-1.0)), Interval::UNKNOWN);
    assert_eq!(power(some(-3.0, 2.0), some(2.0, 3.0)), Interval::UNKNOWN);
    assert_eq!(power(Interval::UNKNOWN, exact(2.0)), Interval::UNKNOWN);
    assert_eq!(power(some(-3.0, 2.0), exact(2.0)), some(0.0, 9.0));
    assert_eq!(power(some(-3.0, 2.0), exact(3.0)), some(-27.0, 8.0));
    assert_eq!(power(some(-4.0, -2.0), exact(-2.0)), some(0.0625, 0.25));
    assert_eq!(power(some(-4.0, -2.0), exact(-1.0)), some(-0.5, -0.25));
    assert_eq!(power(some(0.0, 2.0), some(1.0, 2.0)), some(0.0, 4.0));
    assert!(is(power(exact(-0.0), exact(3.0)), -0.0) && is(power(exact(-0.0), exact(-3.0)), f64::NEG_INFINITY));
    let angle = |y: Interval, x: Interval| of_intervals(Bivariate::Atan2, y, x);
    assert!(is(angle(exact(0.0), exact(1.0)), 0.0) && is(angle(exact(-0.0), exact(2.0)), -0.0));
    let pi = std::f64::consts::PI;
    for (y, x) in
        [(some(-1.0, 1.0), some(-2.0, -1.0)), (some(-1.0, 1.0), some(-1.0, 1.0)), (exact(0.0), some(-1.0, 1.0))]
    {
        assert_eq!(angle(y, x), some(-pi.next_up(), pi.next_up()));
    }
    assert!(angle(Interval::NAN, some(0.0, 1.0)).is_nan());
    assert_eq!(angle(Interval::UNKNOWN, some(1.0, 2.0)), Interval::UNKNOWN);
}

/// An operand that may be NaN has an unknown result, but for the powers that are 1 whatever the other operand is. A NaN
/// that an operation makes is positive.
#[test]
fn the_unknown_stays_unknown() {
    for unary in UNARY {
        assert!(
            of_pair(unary, Pair::UNKNOWN).error == f64::INFINITY && of_pair(unary, Pair::exact(f64::NAN)).hi.is_nan()
        );
        assert_eq!(of_interval(unary, Interval::UNKNOWN), Interval::UNKNOWN);
    }
    let some = Pair { hi: 1.5, lo: 0.0, error: 0.25 };
    for function in [Bivariate::Atan2, Bivariate::Power] {
        for operands in [[Pair::UNKNOWN, some], [some, Pair::UNKNOWN], [Pair::UNKNOWN; 2]] {
            assert_eq!(of_pairs(function, operands[0], operands[1]).error, f64::INFINITY, "{function:?}");
        }
    }
    assert_eq!(of_pairs(Bivariate::Power, Pair::UNKNOWN, Pair::exact(0.0)).as_exact(), Some(1.0));
    let nan = of_pairs(Bivariate::Power, Pair::exact(-1.0), Pair::exact(-0.5)).hi;
    assert!(nan.is_nan() && nan.is_sign_positive());
}

/// Infinities have no sine; an unknown or very large number has any.
#[test]
fn angles_beyond_reach_say_little() {
    for function in [Unary::Cosine, Unary::Sine, Unary::Tan] {
        assert!(of_interval(function, Interval::exact(f64::INFINITY)).is_nan());
        assert!(of_interval(function, Interval::NAN).is_nan());
        assert_eq!(of_interval(function, Interval::UNKNOWN), Interval::UNKNOWN);
    }
    let unbounded = Interval { lo: 1.0, hi: f64::INFINITY };
    assert_eq!(of_interval(Unary::Sine, unbounded), Interval { lo: -1.0, hi: 1.0 });
    assert_eq!(of_interval(Unary::Tan, unbounded), Interval::UNKNOWN);
    let mpfr = Mpfr::new(64);
    let far = Between::Exact(Float::with_val(64, Float::i_exp(1, FAR + 1)));
    assert_eq!(interval(&mpfr.function(Unary::Cosine, &far)), Interval { lo: -1.0, hi: 1.0 });
    assert_eq!(interval(&mpfr.function(Unary::Tan, &far)), Interval::UNKNOWN);
    // The sign of a zero is kept, and not made up.
    assert!(of_interval(Unary::Sine, Interval::exact(-0.0)).lo.is_sign_negative());
    let zeros = of_interval(Unary::Sine, Interval::SIGNLESS_ZERO);
    assert!(zeros.lo < 0.0 && zeros.hi > 0.0, "{zeros:?}");
}

/// Beside an extreme one end is the extreme, and the other the farther of both ends' values, rounded away from it: at few bits the wrong
/// direction shows.
#[test]
fn ends_beside_an_extreme_are_rounded_outwards() {
    for (function, lo, hi, is_top) in [
        (Unary::Cosine, -0.25, 0.5, true),
        (Unary::Cosine, 3.0, 3.25, false),
        (Unary::Sine, 1.5, 1.75, true),
        (Unary::Sine, 4.5, 4.875, false),
    ] {
        let [one, other] = [lo, hi].map(|end| unary(function, &wide(end)));
        for bits in 8..80 {
            let found = Mpfr::new(bits).function(function, &Between::real(wide(lo), wide(hi)));
            let (least, largest) = found.ends().unwrap();
            if is_top {
                assert!(*least <= one && *least <= other && *largest == 1, "{function:?} in {bits} bits: {found:?}");
            } else {
                assert!(*largest >= one && *largest >= other && *least == -1, "{function:?} in {bits} bits: {found:?}");
            }
        }
    }
}
