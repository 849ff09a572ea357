//! Laws of every arithmetic, tested on all three.

use std::cmp::Ordering;

use rug::Float;

use super::super::column::{Column, Mover};
use super::super::fast::Fast;
use super::super::mpfr::Mpfr;
use super::super::pair::Pair;
use super::super::pairs::Pairs;
use super::{Arithmetic, Field};
use crate::ir::{Op, Unary};

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Knowledge of a number.
#[derive(Clone, Copy, Debug)]
enum Known {
    Exactly(f64),
    Between(f64, f64),
    Nothing,
}

use Known::{Between, Exactly, Nothing};

impl Known {
    fn number<A: Arithmetic>(self, arithmetic: &A) -> A::Number {
        match self {
            Exactly(value) => arithmetic.exact(value),
            Between(lo, hi) => arithmetic.hull(&arithmetic.exact(lo), &arithmetic.exact(hi)),
            Nothing => arithmetic.unknown(),
        }
    }
}

/// Whether a number is known to be this: exactly, or with ends that enclose the named ones and are hardly wider.
fn is<A: Arithmetic>(arithmetic: &A, number: &A::Number, known: Known) -> bool {
    let exact = arithmetic.as_exact(number);
    let (lo, hi) = arithmetic.bounds(number);
    match known {
        Exactly(value) if value.is_nan() => arithmetic.is_nan(number),
        Exactly(value) => arithmetic.is_number(number) && exact.is_some_and(|v| v.to_bits() == value.to_bits()),
        Between(low, high) => {
            let slack = 1e-5 * (high - low);
            let (below, above) = (low - slack..=low, high..=high + slack);
            arithmetic.is_number(number) && exact.is_none() && below.contains(&lo) && above.contains(&hi)
        }
        Nothing => !arithmetic.is_nan(number) && !arithmetic.is_number(number) && exact.is_none(),
    }
}

/// The same test for each arithmetic.
macro_rules! of_all {
    ($law:ident) => {
        $law(Fast::default(), "intervals");
        $law(Pairs::default(), "pairs");
        $law(Mpfr::new(100), "MPFR");
    };
}

const SPECIAL: [f64; 9] = [0.0, -0.0, 1.0, -2.5, INFINITY, -INFINITY, NAN, 1e-320, f64::MAX];

#[test]
fn what_is_known_can_be_asked() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        for value in SPECIAL {
            let number = a.exact(value);
            assert!(is(&a, &number, Exactly(value)), "{name}: {value}");
            assert_eq!(a.is_number(&number), !value.is_nan(), "{name}: {value}");
            if !value.is_nan() {
                assert_eq!(a.bounds(&number), (value, value), "{name}");
            }
            assert_eq!(a.round(&number).map(f64::to_bits), Some(value.to_bits()), "{name}: {value}");
        }
        for known in [Between(1.0, 2.0), Between(-3.0, 4.0), Between(-2.0, -1.5), Nothing] {
            let number = known.number(&a);
            assert!(is(&a, &number, known), "{name}: {known:?}");
            assert_eq!(a.round(&number), None, "{name}: {known:?}");
        }
        let columns = [vec![1.0, -INFINITY, 0.0], vec![1.0, NAN], vec![]];
        for values in columns {
            let all = values.iter().all(|v| !v.is_nan());
            assert_eq!(a.all_numbers(&a.exacts(&Column::new(values.clone()))), all, "{name}: {values:?}");
        }
        let numbers = [Exactly(1.0), Between(1.0, 2.0), Exactly(INFINITY)].map(|known| known.number(&a)).to_vec();
        assert!(a.all_numbers(&a.collect(numbers.clone())), "{name}");
        for other in [Nothing, Exactly(NAN)] {
            let mut numbers = numbers.clone();
            numbers.insert(2, other.number(&a));
            assert!(!a.all_numbers(&a.collect(numbers)), "{name}: {other:?}");
        }
    }
    of_all!(law);
}

#[test]
fn comparisons_decide_what_enclosures_tell_apart() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        let cases = [
            (Exactly(1.0), Exactly(2.0), Some(Ordering::Less)),
            (Exactly(-0.0), Exactly(0.0), Some(Ordering::Equal)),
            (Between(1.0, 2.0), Between(2.5, 3.0), Some(Ordering::Less)),
            (Between(1.0, 2.0), Between(1.5, 3.0), None),
            (Between(-1.0, 1.0), Exactly(0.0), None),
            (Between(-3.0, -1.0), Exactly(0.0), Some(Ordering::Less)),
            (Between(1.0, 3.0), Exactly(-0.0), Some(Ordering::Greater)),
            (Between(1.0, 3.0), Exactly(INFINITY), Some(Ordering::Less)),
            (Between(1.0, 3.0), Exactly(-INFINITY), Some(Ordering::Greater)),
            (Exactly(INFINITY), Exactly(INFINITY), Some(Ordering::Equal)),
        ];
        for (x, y, expected) in cases {
            let (p, q) = (x.number(&a), y.number(&a));
            assert_eq!(a.compare(&p, &q), expected, "{name}: {x:?}, {y:?}");
            assert_eq!(a.compare(&q, &p), expected.map(Ordering::reverse), "{name}: {y:?}, {x:?}");
        }
    }
    of_all!(law);
}

/// Toward zero where both ends agree, and saturated only where nobody takes the result for the number.
#[test]
fn truncation_is_decided_by_both_ends() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        let large = (1u128 << 99) as f64;
        let cases = [
            (Exactly(-3.75), Some(-3), Some(-3.0)),
            (Exactly(7.0), Some(7), Some(7.0)),
            (Between(2.25, 2.75), Some(2), Some(2.0)),
            (Between(-2.75, -2.25), Some(-2), Some(-2.0)),
            (Between(-0.5, 0.75), Some(0), Some(0.0)),
            (Between(1.5, 2.5), None, None),
            (Exactly(large), Some(1 << 99), Some(large)),
            (Exactly(-large), Some(-1 << 99), Some(-large)),
            (Exactly(NAN), None, None),
            (Nothing, None, None),
        ];
        for (known, truncated, whole) in cases {
            let number = known.number(&a);
            assert_eq!(a.truncated(&number), truncated, "{name}: {known:?}");
            let got = a.whole(&number).and_then(|whole| a.as_exact(&whole));
            assert_eq!(got, whole, "{name}: {known:?}");
        }
        assert_eq!(a.truncated(&a.exact(INFINITY)), Some(i128::MAX), "{name}");
        assert_eq!(a.truncated(&a.exact(-1e300)), Some(i128::MIN), "{name}");
        for far in [2.0 * large, -2.0 * large, 1e300, INFINITY] {
            let whole = a.whole(&a.exact(far));
            assert!(whole.is_none_or(|whole| a.as_exact(&whole) == Some(far)), "{name}: {far}");
        }
    }
    of_all!(law);
    // Those that saturate do not say what the number is from 2^100 on.
    let limit = (1u128 << 100) as f64;
    assert!(Fast::default().whole(&Fast::default().exact(limit)).is_none());
    assert!(Pairs::default().whole(&Pairs::default().exact(-limit)).is_none());
}

#[test]
fn exponents_are_decided_by_both_ends() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        let cases = [
            (Exactly(1.0), Some(0)),
            (Exactly(-7.5), Some(2)),
            (Exactly(1e-320), Some(-1064)),
            (Between(1.25, 1.75), Some(0)),
            (Between(-7.0, -4.5), Some(2)),
            (Between(1.5, 2.5), None),
            (Between(-1.5, 1.75), None),
            (Exactly(0.0), None),
            (Exactly(-0.0), None),
            (Exactly(INFINITY), None),
            (Exactly(-INFINITY), None),
            (Exactly(NAN), None),
            (Nothing, None),
        ];
        for (known, expected) in cases {
            assert_eq!(a.exponent(&known.number(&a)), expected, "{name}: {known:?}");
        }
    }
    of_all!(law);
}

#[test]
fn integers_are_exact_or_enclosed() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        for value in [0, 1, -7, 1 << 53, -(1 << 80), i128::from(i64::MIN)] {
            assert!(is(&a, &a.exact_integer(value), Exactly(value as f64)), "{name}: {value}");
        }
        // Neighbours of 2^60 that f64 does not hold, on both sides of the nearest that it does.
        for (value, nearest) in [((1 << 60) + 1, 2f64.powi(60)), ((1 << 61) - 1, 2f64.powi(61))] {
            let (above, below) = (a.exact_integer(value), a.exact_integer(-value));
            let order = if value > nearest as i128 { Ordering::Greater } else { Ordering::Less };
            let outside = nearest + 256.0 * if order == Ordering::Greater { 1.0 } else { -1.0 };
            for (number, sign) in [(above, 1.0), (below, -1.0)] {
                assert!(a.is_number(&number) && a.as_exact(&number).is_none(), "{name}: {value}");
                let (lo, hi) = a.bounds(&number);
                let ends = [sign * nearest, sign * outside];
                assert!(ends.contains(&lo) && ends.contains(&hi) && lo < hi, "{name}: {value}, {lo} {hi}");
            }
        }
    }
    of_all!(law);
}

#[test]
fn remainders_are_those_of_all_that_operands_may_be() {
    fn law<A: Arithmetic>(mut a: A, name: &str) {
        let values = [0.0, -0.0, 1.0, -5.5, 6.0, 1e300, 7.0, 3e-320, INFINITY, -INFINITY, NAN];
        for (x, y) in values.iter().flat_map(|x| values.iter().map(move |y| (*x, *y))) {
            let (p, q) = (a.exact(x), a.exact(y));
            let got = a.remainder(&p, &q);
            assert!(is(&a, &got, Exactly(x % y)), "{name}: {x} rem {y}");
        }
        let cases = [
            (Exactly(INFINITY), Between(1.0, 2.0), Exactly(NAN)),
            (Exactly(-INFINITY), Nothing, Exactly(NAN)),
            (Between(1.0, 2.0), Exactly(0.0), Exactly(NAN)),
            (Between(1.0, 2.0), Exactly(-0.0), Exactly(NAN)),
            (Nothing, Exactly(NAN), Exactly(NAN)),
            (Exactly(NAN), Between(1.0, 2.0), Exactly(NAN)),
            (Between(1.0, 2.0), Exactly(-INFINITY), Between(1.0, 2.0)),
            (Nothing, Exactly(INFINITY), Nothing),
            (Nothing, Between(1.0, 2.0), Nothing),
            (Between(1.0, 2.0), Nothing, Nothing),
            (Exactly(1.0), Nothing, Nothing),
            (Between(5.0, 6.0), Between(-1.0, 1.0), Nothing),
            (Exactly(0.0), Between(-1.0, 1.0), Nothing),
            (Exactly(0.0), Between(1.0, 2.0), Exactly(0.0)),
            (Exactly(-0.0), Between(-2.0, -1.0), Exactly(-0.0)),
            (Between(5.25, 5.5), Exactly(2.0), Between(1.25, 1.5)),
            (Between(-5.5, -5.25), Exactly(2.0), Between(-1.5, -1.25)),
            (Exactly(5.0), Between(-2.25, -2.125), Between(0.5, 0.75)),
            (Between(-0.5, 0.25), Exactly(1.0), Between(-0.5, 0.25)),
            (Between(5.0, 8.0), Exactly(2.0), Between(-2.0, 2.0)),
            (Exactly(1e300), Between(2.0, 3.0), Between(-3.0, 3.0)),
            (Exactly(1e300), Between(-3.0, -2.0), Between(-3.0, 3.0)),
        ];
        for (x, y, expected) in cases {
            let (p, q) = (x.number(&a), y.number(&a));
            let got = a.remainder(&p, &q);
            assert!(is(&a, &got, expected), "{name}: {x:?} rem {y:?} is {:?}", a.bounds(&got));
        }
    }
    of_all!(law);
}

/// A multiple leaves the zero of its own sign, however small it is: even where no f64 is below it but zero.
#[test]
fn multiples_leave_the_zero_of_their_sign() {
    let mut a = Mpfr::new(100);
    let of = |a: &mut Mpfr, unary: Unary, x: &_| Arithmetic::unary(a, unary, x);
    let [one, tiny] = [1.0, f64::from_bits(1)].map(|v| a.exact(v));
    for shifts in 0..3 {
        let mut divisor = of(&mut a, Unary::Exponential, &one);
        for _ in 0..shifts {
            divisor = Arithmetic::binary(&mut a, Field::Multiply, &divisor, &tiny);
        }
        for factor in [7.0, -7.0] {
            let times = a.exact(factor);
            let multiple = Arithmetic::binary(&mut a, Field::Multiply, &divisor, &times);
            for divisor in [divisor.clone(), of(&mut a, Unary::Negate, &divisor)] {
                let got = a.remainder(&multiple, &divisor);
                assert!(is(&a, &got, Exactly(0.0f64.copysign(factor))), "{factor}, {shifts}: {got:?}");
            }
        }
    }
}

/// Elements that are exactly the value are not around it; those whose enclosure holds it are.
#[test]
fn elements_around_a_value_are_those_that_may_be_it() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        for value in [0.0, 2.0] {
            let of = |lo: f64, hi: f64| Between(value + lo, value + hi);
            let all = [
                (Exactly(value), false),
                (of(-1.0, 1.0), true),
                (of(0.5, 1.0), false),
                (of(-1.0, -0.5), false),
                (Exactly(value + 1.0), false),
                (of(-0.25, 3.0), true),
                (Exactly(-INFINITY), false),
                (of(-3.0, 0.25), true),
                (of(100.0, 101.0), false),
                (of(-1e-3, 0.0), true),
                (of(0.0, 1e-3), true),
            ];
            let numbers = a.collect(all.iter().map(|(known, _)| known.number(&a)).collect());
            let expected: Vec<usize> = (0..all.len()).filter(|at| all[*at].1).collect();
            assert_eq!(a.around(&numbers, value), expected, "{name}: {value}");
        }
        let exact = a.exacts(&Column::new(vec![0.0, 1.0, 2.0]));
        assert!(a.around(&exact, 1.0).is_empty(), "{name}");
    }
    of_all!(law);
}

/// All lengths, so that the last chunk of a loop is full, empty and all between.
#[test]
fn sums_and_roundings_take_every_element() {
    fn law<A: Arithmetic>(mut a: A, name: &str) {
        for length in (0..140).chain([1000]) {
            let values: Vec<f64> = (0..length).map(|i| f64::from((i * i % 97) as u32) - 20.0 + 0.125).collect();
            let numbers = a.exacts(&Column::new(values.clone()));
            assert_eq!(a.rounded_all(&numbers), values, "{name}: {length}");
            let init = a.exact(1000.5);
            let total = values.iter().sum::<f64>() + 1000.5;
            let got = a.sum_range(&init, &numbers, 0..length);
            assert!(is(&a, &got, Exactly(total)), "{name}: {length}, {:?}", a.bounds(&got));
        }
    }
    of_all!(law);
}

/// A sum with cancellation is as tight as one without: two steps wide at most.
#[test]
fn sums_of_ranges_are_tight() {
    fn law<A: Arithmetic>(mut a: A, name: &str) {
        let mut values: Vec<f64> = (1..300).map(|i| 2f64.powi(i * 7 % 90) / f64::from(i)).collect();
        let negated: Vec<f64> = values.iter().rev().map(|v| -v).collect();
        values.extend(negated);
        values.push(1.0 / 3.0);
        let real = values.iter().fold(Float::with_val(2200, 1.0 / 7.0), |sum, v| sum + v);
        let numbers = a.exacts(&Column::new(values.clone()));
        let init = a.exact(1.0 / 7.0);
        let got = a.sum_range(&init, &numbers, 0..values.len());
        let (lo, hi) = a.bounds(&got);
        assert!(real >= lo && real <= hi && hi <= lo.next_up().next_up(), "{name}: {lo:e} to {hi:e}");
        // With ends that are not exact, as wide as the terms together.
        let wide = a.collect((0..100).map(|i| Between(f64::from(i), f64::from(i) + 0.5).number(&a)).collect());
        let got = a.sum_range(&init, &wide, 1..100);
        let low: f64 = 4950.0 + 1.0 / 7.0;
        assert!(is(&a, &got, Between(low.next_up(), (low + 49.5).next_down())), "{name}: {:?}", a.bounds(&got));
    }
    of_all!(law);
}

/// Moved to any number of elements, and sorted out again, values give the results that they gave.
#[test]
fn values_in_runs_give_what_elements_give() {
    fn law<A: Arithmetic>(mut a: A, name: &str) {
        let known = [Exactly(0.5), Between(0.25, 0.375), Exactly(-0.0), Between(-2.0, -1.0), Nothing];
        let numbers = a.collect(known.iter().map(|known| known.number(&a)).collect());
        let op = Op::Broadcast { dims: vec![0] };
        let mover = Mover { op: &op, dims: vec![&[5]], starts: &[], starts_dims: &[], out_dims: &[5, 70] };
        let spread = a.rearrange(&[&numbers], &mover);
        for unary in [Unary::Exponential, Unary::Negate, Unary::Abs, Unary::Floor, Unary::Sqrt] {
            let results = a.unary_all(unary, &spread, None);
            for at in 0..350 {
                let (got, one) = (a.at(&results, at), a.unary(unary, &known[at / 70].number(&a)));
                let same = a.bounds(&got) == a.bounds(&one) || a.is_nan(&got) && a.is_nan(&one);
                // The loops' exponential may be another enclosure than that of one number.
                let (lo, hi) = a.bounds(&got);
                let near = (lo - a.bounds(&one).0).abs() < 1e-12 && (hi - a.bounds(&one).1).abs() < 1e-12;
                assert!(same || unary == Unary::Exponential && near, "{name}: {unary:?} of {:?}", known[at / 70]);
            }
        }
        let picked = a.pick(&spread, &[349, 0, 70, 71]);
        for (at, known) in [known[4], known[0], known[1], known[1]].into_iter().enumerate() {
            assert!(is(&a, &a.at(&picked, at), known), "{name}: {known:?}");
        }
    }
    of_all!(law);
}

/// An exact dot that f64 holds is exactly known, whatever cancels on the way; and dots are counted.
#[test]
fn dots_that_are_f64_are_exact() {
    fn law<A: Arithmetic>(mut a: A, name: &str) {
        let far = [1e300, 2f64.powi(600), 1e100, 1.0, 1e-100];
        let row: Vec<f64> = far.iter().copied().chain([0.5]).chain(far.iter().map(|v| -v)).collect();
        let ones = vec![1.0; row.len()];
        let dots = a.exact_dots(&row, &ones, [1, row.len(), 1]);
        assert!(is(&a, &dots.numbers[0], Exactly(0.5)), "{name}");
        let special = a.exact_dots(&[f64::INFINITY, 1.0, 0.0, 0.0], &[1.0, 1.0], [2, 2, 1]);
        assert!(is(&a, &special.numbers[0], Exactly(INFINITY)) && is(&a, &special.numbers[1], Exactly(0.0)), "{name}");
        let counted = a.stats();
        let all = [
            counted.dots_grid,
            counted.dots_sliced,
            counted.dots_dot2,
            counted.dots_superaccumulator,
            counted.dots_mpfr,
        ];
        // The last rung has no other ways than its own.
        assert_eq!(all.iter().sum::<u64>() > 0, name != "MPFR", "{name}: {counted:?}");
    }
    of_all!(law);
}

/// A pair that is a number goes on to the next rung, and comes out as what it was.
#[test]
fn pairs_go_on_to_the_next_rung() {
    let (pairs, mpfr) = (Pairs::default(), Mpfr::new(200));
    let narrow = Pair { hi: 1.0, lo: 1e-20, error: 1e-30 };
    for x in [narrow, Pair::exact(2.5), Pair { hi: 1e10, lo: 1e-10, error: 0.0 }] {
        let passed = pairs.as_pair(&x).unwrap();
        assert_eq!((passed.hi, passed.lo, passed.error), (x.hi, x.lo, x.error));
        let taken = mpfr.enclose_pair(x).unwrap();
        assert_eq!(mpfr.as_exact(&taken), x.as_exact(), "{x:?}");
        let (lo, hi) = taken.ends().unwrap();
        let center = Float::with_val(300, x.hi) + x.lo;
        assert_eq!(Float::with_val(300, lo + x.error), center, "{x:?}");
        assert_eq!(Float::with_val(300, hi - x.error), center, "{x:?}");
    }
    for none in [Pair::UNKNOWN, Pair::exact(INFINITY), Pair::exact(NAN), Pair { hi: INFINITY, lo: 0.0, error: 1.0 }] {
        assert!(pairs.as_pair(&none).is_none(), "{none:?}");
    }
    assert!(Fast::default().as_pair(&Fast::default().exact(1.0)).is_none());
}

/// Integers and halves beside them, in both parts of a pair.
#[test]
fn truncation_counts_the_low_part() {
    let pairs = Pairs::default();
    let large = 1i128 << 60;
    for value in [large + 1, large - 1, -large - 1, -large + 1] {
        assert_eq!(pairs.truncated(&pairs.exact_integer(value)), Some(value));
    }
    let of = |hi: f64, lo: f64| pairs.truncated(&Pair { hi, lo, error: 0.0 });
    let hi = large as f64;
    assert_eq!([of(hi, 0.5), of(hi, -0.5)], [Some(large), Some(large - 1)]);
    assert_eq!([of(-hi, 0.5), of(-hi, -0.5)], [Some(-large + 1), Some(-large)]);
    assert_eq!([of(2.5, 1e-17), of(-2.5, 1e-17)], [Some(2), Some(-2)]);
    assert_eq!(of(0.0, 0.0), Some(0));
    assert_eq!(pairs.truncated(&Pair { hi: 3.0, lo: 0.0, error: 1e-9 }), None);
    assert_eq!(pairs.truncated(&Pair { hi: 3.5, lo: 0.0, error: 1e-9 }), Some(3));
}

/// The magnitude of a pair of known sign keeps its low part and its error.
#[test]
fn magnitudes_of_pairs_lose_nothing() {
    let mut pairs = Pairs::default();
    let parts = |x: Pair| (x.hi, x.lo, x.error);
    for x in [Pair { hi: 1.0, lo: 1e-20, error: 1e-30 }, Pair { hi: -1.0, lo: 1e-20, error: 1e-30 }] {
        let expected = if x.hi > 0.0 { x } else { x.neg() };
        assert_eq!(parts(pairs.unary(Unary::Abs, &x)), parts(expected));
    }
    let wide = pairs.unary(Unary::Abs, &Pair { hi: 0.5, lo: 0.0, error: 1.0 });
    assert!(is(&pairs, &wide, Between(0.0, 1.5)) || wide.interval().lo >= -1e-300, "{wide:?}");
}

/// A value at the very end of an enclosure is among those that it holds; one further off is not.
#[test]
fn elements_at_the_end_of_their_error_are_around() {
    let (pairs, step) = (Pairs::default(), f64::EPSILON);
    let around = |x: Pair, value: f64| !pairs.around(&pairs.collect(vec![x]), value).is_empty();
    let hi = 1.0 + 2.0 * step;
    assert!(around(Pair { hi, lo: -0.5 * step, error: 0.5 * step }, 1.0 + step));
    assert!(around(Pair { hi, lo: 0.0, error: step }, 1.0 + step));
    assert!(!around(Pair { hi, lo: 0.0, error: 0.25 * step }, 1.0 + 5.0 * step));
}

/// Ends that are one number may be the values.
#[test]
fn enclosures_that_touch_are_not_told_apart() {
    fn law<A: Arithmetic>(a: A, name: &str) {
        for (x, y) in [(Between(1.0, 2.0), Between(2.0, 3.0)), (Between(1.0, 2.0), Exactly(2.0))] {
            let (p, q) = (x.number(&a), y.number(&a));
            assert_eq!((a.compare(&p, &q), a.compare(&q, &p)), (None, None), "{name}: {x:?}, {y:?}");
        }
    }
    of_all!(law);
}
