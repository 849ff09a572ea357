//! Enclosures against exact sums, at the ends that operands may have.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rug::Float;

use super::*;

/// Precision in which every sum here is exact.
const BITS: u32 = 2400;

fn exact(value: f64) -> Float {
    Float::with_val(BITS, value)
}

/// Distribution of an entry: exponents over a range, with a low part, and with an error relative to the entry.
#[derive(Clone, Copy, Debug)]
struct Family {
    exponents: i32,
    has_low: bool,
    /// log2 of the error relative to the entry; `None` for exact entries.
    error: Option<i32>,
    /// Bits of an entry's high part.
    bits: u32,
}

fn entry(family: Family, rng: &mut impl Rng) -> Pair {
    if rng.random_bool(0.05) {
        return Pair::exact(if rng.random_bool(0.5) { 0.0 } else { -0.0 });
    }
    let significand = 1.0 + (rng.random::<u64>() >> (64 - family.bits + 1)) as f64 * exp2i(1 - family.bits as i32);
    let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
    let hi = sign * significand * exp2i(rng.random_range(-family.exponents..=0));
    let lo = if family.has_low { hi * exp2i(-54) * (rng.random::<f64>() - 0.5) } else { 0.0 };
    let error = family.error.map_or(0.0, |error| hi.abs() * exp2i(error) * rng.random::<f64>());
    Pair { hi, lo, error }
}

fn magnitude(pair: &Pair) -> Float {
    (exact(pair.hi) + pair.lo).abs()
}

/// Every result encloses both ends that its operands allow, and is little wider.
#[test]
fn results_are_enclosed_closely() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut seen, mut exactly) = (0, 0);
    for round in 0..400 {
        let k = [1, 2, 7, 64, 511, 513, 1100][round % 7];
        let (m, n) = ([1, 3, 5][round % 3], [4, 1, 2][round / 3 % 3]);
        let family = |i: usize| Family {
            exponents: [0, 3, 30, 90][i % 4],
            has_low: i / 4 % 2 == 1,
            error: [None, Some(-100), Some(-60), Some(-10), Some(3)][i / 8 % 5],
            bits: [8, 24, 53][i / 40 % 3],
        };
        let families = [family(round), family(round * 7 + 3)];
        let lhs: Vec<Pair> = (0..m * k).map(|_| entry(families[0], &mut rng)).collect();
        let rhs: Vec<Pair> = (0..k * n).map(|_| entry(families[1], &mut rng)).collect();
        for depth in [Depth::One, Depth::Three] {
            let results =
                enclosed_products(&lhs.iter().copied().collect(), &rhs.iter().copied().collect(), [m, k, n], depth);
            for (at, got) in results.iter().enumerate() {
                let pairs: Vec<(&Pair, &Pair)> = (0..k).map(|p| (&lhs[at / n * k + p], &rhs[p * n + at % n])).collect();
                let (mut centre, mut reach, mut outer) = (exact(0.0), exact(0.0), exact(0.0));
                let (mut squares, mut other_squares) = (exact(0.0), exact(0.0));
                for (x, y) in &pairs {
                    let product = (exact(x.hi) + x.lo) * (exact(y.hi) + y.lo);
                    let first = magnitude(x) * y.error + magnitude(y) * x.error;
                    let second = exact(x.error) * y.error;
                    // The end at which the product is largest.
                    reach += first.clone() + if product < 0.0 { -second.clone() } else { second.clone() };
                    outer += first + second * 2;
                    squares += magnitude(x).square();
                    other_squares += magnitude(y).square();
                    centre += product;
                }
                if got.is_irregular() {
                    let zeros = |side: &[Pair]| side.iter().all(|x| x.hi == 0.0 && x.error == 0.0);
                    let row: Vec<Pair> = pairs.iter().map(|(x, _)| **x).collect();
                    let column: Vec<Pair> = pairs.iter().map(|(_, y)| **y).collect();
                    assert!(zeros(&row) || zeros(&column) || centre.is_zero(), "{families:?}");
                    continue;
                }
                seen += 1;
                assert_eq!(got.hi + got.lo, got.hi, "{got:?}");
                let off = (centre - got.hi - got.lo).abs();
                assert!(off.clone() + reach <= got.error, "{families:?} k={k}: {got:?} is off by {off}");
                if got.error == 0.0 {
                    exactly += 1;
                    continue;
                }
                // A few roundings of what is left after the parts, and of the errors of adding the parts.
                let norms = squares.sqrt() * other_squares.sqrt();
                let lost = norms * (k + 8) as f64 * exp2i(if depth == Depth::One { -71 } else { -104 });
                let most = (outer + lost) * (1.0 + exp2i(-30)) + 2.0 * f64::MIN_POSITIVE * 8.0 * k as f64;
                assert!(got.error <= most, "{families:?} k={k} {depth:?}: {got:?}, not {most}");
            }
        }
    }
    assert!(seen > 3000 && exactly > 20, "{seen} {exactly}");
}

/// Vectors of special values answer nothing and disturb no other.
#[test]
fn special_values_are_left_out() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (m, k, n) = (9, 600, 3);
    let family = Family { exponents: 5, has_low: true, error: Some(-80), bits: 53 };
    let mut lhs: Vec<Pair> = (0..m * k).map(|_| entry(family, &mut rng)).collect();
    let rhs: Vec<Pair> = (0..k * n).map(|_| entry(family, &mut rng)).collect();
    let clean =
        enclosed_products(&lhs.iter().copied().collect(), &rhs.iter().copied().collect(), [m, k, n], Depth::Three);
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, exp2i(401), exp2i(1000)];
    for (row, value) in special.into_iter().enumerate() {
        lhs[row * k + 7 * row + 1] = Pair::exact(value);
    }
    lhs[5 * k + 599] = Pair::UNKNOWN;
    lhs[6 * k..7 * k].fill(Pair::exact(0.0));
    lhs[7 * k..8 * k].iter_mut().for_each(|x| *x = Pair::exact(x.hi * exp2i(-320)));
    let got =
        enclosed_products(&lhs.iter().copied().collect(), &rhs.iter().copied().collect(), [m, k, n], Depth::Three);
    assert!(got[..8 * n].iter().all(|x| x.is_irregular()), "{:?}", &got[..8 * n]);
    assert!(clean.iter().all(|x| !x.is_irregular()));
    for (got, clean) in got[8 * n..].iter().zip(&clean[8 * n..]) {
        assert_eq!([got.hi, got.lo, got.error], [clean.hi, clean.lo, clean.error]);
    }
}

/// Bounds beyond all f64 are no bounds, and nothing is exact.
#[test]
fn overflowing_bounds_say_nothing() {
    let small = Pair { hi: 1.0, lo: 0.0, error: exp2i(-60) };
    let wide = Pair { hi: 1.0, lo: 0.0, error: f64::MAX };
    let got = enclosed_products(
        &[Pair::exact(1.0), small].into_iter().collect(),
        &[wide].into_iter().collect(),
        [2, 1, 1],
        Depth::One,
    );
    assert!(got.iter().all(|x| x.is_irregular() || x.error >= f64::MAX), "{got:?}");
}

/// Beyond the side of a tile.
#[test]
fn every_result_stands_in_its_place() {
    let (m, n) = (SIDE + 3, 2 * SIDE + 5);
    let lhs: Entries = (0..m).map(|i| Pair::exact((i + 1) as f64)).collect();
    let rhs: Entries = (0..n).map(|j| Pair::exact((j + 1) as f64)).collect();
    let got = enclosed_products(&lhs, &rhs, [m, 1, n], Depth::One);
    for (at, got) in got.iter().enumerate() {
        let product = ((at / n + 1) * (at % n + 1)) as f64;
        assert_eq!([got.hi, got.lo, got.error], [product, 0.0, 0.0], "{at}");
    }
}

/// Vectors that are just within the limits are answered; those at them are not.
#[test]
fn limits_are_left_out() {
    for (value, is_answered) in
        [(SMALLEST, false), (SMALLEST.next_up(), true), (LARGEST.next_down(), true), (LARGEST, false)]
    {
        let (limit, one) = ([Pair::exact(value)].into_iter().collect(), [Pair::exact(1.0)].into_iter().collect());
        for [lhs, rhs] in [[&limit, &one], [&one, &limit]] {
            let got = enclosed_products(lhs, rhs, [1, 1, 1], Depth::Three)[0];
            assert_eq!(!got.is_irregular(), is_answered, "{value:e}: {got:?}");
        }
    }
}

/// However many there are, and wherever.
#[test]
fn vectors_with_nans_are_left_out() {
    let nan = Pair::exact(f64::NAN);
    let one = Pair::exact(1.0);
    let unknown = Pair { hi: f64::NAN, lo: 0.0, error: f64::NAN };
    for row in [[nan, nan, one, one], [nan, one, nan, one], [unknown, one, one, one], [nan, nan, nan, one]] {
        let (lhs, rhs) = (row.into_iter().collect(), [one; 4].into_iter().collect());
        let got = enclosed_products(&lhs, &rhs, [1, 4, 1], Depth::One)[0];
        assert!(got.is_irregular(), "{row:?}: {got:?}");
    }
}

/// Bounds of entries and of vectors are bounds, and little more.
#[test]
fn magnitudes_and_norms_are_bounds() {
    let (hi, lo, error) =
        ([1.0, -3.0, 0.0, 1e300, -1.0], [0.25, -0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.75, 1e290, exp2i(-53)]);
    let mut out = [0.0; 5];
    dispatch(OuterProducts { parts: [&hi, &lo, &error], out: &mut out });
    for (at, out) in out.into_iter().enumerate() {
        let sum = exact(hi[at]).abs() + lo[at].abs() + error[at];
        assert!(sum <= out && out <= sum * (1.0 + 16.0 * f64::EPSILON), "{at}: {out}");
    }
    for count in 1..40 {
        let entries: Vec<f64> = (0..count).map(|i| (i + 1) as f64 / 3.0).collect();
        let squares = entries.iter().fold(exact(0.0), |sum, x| sum + exact(*x).square());
        let got = exact(norm(&entries)).square();
        assert!(squares <= got && got <= squares * (1.0 + exp2i(-40)), "{count}");
    }
}

/// Every product of parts is one addition; its rounding error is kept, and the addition counted.
#[test]
fn additions_are_counted() {
    for (depth, products) in [(Depth::One, 1), (Depth::Three, 6)] {
        let mut sides = [Side::new(depth as usize), Side::new(depth as usize)];
        let thirds: Entries = [1.0 / 3.0, 1.0 / 7.0].into_iter().map(Pair::exact).collect();
        for side in &mut sides {
            side.start(1);
            side.fill_rows(&thirds, 2, 0..1, 0..2);
        }
        let mut tile = ResultTile::default();
        tile.start(1);
        tile.add(&sides[0], &sides[1], 4);
        tile.add(&sides[0], &sides[1], 4);
        assert_eq!(tile.additions, 2 * products);
    }
    let (mut totals, mut rests, mut magnitudes) = ([1.0, 2.0], [0.0, 0.5], [0.0, 0.25]);
    let products = [exp2i(-60), -exp2i(-60)];
    dispatch(AddExactProducts {
        totals: &mut totals,
        rests: &mut rests,
        magnitudes: &mut magnitudes,
        products: &products,
    });
    assert_eq!((totals, rests), ([1.0, 2.0], [exp2i(-60), 0.5]));
    assert_eq!(magnitudes, [exp2i(-60), 0.25 + exp2i(-60)]);
}

/// The parts of a radius, one by one.
#[test]
fn a_radius_has_all_its_parts() {
    let result = |[rest, magnitude, bound]: [f64; 3], k: usize| {
        let mut tile = ResultTile::default();
        tile.start(1);
        (tile.totals[0], tile.rests[0], tile.magnitudes[0], tile.bounds[0]) = (1.0, rest, magnitude, bound);
        tile.additions = 3;
        tile.result(0, k)
    };
    // What adding the errors lost, though no operand has one.
    let small = exp2i(-70);
    let got = result([small, small, 0.0], 1);
    assert_eq!([got.hi, got.lo], [1.0, small]);
    assert!((U * 4.0 * small..U * 4.1 * small).contains(&got.error), "{got:?}");
    // The roundings of a long bound.
    let k = 1_000_000;
    let got = result([0.0, 0.0, 1.0], k);
    let grown = 4.0 * k as f64 * U;
    assert!((1.0 + grown..1.0 + grown + 2000.0 * U).contains(&got.error), "{got:?}");
}

/// An error whose product with an entry is below all f64 is an error still.
#[test]
fn what_vanishes_is_not_exact() {
    let k = 5;
    for depth in [Depth::One, Depth::Three] {
        let tiny = vec![Pair::exact(exp2i(-200)); k];
        let about_one = vec![Pair { hi: 1.0, lo: 0.0, error: f64::from_bits(1) }; k];
        // The low part vanishes in a product, and nothing has an error.
        let beyond_one = vec![Pair { hi: 1.0, lo: f64::from_bits(1), error: 0.0 }; k];
        for one in [about_one, beyond_one] {
            for [lhs, rhs] in [[&tiny, &one], [&one, &tiny]] {
                let (lhs, rhs) = (lhs.iter().copied().collect(), rhs.iter().copied().collect());
                let got = enclosed_products(&lhs, &rhs, [1, k, 1], depth)[0];
                assert_eq!([got.hi, got.lo], [5.0 * exp2i(-200), 0.0], "{got:?}");
                // Once for the products of a block, and once for the whole.
                let least = (k * (depth as usize + 3) + 1) as f64 * f64::MIN_POSITIVE;
                assert!((least..4.0 * least).contains(&got.error), "{got:?}, not {least:e}");
            }
        }
    }
}

#[test]
fn roundings_are_gamma() {
    for (depth, k, n) in [(1, 1, 10.0), (1, 100, 208.0), (3, 7, 36.0), (3, 100, 408.0)] {
        let gamma = n * U / (1.0 - n * U);
        assert!((gamma..1.02 * gamma).contains(&roundings(depth, k)), "{depth} {k}");
    }
}
