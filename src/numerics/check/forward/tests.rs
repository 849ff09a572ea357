//! Rules against the worst case of operands at the ends of their bounds, computed with MPFR.

mod dots;

use rug::Float;

use super::element::{Both, Element, OWN, own_rounding, total, wider};
use super::elementwise::{binary, exponential};
use super::{Forward, Value, exact, gamma, reduce};
use crate::ir::Binary;
use crate::machine::vector::VectorUnit;
use crate::machine::{Mode, SumPromise};
use crate::num::{BF16, F16, F32, F64};
use crate::tensor::{DType, Data, Tensor};

const PRECISION: u32 = 300;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [1, 2), of either sign, times `scale`.
    fn number(&mut self, scale: f64) -> f64 {
        let magnitude = f64::from_bits(0x3ff0_0000_0000_0000 | self.bits() >> 12);
        if self.bits() & 1 == 0 { magnitude * scale } else { -magnitude * scale }
    }

    /// A value with errors far apart: the machine's two, and the pass's own.
    fn element(&mut self, scale: f64) -> Element {
        let part = |random: &mut Random, power: i32| random.number(scale).abs() * 2f64.powi(power);
        let v = self.number(scale);
        Element { v, machine: [part(self, -4), part(self, -7)], own: part(self, -44) }
    }
}

fn unit(mode: &str) -> VectorUnit {
    mode.parse::<Mode>().unwrap().vector_unit()
}

fn wide(v: f64) -> Float {
    Float::with_val(PRECISION, v)
}

#[track_caller]
fn assert_is(got: f64, expected: &Float, what: &str) {
    let ratio = (wide(got) / expected).to_f64();
    assert!((ratio - 1.0).abs() < 1e-10, "{what}: {got:e} is {ratio} of {:e}", expected.to_f64());
}

/// The farthest that a function of two operands gets from its value in the middle, if each is off by its own bound.
fn farthest(of: impl Fn(&Float, &Float) -> Float, x: f64, dx: f64, y: f64, dy: f64) -> Float {
    let middle = of(&wide(x), &wide(y));
    let mut most = wide(0.0);
    for dx in [-dx, dx] {
        for dy in [-dy, dy] {
            let off = Float::with_val(PRECISION, of(&(wide(x) + dx), &(wide(y) + dy)) - &middle).abs();
            most = most.max(&off);
        }
    }
    most
}

/// The error of a result that is then rounded to f32.
fn and_rounded(error: Float, v: f64) -> Float {
    Float::with_val(PRECISION, &error + v.abs()) * F32.unit_roundoff() + error
}

#[test]
fn errors_of_two_operands_are_those_of_their_worst_case() {
    let (mut random, unit) = (Random(1), unit("cpu/f32/off"));
    type Exact = fn(&Float, &Float) -> Float;
    let operations: [(Binary, Exact); 4] = [
        (Binary::Add, |x, y| Float::with_val(PRECISION, x + y)),
        (Binary::Subtract, |x, y| Float::with_val(PRECISION, x - y)),
        (Binary::Multiply, |x, y| Float::with_val(PRECISION, x * y)),
        (Binary::Divide, |x, y| Float::with_val(PRECISION, x / y)),
    ];
    for i in 0..2_000 {
        let (x, y) = (random.element(1.0), random.element(2f64.powi(i % 7 - 3)));
        for (op, exact) in operations {
            let got = binary(op, [x, y], DType::F32, false, &unit).unwrap();
            for kind in [0, 1] {
                let worst = farthest(exact, x.v, x.machine[kind], y.v, y.machine[kind]);
                assert_is(got.machine[kind], &and_rounded(worst, got.v), &format!("{op:?} {x:?} {y:?}"));
            }
            let is_sum = matches!(op, Binary::Add | Binary::Subtract);
            let is_exact = is_sum && exact(&wide(x.v), &wide(y.v)) == got.v;
            let own = farthest(exact, x.v, x.own, y.v, y.own) + if is_exact { 0.0 } else { own_rounding(got.v) };
            assert_is(got.own, &own, &format!("own of {op:?} {x:?} {y:?}"));
        }
    }
}

#[test]
fn errors_of_exponentials_are_those_of_their_worst_case() {
    let (mut random, plain, worst) = (Random(2), unit("cpu/f32/off"), unit("v5e/default/off+exp=worst"));
    // FACTS 3.3: 2^-16 on a v5e.
    let published = [(&plain, 0.0), (&worst, 2f64.powi(-16))];
    for _ in 0..500 {
        let x = random.element(1.0);
        for (unit, published) in published {
            let got = exponential(x, DType::F32, unit);
            for kind in [0, 1] {
                let spread = farthest(|x, _| x.clone().exp(), x.v, x.machine[kind], 0.0, 0.0);
                let all = (Float::with_val(PRECISION, &spread + got.v)) * published + spread;
                assert_is(got.machine[kind], &and_rounded(all, got.v), &format!("{x:?}"));
            }
            let own = farthest(|x, _| x.clone().exp(), x.v, x.own, 0.0, 0.0) + own_rounding(got.v);
            assert_is(got.own, &own, &format!("own of {x:?}"));
        }
        // Of a number that is known exactly only the rounding is left.
        let got = exponential(Element::exact(x.v), DType::F32, &plain);
        assert_is(got.machine[0], &and_rounded(wide(0.0), got.v), &format!("{x:?}"));
        assert_eq!(got.own, own_rounding(got.v));
    }
}

/// FACTS 3.3: x * (1 / y), both rounded.
#[test]
fn errors_of_quotients_by_a_reciprocal_are_those_of_both() {
    let (mut random, unit) = (Random(3), unit("v5e/default/off"));
    for i in 0..500 {
        let (x, y) = (random.element(1.0), random.element(2f64.powi(i % 7 - 3)));
        let got = binary(Binary::Divide, [x, y], DType::F32, false, &unit).unwrap();
        for kind in [0, 1] {
            let inverse = farthest(|y, _| Float::with_val(PRECISION, 1 / y), y.v, y.machine[kind], 0.0, 0.0);
            let inverse = and_rounded(inverse, 1.0 / y.v);
            let (da, a, r) = (x.machine[kind], x.v.abs(), (1.0 / y.v).abs());
            let product = Float::with_val(PRECISION, &inverse * a) + r * da + Float::with_val(PRECISION, &inverse * da);
            assert_is(got.machine[kind], &and_rounded(product + own_rounding(got.v), got.v), &format!("{x:?} {y:?}"));
        }
        // A divisor that is exact has a reciprocal that is rounded all the same.
        let got = binary(Binary::Divide, [x, Element::exact(y.v)], DType::F32, false, &unit).unwrap();
        let inverse = and_rounded(wide(0.0), 1.0 / y.v);
        let da = x.machine[0];
        let product = Float::with_val(PRECISION, &inverse * (x.v.abs() + da)) + da / y.v.abs();
        assert_is(got.machine[0], &and_rounded(product + own_rounding(got.v), got.v), &format!("{x:?} / {}", y.v));
    }
}

#[test]
fn a_divisor_that_may_be_zero_bounds_nothing() {
    let (plain, reciprocal) = (unit("cpu/f32/off"), unit("v5e/default/off"));
    let by = |m: f64| [Element::exact(1.0), Element { v: 2.0, machine: [m, 0.25], own: 0.0 }];
    for unit in [&plain, &reciprocal] {
        let of = |m: f64| binary(Binary::Divide, by(m), DType::F32, false, unit).unwrap();
        for m in [2.0, 2.5] {
            let got = of(m);
            assert!(got.machine[0].is_nan() && got.machine[1] < 0.1, "{m}: {got:?}");
        }
        assert!(of(2f64.next_down()).machine[0] > 1e15);
    }
}

#[test]
fn sums_without_a_rounding_are_exact() {
    let unit = unit("cpu/f32/off");
    let mut random = Random(4);
    let mut numbers: Vec<f64> = vec![1.0, 2.0, 3.0, 0.0, 1e16, -1e16, 2f64.powi(-60), -2f64.powi(-60), 0.1, -0.1];
    numbers.extend((0..20).map(|i| random.number(2f64.powi(i * 7 - 70))));
    for a in &numbers {
        for b in &numbers {
            for (op, real) in [(Binary::Add, wide(*a) + *b), (Binary::Subtract, wide(*a) - *b)] {
                let got = binary(op, [*a, *b].map(Element::exact), DType::F32, false, &unit).unwrap();
                let own = if real == got.v { 0.0 } else { own_rounding(got.v) };
                assert_eq!(got.own, own, "{a:e} {op:?} {b:e}");
            }
        }
    }
}

/// Possible values of an element on the machine and in truth.
fn possible(e: Element) -> Vec<(f64, f64)> {
    let anything = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0];
    if e.machine[0].is_nan() {
        let pairs = anything.iter().flat_map(|m| anything.iter().map(|t| (*m, *t)));
        return pairs.collect();
    }
    if !e.v.is_finite() || e.is_exact() {
        return vec![(e.v, e.v)];
    }
    let ends = |off: f64| [e.v - off, e.v, e.v + off];
    ends(e.machine[0]).into_iter().flat_map(|m| ends(e.own).map(|t| (m, t))).collect()
}

/// If a result is not finite, `binary` calls it exact only if machine and truth cannot differ.
#[test]
fn infinite_results_are_sure_or_unknown() {
    let unit = unit("cpu/f32/off");
    let finite = |v: f64, m: f64| Element { v, machine: [m; 2], own: 0.0 };
    let kinds = [
        Element::exact(f64::NAN),
        Element::exact(f64::INFINITY),
        Element::exact(f64::NEG_INFINITY),
        Element::exact(0.0),
        Element::exact(-0.0),
        Element::exact(3.0),
        Element::unknown(f64::NAN),
        Element::unknown(f64::INFINITY),
        Element::unknown(2.0),
        finite(2.0, 0.5),
        finite(-2.0, 0.5),
        finite(0.5, 0.75),
        finite(0.0, 0.25),
        Element { v: 0.5, machine: [0.25; 2], own: 0.375 },
    ];
    let apply = |op: Binary, a: f64, b: f64| match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        _ => a / b,
    };
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    let mut sure = 0;
    for x in kinds {
        for y in kinds {
            for op in [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide] {
                let got = binary(op, [x, y], DType::F32, false, &unit).unwrap();
                if x.v.is_finite() && y.v.is_finite() && got.v.is_finite() {
                    continue;
                }
                let agrees = |((xm, xt), (ym, yt)): (&(f64, f64), &(f64, f64))| {
                    same(apply(op, *xm, *ym), apply(op, *xt, *yt)) && same(apply(op, *xm, *ym), got.v)
                };
                let (all_x, all_y) = (possible(x), possible(y));
                let all_agree = all_x.iter().all(|x| all_y.iter().all(|y| agrees((x, y))));
                assert!(!got.is_exact() || all_agree, "{op:?} {x:?} {y:?}: {got:?}");
                // A zero whose error is its all has no sign; it is left open even where both ends would agree.
                let plain = |e: Element| e.is_exact() || e.v.abs() > 1.0;
                assert!(got.is_exact() || !all_agree || !(plain(x) && plain(y)), "{op:?} {x:?} {y:?} is sure");
                sure += usize::from(got.is_exact());
            }
        }
    }
    assert!(sure > 150, "{sure}");
    // Exponentials too.
    let exp = |e: Element| exponential(e, DType::F32, &unit);
    assert!(exp(Element::exact(f64::NEG_INFINITY)).is_exact() && exp(Element::exact(f64::NAN)).is_exact());
    assert!(exp(Element::exact(f64::INFINITY)).v == f64::INFINITY && exp(Element::exact(f64::INFINITY)).is_exact());
    // The truth of exp(1000) is finite, beyond f64.
    for x in [Element::exact(1000.0), Element::unknown(f64::INFINITY), finite(1000.0, 1.0)] {
        assert!(exp(x).machine[0].is_nan(), "{x:?}");
    }
}

#[test]
fn extremes_take_the_wider_error_and_nan_first() {
    let a = Element { v: 1.0, machine: [0.5, 0.125], own: 0.25 };
    let b = Element { v: -2.0, machine: [0.25; 2], own: 0.5 };
    for (x, y) in [(a, b), (b, a)] {
        for (largest, v) in [(true, 1.0), (false, -2.0)] {
            let got = x.extreme(y, largest);
            assert_eq!((got.v, got.machine, got.own), (v, [0.5, 0.25], 0.5));
            let op = if largest { Binary::Maximum } else { Binary::Minimum };
            let through = binary(op, [x, y], DType::F32, false, &unit("cpu/f32/off")).unwrap();
            assert_eq!((through.v, through.machine, through.own), (v, [0.5, 0.25], 0.5));
        }
        let nan = Element::exact(f64::NAN);
        assert!(x.extreme(nan, true).is_exact() && nan.extreme(x, true).is_exact());
        let open = Element::unknown(f64::NAN);
        assert!(x.extreme(open, true).machine[0].is_nan() && open.extreme(x, true).machine[0].is_nan());
    }
    assert!(wider(f64::NAN, 1.0).is_nan() && wider(1.0, f64::NAN).is_nan());
    assert_eq!((wider(2.0, 1.0), wider(1.0, 2.0)), (2.0, 2.0));
}

#[test]
fn roundings_add_half_a_step() {
    let of = |v: f64, m: f64| Element { v, machine: [m; 2], own: 0.0 };
    assert_eq!(of(1.5, 0.5).round(&F32).machine[0], 0.5 + 2.0 * F32.unit_roundoff());
    // Below the normal numbers the step is that of the smallest.
    assert_eq!(of(1e-44, 1e-45).round(&F32).machine[0], 1e-45 + F32.min_subnormal() / 2.0);
    // What belongs to the format stays, if it is exactly that.
    assert_eq!(of(1.5, 0.0).round(&F32).machine, [0.0; 2]);
    assert_eq!(of(1.0 + F64.unit_roundoff() * 2.0, 0.0).round(&F32).machine[0], F32.unit_roundoff() * (1.0 + OWN));
    assert!(Element { own: 1e-20, ..of(1.5, 0.0) }.round(&F32).machine[0] > 0.0);
    assert!(Element::exact(f64::INFINITY).round(&F32).is_exact() && Element::exact(f64::NAN).round(&F32).is_exact());
    // Flushed: all of it is lost, and no more.
    assert_eq!(of(1.0, 0.25).flush(0.5).machine[0], 0.25);
    assert_eq!(of(1.0, 0.25).flush(0.75).machine[0], 0.25);
    assert_eq!(of(1.0, 0.25).flush(0.8).machine[0], 1.0);
    assert_eq!(of(0.5, 2.0).flush(1.0).machine[0], 2.0);
    assert_eq!(of(0.0, 0.0).flush(0.0).machine[0], 0.0);
    assert!(Element::exact(f64::INFINITY).flush(1.0).is_exact());
    // Within the range of f16, 65504.
    assert_eq!(of(65_500.0, 4.0).within(&F16).machine[0], 4.0);
    assert!(of(65_500.0, 4.5).within(&F16).machine[0].is_nan() && of(-65_505.0, 0.0).within(&F16).machine[0].is_nan());
    // Signs.
    let signed = |v: f64, m: f64, own: f64| Element { v, machine: [m, 0.0], own }.keeps_its_sign();
    assert!(signed(-1.0, 0.5, 0.25) && !signed(-1.0, 0.5, 0.5) && !signed(1.0, 2.0, 0.0) && signed(0.0, 0.0, 0.0));
    assert!(!signed(1.0, 0.75, 0.5) && !signed(0.0, 0.0, 1e-9) && !signed(0.0, 1e-9, 0.0));
    assert!(total(1.0, 0.5) > 1.5 && total(1.0, 0.5) < 1.5 + 1e-11);
    assert_eq!((own_rounding(-3.0), own_rounding(0.0)), (3.0 * OWN, F64.min_subnormal()));
}

/// Higham (2002), section 4.2, term by term: n - 1 additions for n terms, one more with an init.
#[test]
fn errors_of_sums_are_those_of_their_terms() {
    let mut random = Random(5);
    let (width, u) = (7, 2f64.powi(-24));
    let certain = |n: f64| n * u / (1.0 - n * u);
    for init in [Element::exact(0.0), Element { v: 0.75, machine: [0.01, 0.0], own: 0.0 }, Element::exact(-3.0)] {
        let rows: Vec<Element> = (0..3 * width).map(|_| random.element(1.0)).collect();
        let has_init = init.v != 0.0;
        let (chain, inits) = if has_init { (7, 1) } else { (6, 0) };
        let promise = SumPromise { format: &F32, terms: 4, chain, inits, rounded_last: false, lost: 0.0 };
        let sums = reduce::sums(&rows, width, init, DType::F32, &promise).unwrap();
        for (row, got) in rows.chunks(width).zip(sums) {
            let all: Vec<&Element> = row.iter().chain(has_init.then_some(&init)).collect();
            let sum = |of: fn(&Element) -> f64| all.iter().map(|e| of(e)).sum::<f64>();
            let terms = sum(|e| e.machine[0]);
            let expected = terms + certain(chain as f64) * (sum(|e| e.v.abs()) + terms);
            assert_is(got.machine[0], &wide(expected), &format!("init {init:?}"));
            let terms = sum(|e| e.machine[1]);
            let [_, probable] = gamma(chain, chain + 1, u).unwrap();
            assert_is(got.machine[1], &wide(terms + probable * (sum(|e| e.v.abs()) + terms)), "probably");
            assert!((got.v - sum(|e| e.v)).abs() < 1e-14);
            let own = sum(|e| e.own);
            // The init once more, for orders that do not start with it.
            let slack = (width + 1) as f64 * OWN * (sum(|e| e.v.abs()) + init.v.abs() + own);
            assert_is(got.own, &wide(own + slack), &format!("own, init {init:?}"));
        }
    }
}

/// An init that the machine adds twice, where truth has it once.
#[test]
fn the_error_of_a_sum_by_hand() {
    let row = [
        Element { v: 3.0, machine: [1.0, 0.5], own: 0.25 },
        Element::exact(0.0),
        Element { v: -2.0, machine: [0.0; 2], own: 0.0 },
    ];
    let init = Element { v: 1.0, machine: [0.5, 0.25], own: 0.0 };
    let promise = SumPromise { format: &F32, terms: 4, chain: 4, inits: 2, rounded_last: false, lost: 0.125 };
    let got = reduce::sum(&row, init, &promise, [0.5, 0.25]);
    // Terms 1 + 2 * 0.5, the second init 1, a half of the magnitude 7 and the terms 2, four terms that may be lost.
    assert_eq!(got.machine, [2.0 + 1.0 + 0.5 * 9.0 + 1.5 * 4.0 * 0.125, 1.0 + 1.0 + 0.25 * 8.0 + 1.25 * 4.0 * 0.125]);
    assert_eq!((got.v, got.own), (2.0, 0.25 + 4.0 * OWN * 8.25));
}

#[test]
fn long_integers_are_rounded_once() {
    let own =
        |values: Vec<i64>| exact(&Tensor::new(&[values.len()], Data::S64(values))).map(|e| e.own).collect::<Vec<_>>();
    let long = 1i64 << 52;
    assert_eq!(
        own(vec![0, long - 1, -long, 3 * long]),
        [0.0, 0.0, own_rounding(long as f64), own_rounding(3.0 * long as f64)]
    );
    assert!(exact(&Tensor::new(&[1], Data::F64(vec![1e300]))).all(|e| e.own == 0.0));
    assert!(exact(&Tensor::new(&[1], Data::S32(vec![i32::MAX]))).all(|e| e.own == 0.0));
}

/// The loss by flushing of each addition's result, and of each term: none of a zero.
#[test]
fn sums_lose_what_is_flushed() {
    let promise = SumPromise { format: &F32, terms: 4, chain: 3, inits: 0, rounded_last: false, lost: 2f64.powi(-126) };
    let sums = |row: &[Element]| reduce::sums(row, row.len(), Element::exact(0.0), DType::F32, &promise).unwrap()[0];
    let row: Vec<Element> = [0.0, 1.0, 0.0, 2.0].map(Element::exact).to_vec();
    let got = sums(&row);
    assert_eq!(sums(&[Element::exact(0.0); 4]).machine, [0.0; 2]);
    assert!(got.machine[0] > 0.0 && got.machine[0] < 1e-6, "{got:?}");
    // An infinity is sure if all else is known.
    let of = |row: [Element; 2]| sums(&row);
    let infinite = Element::exact(f64::INFINITY);
    let known = Element { v: 1.0, machine: [0.5; 2], own: 0.0 };
    assert!(of([infinite, known]).is_exact() && of([infinite, infinite]).is_exact());
    assert!(of([infinite, Element::exact(f64::NEG_INFINITY)]).v.is_nan());
    for open in [Element::unknown(1.0), Element::unknown(f64::INFINITY)] {
        assert!(of([infinite, open]).machine[0].is_nan(), "{open:?}");
    }
    // Two that overflow f64 between them are no infinity.
    let both: Both = of([Element::exact(f64::MAX), Element::exact(f64::MAX)]).machine;
    assert!(both[0].is_nan() && both[1].is_nan());
}
