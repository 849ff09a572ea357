mod precisions;

use super::reals::Reals;
use super::*;
use crate::column::Column;

fn holds(enclosure: &Between, value: &Float) -> bool {
    enclosure.ends().is_some_and(|(lo, hi)| lo <= value && value <= hi)
}

/// Every function's enclosure holds the value that 500 bits give, at low and at working precision.
#[test]
fn enclosures_hold_the_value() {
    type Reference = fn(&Float) -> Float;
    let functions: [(Unary, Reference); 8] = [
        (Unary::Exponential, |x| x.clone().exp()),
        (Unary::ExponentialMinusOne, |x| x.clone().exp_m1()),
        (Unary::Log, |x| x.clone().ln()),
        (Unary::LogPlusOne, |x| x.clone().ln_1p()),
        (Unary::Tanh, |x| x.clone().tanh()),
        (Unary::Sqrt, |x| x.clone().sqrt()),
        (Unary::Rsqrt, |x| x.clone().recip_sqrt()),
        (Unary::Negate, |x| -x.clone()),
    ];
    for bits in [8, 24, 53, 128] {
        let mut mpfr = Mpfr::new(bits);
        for i in 1..400 {
            let x = f64::from(i) * 0.0371;
            let wide = Float::with_val(500, x);
            for (unary, reference) in functions {
                let (exact, got) = (reference(&wide), Arithmetic::exact(&mpfr, x));
                let got = Arithmetic::unary(&mut mpfr, unary, &got);
                assert!(holds(&got, &exact), "{unary:?} of {x} at {bits} bits");
            }
            // An interval's image holds those of its ends.
            let (low, high) = (Float::with_val(bits, x), Float::with_val(bits, x + 0.25));
            let between = Rc::new(Between::real(low.clone(), high.clone()));
            for (unary, reference) in functions {
                let got = Arithmetic::unary(&mut mpfr, unary, &between);
                for end in [&low, &high] {
                    let exact = reference(&Float::with_val(500, end));
                    assert!(holds(&got, &exact), "{unary:?} up to {end} at {bits} bits");
                }
            }
            let (a, b) = (Arithmetic::exact(&mpfr, x), Arithmetic::exact(&mpfr, 3.7));
            for (binary, exact) in [
                (Field::Add, Float::with_val(500, &wide + 3.7)),
                (Field::Subtract, Float::with_val(500, &wide - 3.7)),
                (Field::Multiply, Float::with_val(500, &wide * 3.7)),
                (Field::Divide, Float::with_val(500, &wide / 3.7)),
            ] {
                let got = Arithmetic::binary(&mut mpfr, binary, &a, &b);
                assert!(holds(&got, &exact), "{binary:?} of {x} at {bits} bits");
            }
        }
    }
}

fn text(value: &Between) -> String {
    match value {
        Between::Unknown => "unknown".to_string(),
        Between::Exact(v) => format!("{:?}", v.to_f64()),
        Between::Real { lo, hi, .. } => format!("[{:?}, {:?}]", lo.to_f64(), hi.to_f64()),
    }
}

/// Terms that are known exactly.
fn terms(values: &[f64]) -> Vec<Rc<Between>> {
    values.iter().map(|v| Rc::new(Between::exact(*v))).collect()
}

fn around(lo: f64, hi: f64) -> Rc<Between> {
    Rc::new(Between::real(Float::with_val(53, lo), Float::with_val(53, hi)))
}

/// IEEE 754-2019, 6.3: -0 only if nothing but -0 is added; infinities and NaN before all.
#[test]
fn sums_have_the_signs_of_ieee() {
    let mpfr = Mpfr::new(53);
    let sum = |values: &[f64]| text(&mpfr.sum(&terms(values)));
    assert_eq!([sum(&[]), sum(&[-0.0]), sum(&[-0.0, -0.0]), sum(&[-0.0, 0.0])], ["0.0", "-0.0", "-0.0", "0.0"]);
    assert_eq!([sum(&[1.0, -1.0]), sum(&[-1.0, 1.0, -0.0]), sum(&[1.5, 2.0])], ["0.0", "0.0", "3.5"]);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_eq!(
        [sum(&[1.0, inf]), sum(&[-inf, -inf]), sum(&[inf, 1.0, -inf]), sum(&[nan, inf])],
        ["inf", "-inf", "NaN", "NaN"]
    );
    let with = |other: Between, values: &[f64]| text(&mpfr.sum(&[terms(values), vec![Rc::new(other)]].concat()));
    assert_eq!([with(Between::Unknown, &[inf]), with(Between::Unknown, &[nan])], ["unknown", "NaN"]);
    assert_eq!(text(&mpfr.sum(&[around(1.0, 1.5), around(-0.25, 2.0)])), "[0.75, 3.5]");
    // A third and its opposite: nothing is left of either, and neither is a zero.
    let third = Rc::new(Between::of_rational(&rug::Rational::from((1, 3)), 53));
    assert_eq!(text(&mpfr.sum(&[third.clone(), Rc::new(third.negate())])), "0.0");
    assert_eq!(text(&mpfr.sum(&[third.clone(), third])), "[0.6666666666666666, 0.6666666666666667]");
}

/// At the ends of their domains functions are infinite, zero, or nothing is known.
#[test]
fn functions_end_where_their_domain_does() {
    let mut mpfr = Mpfr::new(53);
    let mut of = |unary, x: &Rc<Between>| text(&Arithmetic::unary(&mut mpfr, unary, x));
    let (least, exact) = (f64::from_bits(1), |v: f64| Rc::new(Between::exact(v)));
    for (unary, pole) in [(Unary::Log, 0.0), (Unary::LogPlusOne, -1.0)] {
        assert_eq!(of(unary, &exact(pole)), "-inf", "{unary:?}");
        assert_eq!(of(unary, &exact(pole - 0.5)), "NaN", "{unary:?}");
        assert_eq!(of(unary, &around(pole - 1.0, pole - 0.5)), "NaN", "{unary:?}");
        for open in [around(pole - 1.0, pole), around(pole - 1.0, pole + 1.0), around(pole, pole + 1.0)] {
            assert_eq!(of(unary, &open), "unknown", "{unary:?} of {}", text(&open));
        }
    }
    assert_eq!([of(Unary::Log, &exact(-0.0)), of(Unary::Log, &exact(1.0))], ["-inf", "0.0"]);
    assert_eq!(of(Unary::Log, &around(1.0, 1.0)), "0.0");
    assert_eq!([of(Unary::Sqrt, &exact(-0.0)), of(Unary::Sqrt, &exact(-least))], ["-0.0", "NaN"]);
    assert_eq!([of(Unary::Sqrt, &around(-2.0, -1.0)), of(Unary::Sqrt, &around(-1.0, 4.0))], ["NaN", "unknown"]);
    assert_eq!([of(Unary::Sqrt, &around(0.0, 4.0)), of(Unary::Sqrt, &around(-1.0, 0.0))], ["[0.0, 2.0]", "unknown"]);
    assert_eq!([of(Unary::Rsqrt, &exact(0.0)), of(Unary::Rsqrt, &exact(-0.0))], ["inf", "-inf"]);
    assert_eq!([of(Unary::Rsqrt, &exact(4.0)), of(Unary::Rsqrt, &around(1.0, 4.0))], ["0.5", "[0.5, 1.0]"]);
    assert_eq!(of(Unary::Rsqrt, &around(0.0, 4.0)), "unknown");
}

/// A zero that forms show and enclosures do not is of either sign; a product with a zero has the sign of both factors.
#[test]
fn what_cancels_at_a_hidden_zero_has_no_sign() {
    let mpfr = Mpfr::new(53);
    let named = |lo: f64, hi: f64| Rc::new(mpfr.with_form((*around(lo, hi)).clone(), None));
    let (hidden, positive) = (named(-1.0, 1.0), named(1.0, 2.0));
    let negated = Rc::new(hidden.negate());
    assert_eq!(text(&mpfr.sum(&[hidden.clone(), negated.clone()])), "[-0.0, 0.0]");
    assert_eq!(text(&mpfr.binary(Field::Subtract, &hidden, &hidden)), "[-0.0, 0.0]");
    // Beside what is no zero, whatever cancels is +0.
    let beside = [hidden.clone(), negated.clone(), positive.clone(), Rc::new(positive.negate())];
    assert_eq!(text(&mpfr.sum(&beside)), "0.0");
    assert_eq!(text(&mpfr.binary(Field::Add, &hidden, &negated)), "[-0.0, 0.0]");
    assert_eq!(text(&mpfr.binary(Field::Subtract, &positive, &positive)), "0.0");
    let (zero, minus) = (Between::exact(0.0), Between::exact(-0.0));
    assert_eq!(text(&mpfr.binary(Field::Multiply, &positive, &minus)), "-0.0");
    // However far the other factor reaches: it is finite.
    let far = around(-2.0, f64::INFINITY);
    for (x, y) in [(&zero, &*far), (&*far, &zero)] {
        assert_eq!(text(&mpfr.mul(x, y)), "[-0.0, 0.0]");
    }
}

#[test]
fn poles_at_a_zero_of_either_sign() {
    let mut mpfr = Mpfr::new(53);
    let zero = around(-0.0, 0.0);
    assert_eq!(text(&zero), "[-0.0, 0.0]");
    assert_eq!(text(&Arithmetic::unary(&mut mpfr, Unary::Log, &zero)), "-inf");
}

/// The reciprocal root of what is no square is rounded once: its ends are neighbours.
#[test]
fn reciprocal_roots_are_rounded_once() {
    for bits in [24, 53, 128] {
        let mut mpfr = Mpfr::new(bits);
        for x in [2.0, 3.0, 5.0, 6.0, 7.0, 10.0, 11.0] {
            let argument = Arithmetic::exact(&mpfr, x);
            let root = Arithmetic::unary(&mut mpfr, Unary::Rsqrt, &argument);
            let (lo, hi) = root.ends().unwrap();
            let mut next = lo.clone();
            next.next_up();
            assert_eq!(*hi, next, "{x} at {bits} bits");
        }
    }
}

/// Values as they came say of themselves what their enclosures say.
#[test]
fn plain_values_answer_as_their_enclosures_do() {
    for value in [0.0, -0.0, f64::from_bits(1), 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let plain = Reals::Plain(Column::new(vec![1.0, value]));
        let enclosed = Reals::Enclosed(Column::new(terms(&[1.0, value])));
        for reals in [&plain, &enclosed] {
            assert_eq!((reals.is_zero(0), reals.is_zero(1)), (false, value == 0.0), "{value}");
            assert_eq!(reals.all_numbers(), !value.is_nan(), "{value}");
        }
        assert_eq!(
            (plain.are_plain_and_finite(), enclosed.are_plain_and_finite()),
            (value.is_finite(), false),
            "{value}"
        );
    }
}
