//! Sums over devices, in any order.

use half::bf16;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::ir::{Binary, Builder, Compare, Op, Program};
use crate::machine;
use crate::oracle::Enclosed;
use crate::rewrite::Freedom;
use crate::tensor::{DType, Tensor};

use super::super::{Answer, enclose, explore, outside};
use super::{settings, tensor};

/// Whether the sum over as many devices, begun at the first, is this number; and the sum.
fn sum_is(number: f64, dtype: DType, devices: usize) -> Program {
    let mut b = Builder::new("sum_is");
    let x = b.parameter("x", dtype, &[devices]).unwrap();
    let mut term = |device: usize| {
        let own = Op::Slice { start: vec![device], limit: vec![device + 1], stride: vec![1] };
        b.op(own, &[x]).unwrap()
    };
    let terms: Vec<_> = (0..devices).map(&mut term).collect();
    let sum = terms[1..].iter().fold(terms[0], |sum, own| b.exchange(1, sum, *own).unwrap());
    let number = b.constant(dtype, number).unwrap();
    let number = b.splat(number, &[1]).unwrap();
    let is = b.compare(Compare::Eq, sum, number).unwrap();
    b.finish(&[("is", is), ("sum", sum)]).unwrap()
}

/// 2^-24 vanishes beside 1 unless it meets another first.
#[test]
fn another_order_over_devices_has_a_witness() {
    let program = sum_is(1.0, DType::F32, 4);
    let least = 2f64.powi(-24);
    let arguments = [tensor(DType::F32, &[4], &[1.0, least, least, least])];
    let mesh = settings("v6e/default/off", &["mesh"]);
    let found = explore(&program, &arguments, &["is".into()], &mesh).unwrap();
    let [Answer::Reachable(witness)] = &found.answers[..] else { panic!("{:?}", found.answers) };
    let [point] = &found.choices.points[..] else { panic!("{:?}", found.choices.points) };
    assert_eq!((point.freedom, point.options()), (Freedom::Mesh, 4));
    let chosen = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, &arguments).unwrap();
    assert_eq!(chosen[0].data().get_f64(0), 0.0);
    assert!(chosen[1].data().get_f64(0) > 1.0);
    // Without the family a sum over devices is added up as it stands, in whatever order other sums are.
    let others = settings("v6e/default/off", &["order", "contraction", "rounding"]);
    let found = explore(&program, &arguments, &["is".into()], &others).unwrap();
    assert!(matches!(found.answers[..], [Answer::Proven { .. }]), "{:?}", found.answers);
    // Two terms have one order.
    let two = explore(&sum_is(1.0, DType::F32, 2), &[tensor(DType::F32, &[2], &[1.0, least])], &[], &mesh).unwrap();
    assert!(two.choices.points.is_empty() && matches!(two.answers[..], [Answer::Proven { .. }]));
}

/// Every sum of some of the terms, in every order and with any brackets, each step rounded.
fn sums(terms: &[f64], round: fn(f64) -> f64) -> Vec<f64> {
    if let [one] = terms {
        return vec![*one];
    }
    let mut all = Vec::new();
    // The first term stands on the left; which others stand beside it, the bits say.
    for beside in 0..(1usize << (terms.len() - 1)) - 1 {
        let is_left = |at: &usize| *at == 0 || beside >> (at - 1) & 1 == 1;
        let part = |left: bool| -> Vec<f64> {
            (0..terms.len()).filter(|at| is_left(at) == left).map(|at| terms[at]).collect()
        };
        let right = sums(&part(false), round);
        all.extend(sums(&part(true), round).iter().flat_map(|one| right.iter().map(move |other| round(one + other))));
    }
    all
}

/// The sum in the order of an option: as declared, backwards, in a ring that begins halfway, in pairs.
fn in_order(terms: &[f64], option: usize, round: fn(f64) -> f64) -> f64 {
    let mut terms = terms.to_vec();
    match option {
        1 => terms.reverse(),
        2 => {
            let half = terms.len() / 2;
            terms.rotate_left(half);
        }
        3 => return in_halves(&terms, round),
        _ => {}
    }
    terms[1..].iter().fold(terms[0], |sum, term| round(sum + term))
}

fn in_halves(terms: &[f64], round: fn(f64) -> f64) -> f64 {
    match terms {
        [one] => *one,
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            round(in_halves(left, round) + in_halves(right, round))
        }
    }
}

/// Six terms have 945 sums (11!!); all of them, sent as bf16 or as f32, lie in the enclosure, and so does what the machine makes of each
/// option.
#[test]
fn every_order_is_enclosed() {
    let to_bf16 = |x: f64| bf16::from_f32(x as f32).to_f64();
    for (dtype, round) in [(DType::BF16, to_bf16 as fn(f64) -> f64), (DType::F32, |x| f64::from(x as f32))] {
        let program = sum_is(0.0, dtype, 6);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for families in [&["mesh"][..], &["mesh", "rounding"]] {
            let mesh = settings("v6e/default/off", families);
            let mut differ = 0;
            for _ in 0..20 {
                let values: Vec<f64> = (0..6).map(|_| round(rng.random_range(-4.0..4.0))).collect();
                let arguments = [tensor(dtype, &[6], &values)];
                let (choices, enclosed) = enclose(&program, &arguments, &mesh).unwrap();
                let Enclosed::Floats(floats) = &enclosed[1] else { panic!("{enclosed:?}") };
                let all = sums(&values, round);
                assert_eq!(all.len(), 945);
                assert!(all.iter().all(|sum| (floats[0].lo..=floats[0].hi).contains(sum)), "{dtype}: {floats:?}");
                differ += usize::from(all.iter().any(|sum| *sum != all[0]));
                let at = choices.points.iter().position(|point| point.freedom == Freedom::Mesh).unwrap();
                for option in 0..choices.points[at].options() {
                    let mut taken = vec![0; choices.points.len()];
                    taken[at] = option;
                    let results: Vec<Tensor> =
                        machine::evaluate(&choices.take(&taken), &mesh.mode, &arguments).unwrap();
                    assert!(all.contains(&results[1].data().get_f64(0)), "{dtype}, option {option}");
                    assert_eq!(
                        results[1].data().get_f64(0),
                        in_order(&values, option, round),
                        "{dtype}, option {option}"
                    );
                    assert!(outside(&enclosed, &results).iter().all(|result| result.elements.is_empty()));
                }
            }
            assert!(differ > 10, "{dtype}: {differ}");
        }
    }
}

/// A product that goes to other devices is rounded before it is sent.
#[test]
fn nothing_is_added_between_devices_before_it_is_rounded() {
    let mut b = Builder::new("sent");
    let [x, y, z] = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &[1]).unwrap());
    let product = b.binary(Binary::Multiply, x, y).unwrap();
    let sum = b.exchange(1, product, z).unwrap();
    let program = b.finish(&[("sum", sum)]).unwrap();
    let (choices, _) = enclose(
        &program,
        &[3.0, 5.0, 7.0].map(|value| tensor(DType::F32, &[1], &[value])),
        &settings("v6e/default/off", &["contraction"]),
    )
    .unwrap();
    assert!(choices.points.is_empty(), "{:?}", choices.points);
}
