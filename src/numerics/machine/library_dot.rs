//! f32 dots as YNNPACK computes them, which XLA:CPU leaves dots in fusions of a kind of their own to (FACTS 3.2): which
//! kernel runs, in how many lanes it sums, and where columns and K are cut.
//!
//! The rules are those of google/XNNPACK, `ynnpack/kernels/dot/dot.cc` (the cost of a kernel), `ynnpack/subgraph/dot.cc`
//! (packing, splits of the columns) and `ynnpack/kernels/dot/schedule.cc` (splits of K). The kernels are those of a processor
//! with AVX-512 that jaxlib 0.10.2 carries; which processor it is, is a modelling choice: another has other kernels.

use std::ops::Range;

use crate::num::flush_f32;

use super::mxu::{self, Passes, Unit};

/// Rows, columns and products of the blocks that the kernels take, in the library's order.
const KERNELS: [[usize; 3]; 31] = [
    [1, 64, 1],
    [2, 64, 1],
    [3, 64, 1],
    [4, 64, 1],
    [5, 64, 1],
    [1, 32, 1],
    [2, 32, 1],
    [3, 32, 1],
    [4, 32, 1],
    [5, 32, 1],
    [5, 16, 1],
    [1, 32, 2],
    [2, 32, 2],
    [3, 32, 2],
    [4, 32, 2],
    [5, 32, 2],
    [1, 16, 2],
    [4, 16, 2],
    [4, 8, 2],
    [8, 8, 2],
    [1, 32, 4],
    [2, 32, 4],
    [1, 16, 4],
    [3, 16, 4],
    [4, 16, 4],
    [5, 16, 4],
    [2, 8, 4],
    [4, 8, 4],
    [6, 8, 4],
    [4, 4, 4],
    [8, 4, 4],
];

/// Lanes of a vector: products of a tile times its columns.
const LANES: usize = 16;
/// f32 that the cache is taken to hold: 128 KiB.
const CACHE: usize = 32 * 1024;
/// What the library takes for the number of rows when it chooses: it does not know it yet.
const UNKNOWN: usize = 2048;

/// A dot `[m,k] x [k,n]` as the library sums it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryDot {
    sizes: [usize; 3],
    /// Partial sums of one result: a product joins the one of its number's remainder.
    lanes: usize,
    /// Columns, and how many products of theirs are summed before the sum joins the others.
    columns: Vec<(Range<usize>, usize)>,
}

/// A kernel: its block, and what the library estimates that a dot costs with it.
#[derive(Clone, Copy)]
struct Kernel {
    rows: usize,
    columns: usize,
    lanes: usize,
    cost: f32,
}

/// The cheapest kernel with at most so many lanes.
fn cheapest(k: usize, n: usize, most: usize) -> Kernel {
    let mut best = Kernel { rows: 1, columns: 1, lanes: 1, cost: f32::INFINITY };
    for [rows, columns, lanes] in KERNELS.into_iter().filter(|kernel| kernel[2] <= most) {
        // Blocks times loads of both operands, those of the right one twice as dear.
        let blocks = UNKNOWN.div_ceil(rows) as f32 * n.div_ceil(columns) as f32 * k.div_ceil(lanes) as f32;
        let loads = (rows * 5 + columns * lanes / LANES * 11 + 9) as f32;
        let cost = blocks * (loads + LANES as f32 * 1e-4);
        if cost < best.cost {
            best = Kernel { rows, columns, lanes, cost };
        }
    }
    best
}

/// Columns that one task takes of `n`, where the right operand is not packed.
fn task_columns([m, k, n]: [usize; 3], kernel: Kernel) -> usize {
    let k = k.min(1024);
    let least = m.min(64) * n.min(64);
    let (mut columns, mut rows) = (n.min(kernel.columns.max(LANES)), m.min(16));
    loop {
        let area = columns * rows;
        if area >= least && ((rows + columns) * k >= 64 * 1024 || area >= 64 * 1024) {
            return columns;
        }
        if (4 * columns < rows || rows >= m) && columns < n {
            columns *= 2;
        } else if (rows < 4 * columns || columns >= n) && rows < m {
            rows *= 2;
        } else {
            return columns;
        }
    }
}

impl LibraryDot {
    /// The plan for f32 operands; `transposed` says that the right one has its products last.
    pub fn new(sizes: [usize; 3], transposed: bool) -> LibraryDot {
        let [m, k, n] = sizes;
        let cut = |width: usize| (0..n).step_by(width).map(move |at| at..n.min(at + width));
        let [packed, plain] = [4, 1].map(|lanes| cheapest(k, n, lanes));
        // Packing pays where the left operand has many blocks of rows, or where the other kernels are much dearer.
        let packs = transposed || plain.cost > 2.0 * packed.cost || m.div_ceil(plain.rows) > 10;
        if !packs {
            let columns = cut(task_columns(sizes, plain).max(1));
            let columns = columns.map(|columns| (columns.clone(), CACHE / columns.len())).collect();
            return LibraryDot { sizes, lanes: 1, columns };
        }
        let Kernel { columns, lanes, .. } = packed;
        let tile = LANES / lanes;
        let fitting = columns * (CACHE / (columns * k.max(1))).max(1);
        let width = fitting.min(n.next_multiple_of(tile)).max(tile);
        let depth = CACHE / (width * lanes) * lanes;
        LibraryDot { sizes, lanes, columns: cut(width).map(|columns| (columns, depth)).collect() }
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        let [m, k, n] = self.sizes;
        if k == 0 || self.lanes == 1 && self.columns.iter().all(|(_, depth)| *depth >= k) {
            return mxu::matmul(lhs, rhs, self.sizes, Passes::F32, unit, out);
        }
        let add = |a: f32, b: f32| {
            let sum = if unit.flush { flush_f32(flush_f32(a) + flush_f32(b)) } else { a + b };
            if sum.is_nan() { f32::NAN } else { sum }
        };
        let joined = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| add(*a, *b)).collect::<Vec<f32>>();
        for (columns, depth) in &self.columns {
            let width = columns.len();
            // The sums of the products of these numbers.
            let lane = |numbers: Vec<usize>| {
                let left: Vec<f32> = lhs.chunks(k).flat_map(|row| numbers.iter().map(|at| row[*at])).collect();
                let right = numbers.iter().flat_map(|at| &rhs[at * n..][columns.clone()]);
                let mut sums = vec![0.0; m * width];
                let sizes = [m, numbers.len(), width];
                mxu::matmul(&left, &right.copied().collect::<Vec<f32>>(), sizes, Passes::F32, unit, &mut sums);
                sums
            };
            let stretch = |numbers: Range<usize>| {
                let of_lane = |first| lane(numbers.clone().skip(first).step_by(self.lanes).collect());
                let mut parts: Vec<Vec<f32>> = (0..self.lanes).map(of_lane).collect();
                // Neighbours first.
                while parts.len() > 1 {
                    parts = parts.chunks(2).map(|pair| joined(&pair[0], &pair[1])).collect();
                }
                parts.swap_remove(0)
            };
            // What is left over when the lanes are full is summed last, with zeros for the products that are missing.
            let whole = k - k % self.lanes;
            let starts = (0..whole).step_by(*depth).map(|at| at..whole.min(at + depth));
            let stretches = starts.chain((whole < k).then_some(whole..k)).map(stretch);
            let sums = stretches.reduce(|sums, stretch| joined(&stretch, &sums)).unwrap_or_default();
            for (row, sums) in out.chunks_mut(n).zip(sums.chunks(width)) {
                row[columns.clone()].copy_from_slice(sums);
            }
        }
    }
}
