//! The inputs: numbers that make orders, widths and roundings visible.
//!
//! The order of a sum is read off by masks, as FPRev does (arXiv 2411.00442): with a large M at place i, -M at place j and
//! ones elsewhere, the ones that join the sum between M and -M are lost, so that the sum counts the leaves outside of the
//! smallest subtree that holds i and j. A left operand with M in column i of a row and a right operand with -M in row j of
//! a column give all pairs of i and j in one matmul. Every number of a mask is a bf16 number, so that no split and no pass
//! changes it.

use crate::tensor::{Data, Tensor};

/// Extents of K whose order is asked for.
pub const EXTENTS: [usize; 4] = [32, 128, 256, 1024];

/// The large number of a mask: above f32's 2^24 times every K, and with a square that is finite.
pub const MASK: f32 = 1_152_921_504_606_846_976.0; // 2^60

/// Columns of the array that `approx_max_k` is asked for.
const RANKED: usize = 1024;
/// The reduction that `approx_max_k(x, 4)` has over 1024 elements of each row, as `log2` (FACTS 5.2), and its bins.
pub const LOG2_REDUCTION: usize = 3;
/// Bins of a row.
pub const BIN_COUNT: usize = RANKED >> LOG2_REDUCTION;

/// Places of M in the masks of K products, one a row of the left operand.
pub fn mask_rows(k: usize) -> Vec<usize> {
    vec![0, 1, k / 2 + 1, k - 1]
}

/// Places of -M in the masks of K products, one a column of the right operand: all steps at the beginning, and powers of two.
pub fn mask_columns(k: usize) -> Vec<usize> {
    let near = [2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31];
    let far = [32, 33, 63, 64, 65, 96, 127, 128, 129, 191, 192, 255, 256, 257, 384, 511, 512, 513, 640, 768, 896, 1022];
    near.into_iter().chain(far).filter(|at| *at < k - 1).collect()
}

/// 2^p, subnormal powers among them.
pub fn power(p: i32) -> f32 {
    // f32's own powi takes the reciprocal of an infinity below 2^-127.
    2f64.powi(p) as f32
}

/// Exponents of the large number in the question of the accumulator's width.
pub const WIDTHS: std::ops::RangeInclusive<i32> = 2..=60;
/// Places of the small number among three: whatever two of them are added first, at two places it meets a large one first.
pub const PLACES: usize = 3;
/// The small number that joins it, one a column.
pub const SMALL: [f32; 5] = [1.0, 1.5, 3.0, -0.5, -1.0];

/// Places between two products in the question of fused multiply-adds: within lanes, one of them is in the same lane.
pub const DISTANCES: [usize; 5] = [1, 2, 4, 8, 16];

/// Numbers of the left operand in the question of operands: one more bit a row, ties, and the ends of f32.
pub fn operand_values() -> Vec<f32> {
    // 1.0101..., cut so that its last bit is one: no part of a split holds more of it than its own bits.
    let cut = |p: u32| {
        let last = 1 << (23 - p);
        f32::from_bits(0x3f80_0000 | 0x002a_aaaa & !(last - 1) | last)
    };
    let steps = (1..=23).map(cut);
    let tie = [1.0 + 3.0 * power(-8), 1.0 + power(-8) + power(-20), -1.0 - power(-8), -1.0 - 3.0 * power(-8)];
    let ends = [power(-130), f32::from_bits(1), power(-30), f32::MAX, 1.999_999_9];
    steps.chain(tie).chain(ends).collect()
}

/// Exponents p of the question of ties, whose operands are `1 + 2^-p` and `1 + 3 2^-p`: ties of p bits of significand.
pub const TIES: std::ops::RangeInclusive<i32> = 8..=12;

/// Numbers of the right operand: one, one with a low part, one that makes subnormal products, a subnormal, and a large one.
pub fn operand_factors() -> [f32; 6] {
    [1.0, 1.0 + power(-12) + power(-20), 1.0 + power(-23), power(-127), power(-100), power(100)]
}

/// Bits in a fixed order: an LCG (Knuth's MMIX), its upper 24 bits as a number in [-1, 1).
fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    // The first ones of small seeds are alike.
    (0..8 + count).map(|_| step()).skip(8).collect()
}

fn tensor(dims: &[usize], values: Vec<f32>) -> Option<Tensor> {
    (values.len() == dims.iter().product::<usize>()).then(|| Tensor::new(dims, Data::F32(values)))
}

/// Numbers of 8 bits with a wide range, so that bf16 sums round often.
fn short(seed: u64, count: usize) -> Vec<f32> {
    random(seed, count).into_iter().map(|v| (v * 128.0).trunc() / 64.0 + 2.0).collect()
}

/// A matrix of `rows`, each of which is ones but for what `set` changes.
fn ones(rows: usize, columns: usize, set: impl Fn(usize, &mut [f32])) -> Vec<f32> {
    let mut values = vec![1.0; rows * columns];
    values.chunks_mut(columns).enumerate().for_each(|(row, values)| set(row, values));
    values
}

fn transposed(rows: usize, columns: usize, values: &[f32]) -> Vec<f32> {
    (0..rows * columns).map(|at| values[at % rows * columns + at / rows]).collect()
}

/// The input of this name; `None` if there is none.
pub fn input(name: &str) -> Option<Tensor> {
    let extent = |prefix: &str| name.strip_prefix(prefix)?.split('.').next()?.parse::<usize>().ok();
    let is_left = name.ends_with(".lhs");
    if let Some(k) = extent("order") {
        let (places, mask) = if is_left { (mask_rows(k), MASK) } else { (mask_columns(k), -MASK) };
        let values = ones(places.len(), k, |row, values| values[places[row]] = mask);
        return match is_left {
            true => tensor(&[places.len(), k], values),
            false => tensor(&[k, places.len()], transposed(places.len(), k, &values)),
        };
    }
    if let Some(k) = extent("masks") {
        let columns = mask_columns(k);
        let pairs: Vec<[usize; 2]> =
            mask_rows(k).into_iter().take(2).flat_map(|i| columns.iter().map(move |j| [i, *j])).collect();
        let values = ones(pairs.len(), k, |row, values| {
            values[pairs[row][0]] = MASK;
            values[pairs[row][1]] = -MASK;
        });
        return tensor(&[pairs.len(), k], values);
    }
    if let Some(k) = extent("random") {
        // Of large K the numbers repeat, so that the file stays small; the periods are prime, so that no block has them.
        let (seed, period) = if is_left { (k as u64, 173) } else { (k as u64 + 7, 181) };
        let numbers = random(seed, period.min(2 * k));
        let values = numbers.iter().copied().cycle().take(2 * k).collect();
        return tensor(&if is_left { [2, k] } else { [k, 2] }, values);
    }
    designed(name)
}

#[expect(clippy::too_many_lines, reason = "one arm for each question")]
fn designed(name: &str) -> Option<Tensor> {
    /// Products of a question that has few that are not zero.
    const K: usize = 32;
    let row = |values: &[f32]| -> Vec<f32> { (0..K).map(|at| values.get(at).copied().unwrap_or(0.0)).collect() };
    let column_by_column = |columns: &[Vec<f32>]| {
        let values: Vec<f32> = columns.iter().flat_map(|column| row(column)).collect();
        tensor(&[K, columns.len()], transposed(columns.len(), K, &values))
    };
    match name {
        "operands.lhs" => {
            let values = operand_values();
            tensor(&[values.len(), K], values.iter().flat_map(|v| row(&[*v])).collect())
        }
        "ties.lhs" => {
            let pair = |p: i32| [1.0 + power(-p), 1.0 + 3.0 * power(-p)];
            tensor(&[2 * TIES.count(), K], TIES.flat_map(pair).flat_map(|v| row(&[v])).collect())
        }
        "ties.rhs" => column_by_column(&[vec![1.0]]),
        "operands.rhs" => column_by_column(&operand_factors().map(|v| vec![v])),
        // 2^p, -2^p and a small number, at each of three places: of a row and a column those of one place count.
        "width.lhs" => {
            let at = |place: usize, p: i32| {
                row(&std::array::from_fn::<f32, PLACES, _>(|k| if k == place { 1.0 } else { power(p) }))
            };
            let rows = (0..PLACES).flat_map(|place| WIDTHS.flat_map(move |p| at(place, p)));
            tensor(&[PLACES * WIDTHS.count(), K], rows.collect())
        }
        "width.rhs" => {
            let column = |place: usize, small: f32| {
                let signs = if place == 0 { [0.0, 1.0, -1.0] } else { [1.0, -1.0, -1.0] };
                (0..PLACES).map(|k| if k == place { small } else { signs[k] }).collect::<Vec<f32>>()
            };
            let columns: Vec<Vec<f32>> =
                (0..PLACES).flat_map(|place| SMALL.map(|small| column(place, small))).collect();
            column_by_column(&columns)
        }
        // (1 + 2^-12)^2 less what it rounds to: the square's terms so many places apart, and after or before.
        "fused.lhs" => {
            let (x, square) = (1.0 + power(-12), 1.0 + power(-11));
            let pair = |first: f32, distance: usize, other: f32| {
                let mut values = vec![0.0; K];
                (values[0], values[distance]) = (first, other);
                values
            };
            let rows = DISTANCES.map(|distance| pair(-square, distance, x)).into_iter();
            let rows = rows.chain(DISTANCES.map(|distance| pair(x, distance, -square)));
            tensor(&[2 * DISTANCES.len(), K], rows.flatten().collect())
        }
        "fused.rhs" => {
            let x = 1.0 + power(-12);
            let column =
                |first: f32, other: f32| (0..K).map(|k| if k == 0 { first } else { other }).collect::<Vec<f32>>();
            column_by_column(&[column(1.0, x), column(x, 1.0)])
        }
        "vector.lhs" => tensor(&[1, 512], random(3, 512)),
        "vector.rhs" => tensor(&[512, 2], random(5, 82).into_iter().cycle().take(1024).collect()),
        "rows" => tensor(&[2, 1000], random(11, 333).into_iter().cycle().take(2000).collect()),
        "columns" => tensor(&[1000, 2], random(13, 333).into_iter().cycle().take(2000).collect()),
        "bf16_rows" => tensor(&[4, 200], short(17, 800)),
        "bf16_x" => tensor(&[64], short(19, 64)),
        "bf16_y" => tensor(&[64], short(23, 64).into_iter().map(|v| v * 64.0).collect()),
        "bf16_z" => tensor(&[64], short(29, 64).into_iter().map(|v| -v * 32.0).collect()),
        "scanned" => tensor(&[2, 300], random(31, 600)),
        "ranked" => {
            // Each row is a permutation of 0 to 1023: steps by odd numbers, so that the largest lie in bins by each rule.
            let ranks = |step: usize, start: usize| (0..RANKED).map(move |at| ((at * step + start) % RANKED) as f32);
            let rows = [(1, 0), (RANKED - 1, 0), (129, 5), (517, 77), (341, 900), (1021, 400), (383, 1), (9, 1000)];
            tensor(&[rows.len(), RANKED], rows.into_iter().flat_map(|(step, start)| ranks(step, start)).collect())
        }
        "small_x" => tensor(&[4], vec![power(-130), power(-126), 1.5 * power(-126), power(-127)]),
        "small_y" => tensor(&[4], vec![power(-140), 0.0, -power(-126), power(-127)]),
        "zeros_x" => tensor(&[4], vec![0.0, -0.0, -0.0, 1.0]),
        "zeros_y" => tensor(&[4], vec![-0.0, 0.0, -0.0, -1.0]),
        "numerator" => tensor(&[64], random(37, 64)),
        "denominator" => tensor(&[64], random(41, 64).into_iter().map(|v| v.abs() * 8.0 + 0.001).collect()),
        "exponents" => tensor(&[64], random(43, 64).into_iter().map(|v| v * 6.0).collect()),
        _ => None,
    }
}
