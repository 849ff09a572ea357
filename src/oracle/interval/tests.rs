use std::cmp::Ordering;

use proptest::prelude::*;
use rug::Float;
use rug::ops::CompleteRound;

use super::regular as kernels;
use super::{Interval, compare, sum};

const TINY: f64 = f64::from_bits(1);

/// Bits that hold any sum or product of two f64 exactly.
const WIDE: u32 = 2200;

fn exactly(value: f64) -> Float {
    Float::with_val(WIDE, value)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>().prop_filter("a number", |x| !x.is_nan()),
        4 => -1e3..1e3f64,
        2 => (-1e3..1e3f32).prop_map(f64::from),
        2 => (-64i32..64).prop_map(f64::from),
        1 => (0u64..5).prop_map(|bits| -f64::from_bits(bits)),
        2 => (-1080i32..1024, -3i32..4).prop_map(|(e, s)| f64::from(s) * crate::num::exp2i(e)),
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::MAX), Just(TINY)],
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    number().prop_map(|x| x.clamp(-f64::MAX, f64::MAX))
}

/// An interval, and a value in it.
fn inhabited() -> impl Strategy<Value = (Interval, f64)> {
    (number(), number(), number(), 0u8..6)
        .prop_map(|(a, b, x, kind)| match kind {
            0 => (Interval::exact(x), x),
            1 if x.is_finite() => (Interval { lo: x, hi: f64::INFINITY }, x),
            2 if x.is_finite() => (Interval { lo: f64::NEG_INFINITY, hi: x }, x),
            3 => (Interval { lo: x.next_down(), hi: x.next_up() }, x),
            4 => (Interval::UNKNOWN, x),
            _ if a.is_finite() && b.is_finite() && a != b => {
                let (lo, hi) = (a.min(b), a.max(b));
                let inside = if x.is_finite() { x.clamp(lo, hi) } else { lo };
                (Interval { lo, hi }, inside)
            }
            _ => (Interval::exact(x), x),
        })
        .prop_map(
            |(interval, x)| {
                if x.is_infinite() && !interval.is_unknown() { (Interval::exact(x), x) } else { (interval, x) }
            },
        )
}

/// Whether `interval` may stand for a value that IEEE gives as `ieee` and that is `real` where it is finite.
fn contains(interval: Interval, ieee: f64, real: &Float) -> bool {
    if interval.is_unknown() {
        true
    } else if interval.is_nan() || ieee.is_nan() {
        interval.is_nan() && ieee.is_nan()
    } else if real.is_finite() && !real.is_zero() {
        *real >= interval.lo && *real <= interval.hi
    } else if interval.is_exact() {
        interval.lo.to_bits() == ieee.to_bits()
    } else {
        real.is_zero() && interval.lo <= 0.0 && interval.hi >= 0.0
    }
}

type Binary = (&'static str, fn(Interval, Interval) -> Interval, fn(f64, f64) -> f64, fn(f64, f64) -> Float);

/// MPFR's values are exact, except for quotients: those cannot be mistaken for an end at this precision.
const BINARY: [Binary; 6] = [
    ("add", Interval::add, |a, b| a + b, |a, b| exactly(a) + b),
    ("sub", Interval::sub, |a, b| a - b, |a, b| exactly(a) - b),
    ("mul", Interval::mul, |a, b| a * b, |a, b| exactly(a) * b),
    ("div", Interval::div, |a, b| a / b, |a, b| exactly(a) / b),
    ("max", Interval::max, maximum, |a, b| exactly(maximum(a, b))),
    ("min", Interval::min, |a, b| -maximum(-a, -b), |a, b| exactly(-maximum(-a, -b))),
];

fn maximum(a: f64, b: f64) -> f64 {
    if a == b && a.is_sign_negative() { b } else { a.max(b) }
}

type Unary = (&'static str, fn(Interval) -> Interval, fn(f64) -> f64, fn(f64) -> Float);

const UNARY: [Unary; 9] = [
    ("neg", Interval::neg, |a| -a, |a| exactly(-a)),
    ("abs", Interval::abs, f64::abs, |a| exactly(a.abs())),
    ("sqrt", Interval::sqrt, f64::sqrt, |a| exactly(a).sqrt()),
    ("rsqrt", Interval::rsqrt, |a| 1.0 / a.sqrt(), |a| 1u32 / exactly(a).sqrt()),
    ("round-nearest-afz", |x| x.to_integers(f64::round), f64::round, |a| exactly(a.round())),
    (
        "round-nearest-even",
        |x| x.to_integers(f64::round_ties_even),
        f64::round_ties_even,
        |a| exactly(a.round_ties_even()),
    ),
    ("floor", Interval::floor, f64::floor, |a| exactly(a.floor())),
    ("ceil", Interval::ceil, f64::ceil, |a| exactly(a.ceil())),
    (
        "sign",
        Interval::sign,
        |a| if a == 0.0 { a } else { a.signum() },
        |a| exactly(if a == 0.0 { a } else { a.signum() }),
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40_000))]

    #[test]
    fn binary_operations_enclose((x, a) in inhabited(), (y, b) in inhabited()) {
        for (name, operation, ieee, real) in BINARY {
            let result = operation(x, y);
            prop_assert!(contains(result, ieee(a, b), &real(a, b)), "{name} {x:?} {y:?} at {a:e} {b:e}: {result:?}");
        }
    }

    #[test]
    fn unary_operations_enclose((x, a) in inhabited()) {
        for (name, operation, ieee, real) in UNARY {
            let result = operation(x);
            prop_assert!(contains(result, ieee(a), &real(a)), "{name} {x:?} at {a:e}: {result:?}");
        }
    }

    #[test]
    fn exact_operands_give_neighbours(a in finite(), b in finite()) {
        for (name, operation, _, real) in BINARY {
            let (result, real) = (operation(Interval::exact(a), Interval::exact(b)), real(a, b));
            if !real.is_finite() {
                continue;
            }
            // A subnormal or overflowing product or quotient may be one step wider; quotients may be inexact in 2200 bits.
            let step = if name == "add" || name == "sub" { 1 } else { 2 };
            let mut up = result.lo;
            for _ in 0..step {
                up = up.next_up();
            }
            prop_assert!(result.hi <= up, "{name} {a:e} {b:e}: {result:?}");
            prop_assert_eq!(result.is_exact(), real == real.to_f64(), "{} {:e} {:e}: {:?}", name, a, b, result);
        }
        if a > 0.0 {
            let (root, real) = (Interval::exact(a).sqrt(), exactly(a).sqrt());
            prop_assert!(root.hi <= root.lo.next_up());
            prop_assert_eq!(root.is_exact(), real == real.to_f64());
        }
    }

    #[test]
    fn comparisons_are_right_or_open((x, a) in inhabited(), (y, b) in inhabited()) {
        if let Some(ordering) = compare(x, y) {
            prop_assert_eq!(Some(ordering), a.partial_cmp(&b), "{:?} {:?}", x, y);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn sums_enclose(terms in proptest::collection::vec(inhabited(), 0..12)) {
        let result = sum(terms.iter().map(|term| term.0));
        let mut real = exactly(-0.0);
        for (_, value) in &terms {
            real += value;
        }
        if terms.is_empty() {
            real = exactly(0.0);
        }
        prop_assert!(contains(result, real.to_f64(), &real), "{terms:?}: {result:?}");
    }
}

#[test]
fn sums_near_overflow_are_neighbours() {
    for (a, b) in [(-2.0525297076899493e307, f64::MAX), (f64::MAX, -2.0525297076899493e307), (-f64::MAX, 1e292)] {
        let (result, real) = (Interval::exact(a).add(Interval::exact(b)), exactly(a) + b);
        assert!(
            result.lo <= real && real <= result.hi && result.hi <= result.lo.next_up(),
            "{a:e} + {b:e}: {result:?}"
        );
        assert_eq!(result.is_exact(), real == real.to_f64(), "{a:e} + {b:e}: {result:?}");
    }
}

#[test]
fn sums_of_many_positive_terms_are_tight() {
    let terms: Vec<f64> = (1..=100_000u32).map(|i| 1.0 / f64::from(i)).collect();
    let result = sum(terms.iter().copied().map(Interval::exact));
    let real = Float::sum(terms.iter().map(|term| exactly(*term)).collect::<Vec<_>>().iter()).complete(WIDE);
    assert!(real >= result.lo && real <= result.hi);
    assert!(result.hi - result.lo <= result.lo * 2f64.powi(-51), "{result:?}");
    assert!(result.lo < result.hi);
}

/// Large terms that cancel leave what the errors of adding them lost.
#[test]
fn sums_enclose_under_cancellation() {
    let mut lossy = 0;
    for count in 10..400 {
        let term = |i: i32| {
            let mixed = (i * 7919 + count * 104_729) % 1013;
            f64::from(mixed - 506) / 7.0 * 2f64.powi(mixed * 31 % 90)
        };
        let terms: Vec<f64> = (0..count).map(term).chain((0..count).map(|i| -term(i * 3 % count))).collect();
        let result = sum(terms.iter().copied().map(Interval::exact));
        let real = terms.iter().fold(exactly(0.0), |sum, term| sum + term);
        assert!(real >= result.lo && real <= result.hi, "{count}: {result:?}");
        lossy += i32::from(result.hi > result.lo.next_up().next_up());
    }
    assert!(lossy > 100, "{lossy}");
}

#[test]
fn sums_without_rounding_are_exact() {
    let result = sum((0..1000).map(|i| Interval::exact(f64::from(i) * 0.25)));
    assert_eq!(result, Interval::exact(124_875.0));
    let zero = sum([1.5, -1.5, -0.0].map(Interval::exact).into_iter());
    assert_eq!((zero.lo.to_bits(), zero.hi.to_bits()), (0, 0));
    let minus_zero = sum([-0.0, -0.0].map(Interval::exact).into_iter());
    assert_eq!(minus_zero.lo.to_bits(), (-0.0f64).to_bits());
}

#[test]
fn open_ends_and_unknowns() {
    let unbounded = Interval { lo: f64::MAX, hi: f64::INFINITY };
    assert_eq!(Interval::exact(f64::MAX).add(Interval::exact(f64::MAX)), unbounded);
    assert_eq!(Interval::exact(0.0).mul(unbounded), Interval::exact(0.0));
    assert_eq!(compare(unbounded, Interval::exact(f64::INFINITY)), Some(Ordering::Less));
    assert_eq!(compare(unbounded, unbounded), None);
    assert_eq!(compare(Interval::exact(-0.0), Interval::exact(0.0)), Some(Ordering::Equal));
    assert!(Interval::exact(1.0).div(Interval { lo: -1.0, hi: 1.0 }).is_unknown());
    assert!(Interval::UNKNOWN.mul(Interval::exact(0.0)).is_unknown());
    assert_eq!(Interval::exact(TINY).mul(Interval::exact(0.25)), Interval { lo: 0.0, hi: TINY });
    assert!(sum([f64::INFINITY, f64::NEG_INFINITY].map(Interval::exact).into_iter()).is_nan());
    let overflowing = sum([f64::MAX, f64::MAX].map(Interval::exact).into_iter());
    assert!(overflowing.lo < f64::MAX && overflowing.hi == f64::INFINITY);
}

/// Every enclosure with ends among a few numbers, and what it may stand for: the ends themselves where they belong to it,
/// numbers between, and zeros of both signs where zero is inside or an end.
fn lattice() -> Vec<(Interval, Vec<f64>)> {
    let ends = [f64::NEG_INFINITY, -2.0, -1.0, 0.0, 1.0, 2.0, f64::INFINITY];
    let inner = [-3.0, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0];
    let mut all: Vec<(Interval, Vec<f64>)> = [-2.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY]
        .iter()
        .map(|v| (Interval::exact(*v), vec![*v]))
        .collect();
    for (i, lo) in ends.iter().enumerate() {
        for hi in &ends[i + 1..] {
            let interval = Interval { lo: *lo, hi: *hi };
            if !interval.is_unknown() {
                all.push((interval, inner.iter().copied().filter(|v| lo <= v && v <= hi).collect()));
            }
        }
    }
    all
}

/// Whether an enclosure allows a value with its sign.
fn allows(interval: Interval, value: f64) -> bool {
    interval.is_unknown()
        || if interval.is_exact() {
            interval.lo.to_bits() == value.to_bits()
        } else {
            interval.lo <= value && value <= interval.hi
        }
}

#[test]
fn enclosures_allow_all_that_their_operands_stand_for() {
    let all = lattice();
    let sign = |v: f64| if v == 0.0 { v } else { v.signum() };
    for (x, values) in &all {
        for v in values {
            let results = [
                ("sign", x.sign(), sign(*v)),
                ("floor", x.floor(), v.floor()),
                ("ceil", x.ceil(), v.ceil()),
                ("to_integers", x.to_integers(f64::round_ties_even), v.round_ties_even()),
                ("sqrt", x.sqrt(), v.sqrt()),
            ];
            for (name, enclosure, value) in results {
                let is_nan = value.is_nan() && (enclosure.is_nan() || enclosure.is_unknown());
                assert!(is_nan || allows(enclosure, value), "{name} of {v:?} in {x:?}: {enclosure:?}");
            }
        }
        for (y, others) in &all {
            for (v, w) in values.iter().flat_map(|v| others.iter().map(move |w| (*v, *w))) {
                let finite = v.is_finite() && w.is_finite();
                if finite {
                    let hull = x.hull(*y);
                    assert!(allows(hull, v) && allows(hull, w), "hull of {x:?} and {y:?}: {hull:?}");
                }
                for (name, enclosure, value) in
                    [("max", x.max(*y), maximum(v, w)), ("min", x.neg().max(y.neg()).neg(), -maximum(-v, -w))]
                {
                    assert!(allows(enclosure, value), "{name} of {v:?} in {x:?} and {w:?} in {y:?}: {enclosure:?}");
                }
                if let Some(order) = compare(*x, *y) {
                    assert_eq!(Some(order), v.partial_cmp(&w), "{v:?} in {x:?} and {w:?} in {y:?}");
                }
            }
        }
    }
    // Hulls are no wider than needed.
    let of = |a: f64, b: f64| Interval { lo: a, hi: b };
    assert_eq!(of(-1.0, 1.0).hull(of(2.0, 3.0)), of(-1.0, 3.0));
    assert_eq!(Interval::exact(0.0).hull(Interval::exact(-0.0)), Interval::SIGNLESS_ZERO);
    assert_eq!(Interval::exact(1.0).hull(Interval::exact(1.0)), Interval::exact(1.0));
    assert_eq!(
        [compare(of(0.0, 1.0), of(2.0, 3.0)), compare(of(0.0, 2.0), of(1.0, 3.0))],
        [Some(Ordering::Less), None]
    );
}

/// The loops' operations give what the whole ones give between their limits, and nothing at or beyond them.
#[test]
fn kernels_of_loops_end_at_their_limits() {
    let (low, high) = (crate::num::exp2i(-400), crate::num::exp2i(400));
    let is_irregular = |x: Interval| x.lo > x.hi;
    let exact = Interval::exact;
    let one = Interval { lo: 1.0, hi: 1.0f64.next_up() };
    for (inside, outside) in [(low.next_up(), low), (high.next_down(), high)] {
        // Sums of either sign; the limit counts for the result.
        for sign in [1.0, -1.0] {
            let part = Interval { lo: sign * 0.25 * inside, hi: sign * 0.25 * inside };
            let rest = exact(sign * 0.75 * inside);
            assert_eq!(kernels::add(part, rest), part.add(rest));
            assert_eq!(kernels::sub(part, rest.neg()), part.sub(rest.neg()));
            let (part, rest) = (exact(sign * 0.25 * outside), exact(sign * 0.75 * outside));
            assert!(is_irregular(kernels::add(part, rest)) && is_irregular(kernels::sub(part, rest.neg())));
        }
        let (inside, outside) = (exact(inside), exact(outside));
        for (kernel, whole) in [
            (kernels::mul as fn(Interval, Interval) -> Interval, Interval::mul as fn(_, _) -> _),
            (kernels::div, Interval::div),
        ] {
            let wide = Interval { lo: 1.5, hi: 2.5 };
            assert_eq!(kernel(wide, one), whole(wide, one));
            assert_eq!(kernel(inside, exact(1.0)), whole(inside, exact(1.0)));
            assert!(is_irregular(kernel(outside, exact(1.0))) && is_irregular(kernel(exact(1.0), outside)));
        }
        assert_eq!(kernels::mul(exact(1.0), inside), inside);
    }
    // Each end of each operand by itself.
    for (lo, hi) in [(low, 1.0), (1.0, high), (-1.0, 1.0), (0.0, 1.0), (1.0, f64::INFINITY)] {
        for kernel in [kernels::mul, kernels::div] {
            assert!(is_irregular(kernel(Interval { lo, hi }, one)) && is_irregular(kernel(one, Interval { lo, hi })));
        }
    }
    // Each end of the result by itself.
    let of = |lo: f64, hi: f64| Interval { lo, hi };
    for (x, y) in [(of(-2.0, -1.0), 1.0), (of(-1.0, 1.0), 1.0), (of(1.0, 0.75 * high), 0.75 * high)] {
        let y = exact(y);
        for (x, y) in [(x, y), (x.neg(), y.neg())] {
            assert!(is_irregular(kernels::add(x, y)) && is_irregular(kernels::sub(x, y.neg())), "{x:?}, {y:?}");
        }
    }
    for special in [Interval::UNKNOWN, Interval::NAN, exact(f64::INFINITY)] {
        for kernel in [kernels::add, kernels::sub, kernels::mul, kernels::div] {
            let results = [kernel(special, one), kernel(one, special)];
            assert!(results.iter().all(|x| is_irregular(*x)), "{special:?}: {results:?}");
        }
    }
}

/// Enclosures that operations make no wider than they must be.
#[test]
fn enclosures_are_no_wider_than_needed() {
    let (of, exact) = (|lo: f64, hi: f64| Interval { lo, hi }, Interval::exact);
    #[track_caller]
    fn same(got: Interval, expected: Interval) {
        let bits = |x: Interval| (x.lo.to_bits(), x.hi.to_bits());
        assert_eq!(bits(got), bits(expected), "{got:?}, not {expected:?}");
    }
    same(of(0.0, 4.0).sqrt(), of(0.0, 2.0));
    for value in [0.0, -0.0, 4.0, f64::INFINITY] {
        same(exact(value).sqrt(), exact(value.sqrt()));
    }
    assert!(exact(-1.0).sqrt().is_nan() && exact(f64::NEG_INFINITY).sqrt().is_nan() && Interval::NAN.sqrt().is_nan());
    for value in [0.0, -0.0, 0.5, -0.5, -1.5, f64::INFINITY] {
        same(exact(value).floor(), exact(value.floor()));
        same(exact(value).to_integers(f64::round), exact(value.round()));
    }
    assert!(Interval::NAN.floor().is_nan());
    same(of(0.5, 0.75).floor(), of(0.0, 0.0));
    same(of(0.0, 2.0).sign(), of(0.0, 1.0));
    same(of(-2.0, 0.0).sign(), of(-1.0, 0.0));
    // Of zeros the one that prevails, where both signs are known.
    same(exact(-0.0).max(exact(-0.0)), exact(-0.0));
    same(exact(-0.0).max(exact(0.0)), exact(0.0));
    same(exact(-0.0).max(of(-2.0, -1.0)), exact(-0.0));
    same(exact(0.0).max(of(-2.0, 0.0)), exact(0.0));
    same(of(-2.0, 0.0).max(exact(-0.0)), Interval::SIGNLESS_ZERO);
    same(exact(0.0).min(of(1.0, 2.0)), exact(0.0));
    assert_eq!(compare(of(2.0, 3.0), of(0.0, 1.0)), Some(Ordering::Greater));
    assert_eq!(compare(of(0.0, 1.0), of(2.0, 3.0)), Some(Ordering::Less));
    for other in [exact(1.0), exact(f64::INFINITY), of(1.0, 2.0), Interval::UNKNOWN, Interval::NAN] {
        assert_eq!([compare(Interval::NAN, other), compare(other, Interval::NAN)], [None; 2]);
        assert_eq!([compare(Interval::UNKNOWN, other), compare(other, Interval::UNKNOWN)], [None; 2]);
    }
}

/// The width of a sum whose errors do not fit is that of the bound on them, and a sum that may overflow has no bound.
#[test]
fn sums_are_as_wide_as_their_bound() {
    let terms: Vec<f64> = (0..400).map(|i| 2f64.powi(-53 - i % 7) * (1.0 + f64::from(i) / 401.0)).collect();
    let all: Vec<f64> = [1.0].into_iter().chain(terms).chain([-1.0]).collect();
    let (mut total, mut magnitudes) = (0.0, 0.0);
    for term in &all {
        let (sum, error) = super::two_sum(total, *term);
        (total, magnitudes) = (sum, magnitudes + error.abs());
    }
    let result = sum(all.iter().copied().map(Interval::exact));
    let bound = 2.0 * (all.len() + 2) as f64 * f64::EPSILON * magnitudes;
    let ulp = result.hi.next_up() - result.hi;
    let width = result.hi - result.lo;
    assert!(magnitudes > 0.0 && width >= bound && width <= bound + 4.0 * ulp, "{width:e}, not {bound:e}");
    // Half the spacing beyond the largest number: the sum is not above it, but might be.
    let beyond = [f64::MAX, crate::num::exp2i(969), crate::num::exp2i(969)];
    assert!(sum(beyond.into_iter().map(Interval::exact)).is_unknown());
    assert!(sum(beyond.into_iter().map(|x| Interval::exact(-x))).is_unknown());
}

/// A limit counts for an operand even where the result is far from it.
#[test]
fn kernels_of_loops_leave_out_operands_at_their_limits() {
    type Operation = fn(Interval, Interval) -> Interval;
    let held = |kernel: Operation, whole: Operation, [outside, inside]: [[Interval; 2]; 2]| {
        let left_out = kernel(outside[0], outside[1]);
        assert!(left_out.lo > left_out.hi, "{outside:?}: {left_out:?}");
        assert_eq!(kernel(inside[0], inside[1]), whole(inside[0], inside[1]), "{inside:?}");
    };
    let (low, high) = (crate::num::exp2i(-400), crate::num::exp2i(400));
    let small = [low, low.next_up()].map(|lo| Interval { lo, hi: 1.0 });
    let large = [high, high.next_down()].map(|hi| Interval { lo: 1.0, hi });
    let (half, two) = (Interval::exact(0.5), Interval::exact(2.0));
    for (operands, other) in [(small, two), (large, half)] {
        held(kernels::mul, Interval::mul, operands.map(|x| [x, other]));
        held(kernels::mul, Interval::mul, operands.map(|x| [other, x]));
    }
    for (operands, other) in [(small, half), (large, two)] {
        held(kernels::div, Interval::div, operands.map(|x| [x, other]));
        held(kernels::div, Interval::div, operands.map(|x| [other, x]));
    }
}
