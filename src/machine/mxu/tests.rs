//! Orders against written-out references, and numbers that real TPUs printed (FACTS 2.5).

// Published digits, kept as published.
#![allow(clippy::excessive_precision)]

mod reference;

use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::split::split;
use super::{Accumulation, Instructions, Passes, Split, Unit};

const TPU: Unit = Unit {
    block: NonZeroUsize::new(128).unwrap(),
    accumulation: Accumulation::Block,
    split: Split::Mixed,
    flush: false,
    fused: false,
    k_block: None,
};

fn matmul(lhs: &[f32], rhs: &[f32], sizes: [usize; 3], passes: Passes, unit: &Unit) -> Vec<f32> {
    // Whatever was in the output is overwritten.
    let mut out = vec![f32::NAN; sizes[0] * sizes[2]];
    super::matmul(lhs, rhs, sizes, passes, unit, &mut out);
    out
}

/// Numbers without a pattern, of both signs.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn by_output(lhs: &[f32], rhs: &[f32], [m, k, n]: [usize; 3], sum: impl Fn(&[f32]) -> f32) -> Vec<f32> {
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
        let expect = |sum: &dyn Fn(&[f32]) -> f32| bits(&by_output(&lhs, &rhs, sizes, sum));
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
            for v in &values {
                let sum: f64 = super::split::split(*v, passes.parts(), *split).iter().map(|p| f64::from(*p)).sum();
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
        let mixed = split(x, passes.parts(), Split::Mixed);
        assert_eq!(mixed[0], bf16_truncate(x));
        assert_eq!(mixed[1], bf16_nearest(x - bf16_truncate(x)));
        assert_ne!(mixed[1], bf16_truncate(x - bf16_truncate(x)));
        assert_eq!(split(x, passes.parts(), Split::Rne)[0], bf16_nearest(x));
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

/// Bits of jaxlib 0.10.2 on a CPU: subnormals are flushed and negative zeros sum to +0.
#[test]
fn flushed_dots_at_zero_have_the_bits_of_a_cpu() {
    let unit = Unit { accumulation: Accumulation::Chain, flush: true, ..TPU };
    let dot = |a: &[f32], b: &[f32]| matmul(a, b, [1, a.len(), 1], Passes::F32, &unit)[0];
    assert_eq!(dot(&[1e-20, 0.0], &[1e-20, 0.0]), 0.0);
    assert_eq!(dot(&[1e-40, 1e-40], &[1e10, 1e10]), 0.0);
    assert!(dot(&[-0.0, -0.0], &[1.0, 1.0]).is_sign_positive());
    let kept = Unit { flush: false, ..unit };
    assert!(matmul(&[1e-20], &[1e-20], [1, 1, 1], Passes::F32, &kept)[0] > 0.0);
}

/// Flushing takes an operand for what it is, whatever else the operands hold.
#[test]
fn subnormal_operands_are_zeros_on_a_flushing_unit() {
    for accumulation in Accumulation::ALL {
        let unit = Unit { accumulation: *accumulation, flush: true, ..TPU };
        let dot = |a: &[f32], b: &[f32]| matmul(a, b, [1, a.len(), 1], Passes::F32, &unit)[0];
        assert_eq!(dot(&[1e-40], &[1e30]), 0.0, "{accumulation:?}: an operand");
        assert_eq!(dot(&[1e-20, 1.0], &[1e-20, 0.0]), 0.0, "{accumulation:?}: a product");
        assert_eq!(dot(&[1.5e-38, 1.0], &[1.0, -1.25e-38]), 0.0, "{accumulation:?}: a sum");
        assert_eq!(dot(&[1.5e-38, 1.0], &[1.0, 1.25e-38]), 1.5e-38 + 1.25e-38, "{accumulation:?}: a normal sum");
        let kept = Unit { flush: false, ..unit };
        assert!(matmul(&[1.5e-38, 1.0], &[1.0, -1.25e-38], [1, 2, 1], Passes::F32, &kept)[0] > 0.0);
    }
}

/// A negative sum that is flushed is a negative zero, and so is a tree of one product that is. Every other block's sum
/// begins at +0, which a negative zero does not change.
#[test]
fn flushed_sums_and_products_keep_their_sign() {
    for accumulation in Accumulation::ALL {
        for block in [1, 2, 3] {
            let unit =
                Unit { accumulation: *accumulation, flush: true, block: NonZeroUsize::new(block).unwrap(), ..TPU };
            agrees_on(&[1.25e-38, 1.5e-38, 1e-20], &[1.0, -1.0, -1e-20], [1, 3, 1], Passes::F32, &unit);
            let sum = matmul(&[1.25e-38, 1.5e-38, 1e-20], &[1.0, -1.0, -1e-20], [1, 3, 1], Passes::F32, &unit)[0];
            let negative = *accumulation == Accumulation::Pairwise && block == 1;
            assert_eq!((sum, sum.is_sign_negative()), (0.0, negative), "{accumulation:?}, blocks of {block}");
        }
    }
}

/// A chain of fused multiply-adds that is flushed at its end: jaxlib 0.10.2 on a CPU stores the result of the last one.
#[test]
fn flushed_fused_chains_may_be_negative_zeros() {
    let unit = Unit { accumulation: Accumulation::Chain, flush: true, fused: true, ..TPU };
    for [m, n] in [[1, 1], [1, 80], [6, 80], [16, 16]] {
        let (a, b) = ([0.0, -1.3e-36].repeat(m), [vec![1.0; n], vec![4e-3; n]].concat());
        agrees_on(&a, &b, [m, 2, n], Passes::F32, &unit);
        let out = matmul(&a, &b, [m, 2, n], Passes::F32, &unit);
        assert!(out.iter().all(|sum| sum.to_bits() == (-0.0f32).to_bits()), "[{m},{n}]: {out:?}");
    }
    assert!(matmul(&[], &[], [1, 0, 1], Passes::F32, &unit)[0].is_sign_positive());
}

/// Between bf16's largest number and f32's, nearest is an infinity whose rest would be NaN.
#[test]
fn nearest_parts_of_finite_operands_are_finite() {
    use crate::num::bf16_nearest;
    for x in [f32::MAX, -f32::MAX, f32::from_bits(0x7f7f_8000)] {
        assert!(bf16_nearest(x).is_infinite());
        for passes in [Passes::Three, Passes::Six] {
            let sum: f64 = split(x, passes.parts(), Split::Rne).iter().map(|p| f64::from(*p)).sum();
            assert!((sum - f64::from(x)).abs() <= f64::from(x.abs()) / f64::from(1 << 15), "{passes:?} {sum}");
            let unit = Unit { split: Split::Rne, ..TPU };
            let half = matmul(&[x], &[0.501], [1, 1, 1], passes, &unit)[0];
            assert!((half / x - 0.501).abs() < 1e-4, "{passes:?} {half}");
        }
    }
    assert_eq!(split(f32::INFINITY, 2, Split::Rne)[0], f32::INFINITY);
    // One pass is a plain conversion, which overflows.
    assert_eq!(matmul(&[f32::MAX], &[1.0], [1, 1, 1], Passes::One, &TPU), [f32::INFINITY]);
}

/// Operands of many kinds, repeatable.
fn operands(count: usize, kind: u8, seed: u32) -> Vec<f32> {
    let mut state = u64::from(seed) << 8 | u64::from(kind);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let specials = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, -f32::MAX, 1e-40, -1e-45];
    let around = |bits: u32, exponent: u32, spread: u32| {
        f32::from_bits(bits & 0x807f_ffff | (exponent + (bits >> 23 & 0xff) % spread) << 23)
    };
    let mut value = || {
        let bits = next();
        match kind {
            0 => around(bits, 120, 8),
            // Whole numbers, whose sums are exact and cancel.
            1 => (bits % 33) as f32 - 16.0,
            // Products and sums about the smallest normal number and the largest.
            2 => around(bits, 50, 16),
            3 => around(bits, 186, 9),
            // All finite exponents, so that nothing fits into two f64.
            4 => around(bits, 0, 254),
            5 if bits % 7 == 0 => specials[(bits >> 8) as usize % specials.len()],
            5 => around(bits, 110, 30),
            // bf16 numbers, rarely special.
            6 if bits % 97 == 0 => specials[(bits >> 8) as usize % specials.len()],
            _ => f32::from_bits(around(bits, 115, 20).to_bits() & 0xffff_0000),
        }
    };
    (0..count).map(|_| value()).collect()
}

const ALL_PASSES: [Passes; 5] = [Passes::One, Passes::Three, Passes::Six, Passes::F32, Passes::Exact];

fn agrees(sizes: [usize; 3], kinds: [u8; 2], seed: u32, passes: Passes, unit: &Unit) {
    let [m, k, n] = sizes;
    let (mut lhs, mut rhs) = (operands(m * k, kinds[0], seed), operands(k * n, kinds[1], !seed));
    if passes == Passes::Exact {
        // Narrow operands.
        lhs.iter_mut().chain(&mut rhs).for_each(|v| *v = crate::num::bf16_nearest(*v));
    }
    agrees_on(&lhs, &rhs, sizes, passes, unit);
}

/// Every kernel gives the bits of the definition.
fn agrees_on(lhs: &[f32], rhs: &[f32], sizes: [usize; 3], passes: Passes, unit: &Unit) {
    let [m, _, n] = sizes;
    let expected = reference::matmul(lhs, rhs, sizes, passes, unit);
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    for instructions in Instructions::available() {
        let mut out = vec![f32::NAN; m * n];
        super::matmul_on(instructions, lhs, rhs, sizes, passes, unit, &mut out);
        let name = instructions.name();
        if let Some(at) = (0..out.len()).find(|at| out[*at].to_bits() != expected[*at].to_bits()) {
            panic!("{name} {sizes:?} {passes:?} {unit:?}: [{at}] is {:e}, not {:e}", out[at], expected[at]);
        }
        assert_eq!(bits(&out), bits(&expected));
    }
}

fn units() -> impl Strategy<Value = Unit> {
    let blocks = prop::sample::select(vec![1, 2, 7, 100, 128, 256, 300, usize::MAX]);
    let (accumulations, splits) = (prop::sample::select(Accumulation::ALL), prop::sample::select(Split::ALL));
    let cuts = prop::sample::select(vec![0, 1, 5, 64, 200]).prop_map(NonZeroUsize::new);
    (blocks, accumulations, splits, any::<[bool; 2]>(), cuts).prop_map(
        |(block, accumulation, split, [flush, fused], cut)| Unit {
            block: NonZeroUsize::new(block).unwrap(),
            accumulation,
            split,
            flush,
            fused,
            k_block: cut,
        },
    )
}

/// A sum that goes on over cuts of K keeps the sign of what is flushed, as one without cuts does.
#[test]
fn a_flushed_sum_keeps_its_sign_over_cuts_of_k() {
    for (accumulation, cut) in [(Accumulation::Running, Some(5)), (Accumulation::Block, None)] {
        for fused in [false, true] {
            let unit = Unit {
                block: NonZeroUsize::new(7).unwrap(),
                accumulation,
                flush: true,
                fused,
                k_block: cut.and_then(NonZeroUsize::new),
                ..TPU
            };
            for seed in 0..200 {
                agrees([3, 14, 26], [2, 2], seed, Passes::F32, &unit);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every kernel against the plain definition: odd shapes, edge tiles, special values, every order.
    #[test]
    fn kernels_follow_the_definition(
        m in 0usize..18, k in 0usize..40, n in 0usize..38, kinds in prop::array::uniform2(0u8..8), seed: u32,
        passes in prop::sample::select(&ALL_PASSES[..]), unit in units(),
    ) {
        agrees([m, k, n], kinds, seed, passes, &unit);
    }

    /// Few steps and many outputs, whole panels of columns and a last one in part.
    #[test]
    fn few_steps_follow_the_definition(
        m in 5usize..9, k in 1usize..=17, n in 64usize..150, kinds in prop::array::uniform2(0u8..8), seed: u32,
        passes in prop::sample::select(&ALL_PASSES[..]), unit in units(),
    ) {
        agrees([m, k, n], kinds, seed, passes, &unit);
    }

    /// Blocks of the real length, and K beyond a stretch.
    #[test]
    fn long_sums_follow_the_definition(
        m in 1usize..4, k in 100usize..1000, n in 1usize..7, kinds in prop::array::uniform2(0u8..8), seed: u32,
        passes in prop::sample::select(&ALL_PASSES[..]), unit in units(),
    ) {
        agrees([m, k, n], kinds, seed, passes, &unit);
    }
}

/// Several bands and groups of columns, on one thread and on three; with a K so short that tiles are taken along rows; and one
/// band, of which threads share the columns.
#[test]
fn bands_do_not_show() {
    for sizes @ [m, k, n] in [[150, 20, 1100], [150, 4, 1100], [7, 60, 1100], [1, 300, 1100]] {
        let (lhs, rhs) = (operands(m * k, 0, 1), operands(k * n, 0, 2));
        for passes in [Passes::Three, Passes::F32] {
            let expected = reference::matmul(&lhs, &rhs, sizes, passes, &TPU);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let ours = pool.install(|| matmul(&lhs, &rhs, sizes, passes, &TPU));
                assert_eq!(ours, expected, "{sizes:?} on {threads} threads");
            }
        }
    }
}
