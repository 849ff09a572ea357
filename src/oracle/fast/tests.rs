use rug::Float;

use super::*;
use crate::arithmetic::Arithmetic;

/// Special and ordinary numbers, and intervals of every kind between them.
fn intervals() -> Vec<Interval> {
    let mut numbers = vec![0.0, -0.0, 1.0, -1.0, 3.0, 1e300, 1e-300, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)];
    numbers.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 708.9, -689.9, -745.0, -1e30, 710.0]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in 0..400 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let value = f64::from_bits((state & !(0x7ff << 52)) | ((1023 - 12 + i % 24) << 52));
        numbers.extend([value, f64::from(value as f32)]);
    }
    let mut all: Vec<Interval> = numbers.iter().map(|v| Interval::exact(*v)).collect();
    all.extend(numbers.iter().filter(|v| v.is_finite()).flat_map(|v| {
        let near = Interval { lo: *v, hi: v.next_up() };
        [near, Interval { lo: v - v.abs() * 1e-9, hi: v + v.abs() * 1e-9 }, Interval { lo: *v, hi: v + 1.0 }]
    }));
    all.extend([Interval::UNKNOWN, Interval { lo: f64::MAX, hi: f64::INFINITY }]);
    all.retain(|x| !x.lo.is_finite() || x.lo <= x.hi);
    all
}

fn bits(x: Interval) -> (u64, u64) {
    // All NaNs are one.
    if x.is_nan() { (0, 0) } else { (x.lo.to_bits(), x.hi.to_bits()) }
}

/// Loops give what single operations give, bit by bit.
#[test]
fn arrays_and_elements_agree() {
    let mut fast = Fast::default();
    let all = intervals();
    let x = fast.collect(all.clone());
    for shift in [0, 1, 7, 130, 401] {
        let others: Vec<Interval> = (0..all.len()).map(|i| all[(i * 3 + shift) % all.len()]).collect();
        let y = fast.collect(others.clone());
        for binary in [Field::Add, Field::Subtract, Field::Multiply, Field::Divide] {
            let out = fast.binary_all(binary, &x, &y, None);
            for (i, (a, b)) in all.iter().zip(&others).enumerate() {
                let one = fast.binary(binary, a, b);
                assert_eq!(bits(out.at(i)), bits(one), "{binary:?} of {a:?} and {b:?}: {:?}, {one:?}", out.at(i));
            }
        }
    }
    let by_pairs = [Unary::Cosine, Unary::Erf, Unary::Sine, Unary::Tan];
    for unary in [Unary::Log, Unary::Tanh, Unary::Rsqrt, Unary::Negate, Unary::Cbrt].into_iter().chain(by_pairs) {
        let out = fast.unary_all(unary, &x, None);
        all.iter().enumerate().for_each(|(i, a)| assert_eq!(bits(out.at(i)), bits(of(unary, *a)), "{unary:?} {a:?}"));
    }
    let sums = fast.running_sums(&Interval::exact(0.0), &x, [all.len(), all.len(), 1]);
    let mut total = Interval::exact(0.0);
    for (i, a) in all.iter().enumerate() {
        total = total.add(*a);
        assert_eq!(bits(sums.at(i)), bits(total));
    }
}

/// The exponential of narrow intervals is not that of their ends, but encloses both.
#[test]
fn the_exponential_of_arrays_encloses() {
    let mut fast = Fast::default();
    let all = intervals();
    let x = fast.collect(all.clone());
    let out = fast.unary_all(Unary::Exponential, &x, None);
    for (i, a) in all.iter().enumerate() {
        let (got, whole) = (out.at(i), of(Unary::Exponential, *a));
        if a.is_exact() || a.is_nan() {
            assert_eq!(bits(got), bits(whole), "{a:?}");
            continue;
        }
        for end in [a.lo, a.hi].into_iter().filter(|end| end.is_finite()) {
            let real = Float::with_val(200, end).exp();
            assert!(real >= got.lo && real <= got.hi, "{a:?}: {got:?}, not {real}");
        }
        assert!(got.hi <= whole.hi * (1.0 + 1e-6), "{a:?}: {got:?}, not {whole:?}");
    }
}

#[test]
fn sums_of_ranges_enclose_those_in_order() {
    let mut fast = Fast::default();
    let finite: Vec<Interval> =
        intervals().into_iter().filter(|x| x.lo.abs() < 1e3 && x.hi.abs() < 1e3 && x.lo.abs() > 1e-9).collect();
    let terms = fast.collect(finite.clone());
    for range in [0..1, 3..70, 0..finite.len(), 5..5] {
        let got = fast.sum_range(&Interval::exact(0.5), &terms, range.clone());
        let exact = |end: fn(&Interval) -> f64| {
            Float::with_val(
                2200,
                Float::sum(
                    finite[range.clone()].iter().map(|x| Float::with_val(53, end(x))).collect::<Vec<_>>().iter(),
                ),
            ) + 0.5
        };
        assert!(exact(|x| x.lo) >= got.lo && exact(|x| x.hi) <= got.hi, "{range:?}");
    }
    let special = fast.collect(vec![Interval::exact(f64::INFINITY), Interval::exact(f64::NEG_INFINITY)]);
    assert!(fast.sum_range(&Interval::exact(0.0), &special, 0..2).is_nan());
    assert_eq!(
        fast.sum_range(&Interval::exact(-0.0), &fast.exacts(&Column::new(vec![-0.0])), 0..1).lo.to_bits(),
        1 << 63
    );
}

/// A function of a value that stands for many elements is evaluated once, and its result stands for as many.
#[test]
fn functions_of_runs_are_runs() {
    let mut fast = Fast::default();
    let ends = |values: [f64; 2]| Column::runs(values.to_vec(), 100);
    let x = Intervals { lo: ends([1.0, 2.0]), hi: ends([1.5, 2.0]) };
    for unary in [Unary::Exponential, Unary::Negate, Unary::Sqrt] {
        let out = fast.unary_all(unary, &x, None);
        assert_eq!([out.lo.run(), out.hi.run()], [100; 2], "{unary:?}");
        for at in [0, 99, 100, 199] {
            assert_eq!(bits(out.at(at)), bits(of(unary, x.at(at))), "{unary:?} at {at}");
        }
    }
}

/// One column stands for both ends of exactly known numbers, wherever these go.
#[test]
fn ends_of_exact_numbers_are_one_column() {
    let fast = Fast::default();
    let exact = fast.exacts(&Column::new(vec![1.0, 2.0, 3.0]));
    let op = crate::ir::Op::Reverse { dims: vec![0] };
    let mover = Mover { op: &op, dims: vec![&[3]], starts: &[], starts_dims: &[], out_dims: &[3] };
    let moved = fast.rearrange(&[&exact], &mover);
    assert!(exact.is_exact() && moved.is_exact() && fast.pick(&moved, &[2, 0]).is_exact());
    let wide = fast.collect(vec![Interval { lo: 1.0, hi: 2.0 }; 3]);
    assert!(!wide.is_exact() && !fast.rearrange(&[&wide], &mover).is_exact() && !fast.pick(&wide, &[2, 0]).is_exact());
}

/// By the kernels of pairs or by MPFR: the ends enclose, hardly wider than MPFR has them, and never beyond the range.
#[test]
fn functions_by_pairs_enclose_and_are_narrow() {
    let mut fast = Fast::default();
    type Case = (Unary, fn(Float) -> Float, f64);
    let cases: [Case; 4] = [
        (Unary::Cosine, Float::cos, 1.0),
        (Unary::Erf, Float::erf, 1.0),
        (Unary::Sine, Float::sin, 1.0),
        (Unary::Tan, Float::tan, f64::INFINITY),
    ];
    for (unary, truth, most) in cases {
        for x in intervals().into_iter().filter(|x| x.lo.is_finite() && x.hi.is_finite()) {
            let got = fast.unary(unary, &x);
            assert!(got.lo >= -most && got.hi <= most, "{unary:?} {x:?}: {got:?}");
            for end in [x.lo, x.hi] {
                let real = truth(Float::with_val(300, end));
                assert!(got.is_unknown() || real >= got.lo && real <= got.hi, "{unary:?} {x:?}: {got:?}, not {real}");
            }
            if x.is_exact() {
                assert!(got.hi <= got.lo.next_up(), "{unary:?} {x:?}: {got:?}");
            } else if unary != Unary::Tan {
                assert!(got.hi - got.lo <= 1.2 * (x.hi - x.lo) + 4.0 * f64::EPSILON, "{unary:?} {x:?}: {got:?}");
            }
        }
    }
    let all = intervals();
    for (i, x) in all.iter().enumerate() {
        let y = &all[(i * 7 + 5) % all.len()];
        let got = fast.bivariate(Bivariate::Power, x, y);
        for (a, b) in [(x.lo, y.lo), (x.hi, y.lo), (x.lo, y.hi), (x.hi, y.hi)] {
            let real = rug::ops::Pow::pow(Float::with_val(300, a), Float::with_val(300, b));
            let inside = real.is_nan() && got.is_nan() || real >= got.lo && real <= got.hi;
            assert!(got.is_unknown() || inside, "{x:?}^{y:?}: {got:?}, not {real}");
        }
    }
}

/// A row with an unknown entry makes its dots unknown, but for a column with a NaN, which decides the sum alone.
#[test]
fn dots_with_unknown_entries_are_unknown() {
    let n = 80;
    let mut fast = Fast::default();
    let row = (0..n).map(|l| if l == 7 { Interval::UNKNOWN } else { Interval { lo: 1.0, hi: 1.25 } });
    let column = |at: usize| match (at / n, at % n) {
        (3, 5) => f64::NAN,
        (_, 6) => f64::INFINITY,
        _ => 1.0,
    };
    let lhs = fast.collect(row.collect());
    let rhs = fast.exacts(&Column::new((0..n * n).map(column).collect()));
    let dots = fast.dots([&lhs, &rhs], [0; 2], [1, n, n], None);
    for (j, dot) in dots.into_iter().enumerate() {
        assert_eq!((fast.is_nan(&dot), fast.is_number(&dot)), (j == 5, false), "column {j}");
    }
}

/// A loop gives the results of single operations, although one end of one operand has runs of its own.
#[test]
fn ends_of_any_runs_are_those_of_elements() {
    struct Sum;
    impl Kernel for Sum {
        fn apply(&self, x: Interval, y: Interval) -> Interval {
            kernels::add(x, y)
        }
    }
    let column =
        |first: f64, run: usize| Column::runs((0..12 / run).map(|at| first + (at * run) as f64).collect(), run);
    for (apart, run) in (0..4).flat_map(|apart| [1, 3, 4].map(|run| (apart, run))) {
        let end = |number: usize, first: f64| column(first, if number == apart { run } else { 2 });
        let x = Intervals { lo: end(0, 1.0), hi: end(1, 21.0) };
        let y = Intervals { lo: end(2, 3.0), hi: end(3, 33.0) };
        let sums = apply(Sum, |x, y| x.add(y), [&x, &y]);
        for at in 0..12 {
            assert_eq!(bits(sums.at(at)), bits(x.at(at).add(y.at(at))), "end {apart} in runs of {run}: {at}");
        }
    }
}
