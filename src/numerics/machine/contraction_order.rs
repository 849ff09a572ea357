//! The order of the convolutions that XLA:CPU leaves to Eigen: a contraction of the elements under each window with the
//! kernel (`xla/backends/cpu/runtime/convolution_thunk_internal.h`), its products cut among threads and for the cache
//! (`TensorContractionThreadPool.h`, `GeneralBlockPanelKernel.h`), each part summed by oneDNN's sgemm
//! (`xla/tsl/framework/contraction/eigen_contraction_kernel.h`). FACTS 3.8 has what was measured.

use std::ops::Range;

use crate::ir::Convolution;
use crate::num::flush_f32;

use super::chip::THREADS;
use super::mxu::{self, Passes, Unit};

/// Columns and rows of Eigen's kernel for AVX, which its estimates go by.
const NR: usize = 4;
const MR: usize = 16;
/// f32 of a vector.
const PACKET: f64 = 8.0;
/// Products that Eigen sums at a time: with several threads, and with one (a first level cache of 32 KiB).
const DEPTHS: [usize; 2] = [320, 400];
/// Products that oneDNN sums at a time.
const SGEMM: usize = 384;
/// Cycles to load or to store four bytes.
const MEMORY: f64 = 4.0 * 11.0 / 64.0;
/// Cycles of the index arithmetic for one element under a window: three divisions of 24 and fourteen products.
const PATCH: f64 = (3.0 * 24.0 + 14.0) / PACKET;
/// Cycles that starting to work in parallel costs, and each thread.
const STARTUP: f64 = 100_000.0;
const THREAD: f64 = 100_000.0;
const SHARD: f64 = 3_000.0;

/// How the products of a convolution `[positions, products] x [products, features]` are summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractionOrder {
    sizes: [usize; 3],
    /// Whether the kernel is one vector, which oneDNN multiplies in another way.
    vector: bool,
    /// Parts that are summed on their own, each the sum of its pieces, one after the other.
    parts: Vec<Vec<Range<usize>>>,
}

/// The number of threads that Eigen estimates to pay.
struct Threads {
    /// Where positions or features are shared out.
    outer: usize,
    /// Where products are.
    inner: usize,
}

impl ContractionOrder {
    /// The order of a convolution as a dot of these sizes; none where it is one chain, or not known.
    pub fn new(sizes: [usize; 3], convolution: &Convolution) -> Option<ContractionOrder> {
        let [positions, k, features] = sizes;
        if !convolution.canonical || positions < 2 {
            return None;
        }
        let rows = if convolution.transposed { features * convolution.taps } else { features };
        let parts = if convolution.transposed {
            // The products of each element under a window with the kernel's features; windows then add up.
            let channels = k / convolution.taps.max(1);
            let inputs = convolution.inputs;
            let cut = parts(rows, inputs, channels, MEMORY);
            let tap = |tap: usize| {
                let at = |range: &Range<usize>| range.start + tap * channels..range.end + tap * channels;
                cut.iter().flatten().map(at).collect()
            };
            (0..convolution.taps).map(tap).collect()
        } else {
            parts(features, positions, k, PATCH + MEMORY)
        };
        let order = ContractionOrder { sizes, vector: rows == 1, parts };
        (!order.is_chain()).then_some(order)
    }

    fn is_chain(&self) -> bool {
        !self.vector && self.parts.iter().map(Vec::len).sum::<usize>() == 1
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        let [rows, k, columns] = self.sizes;
        let add = |a: f32, b: f32| {
            let sum = flush_f32(flush_f32(a) + flush_f32(b));
            if sum.is_nan() { f32::NAN } else { sum }
        };
        let joined = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).map(|(a, b)| add(*a, *b)).collect::<Vec<f32>>();
        let piece = |range: &Range<usize>| {
            let left: Vec<f32> = lhs.chunks(k).flat_map(|row| &row[range.clone()]).copied().collect();
            let right = &rhs[range.start * columns..range.end * columns];
            if self.vector {
                return left.chunks(range.len()).map(|row| vector_product(row, right)).collect();
            }
            let mut sums = vec![0.0; rows * columns];
            mxu::matmul(&left, right, [rows, range.len(), columns], Passes::F32, unit, &mut sums);
            sums
        };
        let part = |pieces: &Vec<Range<usize>>| pieces.iter().map(piece).reduce(joined);
        if let Some(sums) = self.parts.iter().filter_map(part).reduce(joined) {
            out.copy_from_slice(&sums);
        }
    }
}

/// How `k` products are cut for a kernel of `m` features and `n` positions, each element of which costs `right` cycles.
fn parts(m: usize, n: usize, k: usize, right: f64) -> Vec<Vec<Range<usize>>> {
    let threads = Threads::of(m, n, k, right);
    if threads.shares_products(m, n, k) {
        let share = k.div_ceil(threads.inner).next_multiple_of(8).max(12 * PACKET as usize).min(k);
        let shares = (0..k).step_by(share).map(|at| at..k.min(at + share));
        let several = k.div_ceil(share) > 1;
        return shares.map(|share| pieces(share, several)).collect();
    }
    vec![pieces(0..k, threads.outer > 1 && n > 1)]
}

/// Nearly equal pieces of products: as Eigen cuts them, and oneDNN what is longer than it takes.
fn pieces(range: Range<usize>, several: bool) -> Vec<Range<usize>> {
    let eigen = depth(range.len(), several);
    let cut = range.clone().step_by(eigen.max(1)).map(|at| at..range.end.min(at + eigen));
    cut.flat_map(|piece| {
        let width = if piece.len() > SGEMM { piece.len().div_ceil(2) } else { piece.len() };
        piece.clone().step_by(width.max(1)).map(move |at| at..piece.end.min(at + width))
    })
    .collect()
}

/// Products of one of Eigen's pieces, `several` threads working.
fn depth(k: usize, several: bool) -> usize {
    let most = match (several, k > DEPTHS[1]) {
        (true, _) => DEPTHS[0],
        (false, false) => DEPTHS[1],
        // With one thread, the last piece is made as long as it can be.
        (false, true) => {
            let (sweeps, rest) = (k / DEPTHS[1], k % DEPTHS[1]);
            if rest == 0 { DEPTHS[1] } else { DEPTHS[1] - 8 * ((DEPTHS[1] - 1 - rest) / (8 * (sweeps + 1))) }
        }
    };
    let slices = k.div_ceil(most).max(1);
    (k / slices).next_multiple_of(8).min(k)
}

impl Threads {
    fn of(m: usize, n: usize, k: usize, right: f64) -> Threads {
        let bandwidth = |narrow: bool| if narrow { 2.0 } else { 1.0 };
        let [rows, columns, products] = [m, n, k].map(|size| size as f64);
        let slice = depth(k, true) as f64;
        let by_column = shards_by_column(m, n);
        // What is shared out is not loaded again.
        let (left, right_alone) = if by_column { (0.0, right) } else { (MEMORY, right - MEMORY) };
        let each =
            slice * bandwidth(m < NR || n < MR) / PACKET + MEMORY + left * slice / columns + right_alone * slice / rows;
        let estimate = (each * rows * columns - STARTUP) / THREAD + 0.9;
        let outer = (estimate as usize).clamp(1, THREADS);
        let inner_cost = bandwidth(n < NR || m < MR) * rows * columns / PACKET + MEMORY + right * columns;
        let total = products * inner_cost;
        let reduction = rows * columns * (3.0 * MEMORY / 4.0 + 1.0 / PACKET);
        let cost = |threads: usize| match threads {
            1 => total,
            _ => total / threads as f64 + STARTUP + threads as f64 * (reduction + SHARD),
        };
        let inner =
            (2..=THREADS).step_by(2).fold(1, |best, threads| if cost(threads) < cost(best) { threads } else { best });
        Threads { outer, inner }
    }

    fn shares_products(&self, m: usize, n: usize, k: usize) -> bool {
        let each = k / self.inner;
        let pays = n > 1 && self.inner > 1 && self.inner >= self.outer && each >= 2 * NR;
        let narrow = m.min(n) < 2 * NR || self.inner > self.outer;
        pays && (m.max(n) / self.outer < NR || each > 8 * NR && narrow)
    }
}

/// Whether positions are shared out rather than features, for two threads.
fn shards_by_column(m: usize, n: usize) -> bool {
    let (rows, columns) = (m / 2, n / 2);
    let uneven = columns < 4 * NR && !n.is_multiple_of(2 * NR) && (m.is_multiple_of(2 * NR) || m / n >= 6);
    !(rows >= NR && (columns < NR || uneven) || columns < 16 * NR && m > 32 * n)
}

/// A product with one feature: fused multiply-adds in eight lanes of sixteen products at a time, then eight, four, two and
/// one that are left over, rounded, joined and added.
fn vector_product(a: &[f32], b: &[f32]) -> f32 {
    let add = |a: f32, b: f32| flush_f32(flush_f32(a) + flush_f32(b));
    let multiply = |a: f32, b: f32| flush_f32(flush_f32(a) * flush_f32(b));
    let join = |lanes: &[f32]| {
        let pairs: Vec<f32> = lanes.chunks(2).map(|pair| pair.iter().copied().reduce(add).unwrap_or(0.0)).collect();
        match pairs[..] {
            [a, b, c, d] => add(add(a, c), add(b, d)),
            [a, b] => add(a, b),
            _ => pairs[0],
        }
    };
    let whole = a.len() - a.len() % 16;
    let mut sum = 0.0;
    if whole > 0 {
        let mut lanes = [0.0f32; 8];
        for at in (0..whole).step_by(8) {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum = flush_f32(flush_f32(a[at + lane]).mul_add(flush_f32(b[at + lane]), *sum));
            }
        }
        sum = join(&lanes);
    }
    let mut at = whole;
    for width in [8, 4, 2, 1] {
        if a.len() - at >= width {
            let products: Vec<f32> = (at..at + width).map(|i| multiply(a[i], b[i])).collect();
            sum = add(sum, join(&products));
            at += width;
        }
    }
    if sum.is_nan() { f32::NAN } else { sum }
}
