//! Families of operands that try to break the ladder.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use super::super::Counts;
use crate::num::{bf16_nearest, exp2i};

pub type Pairs = Vec<(f64, f64)>;

/// A sum of twelve uniforms, near enough to normal, times a factor that fills all bits of an f32.
pub fn normal(rng: &mut impl Rng) -> f64 {
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

pub fn heavy_exponents(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
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

pub fn exact_cancellation(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let pairs = heavy_exponents(k, rng);
    let negated: Pairs = pairs.iter().map(|(a, b)| (*b, -a)).collect();
    shuffled([pairs, negated].concat(), rng)
}

/// A tie between two f64, or a little off it, or nearly an f64; under terms that cancel.
fn near_ties(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let unit = two_to(rng, -30..30);
    let odd = [0.0, exp2i(-52), exp2i(-51)][rng.random_range(0..3)];
    // Half an ulp of f64, of f32 and of bf16.
    let half = [0.0, exp2i(-53), -exp2i(-53), exp2i(-54), exp2i(-24), exp2i(-9)][rng.random_range(0..6)];
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

/// f32 values whose products and sums leave the range of f32 at either end, the smallest near its subnormals.
fn f32_edges(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let exponents = [-80..-70, 60..120][rng.random_range(0..2)].clone();
    (0..k)
        .map(|_| (normal(rng) * two_to(rng, exponents.clone()), normal(rng) * two_to(rng, exponents.clone())))
        .collect()
}

/// f64 operands whose products span more bits than the superaccumulator has.
fn wide_f64(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    (0..k).map(|_| (normal(rng) / 3.0 * two_to(rng, -450..450), normal(rng) * two_to(rng, -450..450))).collect()
}

/// Few bits in every operand, so that many sums are f64, and ties.
fn integers(k: usize, rng: &mut ChaCha8Rng) -> Pairs {
    let mut draw = || f64::from(rng.random_range(-1000..=1000));
    (0..k).map(|_| (draw(), draw())).collect()
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

pub struct Family {
    pub name: &'static str,
    /// About k pairs of operands.
    pub pairs: fn(usize, &mut ChaCha8Rng) -> Pairs,
    /// Whether the rungs did what they are for.
    pub rungs: fn(Counts) -> bool,
}

const fn family(name: &'static str, pairs: fn(usize, &mut ChaCha8Rng) -> Pairs, rungs: fn(Counts) -> bool) -> Family {
    Family { name, pairs, rungs }
}

pub const FAMILIES: [Family; 17] = [
    family("normal", normals, |c| c.sliced > 0 && c.dot2 > 0 && c.superaccumulator + c.mpfr == 0),
    family("bf16 normal", bf16_normals, |c| c.grid == c.total()),
    family("integers", integers, |c| c.grid == c.total()),
    family("positive", positive, |c| c.sliced > 0 && c.dot2 > 0 && c.superaccumulator + c.mpfr == 0),
    family("heavy exponents", heavy_exponents, |c| c.sliced > 0 && c.dot2 > 0 && c.dot2 > 100 * c.superaccumulator),
    family("cancelling 1e10", cancelling_1e10, |c| c.dot2 > 0),
    family("cancelling 1e20", cancelling_1e20, |c| c.superaccumulator > 0),
    family("exact cancellation", exact_cancellation, |c| c.superaccumulator > 0 && c.mpfr == 0),
    family("near ties", near_ties, |c| c.sliced > 0 && c.dot2 > 0 && c.superaccumulator > 0),
    family("f32 subnormals", f32_subnormals, |c| c.sliced > 0 && c.dot2 > 0),
    family("f32 edges", f32_edges, |c| c.sliced > 0 && c.dot2 > 0 && c.mpfr == 0),
    family("underflowing", underflowing, |c| c.superaccumulator > 0),
    family("overflowing", overflowing, |c| c.superaccumulator > 0),
    family("f64 normal", f64_normals, |c| c.sliced > 0 && c.superaccumulator > 0 && c.dot2 == 0),
    family("wide f64", wide_f64, |c| c.mpfr > 0),
    family("signed zeros", signed_zeros, |c| c.grid == c.total()),
    family("specials", specials, |c| c.non_finite > 0 && c.mpfr == 0),
];
