//! The ladder against MPFR.

pub mod families;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rug::Float;
use rug::ops::CompleteRound;
use std::cmp::Ordering;

use super::facts::Facts;
use super::kernel::{Dot2, dot2};
use super::sliced::{products_fit, sums_fit};
use super::superaccumulator::Superaccumulator;
use super::{
    BLOCK, Certified, Counts, GROUP, GROUP_BYTES, Interval, SIDE, Tile, certified_dots, certified_tiles, exact_dot,
};
use crate::num::{BF16, Direction, F8E4M3FN, F8E5M2, F16, F32, F64, Format, TF32, exp2i, round_mpfr};
use families::{FAMILIES, Family, Pairs, exact_cancellation, heavy_exponents, normal};

/// Bits that hold any sum of products of two f64.
const WIDE: u32 = 4400;

const TARGETS: [&Format; 6] = [&F32, &BF16, &F16, &TF32, &F8E5M2, &F8E4M3FN];

/// MPFR's own sum of exact products: one f64 and, as the sum itself, a number that has not been rounded.
fn by_mpfr_sum(pairs: &Pairs) -> (f64, Float) {
    // The precision of the left operand is that of the product.
    let product = |(a, b): &(f64, f64)| Float::with_val(106, *a) * *b;
    let products: Vec<Float> = pairs.iter().map(product).collect();
    let rounded = Float::sum(products.iter()).complete(53).to_f64();
    let unrounded = Float::sum(products.iter()).complete(WIDE);
    (if rounded.is_normal() { rounded } else { unrounded.to_f64() }, unrounded)
}

fn check(name: &str, pairs: &Pairs, certified: Certified) {
    let Certified { rounded, enclosure } = certified;
    let (expected, real) = by_mpfr_sum(pairs);
    if expected.is_nan() {
        assert!(rounded.is_nan() && enclosure.is_nan(), "{name}: {rounded}");
        return;
    }
    if real.is_zero() {
        // MPFR's sum has a rule of its own for the sign of zero; here IEEE addition in order decides.
        let in_order = pairs.iter().fold(-0.0, |sum: f64, (a, b)| sum + if *a * *b == 0.0 { a * b } else { 1.0 });
        let negative = in_order == 0.0 && in_order.is_sign_negative();
        assert_eq!((rounded, rounded.is_sign_negative()), (0.0, negative), "{name}");
    } else {
        assert_eq!(rounded.to_bits(), expected.to_bits(), "{name}: {rounded:e} {expected:e}");
    }
    if real == rounded {
        assert_eq!([enclosure.lo, enclosure.hi].map(f64::to_bits), [rounded; 2].map(f64::to_bits), "{name}");
    } else {
        assert!(real > enclosure.lo && real < enclosure.hi, "{name}: {enclosure:?}");
        assert_eq!(enclosure.hi, enclosure.lo.next_up(), "{name}: {enclosure:?}");
    }
    if real.is_finite() && !real.is_zero() {
        for format in TARGETS {
            let expected = round_mpfr(format, &real, Ordering::Equal, Direction::NearestEven);
            let got = certified.in_format(format, Direction::NearestEven);
            let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
            assert!(same, "{name}: {} of {enclosure:?}: {got:e}, not {expected:e}", format.name);
        }
        assert_eq!(certified.in_format(&F64, Direction::NearestEven).to_bits(), rounded.to_bits());
    }
}

/// Checks all dots of two lists of vectors of one length.
fn check_matrix(name: &str, rows: &[Vec<f64>], columns: &[Vec<f64>]) -> Counts {
    let (m, k, n) = (rows.len(), rows[0].len(), columns.len());
    let lhs = rows.concat();
    let rhs: Vec<f64> = (0..k).flat_map(|p| columns.iter().map(move |column| column[p])).collect();
    let dots = certified_dots(&lhs, &rhs, m, k, n);
    for (i, row) in rows.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            let pairs: Pairs = row.iter().copied().zip(column.iter().copied()).collect();
            let at = i * n + j;
            check(name, &pairs, Certified { rounded: dots.rounded[at], enclosure: dots.enclosure[at] });
        }
    }
    assert_eq!(dots.counts.total(), (m * n) as u64);
    dots.counts
}

fn add(counts: &mut Counts, more: Counts) {
    counts.grid += more.grid;
    counts.sliced += more.sliced;
    counts.dot2 += more.dot2;
    counts.superaccumulator += more.superaccumulator;
    counts.mpfr += more.mpfr;
    counts.non_finite += more.non_finite;
}

/// Every family, as single dots and as matrices of dots: on the diagonal the family's own pairs, beside it the rows of
/// some with the columns of others.
fn every_family(rounds: usize, seed: u64) -> Vec<Counts> {
    const SIZE: usize = 7;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut all = Vec::new();
    for Family { name, pairs, rungs } in FAMILIES {
        let mut counts = Counts::default();
        for round in 0..rounds {
            let k = [1, 2, 3, 5, 8, 16, 19, 33, 64][round % 9];
            let drawn: Vec<Pairs> = (0..SIZE).map(|_| pairs(k, &mut rng)).collect();
            let k = drawn.iter().map(Vec::len).max().unwrap();
            let mut rows = vec![vec![0.0; k]; SIZE];
            let mut columns = rows.clone();
            for ((row, column), pairs) in rows.iter_mut().zip(&mut columns).zip(&drawn) {
                for ((a, b), pair) in row.iter_mut().zip(column).zip(pairs) {
                    (*a, *b) = *pair;
                }
            }
            add(&mut counts, check_matrix(name, &rows, &columns));
            for (row, column) in rows.iter().zip(&columns) {
                add(&mut counts, check_matrix(name, std::slice::from_ref(row), std::slice::from_ref(column)));
            }
        }
        assert!(rungs(counts), "{name}: {counts:?}");
        all.push(counts);
    }
    all
}

#[test]
fn dots_are_those_of_mpfr_and_every_rung_is_used() {
    let counts = every_family(108, 7);
    assert!(counts.iter().map(Counts::total).sum::<u64>() > 100_000);
}

/// A million dots: `cargo test --lib -- --ignored --nocapture a_million_dots`.
#[test]
#[ignore = "half a minute: MPFR sums a million dots"]
fn a_million_dots_are_those_of_mpfr() {
    let mut total = 0;
    for (Family { name, .. }, counts) in FAMILIES.iter().zip(every_family(1100, 11)) {
        println!("{name:<20} {counts:?}");
        total += counts.total();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for family in &FAMILIES {
        for k in [BLOCK - 1, BLOCK, BLOCK + 1, 4096] {
            let counts = long_matrix(family, k, &mut rng);
            println!("{:<20} k = {k}: {counts:?}", family.name);
            total += counts.total();
        }
    }
    println!("{total} dots");
    assert!(total >= 1_000_000);
}

/// If terms cancel, the rounding of the sum of errors is visible, and it stays within the bound.
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

/// The two exact methods, each on its own, against MPFR's sum; every f32 dot product is one of the superaccumulator's.
#[test]
fn exact_methods_are_exact() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut held = 0;
    for Family { name, pairs, .. } in &FAMILIES {
        for round in 0..200 {
            let pairs = pairs([1, 2, 7, 40][round % 4], &mut rng);
            let (row, column): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let real = by_mpfr_sum(&pairs).1;
            let own = exact_dot(row.iter().copied(), column.iter().copied());
            assert!(own == real || own.is_nan() && real.is_nan(), "{name}");
            let (a, b) = (Facts::of(&row), Facts::of(&column));
            if !a.finite || !b.finite {
                continue;
            }
            let is_f32 = |values: &[f64]| values.iter().all(|v| f64::from(*v as f32) == *v);
            let Some(mut sum) = Superaccumulator::with_room(a, b, pairs.len()) else {
                assert!(!is_f32(&row) || !is_f32(&column), "{name}");
                continue;
            };
            held += 1;
            let mut whole = sum.clone();
            pairs.iter().for_each(|(a, b)| sum.add(*a, *b));
            if products_fit(a, b) {
                pairs.iter().for_each(|(a, b)| whole.add_product(a * b));
                assert_eq!(whole.certify(), sum.certify(), "{name}");
            }
            match sum.certify() {
                Some(certified) => check(name, &pairs, certified),
                None => assert!(real.is_zero()),
            }
        }
    }
    assert!(held > 2000);
}

#[test]
fn widest_f32_sums_are_held() {
    let (largest, smallest) = (f64::from(f32::MAX), f64::from(f32::from_bits(1)));
    let row = [largest, smallest, -largest, smallest, 0.0];
    let facts = Facts::of(&row);
    assert!(Superaccumulator::with_room(facts, facts, 1 << 60).is_some());
    assert!(Superaccumulator::with_room(facts, Facts::of(&[1e300, 1.0]), 1).is_none());
    let pairs: Pairs = row.iter().map(|v| (*v, v.abs())).collect();
    let columns: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    check_matrix("widest", &[row.to_vec()], &[columns]);
}

/// Six rows by six columns of a family, as long as the shortest draw.
fn long_matrix(family: &Family, k: usize, rng: &mut ChaCha8Rng) -> Counts {
    let drawn: Vec<Pairs> = (0..6).map(|_| (family.pairs)(k, rng)).collect();
    let k = drawn.iter().map(Vec::len).min().unwrap();
    let side = |part: fn(&(f64, f64)) -> f64| -> Vec<Vec<f64>> {
        drawn.iter().map(|pairs| pairs[..k].iter().map(part).collect()).collect()
    };
    check_matrix(family.name, &side(|pair| pair.0), &side(|pair| pair.1))
}

#[test]
fn long_dots_are_those_of_mpfr() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for family in &FAMILIES {
        long_matrix(family, 17 * BLOCK + 5, &mut rng);
    }
}

#[test]
fn matrices_of_several_tiles_and_blocks() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for (m, k, n) in [(7, 3, SIDE + 5), (SIDE + 1, 2, 6), (9, 2 * BLOCK + 300, 20), (6, BLOCK, 6)] {
        let mut vectors =
            |count| -> Vec<Vec<f64>> { (0..count).map(|_| (0..k).map(|_| normal(&mut rng)).collect()).collect() };
        let counts = check_matrix("matrix", &vectors(m), &vectors(n));
        assert!(counts.grid + counts.sliced > counts.dot2, "{counts:?}");
    }
}

#[test]
fn tiles_cover_every_output_once_whatever_the_types() {
    let (m, k, n) = (5, 40, SIDE + 100);
    let lhs: Vec<half::bf16> = (0..m * k).map(|i| half::bf16::from_f32((i % 37) as f32 - 18.0)).collect();
    let rhs: Vec<f32> = (0..k * n).map(|i| (i % 1013) as f32 / 3.0).collect();
    let wide = |v: f32| f64::from(v);
    let expected = certified_dots(
        &lhs.iter().map(|v| wide(v.to_f32())).collect::<Vec<_>>(),
        &rhs.iter().map(|v| wide(*v)).collect::<Vec<_>>(),
        m,
        k,
        n,
    );
    let mut seen = vec![0; m * n];
    let counts = certified_tiles(&lhs, &rhs, m, k, n, |Tile { rows, columns, outputs }| {
        assert_eq!(outputs.len(), rows.len() * columns.len());
        for (at, output) in outputs.iter().enumerate() {
            let at = (rows.start + at / columns.len()) * n + columns.start + at % columns.len();
            seen[at] += 1;
            assert_eq!((output.rounded, output.enclosure), (expected.rounded[at], expected.enclosure[at]));
        }
    });
    assert_eq!((seen, counts), (vec![1; m * n], expected.counts));
}

#[test]
fn empty_sums_are_plus_zero() {
    let none: &[f64] = &[];
    for (m, n) in [(2, 3), (8, 9)] {
        let dots = certified_dots(none, none, m, 0, n);
        assert!(dots.rounded.iter().all(|v| v.to_bits() == 0));
        assert_eq!(dots.enclosure, vec![Interval::exact(0.0); m * n]);
    }
    assert!(certified_dots(none, &[1.0, 2.0], 0, 2, 1).rounded.is_empty());
    assert!(certified_dots(&[1.0, 2.0], none, 1, 2, 0).rounded.is_empty());
    assert!(exact_dot([].into_iter(), [].into_iter()).is_sign_positive());
    assert!(exact_dot([-0.0, 0.0].into_iter(), [1.0, -2.0].into_iter()).is_sign_negative());
}

/// A tie goes to the neighbour that the rest of the sum points to, however far below it lies.
#[test]
fn ties_are_broken_from_afar() {
    // Terms that cancel far below move the digits that all others stand in.
    let held = |terms: &[i32], moved: i32| {
        let lowest = terms.iter().min().unwrap() - 1 - moved;
        let of = |e: &i32| (exp2i(e / 2), exp2i(e - e / 2));
        let ((row, column), beside) = (of(&lowest), terms.iter().map(of));
        let pairs = beside.chain([(row, column), (-row, column)]);
        let (row, column): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let mut sum = Superaccumulator::with_room(Facts::of(&row), Facts::of(&column), row.len()).unwrap();
        row.iter().zip(&column).for_each(|(a, b)| sum.add(*a, *b));
        sum.certify().unwrap().rounded
    };
    for top in -70..70 {
        let one = exp2i(top);
        assert_eq!(held(&[top, top - 53], 0), one);
        for below in (54..400).step_by(7) {
            let moved = (top + 70) % 64;
            assert_eq!(held(&[top, top - 53, top - below], moved), one.next_up(), "{top}, {below} below, {moved}");
        }
    }
    // A bit anywhere in the third digit, under any number of leading zeros.
    for moved in 0..64 {
        for below in 64..192 {
            assert_eq!(held(&[0, -53, -below], moved), 1f64.next_up(), "{below} below, {moved}");
        }
    }
}

/// 768 bits: from 105 below the grid of the products to two above what so many of them come to.
#[test]
fn only_what_fits_is_held() {
    let facts = |grid, top| Facts { grid, top, ..Facts::of(&[1.0]) };
    for (grids, terms, tops) in [([0, 0], 1, 661), ([0, 0], 8, 658), ([-10, -20], 8, 628), ([5, -20], 9, 642)] {
        let held =
            |top| Superaccumulator::with_room(facts(grids[0], top), facts(grids[1], tops - 300), terms).is_some();
        assert_eq!((held(300), held(301)), (true, false), "{grids:?} {terms}");
    }
}

/// Long vectors are summed in sixteen lanes, so that the chain of additions is as short as the bound says.
#[test]
fn long_sums_run_in_lanes() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    for k in [1, 7, 16, 31, 32, 33, 63, 64, 100, 1000] {
        let row: Vec<f64> = (0..k).map(|_| rng.random_range(-1.0..1.0) * exp2i(rng.random_range(-20..20))).collect();
        let column = vec![1.0; k];
        let sum = dot2(&row, &column);
        let in_order = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum: f64, v| sum + v);
        let expected = match k < 32 {
            true => in_order(&mut row.iter().copied()),
            false => in_order(&mut (0..16).map(|lane| in_order(&mut row.iter().copied().skip(lane).step_by(16)))),
        };
        assert_eq!(sum.total, expected, "{k}");
        // Twice d + 2 units, d the longest chain.
        let chain = (k / 16 + 33) as f64;
        let (least, most) = (2.0 * (chain + 2.0) * f64::EPSILON / 2.0, (chain + 8.0) * f64::EPSILON);
        let bound = sum.error_bound(k);
        assert!(k < 31 || sum.magnitudes > 0.0);
        assert!(bound >= least * sum.magnitudes && bound <= (most * sum.magnitudes).next_up(), "{k}");
    }
    let sum = Dot2 { total: 1.0, errors: 0.0, magnitudes: exp2i(52 - 100) };
    assert!(!sum.errors_are_exact(-100) && sum.errors_are_exact(-99));
}

/// More columns than are turned at a time, of pairs that no matrix multiplication decides.
#[test]
fn open_pairs_of_many_columns() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let k = 1300;
    let mut vectors =
        |count| -> Vec<Vec<f64>> { (0..count).map(|_| (0..k).map(|_| normal(&mut rng)).collect()).collect() };
    let counts = check_matrix("few rows", &vectors(3), &vectors(50));
    assert_eq!((counts.sliced, counts.total()), (0, 150), "{counts:?}");
    // As many as are worth a multiplication.
    assert!(check_matrix("six rows", &vectors(6), &vectors(6)).sliced > 30);
    assert_eq!(check_matrix("five columns", &vectors(6), &vectors(5)).sliced, 0);
}

/// Sums that may overflow on the way are left to methods that cannot.
#[test]
fn large_products_do_not_fit() {
    let facts = |norm| Facts { norm, grid: 0, top: 1, significand: 1.0, finite: true };
    let [plain, large] = [facts(1.0), facts(exp2i(501))];
    assert!(products_fit(plain, large) && !products_fit(large, large));
    let wide = |norm, grid| Facts { grid, ..facts(norm) };
    let large = wide(exp2i(501), 500);
    assert!(sums_fit(plain, large) && !sums_fit(large, large));
}

/// Few rows, so that every pair is open; two tiles of many groups of columns, each with a sum of its own.
#[test]
fn open_pairs_read_their_own_columns() {
    let (k, n) = (GROUP_BYTES / 8 / GROUP, SIDE + 40);
    let lhs = vec![1.0; k];
    let mut rhs = vec![0.0; k * n];
    (0..n).for_each(|j| rhs[j] = j as f64);
    let dots = certified_dots(&lhs, &rhs, 1, k, n);
    assert_eq!(dots.rounded, (0..n).map(|j| j as f64).collect::<Vec<_>>());
    assert_eq!(dots.counts, Counts { grid: n as u64, ..Counts::default() });
}

/// 2^53 + 1 is no f64, though as f64 it is 2^53; sums of 2^54 units may round; at 2^1000 it ends.
#[test]
fn what_fits_ends_at_its_limits() {
    let facts = |norm, grid, significand| Facts { norm, grid, top: 1, significand, finite: true };
    let fit = |a, b| products_fit(facts(1.0, 0, a), facts(1.0, 0, b));
    assert!(fit(441_650_591.0, 20_394_401.0), "2^53 - 1");
    assert!(!fit(321.0, 28_059_810_762_433.0), "2^53 + 1");
    let [half, wide] = [26, 27].map(|bits| facts(exp2i(bits), 0, 1.0));
    assert!(sums_fit(half, half) && !sums_fit(wide, wide));
    let [below, large] = [499, 500].map(|bits| facts(exp2i(bits), bits, 1.0));
    assert!(products_fit(below, large) && !products_fit(large, large));
    assert!(sums_fit(below, large) && !sums_fit(large, large));
}

/// Products that are all zeros have the sum's sign, also of vectors whose other entries take a wide sum.
#[test]
fn zeros_of_full_significands_have_their_sign() {
    let third = 1.0 / 3.0;
    for column in [[-0.0, -third], [0.0, -third], [-0.0, third]] {
        let counts = check_matrix("zeros", &[vec![third, 0.0]], &[column.to_vec()]);
        assert_eq!(counts.superaccumulator, 1, "{column:?}");
    }
}
