//! Loops give what single operations give, on any processor.

use super::*;

/// Pairs of every kind: special values, exact f64, wide and narrow ones.
fn pairs() -> Vec<Pair> {
    let mut all: Vec<Pair> = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, 1e-300, -700.0]
        .map(Pair::exact)
        .to_vec();
    all.extend([Pair::UNKNOWN, Pair { hi: 1.0, lo: 0.0, error: 0.5 }, Pair { hi: 0.0, lo: 0.0, error: 1e-320 }]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in 0..500 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let hi = f64::from_bits((state & !(0x7ff << 52)) | ((1023 - 12 + i % 20) << 52));
        let ulp = hi.abs().next_up() - hi.abs();
        all.extend([
            Pair::exact(hi),
            Pair { hi, lo: ulp * 0.3, error: 0.0 },
            Pair { hi, lo: -ulp * 0.2, error: ulp * 1e-12 },
        ]);
    }
    all
}

fn bits(x: Pair) -> [u64; 3] {
    // All NaNs are one.
    if x.hi.is_nan() { [0; 3] } else { [x.hi.to_bits(), x.lo.to_bits(), x.error.to_bits()] }
}

/// Any processor's instructions give the same bits, and so do loops and single operations.
#[test]
fn arrays_elements_and_processors_agree() {
    let mut arithmetic = Pairs::default();
    let all = pairs();
    let others: Vec<Pair> = (0..all.len()).map(|i| all[(i * 7 + 3) % all.len()]).collect();
    let (x, y) = (arithmetic.collect(all.clone()), arithmetic.collect(others.clone()));
    for binary in [Field::Add, Field::Subtract, Field::Multiply, Field::Divide] {
        let out = arithmetic.binary_all(binary, &x, &y, None);
        for (i, (a, b)) in all.iter().zip(&others).enumerate() {
            assert_eq!(bits(out.at(i)), bits(arithmetic.binary(binary, a, b)), "{binary:?} of {a:?} and {b:?}");
        }
    }
    for function in [Bivariate::Power, Bivariate::Atan2] {
        for (a, b) in all.iter().zip(&others) {
            let kernel = pair::power(*a, *b, &Tables::ready());
            let got = arithmetic.bivariate(function, a, b);
            let whole = function == Bivariate::Atan2 || kernel.is_irregular();
            let expected = if whole { functions::of_pairs(function, *a, *b) } else { kernel };
            assert_eq!(bits(got), bits(expected), "{function:?} of {a:?} and {b:?}");
        }
    }
    for unary in [
        Unary::Cbrt,
        Unary::Cosine,
        Unary::Erf,
        Unary::Exponential,
        Unary::ExponentialMinusOne,
        Unary::Log,
        Unary::LogPlusOne,
        Unary::Logistic,
        Unary::Negate,
        Unary::Rsqrt,
        Unary::Sine,
        Unary::Sqrt,
        Unary::Tan,
        Unary::Tanh,
    ] {
        let out = arithmetic.unary_all(unary, &x, None);
        for (i, a) in all.iter().enumerate() {
            assert_eq!(bits(out.at(i)), bits(arithmetic.unary(unary, a)), "{unary:?} of {a:?}");
        }
    }
    let rounded = (Round(&x).run(), widest(Round(&x)));
    assert!(rounded.0.iter().zip(&rounded.1).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()));
}
