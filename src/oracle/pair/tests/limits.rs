//! Limits from which kernels leave operands to the intervals, and the errors that they claim up to these limits.

use rug::Float;

use super::{
    Pair, SplitMix64, Tables, add, center, compare, cosine, div, erf, exp, expm1, log, log1p, logistic, mul,
    power_of_two, sine, sqrt, sum, sum_in_one_lane, tanh,
};
use crate::interval::{Interval, two_sum};
use crate::pair::sub;

const LOW: f64 = power_of_two(-900);
const HIGH: f64 = power_of_two(900);
/// The magnitude from which angles are left to MPFR.
const FAR: f64 = power_of_two(20);

fn exactly(value: f64) -> Pair {
    Pair::exact(value)
}

/// Operands and results lie between 2^-900 and 2^900, the two left out.
#[test]
fn operations_end_at_their_limits() {
    let one = exactly(1.0);
    for sign in [1.0, -1.0] {
        for (inside, outside) in [(HIGH.next_down(), HIGH), (LOW.next_up(), LOW)] {
            let (inside, outside) = (exactly(sign * inside), exactly(sign * outside));
            assert!(!mul(inside, one).is_irregular() && !mul(one, inside).is_irregular());
            assert!(mul(outside, one).is_irregular() && mul(one, outside).is_irregular());
            assert!(!div(inside, one).is_irregular() && !div(one, inside).is_irregular());
            assert!(div(outside, one).is_irregular() && div(one, outside).is_irregular());
            assert_eq!(sqrt(inside).is_irregular(), sign < 0.0);
            assert!(sqrt(outside).is_irregular());
        }
        let (inside, outside) = (exactly(sign * HIGH.next_down()), exactly(sign * HIGH));
        assert!(!add(inside, one).is_irregular() && !add(one, inside).is_irregular());
        // The sum is far from the limit, but an operand is not.
        let back = exactly(-sign * 0.5 * HIGH);
        assert!(add(outside, back).is_irregular() && add(back, outside).is_irregular());
        let half = exactly(sign * 0.5 * HIGH);
        assert!(add(half, half).is_irregular() && !add(half, exactly(half.hi * (1.0 - f64::EPSILON))).is_irregular());
        assert!(add(half, back).is_irregular(), "a sum of zero has a sign");
    }
    // Factors within the limits whose product is not, and the other way round.
    let root = power_of_two(450);
    assert!(mul(exactly(root), exactly(root)).is_irregular());
    assert!(!mul(exactly(root), exactly(root.next_down())).is_irregular());
    let root = power_of_two(-450);
    assert!(mul(exactly(root), exactly(root)).is_irregular());
    assert!(!mul(exactly(root), exactly(root.next_up())).is_irregular());
    let far = [exactly(power_of_two(950)), exactly(power_of_two(-950))];
    for x in far {
        assert!(mul(x, exactly(1.0 / x.hi)).is_irregular() && mul(exactly(1.0 / x.hi), x).is_irregular());
        assert!(div(x, x).is_irregular());
        assert!(div(x, exactly(power_of_two(100).copysign(x.hi))).is_irregular());
    }
    assert!(div(exactly(power_of_two(890)), exactly(power_of_two(-20))).is_irregular());
    assert!(div(exactly(power_of_two(-890)), exactly(power_of_two(20))).is_irregular());
}

#[test]
fn functions_end_at_their_limits() {
    let tables = &Tables::ready();
    for (function, inside, outside) in [
        (exp as fn(Pair, &Tables) -> Pair, 709f64.next_down(), 709.0),
        (exp, (-690f64).next_up(), -690.0),
        (expm1, 623.0, 624.0),
        (expm1, (-690f64).next_up(), -690.0),
        (log, LOW.next_up(), LOW),
        (log, HIGH.next_down(), HIGH),
        (log1p, LOW.next_up(), LOW),
        (log1p, -LOW.next_up(), -LOW),
        (log1p, HIGH.next_down(), HIGH),
        (sine, LOW.next_up(), LOW),
        (sine, -LOW.next_up(), -LOW),
        (sine, FAR.next_down(), FAR),
        (sine, -FAR.next_down(), -FAR),
        (cosine, LOW.next_up(), LOW),
        (cosine, FAR.next_down(), FAR),
        (cosine, -FAR.next_down(), -FAR),
        (erf, LOW.next_up(), LOW),
        (erf, -LOW.next_up(), -LOW),
        (erf, f64::MAX, f64::INFINITY),
    ] {
        assert!(!function(exactly(inside), tables).is_irregular(), "{inside}");
        assert!(function(exactly(outside), tables).is_irregular(), "{outside}");
    }
    // An operand that may be off by 2^-20 (of itself, where it is a logarithm's) is hardly known.
    for hi in [1e-5, -1e-5, 1e-3, 0.5, -0.5, 600.0] {
        let off = |error: f64| Pair { hi, lo: 0.0, error };
        let limit = power_of_two(-20);
        assert!(expm1(off(limit), tables).is_irregular(), "{hi}");
        assert!(!expm1(off(0.25 * limit), tables).is_irregular(), "{hi}");
        for function in [sine, cosine, erf] {
            assert!(function(off(limit), tables).is_irregular() || hi > 9.0 && function(off(limit), tables).hi == 1.0);
            assert!(!function(off(limit.next_down()), tables).is_irregular(), "{hi}");
        }
        let limit = hi.abs() * power_of_two(-20);
        assert!(log1p(off(limit), tables).is_irregular(), "{hi}");
        assert!(!log1p(off(0.25 * limit), tables).is_irregular(), "{hi}");
    }
    for special in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for function in [expm1, log1p, tanh, sine, cosine, erf] {
            assert!(function(exactly(special), tables).is_irregular(), "{special}");
        }
    }
    assert!(log1p(exactly(-1.0), tables).is_irregular() && log1p(exactly(-2.0), tables).is_irregular());
}

/// Far out the sigmoids are one but for 2^-110: proven from 40, 80 and 8 on, and claimed for operands certainly beyond.
#[test]
fn sigmoids_level_off() {
    let tables = &Tables::ready();
    let is_level = |y: Pair| (y.hi.abs(), y.lo, y.error) == (1.0, 0.0, power_of_two(-110));
    for (function, limit) in [(tanh as fn(Pair, &Tables) -> Pair, 41f64), (logistic, 81.0), (erf, 9.0)] {
        for x in [limit.next_up(), 100.0, 1e10, f64::MAX] {
            assert!(is_level(function(exactly(x), tables)), "{x}");
            let off = |error: f64| function(Pair { hi: x, lo: 0.0, error }, tables);
            assert!(is_level(off(power_of_two(-20).next_down())) && !is_level(off(power_of_two(-20))), "{x}");
        }
        for x in [limit, limit - 0.5, limit - 1.5, 1.0] {
            let y = function(exactly(x), tables);
            assert!(!y.is_irregular() && !is_level(y), "{x}");
        }
        assert!(function(exactly(f64::INFINITY), tables).is_irregular());
    }
    assert_eq!([tanh, erf].map(|function| function(exactly(-50.0), tables).hi), [-1.0; 2]);
    assert!(!is_level(logistic(exactly(-100.0), tables)));
}

/// The proven errors of functions with two methods, on both sides of the point at which the method changes.
#[test]
fn errors_of_both_ways_are_those_of_the_proofs() {
    let (mut random, tables) = (SplitMix64(22), &Tables::ready());
    let part = power_of_two(-8) - power_of_two(-20);
    let mut arguments = vec![part, -part, part.next_down(), -part.next_down(), power_of_two(-8), -power_of_two(-8)];
    arguments.extend((0..4000).map(|_| random.scaled(-20, 4)).filter(|x| *x > -0.99));
    for (i, hi) in arguments.into_iter().enumerate() {
        let lo = if i % 2 == 0 { 0.0 } else { hi * power_of_two(-55) };
        let dx = hi.abs() * [power_of_two(-30), power_of_two(-98), power_of_two(-25)][i % 3];
        let x = Pair { hi, lo, error: dx };
        let held = |name: &str, got: Pair, proven: f64| {
            assert!(!got.is_irregular(), "{name}({x:?})");
            assert!(got.error >= proven, "{name}({x:?}) claims {:e} of {proven:e}", got.error);
            let slack = 1.0 + power_of_two(-13);
            assert!(got.error <= proven * slack, "{name}({x:?}) gives {:e} for {proven:e}", got.error);
        };
        let logarithm = log1p(x, tables);
        let rounding = logarithm.hi.abs() * power_of_two(-98);
        if hi.abs() < part {
            held("log1p", logarithm, rounding + dx * (1.0 + power_of_two(-7)));
        } else {
            let sum = add(x, exactly(1.0));
            held("log1p", logarithm, rounding + sum.error / sum.hi);
        }
        let power = expm1(x, tables);
        // Steps of ln 2 / 256: up to half a one nothing is taken off.
        if hi.abs() < 0.00135 {
            let derivative = 1.0 + power_of_two(-8);
            let proven = dx * derivative + hi.abs() * (power_of_two(-95) + power_of_two(-103));
            let slack = power_of_two(-10) * proven;
            assert!((power.error - proven).abs() <= slack, "{x:?}: {:e}, not {proven:e}", power.error);
        } else if hi.abs() > 0.00136 {
            held("expm1", power, exp(x, tables).error + power.hi.abs() * power_of_two(-104));
        }
    }
}

/// An end lies outside of the error, and hardly further.
#[test]
fn ends_lie_outside_of_the_error() {
    let mut random = SplitMix64(23);
    for i in 0..20_000 {
        let hi = random.scaled(-5, 5);
        let x = random.around(hi);
        let x = match i % 3 {
            0 => Pair { error: 0.0, ..x },
            1 => x,
            _ => Pair { error: x.lo.abs() * 1e-8, ..x },
        };
        let end = Float::with_val(300, x.lo) + x.error;
        let reach = (x.lo.abs() + x.error) * power_of_two(-48);
        assert!(x.shifted(1.0) >= end && x.shifted(1.0) <= Float::with_val(300, &end + reach), "{x:?}");
        let end = Float::with_val(300, x.lo) - x.error;
        assert!(x.shifted(-1.0) <= end && x.shifted(-1.0) >= Float::with_val(300, &end - reach), "{x:?}");
    }
}

/// A pair around an interval has its middle and half its width; one number stays exactly that.
#[test]
fn pairs_around_intervals_are_no_wider() {
    let of = |lo: f64, hi: f64| Pair::from_interval(Interval { lo, hi });
    for (lo, hi) in [(1.0, 2.0), (-8.0, 2.0), (-3.0, -1.0), (f64::MAX / 2.0, f64::MAX), (-f64::MAX, f64::MAX)] {
        let x = of(lo, hi);
        assert_eq!((x.hi, x.lo), (0.5 * lo + 0.5 * hi, 0.0));
        let half = 0.5 * hi - 0.5 * lo;
        assert!(x.error >= half && x.error <= half * (1.0 + power_of_two(-50)), "{lo:e} to {hi:e}: {x:?}");
    }
    for value in [0.0, -0.0, 1.5, f64::MAX, f64::INFINITY, f64::NEG_INFINITY] {
        let x = of(value, value);
        assert_eq!((x.hi.to_bits(), x.lo, x.error), (value.to_bits(), 0.0, 0.0));
    }
    assert!(Pair::from_interval(Interval::NAN).hi.is_nan());
    for (lo, hi) in [(f64::MIN, f64::INFINITY), (f64::NEG_INFINITY, 1.0), (f64::NEG_INFINITY, f64::INFINITY)] {
        assert_eq!(of(lo, hi).error, f64::INFINITY);
    }
}

/// Pairs compare where their difference with all of its error has one sign.
#[test]
fn comparisons_need_the_whole_error() {
    use std::cmp::Ordering::{Greater, Less};
    let of = |hi: f64, error: f64| Pair { hi, lo: 0.0, error };
    for (x, y, expected) in [
        (of(3.0, 1.0), of(1.0, 0.5), Some(Greater)),
        (of(3.0, 1.0), of(1.0, 1.5), None),
        (of(1.0, 0.5), of(1.5, 0.0), None),
        (of(1.0, 0.25), of(1.5, 0.0), Some(Less)),
        (of(-1.0, 0.0), of(-3.0, 4.0), None),
        (of(1.0, 0.0), of(1.0 + f64::EPSILON, power_of_two(-54)), Some(Less)),
    ] {
        assert_eq!(compare(x, y), expected, "{x:?}, {y:?}");
        assert_eq!(compare(y, x), expected.map(std::cmp::Ordering::reverse), "{y:?}, {x:?}");
    }
    // Where an end of the difference is zero, as computed, nothing is decided.
    let (mut error, mut touching) = (2.0 * (1.0 - power_of_two(-41)), 0);
    for _ in 0..40_000 {
        let (x, y) = (of(3.0, error), of(1.0, 0.0));
        let difference = sub(x, y);
        if difference.hi + difference.shifted(-1.0) == 0.0 {
            assert_eq!([compare(x, y), compare(y, x)], [None; 2], "{error:e}");
            touching += 1;
        }
        error = error.next_up();
    }
    assert!(touching > 0);
}

/// A remainder that rounds to zero leaves something, where the divisor is no f64.
#[test]
fn a_quotient_is_not_exact_because_its_remainder_rounds_to_zero() {
    let (mut random, mut found) = (SplitMix64(24), 0);
    for _ in 0..200_000 {
        let (x, y) = (1.0 + random.unit(), 1.0 + random.unit());
        let quotient = x / y;
        let product = quotient * y;
        let low = ((x - product) - quotient.mul_add(y, -product)) / quotient;
        let divisor = Pair { hi: y, lo: low, error: 0.0 };
        let remainder = (x - product) + (-quotient).mul_add(low, -quotient.mul_add(y, -product));
        if low == 0.0 || y + low != y || remainder != 0.0 || x == product {
            continue;
        }
        found += 1;
        for x in [exactly(x), Pair { hi: x, lo: x * power_of_two(-106), error: 0.0 }] {
            let got = div(x, divisor);
            let real = (Float::with_val(3000, x.hi) + x.lo) / (Float::with_val(3000, y) + low);
            let off = (Float::with_val(3000, got.hi) + got.lo - real).abs();
            assert!(off <= got.error, "{x:?} / {divisor:?} = {got:?} is off by {off:e}");
        }
    }
    assert!(found > 100, "{found}");
}

/// The bound of the proof for sums: the errors, and a share of all magnitudes added to the third part.
#[test]
fn sums_claim_what_their_proof_states() {
    let mut random = SplitMix64(25);
    let mut terms: Vec<Pair> = (0..300).map(|_| Pair { hi: random.scaled(-40, 40), lo: 0.0, error: 0.0 }).collect();
    terms.push(exactly(power_of_two(100)));
    terms.push(exactly(-power_of_two(100)));
    let (mut high, mut middle, mut magnitudes) = (0.0, 0.0, 0.0);
    for x in &terms {
        let (sum, first) = two_sum(high, x.hi);
        let (next, second) = two_sum(middle, first);
        (high, middle, magnitudes) = (sum, next, magnitudes + f64::abs(second));
    }
    let count = 16.0 * terms.len() as f64;
    let total = sum_in_one_lane(&terms);
    let proven = (4.0 * count + 256.0) * power_of_two(-53) * magnitudes;
    let lost = total.lo.abs() * power_of_two(-52);
    assert!(magnitudes > 0.0 && lost < 0.1 * proven, "{magnitudes:e} {lost:e}");
    assert!(total.error >= proven && total.error <= 1.11 * proven, "{:e}, not {proven:e}", total.error);
    // Errors themselves, and hardly more.
    let errors: Vec<Pair> = (1..1000).map(|i| Pair { hi: 1.0, lo: 0.0, error: f64::from(i) }).collect();
    let (total, carried) = (sum_in_one_lane(&errors), 499_500.0);
    assert!(total.error >= carried && total.error <= carried * (1.0 + 2e-11), "{total:?}");
    // An exact zero, the infinite and the unknown are no regular sums.
    let of = |terms: &[Pair]| {
        sum(terms.len(), |_, out| {
            *out = [[0.0; 64]; 3];
            terms.iter().enumerate().for_each(|(i, x)| (out[0][i], out[1][i], out[2][i]) = (x.hi, x.lo, x.error));
        })
    };
    for terms in [
        [exactly(1.0), Pair::UNKNOWN],
        [exactly(1.0), exactly(f64::INFINITY)],
        [exactly(f64::MAX), exactly(f64::MAX)],
        [exactly(1.0), exactly(f64::NAN)],
        [exactly(1.0), exactly(-1.0)],
    ] {
        assert!(of(&terms).is_irregular(), "{terms:?}");
    }
    let nothing = of(&[Pair { hi: 1.0, lo: 0.0, error: 0.5 }, exactly(-1.0)]);
    assert!(nothing.hi == 0.0 && nothing.error >= 0.5 && nothing.error < 0.501, "{nothing:?}");
}

/// Each factor counts by itself: a moderate product of one that is not is left to the intervals.
#[test]
fn factors_count_apart_from_their_product() {
    for (far, other) in [(950, -100), (-950, 100)] {
        let (x, y) = (exactly(power_of_two(far)), exactly(power_of_two(other)));
        assert!(mul(x, y).is_irregular() && mul(y, x).is_irregular(), "2^{far}");
    }
}

/// The largest error that a kernel passes on is just below 2^900.
#[test]
fn the_largest_error_is_below_its_limit() {
    fn off(hi: f64, error: f64) -> Pair {
        Pair { hi, lo: 0.0, error }
    }
    type Kernel = fn(f64) -> Pair;
    let kernels: [(&str, Kernel); 3] = [
        ("add", |error| add(off(1.0, error), exactly(1.0))),
        ("mul", |error| mul(off(1.0, error), exactly(1.0))),
        ("div", |error| div(off(power_of_two(890), error), exactly(1.0))),
    ];
    for (name, kernel) in kernels {
        let is_regular = |bits: u64| !kernel(f64::from_bits(bits)).is_irregular();
        let (mut below, mut above) = ((0.5 * HIGH).to_bits(), HIGH.to_bits());
        assert!(is_regular(below) && !is_regular(above), "{name}");
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if is_regular(middle) { below = middle } else { above = middle }
        }
        let last = kernel(f64::from_bits(below)).error;
        assert!(last < HIGH && last > HIGH * (1.0 - power_of_two(-50)), "{name}: {last:e}");
    }
}

/// A few arguments of each kind, where a low part, a late term of a series or a part of a table decides: each
/// enclosure holds the real value.
#[test]
fn enclosures_hold_where_little_shows() {
    let (mut random, tables) = (SplitMix64(26), &Tables::ready());
    let held = |name: &str, x: Pair, y: Pair, truth: fn(Float) -> Float| {
        let real = truth(Float::with_val(300, center(x)));
        let off = (center(y) - &real).abs();
        assert!(!y.is_irregular() && off <= y.error, "{name}({x:?}) = {y:?} is off by {off:e}");
    };
    for _ in 0..200 {
        let hi = random.scaled(-9, 4);
        let x = Pair { error: 0.0, ..random.around(hi) };
        held("exp", x, exp(x, tables), Float::exp);
        held("expm1", x, expm1(x, tables), Float::exp_m1);
        held("tanh", x, tanh(x, tables), Float::tanh);
        let hi = random.scaled(-300, 300).abs();
        let x = Pair { error: 0.0, ..random.around(hi) };
        held("log", x, log(x, tables), Float::ln);
    }
    // About the largest that nothing is taken off: the last term of the series counts.
    for x in [0.00135, -0.00135].map(exactly) {
        held("expm1", x, expm1(x, tables), Float::exp_m1);
    }
    // A low part that underflows.
    for x in [-680.5, -685.25, -689.75].map(exactly) {
        held("exp", x, exp(x, tables), Float::exp);
    }
    // Edges of cells of the logarithm's table, where the reduced argument is largest.
    for edge in (1..106).map(|j| 1.0 + f64::from(j) / 256.0) {
        for x in [edge.next_down(), edge.next_up()].map(exactly) {
            held("log", x, log(x, tables), Float::ln);
        }
    }
    // Times the cell's reciprocal, 509/512, each of these low parts lies in the middle of two numbers; and the logarithm
    // is as small as any with a reciprocal.
    for i in 0..64 {
        let steps = 3.0 * power_of_two(51) + f64::from(512 * i + 256);
        let x = Pair { hi: 1.0 + 1.0 / 256.0, lo: steps * power_of_two(-106), error: 0.0 };
        held("log", x, log(x, tables), Float::ln);
    }
}
