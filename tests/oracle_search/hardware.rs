//! The judge is judged: single operations on f64 numbers against the processor, whose results IEEE 754 defines, and
//! whole programs against itself at a higher precision.

use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::ast::{Graph, Node, Op};
use super::draw::Draw;
use super::leaf;
use super::search::{generated, verdicts};
use super::verdict::{Rounded, Verdict};

const COUNT: usize = 4096;

fn leaf(codes: &[u64]) -> Node {
    Node {
        op: Op::Leaf { codes: codes.to_vec(), parameter: true },
        operands: vec![],
        dtype: DType::F64,
        dims: vec![codes.len()],
    }
}

/// The verdict on one operation over these operands.
fn verdict(op: Op, operands: &[&[u64]], dtype: DType) -> Verdict {
    let mut nodes: Vec<Node> = operands.iter().map(|codes| leaf(codes)).collect();
    let dims = nodes[0].dims.clone();
    nodes.push(Node { op, operands: (0..operands.len()).collect(), dtype, dims });
    verdicts(&Graph { outputs: vec![nodes.len() - 1], nodes }, 320).remove(0)
}

fn operands(seed: u64) -> [Vec<u64>; 2] {
    let mut draw = Draw::seeded(seed, 0);
    [0, 1].map(|_| (0..COUNT / 8).flat_map(|_| leaf::codes(&mut draw, DType::F64, 8)).collect())
}

fn agree(name: &str, verdict: &Verdict, expected: impl Fn(usize) -> f64) {
    for (at, known) in verdict.rounded.iter().enumerate() {
        let expected = expected(at);
        let same = match known {
            Rounded::Nan => expected.is_nan(),
            Rounded::Is(value) => value.to_bits() == expected.to_bits(),
            _ => false,
        };
        assert!(same, "{name}: element {at} is {known:?}, the processor's {expected:e}");
    }
}

#[test]
fn the_judge_computes_as_ieee_754_says() {
    let [x, y] = operands(7);
    let (a, b) = (|i: usize| f64::from_bits(x[i]), |i: usize| f64::from_bits(y[i]));
    type Function = fn(f64, f64) -> f64;
    type OfOne = fn(f64) -> f64;
    let larger: Function = |a, b| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a == b {
            if a.is_sign_negative() { b } else { a }
        } else if a > b {
            a
        } else {
            b
        }
    };
    let binaries: [(Binary, Function); 6] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Subtract, |a, b| a - b),
        (Binary::Multiply, |a, b| a * b),
        (Binary::Divide, |a, b| a / b),
        (Binary::Remainder, |a, b| a % b),
        (Binary::Maximum, larger),
    ];
    for (binary, function) in binaries {
        let verdict = verdict(Op::Binary(binary), &[&x, &y], DType::F64);
        agree(binary.name(), &verdict, |i| function(a(i), b(i)));
    }
    let unaries: [(Unary, OfOne); 9] = [
        (Unary::Abs, f64::abs),
        (Unary::Negate, |a| -a),
        (Unary::Sqrt, f64::sqrt),
        (Unary::Floor, f64::floor),
        (Unary::Ceil, f64::ceil),
        (Unary::RoundNearestAfz, f64::round),
        (Unary::RoundNearestEven, f64::round_ties_even),
        (Unary::Sign, |a| if a == 0.0 || a.is_nan() { a } else { a.signum() }),
        (Unary::Exponential, |a| rug::Float::with_val(53, a).exp().to_f64()),
    ];
    // MPFR at 53 bits rounds once, but where the result is subnormal.
    let x: Vec<u64> =
        x.iter().copied().filter(|c| f64::from_bits(*c).is_nan() || f64::from_bits(*c) > -700.0).collect();
    for (unary, function) in unaries {
        let verdict = verdict(Op::Unary(unary), &[&x], DType::F64);
        agree(unary.name(), &verdict, |i| function(f64::from_bits(x[i])));
    }
}

#[test]
fn the_judge_compares_as_ieee_754_says() {
    let [x, y] = operands(8);
    let (a, b) = (|i: usize| f64::from_bits(x[i]), |i: usize| f64::from_bits(y[i]));
    for direction in [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge] {
        for order in [CompareOrder::Partial, CompareOrder::Total] {
            let verdict = verdict(Op::Compare { direction, order }, &[&x, &y], DType::Pred);
            for i in 0..COUNT {
                let ordering = match order {
                    CompareOrder::Partial => a(i).partial_cmp(&b(i)),
                    CompareOrder::Total => Some(a(i).total_cmp(&b(i))),
                };
                let expected = direction.of(ordering);
                assert_eq!(
                    verdict.integers[i],
                    Some(i128::from(expected)),
                    "{:e} {direction:?} {order:?} {:e}",
                    a(i),
                    b(i)
                );
            }
        }
    }
}

/// A narrower enclosure decides each question in the same way as a wider one: or one of the two does not enclose.
#[test]
fn the_judge_says_the_same_with_more_bits() {
    let mut known = 0;
    for number in 0..1000 {
        let graph = generated(9, number);
        for (few, many) in verdicts(&graph, 100).iter().zip(&verdicts(&graph, 500)) {
            for (few, many) in few.rounded.iter().zip(&many.rounded) {
                let same = match (few, many) {
                    (Rounded::Is(few), Rounded::Is(many)) => few.to_bits() == many.to_bits(),
                    (Rounded::Within(lo, hi), Rounded::Is(many)) => (lo..=hi).contains(&many),
                    (Rounded::Is(_) | Rounded::Nan, many) => few == many,
                    (Rounded::Zero, many) => matches!(many, Rounded::Zero | Rounded::Is(0.0)),
                    (Rounded::Within(..) | Rounded::Unknown(_), _) => true,
                };
                assert!(same, "program {number}: {few:?} and {many:?}\n{}", graph.text());
                known += 1;
            }
            for (few, many) in few.tops.iter().zip(&many.tops) {
                let (Some(few), Some(many)) = (few, many) else { continue };
                assert_eq!((&few.best, few.runner_up), (&many.best, many.runner_up), "program {number}");
                assert!(few.margin_ulp.is_none() || few.margin_ulp == many.margin_ulp, "program {number}");
            }
            for (few, many) in few.integers.iter().zip(&many.integers) {
                assert!(few.is_none() || few == many, "program {number}: {few:?} and {many:?}\n{}", graph.text());
            }
        }
    }
    assert!(known > 5000, "{known}");
}
