//! Dots, and which value's bounds are given.

use super::super::dot;
use super::*;
use crate::check::scale::Scale;
use crate::ir::{Builder, DotDims, Op, Precision, Program, Unary};
use crate::machine::mxu::{DotPromise, Intake};

#[test]
fn the_error_of_a_dot_by_hand() {
    let intake = Intake::Split { below: 1.0, at_most: 0.125 };
    let promise = DotPromise {
        split: 0.25,
        spread: 0.5,
        unit_roundoff: 0.0,
        chain: 0,
        products: 0,
        rounds_products: false,
        is_along_k: true,
        lost: 0.125,
        intake,
    };
    // Products of 3, of operands that are off by 1 between them: all in all 4, or 3.5 where they are off by a half.
    let got = dot::error(&promise, [0.5, 0.25], 3.0, [1.0, 0.5]);
    assert_eq!(got, [1.0 + 1.0 + 0.5 * 1.5 * 4.0 + 1.5 * 0.125, 0.5 + 0.875 + 0.25 * 1.5 * 3.5 + 1.25 * 0.125]);
    let taken = |v: f64, m: f64| dot::take_in(Element { v, machine: [m, 0.0], own: 0.0 }, &promise).machine[0];
    // Numbers of bf16 enter as they are, if the machine surely has them; others lose what underflows below 1.
    assert_eq!((taken(0.5, 0.0), taken(-0.5, 0.25), taken(-0.1, 0.0), taken(1.1, 0.0)), (0.0, 0.375, 0.125, 0.0));
    assert_eq!((taken(1.5, 0.5), taken(1.5, 0.75), taken(f64::NEG_INFINITY, 0.0)), (0.5, 0.875, 0.0));
    let flushing = DotPromise { intake: Intake::Flushed(1.0), ..promise };
    assert_eq!(dot::take_in(Element::exact(0.5), &flushing).machine, [0.5; 2]);
}

/// A dot `[m,k] x [k,n]`, or whatever `dims` make of the parameters.
fn dot_of(lhs: &[usize], rhs: &[usize], dims: DotDims) -> Program {
    let mut b = Builder::new("dot");
    let x = b.parameter("x", DType::F32, lhs).unwrap();
    let y = b.parameter("y", DType::F32, rhs).unwrap();
    let root = b.op(Op::Dot { dims, precision: [Precision::Default; 2] }, &[x, y]).unwrap();
    b.finish(&[("z", root)]).unwrap()
}

/// The error of a dot of inexact operands: at most |A| dB + dA |B| + dA dB, and the share of its own roundings.
#[test]
fn errors_of_dots_are_those_of_their_worst_case() {
    let (program, mode): (Program, Mode) =
        (dot_of(&[2, 3], &[3, 2], DotDims::matmul()), "cpu/f32/off".parse().unwrap());
    let mut random = Random(6);
    let [x, y] = [(); 2].map(|()| (0..6).map(|_| random.element(1.0)).collect::<Vec<Element>>());
    let arguments = [(); 2].map(|()| Tensor::new(&[2, 3], Data::F32(vec![0.0; 6])));
    let scale = Scale::new(&program, &arguments);
    let forward = Forward::new(&program, &mode, &scale);
    let shapes = [0, 1].map(|id| &program.entry().instructions[id].shape);
    let operands = [Value::Known(x.clone()), Value::Known(y.clone())];
    let bounds = forward.dot(2, [&operands[0], &operands[1]], shapes).unwrap().bounds();
    let elements = forward.dot(2, [&operands[0], &operands[1]], shapes).unwrap().elements([&x, &y], shapes, DType::F32);
    // The product's own rounding and two additions: gamma_3.
    let u = 2f64.powi(-24);
    let certain = 3.0 * u / (1.0 - 3.0 * u);
    for (i, (bound, element)) in bounds.iter().zip(&elements).enumerate() {
        let pairs = || (0..3).map(|l| (x[i / 2 * 3 + l], y[l * 2 + i % 2]));
        let off = |of: fn(&Element) -> f64| {
            pairs().map(|(x, y)| x.v.abs() * of(&y) + of(&x) * y.v.abs() + of(&x) * of(&y)).sum::<f64>()
        };
        let (propagated, own) = (off(|e| e.machine[0]), off(|e| e.own));
        let whole = pairs().map(|(x, y)| (x.v * y.v).abs()).sum::<f64>() + propagated;
        let machine = propagated + certain * whole;
        assert!((element.v - pairs().map(|(x, y)| x.v * y.v).sum::<f64>()).abs() < 1e-14);
        assert_is(element.machine[0], &wide(machine), "machine");
        assert_is(element.own, &wide(own + own_rounding(element.v)), "own");
        assert_is(bound[0], &wide(total(machine, own)), "both");
    }
}

/// The bound on a value computed from a dot includes the dot's own rounding to its type, and all later operations.
#[test]
fn bounds_are_those_of_the_value_that_is_asked_for() {
    let mode: Mode = "cpu/f32/off".parse().unwrap();
    let mut b = Builder::new("values");
    let x = b.parameter("x", DType::F32, &[1, 1]).unwrap();
    let y = b.parameter("y", DType::F32, &[1, 1]).unwrap();
    let narrow = b.matmul(x, y, Precision::Highest, DType::BF16).unwrap();
    let dot = b.matmul(x, y, Precision::Highest, DType::F32).unwrap();
    let twice = b.binary(Binary::Add, dot, dot).unwrap();
    let negated = b.unary(Unary::Negate, x).unwrap();
    let difference = b.binary(Binary::Add, negated, y).unwrap();
    let magnitude = b.unary(Unary::Abs, negated).unwrap();
    let absolute = b.binary(Binary::Subtract, magnitude, y).unwrap();
    let program = b.finish(&[("narrow", narrow), ("twice", twice), ("d", difference), ("a", absolute)]).unwrap();
    let one = |v: f32| Tensor::new(&[1, 1], Data::F32(vec![v]));
    let (x, y) = (1.5f32, 1.5f32.next_up());
    let arguments = [one(x), one(y)];
    let scale = Scale::new(&program, &arguments);
    let forward = Forward::new(&program, &mode, &scale);
    let bound = |id| forward.bounds(&arguments, id).unwrap()[0][0];
    let product = f64::from(x) * f64::from(y);
    assert!(bound(narrow) > product * BF16.unit_roundoff());
    assert!(bound(dot) > product * F32.unit_roundoff() && bound(dot) < product * F32.unit_roundoff() * 1.01);
    assert!(bound(twice) > 2.0 * bound(dot) && bound(twice) < 4.1 * bound(dot));
    // Both differences are one ulp, whose rounding is far smaller than that of a sum of 3.
    for id in [difference, absolute] {
        assert!(bound(id) <= f64::from(y - x) * F32.unit_roundoff() * 1.01, "{:e}", bound(id));
    }
}

/// Bounds of a dot whose operands lie otherwise, or that has a batch, are those of plain matmuls of the same numbers.
#[test]
fn bounds_of_a_dot_are_those_of_its_matmuls_however_its_dims_lie() {
    let mode: Mode = "cpu/f32/off".parse().unwrap();
    let bounds = |program: &Program, operands: [Vec<f32>; 2]| {
        let arguments = [0, 1].map(|id| {
            let shape = &program.entry().instructions[id].shape;
            Tensor::new(shape.dims(), Data::F32(operands[id].clone()))
        });
        let scale = Scale::new(program, &arguments);
        Forward::new(program, &mode, &scale).bounds(&arguments, 2).unwrap()
    };
    let one = |lhs_contracting, rhs_contracting| DotDims {
        lhs_contracting: vec![lhs_contracting],
        rhs_contracting: vec![rhs_contracting],
        ..DotDims::default()
    };
    // [2,3] x [3,2], and the same with each operand the other way round.
    let (x, y) = (vec![1.0, 2.0, 3.0, 5.0, 7.0, 11.0], vec![13.0, 17.0, 19.0, 23.0, 29.0, 31.0]);
    let (x_across, y_across) = (vec![1.0, 5.0, 2.0, 7.0, 3.0, 11.0], vec![13.0, 19.0, 29.0, 17.0, 23.0, 31.0]);
    let plain = bounds(&dot_of(&[2, 3], &[3, 2], DotDims::matmul()), [x.clone(), y.clone()]);
    assert!(plain.iter().all(|[certain, _]| *certain > 0.0) && plain[0] != plain[1]);
    assert_eq!(bounds(&dot_of(&[3, 2], &[3, 2], one(0, 0)), [x_across.clone(), y.clone()]), plain);
    assert_eq!(bounds(&dot_of(&[2, 3], &[2, 3], one(1, 1)), [x.clone(), y_across]), plain);
    // A batch of both, batch dims first or in the middle; the second matmul has a larger left operand.
    let more: Vec<f32> = x.iter().map(|x| 100.0 * x).collect();
    let second = bounds(&dot_of(&[2, 3], &[3, 2], DotDims::matmul()), [more.clone(), y.clone()]);
    let both = [plain, second].concat();
    let batch = DotDims { lhs_batch: vec![0], rhs_batch: vec![0], ..one(2, 1) };
    let twice = [y.clone(), y].concat();
    assert_eq!(
        bounds(&dot_of(&[2, 2, 3], &[2, 3, 2], batch), [[x.clone(), more.clone()].concat(), twice.clone()]),
        both
    );
    let middle = DotDims { lhs_batch: vec![1], rhs_batch: vec![0], ..one(2, 1) };
    let rows = [&x[..3], &more[..3], &x[3..], &more[3..]].concat();
    assert_eq!(bounds(&dot_of(&[2, 2, 3], &[2, 3, 2], middle), [rows, twice]), both);
}

/// Worked out from the theorem: 65536 products, each of which meets 638 roundings at most, fail with probability
/// 2^-20 together for this lambda; for the lambda of 638 products it would be 2^-13.3.
#[test]
fn every_product_of_a_dot_may_fail_its_probabilistic_bound() {
    let (n, terms, u) = (638, 65_536, 2f64.powi(-24));
    let Ok([certain, probable]) = gamma(n, terms, u) else { panic!("n u is far below 1") };
    let lambda = (2.0 * (2.0 * terms as f64 * 2f64.powi(20)).ln()).sqrt();
    let expected = (lambda * (n as f64).sqrt() * u).exp_m1();
    assert!(probable >= expected && probable < expected * 1.000_01, "{probable} is not {expected}");
    assert!(certain > probable);
}
