use crate::interval::Interval;
use crate::ir::{Binary, Builder, Compare, CompareOrder, GatherDims, Op, Program, Unary, ValueId};
use crate::num::{BF16, F32};
use crate::tensor::{DType, Data, Tensor};

use super::{Additions, Enclosed, Enclosure, Latitude, Rounding};

fn f32s(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

fn rounded(formats: &[&'static crate::num::Format]) -> Latitude {
    Latitude::Rounded(Rounding { formats: formats.iter().map(|f| **f).collect(), ..Rounding::default() })
}

/// Encloses a program whose instructions are exact but for those in `latitudes`.
fn enclosed(program: &Program, arguments: &[Tensor], latitudes: &[(ValueId, Latitude)]) -> Vec<Enclosed> {
    let mut all = vec![Latitude::Exact { floor: 0.0 }; program.entry().instructions.len()];
    latitudes.iter().for_each(|(id, latitude)| all[*id] = latitude.clone());
    let enclosure = Enclosure::new(program);
    let kept = enclosure.of(arguments, &all, &program.outputs()).unwrap();
    program.outputs().into_iter().map(|output| kept.of(output)).collect()
}

fn floats(enclosed: &Enclosed) -> &[Interval] {
    match enclosed {
        Enclosed::Floats(floats) => floats,
        Enclosed::Integers(_) => panic!("it is made of integers"),
    }
}

fn integers(enclosed: &Enclosed) -> &[Option<i64>] {
    match enclosed {
        Enclosed::Integers(integers) => integers,
        Enclosed::Floats(_) => panic!("it is made of floats"),
    }
}

/// Correctly rounded operations on exactly known numbers give the one number that f32 arithmetic gives.
#[test]
fn without_a_choice_an_enclosure_is_one_number() {
    let mut b = Builder::new("quotients");
    let x = b.parameter("x", DType::F32, &[64]).unwrap();
    let y = b.parameter("y", DType::F32, &[64]).unwrap();
    let q = b.binary(Binary::Divide, x, y).unwrap();
    let s = b.binary(Binary::Add, q, x).unwrap();
    let program = b.finish(&[("s", s)]).unwrap();
    let numbers = |step: f32| (0..64).map(|i| 0.37 + step * i as f32).collect::<Vec<f32>>();
    let (xs, ys) = (numbers(0.731), numbers(1.913));
    let arguments = [f32s(&[64], &xs), f32s(&[64], &ys)];
    let found = enclosed(&program, &arguments, &[(q, rounded(&[&F32])), (s, rounded(&[&F32]))]);
    for (at, found) in floats(&found[0]).iter().enumerate() {
        assert_eq!(*found, Interval::exact(f64::from(xs[at] / ys[at] + xs[at])));
    }
}

/// `p >= max(p)` where both are read from one rounded value, and where one of them may be read before its rounding.
fn kept(is_guarded: bool) -> Vec<Option<i64>> {
    let mut b = Builder::new("keep");
    let x = b.parameter("x", DType::F32, &[1, 16]).unwrap();
    let s = b.parameter("s", DType::F32, &[1]).unwrap();
    let spread = b.broadcast(s, &[1, 16], &[0]).unwrap();
    let p = b.binary(Binary::Multiply, x, spread).unwrap();
    let narrow = b.convert(p, DType::BF16).unwrap();
    let wide = b.convert(narrow, DType::F32).unwrap();
    let read = b.op(Op::Copy, &[wide]).unwrap();
    let max = b.reduce(Binary::Maximum, wide, f64::NEG_INFINITY, &[1]).unwrap();
    let max = b.broadcast(max, &[1, 16], &[0]).unwrap();
    let keep = b.compare(Compare::Ge, read, max).unwrap();
    let program = b.finish(&[("keep", keep)]).unwrap();
    let xs: Vec<f32> = (0..16).map(|i| 1.0 + i as f32).collect();
    let arguments = [f32s(&[1, 16], &xs), f32s(&[1], &[0.123_456_7])];
    // The scale is not known to its last bits, so that no probability is one number.
    let erring = Latitude::Rounded(Rounding { relative: 0.01, formats: vec![F32], ..Rounding::default() });
    let mut latitudes = vec![(spread, erring), (p, rounded(&[&F32])), (narrow, rounded(&[&BF16]))];
    if !is_guarded {
        latitudes.push((read, Latitude::OneOf { options: vec![wide, p], source: Some(p) }));
    }
    integers(&enclosed(&program, &arguments, &latitudes)[0]).to_vec()
}

#[test]
fn a_value_reaches_its_own_maximum_unless_it_is_read_in_two_ways() {
    let guarded = kept(true);
    assert_eq!(guarded.iter().map(|kept| kept.unwrap()).sum::<i64>(), 1);
    assert_eq!(guarded[15], Some(1));
    let free = kept(false);
    assert_eq!((free[15], free[3]), (None, Some(0)));
}

/// Readers that choose each for itself may see two values, readers of one choice see one.
#[test]
fn two_points_are_two_values() {
    let mut b = Builder::new("points");
    let x = b.parameter("x", DType::F32, &[2]).unwrap();
    let narrow = b.convert(x, DType::BF16).unwrap();
    let wide = b.convert(narrow, DType::F32).unwrap();
    let points = [0, 1].map(|_| b.op(Op::Copy, &[wide]).unwrap());
    let apart = b.compare(Compare::Eq, points[0], points[1]).unwrap();
    let again = b.op(Op::Copy, &[points[0]]).unwrap();
    let one = b.compare(Compare::Eq, points[0], again).unwrap();
    let program = b.finish(&[("apart", apart), ("one", one)]).unwrap();
    let point = Latitude::OneOf { options: vec![wide, x], source: Some(x) };
    let latitudes = [(narrow, rounded(&[&BF16])), (points[0], point.clone()), (points[1], point)];
    // One number that bf16 holds, and one that it does not.
    let found = enclosed(&program, &[f32s(&[2], &[1.5, 1.000_1])], &latitudes);
    assert_eq!(integers(&found[0]), [Some(1), None]);
    assert_eq!(integers(&found[1]), [Some(1), Some(1)]);
}

/// Two numbers that a choice may round keep their order, and may become equal.
#[test]
fn what_may_be_rounded_may_tie() {
    let mut b = Builder::new("neighbours");
    let x = b.parameter("x", DType::F32, &[2]).unwrap();
    let narrow = b.convert(x, DType::BF16).unwrap();
    let wide = b.convert(narrow, DType::F32).unwrap();
    let read = b.op(Op::Copy, &[wide]).unwrap();
    let part = |start: usize| Op::Slice { start: vec![start], limit: vec![start + 1], stride: vec![1] };
    let [left, right] = [0, 1].map(|at| b.op(part(at), &[read]).unwrap());
    let is_equal = b.compare(Compare::Eq, left, right).unwrap();
    let is_above = b.compare(Compare::Gt, right, left).unwrap();
    let is_not_below = b.compare(Compare::Ge, right, left).unwrap();
    let results = [("is_equal", is_equal), ("is_above", is_above), ("is_not_below", is_not_below)];
    let program = b.finish(&results).unwrap();
    let point = Latitude::OneOf { options: vec![wide, x], source: Some(x) };
    let latitudes = [(narrow, rounded(&[&BF16])), (read, point)];
    let found = enclosed(&program, &[f32s(&[2], &[1.000_1, 1.000_2])], &latitudes);
    assert_eq!(found.iter().map(integers).collect::<Vec<_>>(), [[None], [None], [Some(1)]]);
}

/// Equal arguments have equal results whatever the unit errs by; different ones may become equal.
#[test]
fn ties_stay_and_may_be_made() {
    let mut b = Builder::new("ties");
    let x = b.parameter("x", DType::F32, &[3]).unwrap();
    let e = b.unary(Unary::Exponential, x).unwrap();
    let part = |start: usize| Op::Slice { start: vec![start], limit: vec![start + 2], stride: vec![1] };
    let left = b.op(part(0), &[e]).unwrap();
    let right = b.op(part(1), &[e]).unwrap();
    let is_equal = b.compare(Compare::Eq, left, right).unwrap();
    let is_above = b.compare(Compare::Ge, right, left).unwrap();
    let program = b.finish(&[("is_equal", is_equal), ("is_above", is_above)]).unwrap();
    let arguments = [f32s(&[3], &[1.0, 1.0, 1.0 + f32::EPSILON])];
    let erring = Latitude::Rounded(Rounding { relative: 1e-6, formats: vec![F32], ..Rounding::default() });
    let found = enclosed(&program, &arguments, &[(e, erring)]);
    assert_eq!(integers(&found[0]), [Some(1), None]);
    assert_eq!(integers(&found[1]), [Some(1), None]);
    // What is only rounded never falls, and a coarse format makes a tie of it.
    let found = enclosed(&program, &arguments, &[(e, rounded(&[&F32, &BF16]))]);
    assert_eq!(integers(&found[0]), [Some(1), Some(1)]);
}

/// Sums in any order, and dots, lie within the bound by gamma_n; their infinities are unknown.
#[test]
fn sums_in_any_order_are_enclosed() {
    let mut b = Builder::new("sums");
    let x = b.parameter("x", DType::F32, &[2, 100]).unwrap();
    let sum = b.reduce(Binary::Add, x, 0.0, &[1]).unwrap();
    let program = b.finish(&[("sum", sum)]).unwrap();
    let mut xs: Vec<f32> = (0..200).map(|i| (i as f32 * 0.737).sin() * 1000.0).collect();
    let u = 2f64.powi(-24);
    let share = 100.0 * u / (1.0 - 100.0 * u);
    let additions =
        Additions { share, least: None, lost: 0.0, inits: 0, largest: f64::from(f32::MAX), intake: None, order: None };
    let latitude =
        Latitude::Rounded(Rounding { additions: Some(additions), formats: vec![F32], ..Rounding::default() });
    let found = enclosed(&program, &[f32s(&[2, 100], &xs)], &[(sum, latitude.clone())]);
    let mut different = 0;
    for (row, found) in xs.chunks(100).zip(floats(&found[0])) {
        let orders = (1..100usize).filter(|step| step % 2 != 0 && step % 5 != 0);
        let sums = orders.map(|step| (0..100).fold(0.0f32, |total, i| total + row[i * step % 100]));
        let sums: Vec<f64> = sums.map(f64::from).collect();
        different += usize::from(sums.iter().any(|sum| *sum != sums[0]));
        assert!(sums.iter().all(|sum| (found.lo..=found.hi).contains(sum)), "{found:?}");
        assert!(found.hi - found.lo < 1.0);
    }
    assert_eq!(different, 2);
    xs[3] = 3e38;
    xs[4] = 3e38;
    let found = enclosed(&program, &[f32s(&[2, 100], &xs)], &[(sum, latitude)]);
    assert!(floats(&found[0])[0].is_unknown() && !floats(&found[0])[1].is_unknown());
}

/// A value that may be flushed is zero or unchanged; one that certainly is flushed becomes a zero of its sign.
#[test]
fn what_is_below_the_floor_may_be_zero() {
    let floor = F32.min_normal();
    let rounding = Rounding { floor, flushes: true, formats: vec![F32], ..Rounding::default() };
    let of = |lo: f64, hi: f64| super::settle::round(Interval { lo, hi }, &rounding);
    assert_eq!(of(floor / 4.0, floor / 2.0), Interval::exact(0.0));
    assert!(of(-floor / 4.0, -floor / 2.0).lo.is_sign_negative());
    assert_eq!(of(floor / 2.0, 2.0 * floor), Interval { lo: 0.0, hi: 2.0 * floor });
    assert_eq!(of(floor, 2.0 * floor), Interval { lo: floor, hi: 2.0 * floor });
    let kept = Rounding { flushes: false, ..rounding.clone() };
    let x = Interval { lo: floor / 4.0, hi: floor / 2.0 };
    assert_eq!(super::settle::round(x, &kept), Interval { lo: 0.0, hi: floor / 2.0 });
    // Nothing is known past the largest number, unless all of it is.
    let large = f64::from(f32::MAX);
    assert!(of(1.0, 2.0 * large).is_unknown());
    assert_eq!(of(2.0 * large, 3.0 * large), Interval::exact(f64::INFINITY));
    assert!(of(-1e-60, 1e-60).lo < 0.0, "a zero of either sign");
}

/// A rounding, an error and a flush leave of -x the opposite of what they leave of x.
#[test]
fn roundings_of_negative_numbers_mirror_those_of_positive_ones() {
    let floor = F32.min_normal();
    let plain = Rounding { formats: vec![F32], ..Rounding::default() };
    let all = [
        plain.clone(),
        Rounding { relative: 1e-6, ..plain.clone() },
        Rounding { absolute: 1e-3, ..plain.clone() },
        Rounding { floor, ..plain.clone() },
        Rounding { floor, flushes: true, formats: vec![F32, BF16], ..Rounding::default() },
    ];
    for rounding in &all {
        let of = |lo: f64, hi: f64| super::settle::round(Interval { lo, hi }, rounding);
        for (lo, hi) in [(1.0, 1.0), (0.1, 0.7), (floor / 3.0, floor / 2.0), (floor / 2.0, 3.0), (-0.3, 2.0)] {
            let (positive, negative) = (of(lo, hi), of(-hi, -lo));
            assert_eq!((negative.lo, negative.hi), (-positive.hi, -positive.lo), "{lo} to {hi}: {rounding:?}");
            // Rounding to f32 loses half an ulp at most.
            let least = (hi + rounding.relative * hi + rounding.absolute) * (1.0 - 2f64.powi(-23));
            assert!(rounding.floor > 0.0 || positive.hi >= least, "{lo} to {hi}: {rounding:?}");
        }
    }
}

/// An operand of either sign that may be flushed is zero or unchanged.
#[test]
fn operands_of_either_sign_may_be_flushed() {
    let floor = F32.min_normal();
    let mut b = Builder::new("sum");
    let x = b.parameter("x", DType::F32, &[2]).unwrap();
    let sum = b.binary(Binary::Add, x, x).unwrap();
    let program = b.finish(&[("sum", sum)]).unwrap();
    let half = floor as f32 / 2.0;
    let found = enclosed(&program, &[f32s(&[2], &[half, -half])], &[(sum, Latitude::Exact { floor })]);
    let [positive, negative] = floats(&found[0]) else { panic!("two sums") };
    assert!(positive.lo <= 0.0 && positive.hi >= floor, "{positive:?}");
    assert!(negative.lo <= -floor && negative.hi >= 0.0, "{negative:?}");
}

/// A unit that flushes may rank subnormals as zeros, and moves them unchanged; numbers not close to zero keep their
/// place.
#[test]
fn what_is_flushed_ties_alone() {
    let mut b = Builder::new("ranks");
    let x = b.parameter("x", DType::F32, &[4]).unwrap();
    let top = b.op(Op::TopK { k: 4, largest: true }, &[x]).unwrap();
    let values = b.op(Op::GetTupleElement(0), &[top]).unwrap();
    let indices = b.op(Op::GetTupleElement(1), &[top]).unwrap();
    let other = b.parameter("y", DType::F32, &[4]).unwrap();
    let flushed = b.binary(Binary::Maximum, x, other).unwrap();
    let same = b.compare(Compare::Eq, values, flushed).unwrap();
    let program = b.finish(&[("values", values), ("indices", indices), ("same", same)]).unwrap();
    let latitudes = [top, flushed].map(|id| (id, Latitude::Exact { floor: f64::from(f32::MIN_POSITIVE) }));
    let of = |xs: [f32; 4]| enclosed(&program, &[f32s(&[4], &xs), f32s(&[4], &[f32::NEG_INFINITY; 4])], &latitudes);
    let found = of([2.0, 1.0, 1e-40, -3.0]);
    assert_eq!(integers(&found[1]), [0, 1, 2, 3].map(Some));
    assert_eq!(floats(&found[0])[2], Interval { lo: 0.0, hi: f64::from(1e-40f32) });
    // Moved as it is, and flushed by the maximum: no two readings of one value.
    assert_eq!(integers(&found[2]), [Some(1), Some(1), None, Some(1)]);
    assert_eq!(integers(&of([2.0, 1e-40, 2e-40, -3.0])[1]), [Some(0), None, None, Some(3)]);
}

/// Of numbers that may change places each place is still known by its ends, and by its element where all others are apart.
#[test]
fn what_is_apart_keeps_its_place_beside_what_is_not() {
    let n = 12;
    let mut b = Builder::new("sorted");
    let x = b.parameter("x", DType::F32, &[n]).unwrap();
    let scale = b.parameter("scale", DType::F32, &[n]).unwrap();
    let erring = b.binary(Binary::Multiply, x, scale).unwrap();
    let top = b.op(Op::TopK { k: n, largest: true }, &[erring]).unwrap();
    let values = b.op(Op::GetTupleElement(0), &[top]).unwrap();
    let indices = b.op(Op::GetTupleElement(1), &[top]).unwrap();
    let first = b.op(Op::Slice { start: vec![0], limit: vec![1], stride: vec![1] }, &[values]).unwrap();
    let first = b.reshape(first, &[]).unwrap();
    let first = b.broadcast(first, &[n], &[]).unwrap();
    let is_first = b.compare(Compare::Ge, erring, first).unwrap();
    let sorted = b.sort(&[erring], 0, false, Compare::Lt, CompareOrder::Total).unwrap();
    let results = [("values", values), ("indices", indices), ("is_first", is_first), ("sorted", sorted)];
    let program = b.finish(&results).unwrap();
    let relative = 0.01;
    let latitude = Latitude::Rounded(Rounding { relative, formats: vec![F32], ..Rounding::default() });
    // Three are within a percent of each other, and so are zero and what lies beside it.
    let xs = [5.0, 9.0, 1.0, 5.05, 0.0, 7.0, -2.0, 5.02, -0.0, 3.0, -8.0, 2.0];
    let found = enclosed(&program, &[f32s(&[n], &xs), f32s(&[n], &[1.0; 12])], &[(erring, latitude)]);
    let places = [Some(1), Some(5), None, None, None, Some(9), Some(11), Some(2), None, None, Some(6), Some(10)];
    assert_eq!(integers(&found[1]), places);
    // The largest is itself in every way, and nothing else is it.
    assert_eq!(integers(&found[2]), std::array::from_fn::<_, 12, _>(|at| Some(i64::from(at == 1))));
    // Whatever each becomes within its error, what stands at a place is within its ends, in either direction.
    let (descending, ascending) = (floats(&found[0]), floats(&found[3]));
    for choice in 0..1 << n {
        let error = |at: usize| if choice >> at & 1 == 1 { 1.0 + relative } else { 1.0 - relative };
        let mut chosen: Vec<f64> = (0..n).map(|at| f64::from((f64::from(xs[at]) * error(at)) as f32)).collect();
        chosen.sort_by(f64::total_cmp);
        assert!(chosen.iter().zip(ascending).all(|(x, place)| place.lo <= *x && *x <= place.hi), "{chosen:?}");
        chosen.reverse();
        assert!(chosen.iter().zip(descending).all(|(x, place)| place.lo <= *x && *x <= place.hi), "{chosen:?}");
    }
    // Which zero stands at which of their places is open.
    assert!(descending[8..10].iter().chain(&ascending[2..4]).all(|x| *x == Interval::SIGNLESS_ZERO));
}

/// If a start index is open, elements that another start would move are unknown, and all others are known.
#[test]
fn what_a_known_start_reads_is_known_beside_an_open_one() {
    let mut b = Builder::new("gathered");
    let x = b.parameter("x", DType::F32, &[4]).unwrap();
    let scale = b.parameter("scale", DType::F32, &[4]).unwrap();
    let erring = b.binary(Binary::Multiply, x, scale).unwrap();
    let top = b.op(Op::TopK { k: 2, largest: true }, &[erring]).unwrap();
    let indices = b.op(Op::GetTupleElement(1), &[top]).unwrap();
    let numbers = |width: usize| GatherDims {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![],
        operand_batching_dims: vec![],
        start_indices_batching_dims: vec![],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![width],
    };
    let [one, all] = [1, 4].map(|width| b.op(Op::Gather(numbers(width)), &[x, indices]).unwrap());
    let program = b.finish(&[("one", one), ("all", all)]).unwrap();
    let latitude = Latitude::Rounded(Rounding { relative: 0.01, formats: vec![F32], ..Rounding::default() });
    let xs = [1.0, 9.0, 1.001, 0.5];
    let found = enclosed(&program, &[f32s(&[4], &xs), f32s(&[4], &[1.0; 4])], &[(erring, latitude)]);
    assert_eq!(floats(&found[0])[0], Interval::exact(9.0));
    assert!(floats(&found[0])[1].is_unknown());
    // There is but one place to start at.
    assert_eq!(floats(&found[1])[4..], xs.map(|x| Interval::exact(f64::from(x))));
}
