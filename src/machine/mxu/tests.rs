//! Orders against written-out references, and numbers that real TPUs printed (FACTS 2.5).

// Published digits, kept as published.
#![allow(clippy::excessive_precision)]

use super::*;

const TPU: Unit = Unit { block: 128, accumulation: Accumulation::Block, split: Split::Mixed, flush: false };

/// Numbers without a pattern, of both signs.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn reference(lhs: &[f32], rhs: &[f32], [m, k, n]: [usize; 3], sum: impl Fn(&[f32]) -> f32) -> Vec<f32> {
    let mut out = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let products: Vec<f32> = (0..k).map(|l| lhs[i * k + l] * rhs[l * n + j]).collect();
            out.push(sum(&products));
        }
    }
    out
}

fn chain(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, v| sum + v)
}

fn tree(values: &[f32]) -> f32 {
    let mut level = values.to_vec();
    while level.len() > 1 {
        level = level.chunks(2).map(|c| if c.len() == 2 { c[0] + c[1] } else { c[0] }).collect();
    }
    level[0]
}

#[test]
fn orders_are_the_written_out_ones() {
    for sizes in [[1, 1, 1], [3, 7, 5], [5, 130, 17], [2, 300, 33], [6, 128, 16], [4, 256, 40]] {
        let [m, k, n] = sizes;
        let (lhs, rhs) = (noise(m * k, 1), noise(k * n, 2));
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let run = |accumulation| bits(&matmul(&lhs, &rhs, sizes, Passes::F32, &Unit { accumulation, ..TPU }));
        let blocks = |inner: fn(&[f32]) -> f32| move |v: &[f32]| chain(&v.chunks(128).map(inner).collect::<Vec<_>>());
        let expect = |sum: &dyn Fn(&[f32]) -> f32| bits(&reference(&lhs, &rhs, sizes, sum));
        assert_eq!(run(Accumulation::Chain), expect(&chain), "{sizes:?}");
        assert_eq!(run(Accumulation::Block), expect(&blocks(chain)), "{sizes:?}");
        assert_eq!(run(Accumulation::Pairwise), expect(&blocks(tree)), "{sizes:?}");
        let exact = |v: &[f32]| v.iter().fold(rug::Float::with_val(2000, 0), |s, x| s + x).to_f32();
        assert_eq!(run(Accumulation::Exact), expect(&|v| chain(&v.chunks(128).map(exact).collect::<Vec<_>>())));
    }
}

#[test]
fn parts_add_up_to_the_operand() {
    let values = noise(1000, 3);
    for split in Split::ALL {
        for (passes, allowed) in [(Passes::One, 8), (Passes::Three, 15), (Passes::Six, 23)] {
            let parts = parts(&values, passes, *split);
            for (i, v) in values.iter().enumerate() {
                let sum: f64 = parts.iter().map(|p| f64::from(p[i])).sum();
                let left = (f64::from(*v) - sum).abs();
                assert!(left <= f64::from(v.abs()) / f64::from(1 << allowed), "{split:?} {passes:?} {v}");
            }
        }
    }
}

/// FACTS 2.3: {trunc h, RNE l} and {trunc h, RNE m, RNE l}; the alternatives differ from it in the first part.
#[test]
fn mixed_splits_truncate_the_first_part_only() {
    use crate::num::{bf16_nearest, bf16_truncate};
    let x = f32::from_bits(0x3f80_c0c1);
    for passes in [Passes::Three, Passes::Six] {
        let mixed = parts(&[x], passes, Split::Mixed);
        assert_eq!(mixed[0][0], bf16_truncate(x));
        assert_eq!(mixed[1][0], bf16_nearest(x - bf16_truncate(x)));
        assert_ne!(mixed[1][0], bf16_truncate(x - bf16_truncate(x)));
        assert_eq!(parts(&[x], passes, Split::Rne)[0][0], bf16_nearest(x));
    }
    assert_ne!(bf16_truncate(x), bf16_nearest(x));
}

fn one(a: f32, b: f32, passes: Passes) -> f32 {
    matmul(&[a], &[b], [1, 1, 1], passes, &TPU)[0]
}

#[test]
fn published_products() {
    assert_eq!(one(1.00390625, 1.00390625, Passes::One), 1.0);
    assert_eq!(one(1.00390625, 1.00390625, Passes::Six), 1.0078277587890625);
    assert_eq!(one(1.2, 1.2, Passes::Six).to_bits() & 0x7f_ffff, 0x38_51ed);
    assert_eq!(one(1.2, 1.2, Passes::F32).to_bits() & 0x7f_ffff, 0x38_51ec);
}

#[test]
fn infinities_pass_the_guard() {
    assert_eq!(one(1.0, f32::INFINITY, Passes::Six), f32::INFINITY);
    assert_eq!(one(1.0, f32::INFINITY, Passes::Three), f32::INFINITY);
    assert!(one(0.0, f32::INFINITY, Passes::Six).is_nan());
}

#[test]
fn products_outside_the_range_of_f32_are_fused() {
    // 3 * 2^-150 is no f32: rounded first it is 2^-148, added exactly to 2^-149 it makes 5 * 2^-150, a tie to even.
    let (a, b) = (f32::from_bits(52 << 23) * 1.5, f32::from_bits(53 << 23));
    let least = f32::from_bits(1);
    assert_eq!(a * b, 2.0 * least);
    let (l, r) = (f32::from_bits(52 << 23), f32::from_bits(53 << 23));
    assert_eq!(l * r, least);
    let out = matmul(&[l, a], &[r, b], [1, 2, 1], Passes::One, &TPU);
    assert_eq!(out, [2.0 * least]);
}

/// The tree's leaves take both products exactly, whichever comes first.
#[test]
fn products_outside_the_range_of_f32_are_fused_in_pairs() {
    let unit = Unit { accumulation: Accumulation::Pairwise, ..TPU };
    let big = f32::from_bits((127 + 64) << 23);
    assert_eq!(matmul(&[big, -big], &[big, big], [1, 2, 1], Passes::One, &unit), [0.0]);
    let (a, l, r) = (f32::from_bits(52 << 23) * 1.5, f32::from_bits(52 << 23), f32::from_bits(53 << 23));
    assert_eq!(matmul(&[l, a], &[r, r], [1, 2, 1], Passes::One, &unit), [2.0 * f32::from_bits(1)]);
    assert_eq!(matmul(&[a, l], &[r, r], [1, 2, 1], Passes::One, &unit), [2.0 * f32::from_bits(1)]);
}

/// Bits of jaxlib 0.10.2 on XLA:CPU: subnormals are flushed and negative zeros sum to +0.
#[test]
fn dots_of_xla_cpu_at_zero() {
    let unit = Unit { accumulation: Accumulation::Chain, flush: true, ..TPU };
    let dot = |a: &[f32], b: &[f32]| matmul(a, b, [1, a.len(), 1], Passes::F32, &unit)[0];
    assert_eq!(dot(&[1e-20, 0.0], &[1e-20, 0.0]), 0.0);
    assert_eq!(dot(&[1e-40, 1e-40], &[1e10, 1e10]), 0.0);
    assert!(dot(&[-0.0, -0.0], &[1.0, 1.0]).is_sign_positive());
    let kept = Unit { flush: false, ..unit };
    assert!(matmul(&[1e-20], &[1e-20], [1, 1, 1], Passes::F32, &kept)[0] > 0.0);
}
