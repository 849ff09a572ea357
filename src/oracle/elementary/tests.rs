use rug::Float;

use super::super::interval::Interval;
use super::{exp, expm1, log, log1p, logistic, tanh};

const PRECISION: u32 = 200;

struct Function {
    name: &'static str,
    enclose: fn(Interval) -> Interval,
    /// MPFR's value at 200 bits.
    truth: fn(Float) -> Float,
    /// The documented relative width where the result is normal.
    width: f64,
}

const FUNCTIONS: [Function; 6] = [
    Function { name: "exp", enclose: exp, truth: Float::exp, width: power_of_two(51) },
    Function { name: "expm1", enclose: expm1, truth: Float::exp_m1, width: power_of_two(47) },
    Function { name: "log", enclose: log, truth: Float::ln, width: power_of_two(51) },
    Function { name: "log1p", enclose: log1p, truth: Float::ln_1p, width: power_of_two(51) },
    Function { name: "tanh", enclose: tanh, truth: Float::tanh, width: power_of_two(47) },
    Function { name: "logistic", enclose: logistic, truth: |x| 1u32 / ((-x).exp() + 1u32), width: power_of_two(49) },
];

const fn power_of_two(negative_exponent: u64) -> f64 {
    f64::from_bits((1023 - negative_exponent) << 52)
}

/// Numbers of both signs over all exponents, dense between 2^-12 and 2^11 and around +-1, ends of the range included.
fn points() -> Vec<f64> {
    let mut points = Vec::new();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        // Steele, Lea and Flood's SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for biased in 0..2047u64 {
        let count = if (1011..1035).contains(&biased) { 2400 } else { 12 };
        points.extend((0..count).map(|_| f64::from_bits((biased << 52) | (random() >> 12))));
    }
    points.extend((0..400).flat_map(|i| [1.0 + f64::from(i) * f64::EPSILON, 1.0 - f64::from(i) * f64::EPSILON / 2.0]));
    points.extend((0..2000).map(|i| 700.0 + f64::from(i) * 0.027));
    points.extend((0..64).flat_map(|i| [f64::from_bits(i), f64::from_bits(f64::MAX.to_bits() - i), i as f64]));
    points.iter().flat_map(|x| [*x, -x]).collect()
}

#[test]
fn enclosures_contain_the_value_of_mpfr_and_are_as_tight_as_documented() {
    let points = points();
    assert!(points.len() > 150_000);
    for Function { name, enclose, truth, width } in FUNCTIONS {
        let mut widest = 0.0f64;
        for x in &points {
            let (enclosure, real) = (enclose(Interval::exact(*x)), truth(Float::with_val(PRECISION, x)));
            if real.is_nan() {
                assert!(enclosure.is_nan(), "{name}({x:e}): {enclosure:?}");
                continue;
            }
            if real.is_infinite() {
                // MPFR overflows as well, if much later; a pole is exact.
                let overflow = Interval { lo: f64::MAX, hi: f64::INFINITY };
                let expected = if real.is_sign_negative() { Interval::exact(f64::NEG_INFINITY) } else { overflow };
                assert!(enclosure.lo <= expected.lo && enclosure.hi == expected.hi, "{name}({x:e}): {enclosure:?}");
                continue;
            }
            assert!(real >= enclosure.lo && real <= enclosure.hi, "{name}({x:e}): {enclosure:?}, not {real}");
            let magnitude = enclosure.lo.abs().min(enclosure.hi.abs());
            if magnitude >= f64::MIN_POSITIVE && enclosure.hi.is_finite() {
                widest = widest.max((enclosure.hi - enclosure.lo) / magnitude);
            } else if magnitude < f64::MIN_POSITIVE {
                assert!(enclosure.hi - enclosure.lo <= 3.0 * f64::from_bits(1), "{name}({x:e}): {enclosure:?}");
            }
        }
        assert!(widest <= width && widest > width / 4.0, "{name}: widest {widest:e}");
    }
}

#[test]
fn intervals_map_end_by_end() {
    let points: Vec<f64> = points().into_iter().step_by(61).collect();
    for Function { name, enclose, truth, .. } in FUNCTIONS {
        for pair in points.windows(2) {
            let interval = Interval { lo: pair[0].min(pair[1]), hi: pair[0].max(pair[1]) };
            let enclosure = enclose(interval);
            for end in [interval.lo, interval.hi] {
                let real = truth(Float::with_val(PRECISION, end));
                let inside = real >= enclosure.lo && real <= enclosure.hi;
                assert!(
                    inside || enclosure.is_unknown() || (real.is_nan() && enclosure.is_nan()),
                    "{name} {interval:?}"
                );
            }
        }
    }
}

#[test]
fn special_values_are_exact() {
    let infinity = f64::INFINITY;
    type Case = (fn(Interval) -> Interval, [(f64, f64); 4]);
    let cases: [Case; 6] = [
        (exp, [(0.0, 1.0), (-0.0, 1.0), (infinity, infinity), (-infinity, 0.0)]),
        (expm1, [(0.0, 0.0), (-0.0, -0.0), (infinity, infinity), (-infinity, -1.0)]),
        (log, [(1.0, 0.0), (0.0, -infinity), (-0.0, -infinity), (infinity, infinity)]),
        (log1p, [(0.0, 0.0), (-0.0, -0.0), (-1.0, -infinity), (infinity, infinity)]),
        (tanh, [(0.0, 0.0), (-0.0, -0.0), (infinity, 1.0), (-infinity, -1.0)]),
        (logistic, [(0.0, 0.5), (-0.0, 0.5), (infinity, 1.0), (-infinity, 0.0)]),
    ];
    for (function, values) in cases {
        for (x, expected) in values {
            let result = function(Interval::exact(x));
            assert_eq!((result.lo.to_bits(), result.hi.to_bits()), (expected.to_bits(), expected.to_bits()), "{x}");
        }
        assert!(function(Interval::NAN).is_nan());
        assert!(function(Interval::UNKNOWN).is_unknown());
    }
    for function in [log, log1p] {
        assert!(function(Interval::exact(-2.0)).is_nan());
        assert!(function(Interval::exact(-infinity)).is_nan());
        assert!(function(Interval { lo: -3.0, hi: -2.0 }).is_nan());
        assert!(function(Interval { lo: -2.0, hi: 1.0 }).is_unknown());
    }
    assert!(log(Interval { lo: 0.0, hi: 1.0 }).is_unknown());
}

#[test]
fn overflow_and_underflow_stay_enclosed() {
    assert_eq!(exp(Interval::exact(710.0)), Interval { lo: f64::MAX, hi: infinity() });
    assert_eq!(exp(Interval::exact(-1e300)), Interval { lo: 0.0, hi: f64::from_bits(1) });
    assert_eq!(exp(Interval { lo: 1e300, hi: infinity() }), Interval { lo: f64::MAX, hi: infinity() });
    assert_eq!(expm1(Interval::exact(1e300)), Interval { lo: f64::MAX.next_down(), hi: infinity() });
}

fn infinity() -> f64 {
    f64::INFINITY
}
