use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rug::Float;
use rug::ops::CompleteRound;

use super::kernel::dot2;
use super::{Counts, Interval, certified_dots, exact_dot};
use crate::num::{bf16_nearest, exp2i};

type Pairs = Vec<(f64, f64)>;

/// Bits that hold any sum of products of two f64.
const WIDE: u32 = 4400;

/// A sum of twelve uniforms, near enough to normal, times a factor that fills all bits of an f32.
fn normal(rng: &mut impl Rng) -> f64 {
    let sum: f32 = (0..12).map(|_| rng.random::<f32>()).sum();
    f64::from((sum - 6.0) * (0.5 + rng.random::<f32>()))
}

fn two_to(rng: &mut impl Rng, exponents: std::ops::Range<i32>) -> f64 {
    exp2i(rng.random_range(exponents))
}

fn shuffled(mut pairs: Pairs, rng: &mut impl Rng) -> Pairs {
    for i in (1..pairs.len()).rev() {
        pairs.swap(i, rng.random_range(0..=i));
    }
    pairs
}

fn normals(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng), normal(rng))).collect()
}

fn bf16_normals(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let mut draw = || f64::from(bf16_nearest((normal(rng) as f32).clamp(-4.0, 4.0) + 6.0));
    (0..k).map(|_| (draw(), draw())).collect()
}

fn positive(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng).abs(), normal(rng).abs())).collect()
}

fn heavy_exponents(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng) * two_to(rng, -40..41), normal(rng) * two_to(rng, -40..41))).collect()
}

/// Terms of size 1 among terms of size `2^scale` that cancel exactly, in random order.
fn cancelling(k: usize, scale: i32, rng: &mut ChaCha8Rng) -> Pairs {
    let mut pairs = normals(k, rng);
    for _ in 0..k {
        let (a, b) = (normal(rng) * exp2i(scale / 2), normal(rng) * exp2i(scale - scale / 2));
        pairs.extend([(a, b), (-a, b)]);
    }
    shuffled(pairs, rng)
}

fn cancelling_1e10(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    cancelling(k, 33, rng)
}

fn cancelling_1e20(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    cancelling(k, 66, rng)
}

fn exact_cancellation(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let pairs = heavy_exponents(k, rng);
    let negated: Pairs = pairs.iter().map(|(a, b)| (*b, -a)).collect();
    shuffled([pairs, negated].concat(), rng)
}

/// A tie between two f64, or a little off it, or nearly an f64; under terms that cancel.
fn near_ties(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let unit = two_to(rng, -30..30);
    let odd = [0.0, exp2i(-52), exp2i(-51)][rng.random_range(0..3)];
    let half = [0.0, exp2i(-53), -exp2i(-53), exp2i(-54)][rng.random_range(0..4)];
    let off = [0.0, exp2i(-106), -exp2i(-106), exp2i(-90), -exp2i(-60)][rng.random_range(0..5)];
    let mut pairs: Pairs = [1.0, odd, half, off].map(|term| (term, unit)).to_vec();
    for _ in 0..k {
        let (a, b) = (normal(rng), normal(rng) * unit);
        pairs.extend([(a, b), (a, -b)]);
    }
    shuffled(pairs, rng)
}

/// f32 subnormals: their products are normal in f64.
fn f32_subnormals(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let mut draw = || f64::from(f32::from_bits(rng.random_range(0..1 << 25) | rng.random_range(0..2u32) << 31));
    (0..k).map(|_| (draw(), draw())).collect()
}

/// f64 operands whose products lie around the smallest f64 and below.
fn underflowing(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng) * two_to(rng, -560..-500), normal(rng) * two_to(rng, -560..-500))).collect()
}

/// f64 operands whose sums leave the range of f64, or come back into it.
fn overflowing(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let mut pairs: Pairs = (0..k).map(|_| (rng.random::<f64>() * exp2i(512), normal(rng) * exp2i(510))).collect();
    if rng.random() {
        let negated: Pairs = pairs.iter().skip(1).map(|(a, b)| (-a, *b)).collect();
        pairs.extend(negated);
    }
    pairs
}

fn f64_normals(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng) / 3.0, normal(rng) / 7.0)).collect()
}

fn signed_zeros(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let minus_only = rng.random();
    (0..k)
        .map(|_| {
            let (a, b): (f64, f64) =
                ([0.0, -0.0, 1.0, -2.0][rng.random_range(0..4)], [0.0, -0.0][rng.random_range(0..2)]);
            if minus_only && a.is_sign_negative() == b.is_sign_negative() { (a, -b) } else { (a, b) }
        })
        .collect()
}

fn specials(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let mut pairs = heavy_exponents(k, rng);
    for _ in 0..rng.random_range(1..3) {
        let special = if rng.random_ratio(1, 8) { f64::NAN } else { f64::INFINITY };
        let special = if rng.random() { special } else { -special };
        let partner = if rng.random_ratio(1, 10) { 0.0 } else { normal(rng) };
        let at = rng.random_range(0..k);
        pairs[at] = if rng.random() { (special, partner) } else { (partner, special) };
    }
    pairs
}

struct Family {
    name: &'static str,
    pairs: fn(usize, &mut ChaCha8Rng) -> Pairs,
    products_fit: bool,
    /// Whether the rungs did what they are for.
    rungs: fn(Counts) -> bool,
}

const fn family(
    name: &'static str,
    pairs: fn(usize, &mut ChaCha8Rng) -> Pairs,
    products_fit: bool,
    rungs: fn(Counts) -> bool,
) -> Family {
    Family { name, pairs, products_fit, rungs }
}

const FAMILIES: [Family; 14] = [
    family("normal", normals, true, |c| c.dot2 > 0 && c.exact == 0),
    family("bf16 normal", bf16_normals, true, |c| c.dot2 + c.exact == 0),
    family("positive", positive, true, |c| c.dot2 > 0 && c.exact == 0),
    family("heavy exponents", heavy_exponents, true, |c| c.dot2 > 100 * c.exact),
    family("cancelling 1e10", cancelling_1e10, true, |c| c.dot2 > 0),
    family("cancelling 1e20", cancelling_1e20, true, |c| c.exact > 0),
    family("exact cancellation", exact_cancellation, true, |c| c.exact > 0),
    family("near ties", near_ties, true, |c| c.dot2 > 0 && c.exact > 0),
    family("f32 subnormals", f32_subnormals, true, |c| c.dot2 > 0),
    family("underflowing", underflowing, false, |c| c.exact > 0),
    family("overflowing", overflowing, false, |c| c.exact > 0),
    family("f64 normal", f64_normals, false, |c| c.exact > 0 && c.dot2 == 0),
    family("signed zeros", signed_zeros, true, |c| c.dot2 + c.exact == 0),
    family("specials", specials, true, |c| c.non_finite > 0 && c.grid + c.dot2 + c.exact == 0),
];

/// MPFR's own sum of exact products: one f64 and, as the sum itself, a number that has not been rounded.
fn by_mpfr_sum(pairs: &Pairs) -> (f64, Float) {
    // The precision of the left operand is that of the product.
    let product = |(a, b): &(f64, f64)| Float::with_val(106, *a) * *b;
    let products: Vec<Float> = pairs.iter().map(product).collect();
    let rounded = Float::sum(products.iter()).complete(53).to_f64();
    let unrounded = Float::sum(products.iter()).complete(WIDE);
    let normal = rounded.is_normal();
    (if normal { rounded } else { unrounded.to_f64() }, unrounded)
}

fn check(name: &str, pairs: &Pairs, rounded: f64, enclosure: Interval) {
    let (expected, real) = by_mpfr_sum(pairs);
    let own = exact_dot(pairs.iter().map(|pair| pair.0), pairs.iter().map(|pair| pair.1));
    if expected.is_nan() {
        assert!(rounded.is_nan() && enclosure.is_nan() && own.is_nan(), "{name}: {rounded}");
        return;
    }
    assert_eq!(own, real, "{name}");
    if real.is_zero() {
        // MPFR's sum has a rule of its own for the sign of zero; here IEEE addition in order decides.
        let in_order = pairs.iter().fold(-0.0, |sum: f64, (a, b)| sum + if *a * *b == 0.0 { a * b } else { 1.0 });
        let negative = in_order == 0.0 && in_order.is_sign_negative();
        assert_eq!((rounded, rounded.is_sign_negative()), (0.0, negative), "{name}");
        assert_eq!(own.is_sign_negative(), negative, "{name}");
    } else {
        assert_eq!(rounded.to_bits(), expected.to_bits(), "{name}: {rounded:e} {expected:e}");
    }
    if real == rounded {
        assert_eq!([enclosure.lo, enclosure.hi].map(f64::to_bits), [rounded; 2].map(f64::to_bits), "{name}");
    } else {
        assert!(real > enclosure.lo && real < enclosure.hi, "{name}: {enclosure:?}");
        assert_eq!(enclosure.hi, enclosure.lo.next_up(), "{name}: {enclosure:?}");
    }
}

#[test]
fn dots_are_those_of_mpfr_and_every_rung_is_used() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut total = 0;
    for Family { name, pairs, products_fit, rungs } in FAMILIES {
        let mut counts = Counts::default();
        for round in 0..7600 {
            let pairs = pairs([1, 2, 3, 5, 8, 16, 19, 33, 64][round % 9], &mut rng);
            let (lhs, rhs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let dots = certified_dots(&lhs, &rhs, 1, lhs.len(), 1, products_fit);
            check(name, &pairs, dots.rounded[0], dots.enclosure[0]);
            counts.grid += dots.counts.grid;
            counts.dot2 += dots.counts.dot2;
            counts.exact += dots.counts.exact;
            counts.non_finite += dots.counts.non_finite;
            total += 1;
        }
        assert!(rungs(counts), "{name}: {counts:?}");
    }
    assert!(total > 100_000);
}

/// Where terms cancel, what the errors lost shows, and it stays within the bound.
#[test]
fn error_bound_holds_and_is_needed() {
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let mut lossy = 0;
    for round in 0..2000 {
        let k = [3, 8, 20, 100, 1000][round % 5];
        let pairs = if round % 2 == 0 { exact_cancellation(k, &mut rng) } else { heavy_exponents(k, &mut rng) };
        let (lhs, rhs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let sum = dot2(&lhs, &rhs);
        let real = exact_dot(lhs.iter().copied(), rhs.iter().copied());
        let lost = Float::with_val(WIDE, real - sum.total) - sum.errors;
        lossy += usize::from(!lost.is_zero());
        assert!(lost.abs() <= sum.error_bound(lhs.len()));
    }
    assert!(lossy > 1000, "{lossy}");
}

#[test]
fn long_dots_are_those_of_mpfr() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for Family { name, pairs, products_fit, .. } in &FAMILIES[..8] {
        let pairs = pairs(4096, &mut rng);
        let (lhs, rhs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let dots = certified_dots(&lhs, &rhs, 1, lhs.len(), 1, *products_fit);
        check(name, &pairs, dots.rounded[0], dots.enclosure[0]);
    }
}

#[test]
fn outputs_stand_in_row_major_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    // More columns than one group holds.
    let (m, k, n) = (3, 700, 50);
    let lhs: Vec<f64> = (0..m * k).map(|_| normal(&mut rng)).collect();
    let rhs: Vec<f64> = (0..k * n).map(|_| normal(&mut rng)).collect();
    let dots = certified_dots(&lhs, &rhs, m, k, n, true);
    for i in 0..m {
        for j in 0..n {
            let pairs: Pairs = (0..k).map(|p| (lhs[i * k + p], rhs[p * n + j])).collect();
            check("matrix", &pairs, dots.rounded[i * n + j], dots.enclosure[i * n + j]);
        }
    }
    assert_eq!(dots.counts.grid + dots.counts.dot2 + dots.counts.exact, (m * n) as u64);
}

#[test]
fn empty_sums_are_plus_zero() {
    let dots = certified_dots(&[], &[], 2, 0, 3, true);
    assert_eq!(dots.rounded.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), [0; 6]);
    assert_eq!(dots.enclosure, [Interval::exact(0.0); 6]);
    assert!(certified_dots(&[], &[1.0, 2.0], 0, 2, 1, true).rounded.is_empty());
    assert!(certified_dots(&[1.0, 2.0], &[], 1, 2, 0, true).rounded.is_empty());
    assert!(exact_dot([].into_iter(), [].into_iter()).is_sign_positive());
}
