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

/// Steps from one end to the other.
fn steps(x: Interval) -> i64 {
    let ordinal = |v: f64| if v < 0.0 { -(v.abs().to_bits() as i64) } else { v.abs().to_bits() as i64 };
    ordinal(x.hi) - ordinal(x.lo)
}

/// On both sides of the point at which a function changes its method, the enclosure has the width of that method.
#[test]
fn ways_part_where_they_should() {
    let two = |exponent: i32| crate::num::exp2i(exponent);
    type Case = (&'static str, f64, [i64; 2], [i64; 2]);
    // The name, where ways part, and the steps below and from there on, or up to there and above.
    let below: [Case; 4] = [
        ("expm1", two(-54), [1, 1], [2, 2]),
        ("log1p", two(-54), [1, 1], [2, 2]),
        ("expm1", 0.0027, [2, 2], [4, 64]),
        ("tanh", two(-27), [1, 1], [2, 16]),
    ];
    let above: [Case; 1] = [("expm1", 60.0, [4, 8], [3, 3])];
    let near = |x: f64, up: bool| if up { x.next_up() } else { x };
    let held = |name: &str, x: f64, [least, most]: [i64; 2]| {
        let Function { enclose, truth, .. } = FUNCTIONS.iter().find(|f| f.name == name).unwrap();
        let (enclosure, real) = (enclose(Interval::exact(x)), truth(Float::with_val(PRECISION, x)));
        assert!(real >= enclosure.lo && real <= enclosure.hi, "{name}({x:e}): {enclosure:?}");
        assert!((least..=most).contains(&steps(enclosure)), "{name}({x:e}): {} steps", steps(enclosure));
    };
    for (name, at, inside, outside) in below {
        for sign in [1.0, -1.0] {
            held(name, sign * at.next_down(), inside);
            held(name, sign * at, outside);
        }
    }
    for (name, at, inside, outside) in above {
        held(name, near(at, false), inside);
        held(name, near(at, true), outside);
    }
    held("expm1", -45.0, [2, 8]);
    held("expm1", (-45f64).next_down(), [1, 1]);
    held("tanh", 20.0, [2, 16]);
    held("tanh", 20f64.next_up(), [1, 1]);
    held("logistic", (-700f64).next_down(), [3, 3]);
    // There both ways lead to the same.
    let power = exp(Interval::exact(-700.0));
    assert_eq!(logistic(Interval::exact(-700.0)), Interval { lo: power.lo.next_down(), hi: power.hi });
    for x in [two(-8), -two(-8)] {
        let (sum, rounded_off) = super::two_sum(1.0, x);
        let through = super::logarithm::ln(sum, rounded_off);
        assert_eq!(log1p(Interval::exact(x)), Interval { lo: through.next_down(), hi: through.next_up() });
    }
}

/// Around the smallest and the largest normal results, where scaling first rounds.
#[test]
fn results_at_the_ends_of_the_normal_range_stay_enclosed() {
    for i in 0..40_000 {
        for x in [-708.40 + f64::from(i) * 3e-7, 708.39 + f64::from(i) * 3e-7, -745.2 + f64::from(i) * 1e-3] {
            let (enclosure, real) = (exp(Interval::exact(x)), Float::with_val(PRECISION, x).exp());
            assert!(real >= enclosure.lo && real <= enclosure.hi, "{x}: {enclosure:?}, not {real}");
        }
    }
}

/// The loop's exponential: as tight as at one number where the interval is one, and little more than its width else.
#[test]
fn the_kernel_of_loops_encloses_up_to_its_limits() {
    let table = super::table();
    let of = |lo: f64, hi: f64| super::exp_kernel(Interval { lo, hi }, table);
    let is_irregular = |x: Interval| x.lo > x.hi;
    for x in points().into_iter().step_by(3) {
        let inside = x.abs() > 1e-300 && x > -690.0 && x < 709.0;
        assert_eq!(is_irregular(of(x, x)), !inside && (x == 0.0 || x.abs() > 1e-300), "{x:e}");
        for width in [0.0, x.abs() * f64::EPSILON, x.abs() * 1e-9, 2e-4] {
            let (lo, hi) = (x, x + width);
            let got = of(lo, hi);
            if is_irregular(got) {
                let touches_zero = lo <= 0.0 && hi >= 0.0;
                assert!(lo <= -690.0 || hi >= 709.0 || touches_zero || hi - lo >= 1.0 / 4096.0, "{lo:e} {hi:e}");
                continue;
            }
            let ends = [lo, hi].map(|end| Float::with_val(PRECISION, end).exp());
            assert!(ends[0] >= got.lo && ends[1] <= got.hi, "{lo:e} to {hi:e}: {got:?}");
            let allowed = 4.0 * f64::EPSILON + (hi - lo) * (1.0 + 1.0 / 1024.0);
            assert!(got.hi <= got.lo * (1.0 + allowed), "{lo:e} to {hi:e}: {got:?}");
        }
    }
    for (inside, outside) in [((-690f64).next_up(), -690.0), (709f64.next_down(), 709.0)] {
        assert!(!is_irregular(of(inside, inside)) && is_irregular(of(outside, outside)));
    }
    assert!(is_irregular(of(-1e-5, 1e-5)) && is_irregular(of(0.0, 1e-5)) && is_irregular(of(-1e-5, 0.0)));
    let limit = 1.0 / 4096.0;
    assert!(is_irregular(of(1.0, 1.0 + limit)) && !is_irregular(of(1.0, (1.0 + limit).next_down())));
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(is_irregular(of(special, special)) && is_irregular(of(f64::NEG_INFINITY, f64::INFINITY)), "{special}");
    }
}

/// The loop's exponential of both ends has the ends of the plain one, and leaves out what that handles apart.
#[test]
fn the_kernel_of_both_ends_is_as_the_plain_one() {
    let table = super::table();
    let mut regular = 0;
    for x in points().into_iter().step_by(3) {
        for width in [0.0, x.abs() * 1e-9, 1.0 / 64.0, x.abs() / 2.0, 40.0] {
            let given = Interval { lo: x, hi: x + width };
            let got = super::exp_ends_kernel(given, table);
            let is_inside = x > -690.0 && given.hi < 709.0 && (x > 0.0 || given.hi < 0.0);
            assert_eq!(got.lo <= got.hi, is_inside, "{given:?}");
            if is_inside {
                assert_eq!((got.lo.to_bits(), got.hi.to_bits()), (exp(given).lo.to_bits(), exp(given).hi.to_bits()));
                regular += 1;
            }
        }
    }
    assert!(regular > 1000, "{regular}");
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let got = super::exp_ends_kernel(Interval { lo: -1.0, hi: special }, table);
        assert!(got.lo > got.hi, "{special}");
    }
}
