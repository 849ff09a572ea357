//! Bounds against what is lost, and against the theorem that they state.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rug::Float;

use super::super::exact_dot;
use super::super::tests::families::FAMILIES;
use super::*;

/// The lost part of a sum never exceeds the bound, is sometimes a good part of it, and is zero where that is claimed.
#[test]
fn rests_lose_what_bounds_allow() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let (mut exact, mut bounded, mut lossy, mut most) = (0, 0, 0, 0.0f64);
    for (round, family) in FAMILIES.iter().cycle().take(5 * FAMILIES.len()).enumerate() {
        let drawn: Vec<_> = (0..6).map(|_| (family.pairs)([2, 30, 128, 300, 2200][round % 5], &mut rng)).collect();
        let k = drawn.iter().map(Vec::len).min().unwrap();
        let rows: Vec<f64> = drawn.iter().flat_map(|pairs| pairs[..k].iter().map(|pair| pair.0)).collect();
        let columns: Vec<f64> = drawn.iter().flat_map(|pairs| pairs[..k].iter().map(|pair| pair.1)).collect();
        let (mut panel, mut other, mut sums) = (Panel::default(), Panel::default(), SlicedSums::default());
        panel.start(6, k);
        other.start(6, k);
        for block in 0..k.div_ceil(BLOCK) {
            panel.fill_rows(&rows, k, 0..6, block);
            other.fill_rows(&columns, k, 0..6, block);
            sums.add(&mut panel, &mut other);
        }
        let (sides, other_sides) = (Side::all(&panel), Side::all(&other));
        for i in 0..6 {
            let mut bounds = [0.0; 6];
            let blocks = panel.blocks() as f64;
            Bounds { side: sides[i], others: &other_sides, blocks, out: &mut bounds }.run();
            for (j, bound) in bounds.into_iter().enumerate() {
                let pairs = rows[i * k..][..k].iter().copied().zip(columns[j * k..][..k].iter().copied());
                let real = exact_dot(pairs.clone().map(|p| p.0), pairs.map(|p| p.1));
                let (total, rest) = (sums.totals[i * 6 + j], sums.rests[i * 6 + j]);
                for bound in [bound, closer_bound(&panel, &other, i, j)] {
                    if bound == f64::INFINITY {
                        continue;
                    }
                    let lost = (Float::with_val(4400, &real) - total - rest).abs();
                    if bound == EXACT {
                        exact += 1;
                        assert!(lost.is_zero(), "{}", family.name);
                        let never = sides[i].never_rounds(&other_sides[j]);
                        assert!(!never || real == total && rest == 0.0, "{}", family.name);
                    } else {
                        bounded += 1;
                        assert!(lost <= bound, "{}: {lost} > {bound:e}", family.name);
                        lossy += usize::from(!lost.is_zero());
                        most = most.max((lost / bound).to_f64());
                    }
                }
            }
        }
    }
    assert!(exact > 1000 && bounded > 1000 && lossy > 1000 && most > 1e-4, "{exact} {bounded} {lossy} {most}");
}

/// A number with room for every product and sum below.
fn real(value: f64) -> Float {
    Float::with_val(2000, value)
}

/// The theorem that the bounds state, in exact arithmetic.
///
/// `smalls` is at least the sum of magnitudes of the small products and `rounded` of those that may round in their block,
/// `sums` of the first products. Adding `blocks` exact products loses u a step of what is summed so far. Each small product
/// is rounded at most 2 BLOCK + 2 times in its block; it and the errors of totals twice for each of LATEST blocks, once a
/// LATEST blocks, and twice more.
struct Theorem {
    errors: Float,
    smalls: Float,
    lost: Float,
}

impl Theorem {
    fn new(sums: Float, smalls: Float, rounded: &Float, blocks: usize) -> Theorem {
        let u = real(2f64.powi(-53));
        let errors = sums * (blocks - 1) as f64 * &u;
        let outside = real(34.0) + real(blocks as f64) / 16;
        let lost = (real(258.0) * rounded + outside * (errors.clone() + &smalls)) * u;
        Theorem { errors, smalls, lost }
    }

    /// An upper bound on the sum of magnitudes of the terms of `rest`, in units of the product grid.
    fn units(&self, unit: &Float) -> Float {
        (self.errors.clone() + &self.smalls) / unit
    }

    /// Whether a bound states the theorem, with little more than its own roundings on top.
    fn is_stated_by(&self, bound: f64, unit: &Float) -> bool {
        let limit = 2f64.powi(53);
        if bound == EXACT {
            return self.units(unit) <= limit;
        }
        // What 1.02 is for is the roundings of whoever uses the bound: no missing term may live on it.
        let least = self.lost.clone() * 1.02 * (1.0 - 1e-12);
        let most = self.lost.clone() * 1.04 + f64::MIN_POSITIVE * 1.5;
        self.units(unit) * 1.03 > limit * (1.0 - 1e-6) && least <= bound && most >= bound
    }
}

/// Vectors of every kind of grid, norm and rest, each with each.
#[test]
fn bounds_state_their_theorem() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let mut side = |round: usize| {
        let grid = rng.random_range(-400..400);
        let norm = exp2i(grid) * rng.random_range(1.0f64..4.0) * exp2i(rng.random_range(0..60));
        let low = if round.is_multiple_of(3) { 0.0 } else { norm * exp2i(-rng.random_range(0..40)) };
        let span = 2f64.powf(rng.random_range(20.0..28.0));
        Side { norm, low, unit: exp2i(grid), span }
    };
    let (mut exact, mut bounded, mut refused) = (0, 0, 0);
    for round in 0..20_000 {
        let (a, b) = (side(round), side(round / 3));
        let blocks = [1, 2, 3, 16, 17, 100, 5000][round % 7];
        let mut bound = [0.0];
        Bounds { side: a, others: &[b], blocks: blocks as f64, out: &mut bound }.run();
        let spans = real(a.span) * b.span;
        if bound[0] == f64::INFINITY {
            refused += 1;
            assert!(spans > ALL_53_BITS * (1.0 - 1e-9));
            continue;
        }
        assert!(spans <= 2f64.powi(53));
        let highs = [real(a.norm) + a.low, real(b.norm) + b.low];
        let smalls = highs[0].clone() * b.low + real(a.low) * b.norm;
        let theorem = Theorem::new(highs[0].clone() * &highs[1], smalls.clone(), &smalls, blocks);
        let unit = real(a.unit) * b.unit;
        assert!(theorem.is_stated_by(bound[0], &unit), "{a:?} {b:?} {blocks}: {}", bound[0]);
        exact += usize::from(bound[0] == EXACT);
        bounded += usize::from(bound[0] != EXACT);
        let units = (real(a.norm) * b.norm / &unit).to_f64();
        if (units / 2f64.powi(53) - 1.0).abs() > 1e-6 {
            let never = a.low == 0.0 && b.low == 0.0 && units < 2f64.powi(53);
            assert_eq!(a.never_rounds(&b), never, "{a:?} {b:?}");
        }
    }
    assert!(exact > 1000 && bounded > 1000 && refused > 1000, "{exact} {bounded} {refused}");
}

/// A sum that is too large, too fine for f64 or not finite has no bound.
#[test]
fn nothing_is_said_beyond_the_range_of_f64() {
    let plain = Side { norm: 4.0, low: 0.0, unit: 1.0, span: 4.0 };
    let bound = |side: Side, other: Side| {
        let mut bound = [0.0];
        Bounds { side, others: &[other], blocks: 2.0, out: &mut bound }.run();
        bound[0]
    };
    assert_eq!(bound(plain, plain), EXACT);
    let large = Side { norm: exp2i(500), unit: exp2i(498), ..plain };
    assert_eq!((bound(large, large), bound(large, plain)), (f64::INFINITY, EXACT));
    let fine = Side { norm: exp2i(-538), unit: exp2i(-538), ..plain };
    assert_eq!((bound(fine, fine), bound(fine, plain)), (f64::INFINITY, EXACT));
    assert_eq!(bound(Side { norm: f64::NAN, ..plain }, plain), f64::INFINITY);
    let wide = Side { span: 94_906_266.0, ..plain };
    assert_eq!(
        (bound(wide, wide), bound(Side { span: 94_906_265.0, ..plain }, Side { span: 94_906_265.0, ..plain })),
        (f64::INFINITY, EXACT)
    );
}

/// Blocks of different grids, none of which has a second part: only adding their totals loses anything.
#[test]
fn closer_bounds_of_first_parts_alone_are_bounds() {
    let entries: Vec<f64> = (0..3 * BLOCK).map(|at| exp2i(60 * (1 - (at / BLOCK) as i32))).collect();
    let mut panel = Panel::default();
    panel.start(1, entries.len());
    for block in 0..3 {
        panel.fill_rows(&entries, entries.len(), 0..1, block);
    }
    let bound = closer_bound(&panel, &panel, 0, 0);
    let norm = real(panel.facts[0].norm);
    let theorem = Theorem::new(norm.clone() * norm, real(0.0), &real(0.0), 3);
    assert!(bound > 0.0 && theorem.is_stated_by(bound, &real(exp2i(-120))), "{bound:e}");
}

/// Block by block, over panels of every family and length.
#[test]
fn closer_bounds_state_their_theorem() {
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    let (mut exact, mut bounded, mut refused, mut partly) = (0, 0, 0, 0);
    for (round, family) in FAMILIES.iter().cycle().take(10 * FAMILIES.len()).enumerate() {
        let drawn: Vec<_> = (0..4).map(|_| (family.pairs)([5, 128, 300, 700, 2200][round % 5], &mut rng)).collect();
        let k = drawn.iter().map(Vec::len).min().unwrap();
        // In every other block so few bits that the small products are exact there.
        let kept = |at: usize, value: f64| match at / BLOCK % 2 {
            0 => value,
            _ => f64::from_bits(value.to_bits() & (u64::MAX << 22)),
        };
        let entries = |part: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            drawn.iter().flat_map(|pairs| (0..k).map(|at| kept(at, part(&pairs[at])))).collect()
        };
        let panels = [entries(|pair| pair.0), entries(|pair| pair.1)].map(|entries| {
            let mut panel = Panel::default();
            panel.start(4, k);
            for block in 0..k.div_ceil(BLOCK) {
                panel.fill_rows(&entries, k, 0..4, block);
                if round % 7 > 0 && !panel.is_narrow() {
                    panel.slice();
                }
            }
            panel
        });
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let bound = closer_bound(&panels[0], &panels[1], i, j);
            let (a, b) = (&panels[0].facts[i], &panels[1].facts[j]);
            let blocks = || panels[0].blocks_of(i).iter().zip(panels[1].blocks_of(j));
            let fit = |(a, b): (&super::super::panel::Block, &super::super::panel::Block)| {
                a.norm == 0.0 || b.norm == 0.0 || a.span * b.span <= ALL_53_BITS
            };
            let sums = || (real(a.norm) + panels[0].low_norm(i)) * (real(b.norm) + panels[1].low_norm(j));
            let usable = a.finite && b.finite && a.grid + b.grid >= -1074 && sums() < LARGEST && blocks().all(fit);
            assert_eq!(bound < f64::INFINITY, usable, "{}", family.name);
            if !usable {
                refused += 1;
                continue;
            }
            let (mut smalls, mut rounded) = (real(0.0), real(0.0));
            for (a, b) in blocks() {
                let small = (real(a.norm) + a.low) * b.low + real(a.low) * b.norm;
                if !small.is_zero() && small.clone() * 1.01 > real(a.unit) * b.unit * ALL_53_BITS {
                    rounded += &small;
                }
                smalls += small;
            }
            partly += usize::from(!rounded.is_zero() && rounded < smalls);
            let theorem = Theorem::new(sums(), smalls, &rounded, panels[0].blocks());
            let unit = real(exp2i(a.grid)) * exp2i(b.grid);
            assert!(theorem.is_stated_by(bound, &unit), "{}: {bound}", family.name);
            exact += usize::from(bound == EXACT);
            bounded += usize::from(bound != EXACT);
        }
    }
    assert!(exact > 100 && bounded > 100 && refused > 100 && partly > 10, "{exact} {bounded} {refused} {partly}");
}

/// A panel of these vectors, its last block at hand.
fn panel_of(vectors: &[Vec<f64>], is_sliced: bool) -> Panel {
    let (entries, k) = (vectors.concat(), vectors[0].len());
    let mut panel = Panel::default();
    panel.start(vectors.len(), k);
    for block in 0..k.div_ceil(BLOCK) {
        panel.fill_rows(&entries, k, 0..vectors.len(), block);
        if is_sliced {
            panel.slice();
        }
    }
    panel
}

/// Nothing is sliced where seven of eight pairs are exact as they are.
#[test]
fn only_what_many_pairs_need_is_sliced() {
    let wide = vec![exp2i(40), 1.0];
    for (narrow, expected) in [(8, false), (7, false), (6, true), (3, true)] {
        let mut rows = panel_of(&vec![wide.clone(); 8], false);
        let others: Vec<_> = (0..8).map(|j| if j < narrow { vec![1.0, 1.0] } else { wide.clone() }).collect();
        slice_where_needed(&mut rows, &mut panel_of(&others, false));
        assert_eq!(rows.low().is_some(), expected, "{narrow}");
    }
}

/// Bounds below the smallest normal number are bounds still, and not taken for [`EXACT`].
#[test]
fn bounds_of_what_nearly_vanishes_are_bounds() {
    let panel = panel_of(&[vec![exp2i(-490), exp2i(-517) + exp2i(-537)]], true);
    let side = Side::all(&panel)[0];
    let high = real(side.norm) + side.low;
    let smalls = high.clone() * side.low + real(side.low) * side.norm;
    let theorem = Theorem::new(high.square(), smalls.clone(), &smalls, 1);
    let unit = real(side.unit) * side.unit;
    let mut bound = [0.0];
    Bounds { side, others: &[side], blocks: 1.0, out: &mut bound }.run();
    for bound in [bound[0], closer_bound(&panel, &panel, 0, 0)] {
        assert!(bound > 0.0 && theorem.is_stated_by(bound, &unit), "{bound:e}");
    }
}

/// On the finest grid of f64 there is a bound. On a finer one, beyond [`LARGEST`] and for numbers that are not finite
/// there is none.
#[test]
fn closer_bounds_end_where_f64_does() {
    let one = |exponent| panel_of(&[vec![exp2i(exponent)]], false);
    let bound = |a: &Panel, b: &Panel| closer_bound(a, b, 0, 0);
    assert_eq!(bound(&one(-537), &one(-537)), EXACT);
    assert_eq!(bound(&one(-538), &one(-537)), f64::INFINITY);
    assert_eq!(bound(&one(500), &one(499)), EXACT);
    assert_eq!(bound(&one(500), &one(500)), f64::INFINITY);
    let (plain, mut special) = (one(0), one(0));
    special.facts[0].finite = false;
    assert_eq!([bound(&plain, &special), bound(&special, &plain)], [f64::INFINITY; 2]);
}

/// A block of zeros goes with one of any span, but nothing is said of a vector that cannot be sliced.
#[test]
fn closer_bounds_of_blocks_of_zeros() {
    let vector = |first: &[f64]| {
        let mut vector = vec![1.0; 2 * BLOCK];
        vector[..BLOCK].fill(0.0);
        vector[..first.len()].copy_from_slice(first);
        vec![vector]
    };
    let zeros = panel_of(&vector(&[]), false);
    let wide = panel_of(&vector(&[exp2i(600), exp2i(-600)]), false);
    let sums = real(zeros.facts[0].norm) * wide.facts[0].norm;
    let theorem = Theorem::new(sums, real(0.0), &real(0.0), 2);
    let large = panel_of(&vector(&[exp2i(1010), 1.0]), true);
    for (a, b, unsliced) in
        [(&zeros, &wide, false), (&wide, &zeros, false), (&zeros, &large, true), (&large, &zeros, true)]
    {
        let bound = closer_bound(a, b, 0, 0);
        match unsliced {
            true => assert_eq!(bound, f64::INFINITY),
            false => assert!(theorem.is_stated_by(bound, &real(exp2i(-600))), "{bound:e}"),
        }
    }
}

/// All first parts by all first parts, and the small parts of either side by the other side's whole.
#[test]
fn magnitudes_are_those_of_both_sides() {
    let side = |norm: f64, low: f64| Side { norm, low, unit: 1.0, span: 0.0 };
    assert_eq!(side(4.0, 1.0).magnitudes(&side(2.0, 0.5)), (5.0 * 2.5, 5.0 * 0.5 + 1.0 * 2.0));
}

/// Norms of what two slices leave are no smaller than the rests' own, of a block and of all blocks together.
#[test]
fn norms_of_rests_are_bounds() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let mut rests = 0;
    for k in [1, 2, 5, BLOCK, BLOCK + 1, 4 * BLOCK] {
        let count = 16;
        let entries: Vec<f64> =
            (0..count * k).map(|_| rng.random_range(-1.0..1.0) * exp2i(rng.random_range(-9..9))).collect();
        let mut panel = Panel::default();
        panel.start(count, k);
        let mut totals = vec![Float::with_val(2000, 0.0); count];
        for block in 0..k.div_ceil(BLOCK) {
            panel.fill_rows(&entries, k, 0..count, block);
            panel.slice();
            let Some(low) = panel.low() else { continue };
            for (i, rest) in low.entries.chunks_exact(low.length).enumerate() {
                let squares = rest.iter().map(|v| Float::with_val(2000, *v).square());
                let squares = squares.fold(Float::with_val(2000, 0.0), |sum, square| sum + square);
                assert!(Float::with_val(2000, panel.block_of(i).low).square() >= squares, "{k}: block {block} of {i}");
                rests += usize::from(!squares.is_zero());
                totals[i] += squares;
            }
        }
        for (i, total) in totals.into_iter().enumerate() {
            assert!(Float::with_val(2000, panel.low_norm(i)).square() >= total, "{k}: {i}");
        }
    }
    assert!(rests > 100, "{rests}");
}
