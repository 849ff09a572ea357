//! Blocks into which Eigen cuts the f32 dots and convolutions that XLA:CPU leaves to it. A convolution is a contraction
//! of the elements under each window with the kernel (`xla/backends/cpu/runtime/convolution_thunk_internal.h`). A
//! contraction is cut among threads and for the cache (`TensorContractionThreadPool.h`, `TensorContractionBlocking.h`,
//! `GeneralBlockPanelKernel.h`), and each block is summed by oneDNN's sgemm
//! (`xla/tsl/framework/contraction/eigen_contraction_kernel.h`). Measurements: FACTS 3.11 and 3.8.

use std::ops::Range;

use crate::ir::Convolution;

use super::THREADS;
use super::block_order::{Block, BlockOrder, Form};

/// Columns and rows of Eigen's kernel for AVX, which its estimates go by.
const NR: usize = 4;
const MR: usize = 16;
/// f32 of a vector.
const PACKET: f64 = 8.0;
/// Products that Eigen sums at a time: with several threads, and with one (a first level cache of 32 KiB).
const DEPTHS: [usize; 2] = [320, 400];
/// Bytes of the third level's cache.
const L3: usize = 32 << 20;
/// Cycles to load or to store four bytes.
const MEMORY: f64 = 4.0 * 11.0 / 64.0;
/// Cycles of the index arithmetic for one element under a window: three divisions of 24 and fourteen products.
const PATCH: f64 = (3.0 * 24.0 + 14.0) / PACKET;
/// Cycles that starting to work in parallel costs, and each thread.
const STARTUP: f64 = 100_000.0;
const THREAD: f64 = 100_000.0;
const SHARD: f64 = 3_000.0;
/// Products that oneDNN's sgemm takes at a time where it copies its operands first.
const COPIED: usize = 384;

/// The number of threads that Eigen estimates to pay.
struct Threads {
    /// Number of threads if positions or features are shared out.
    outer: usize,
    /// Number of threads if products are shared out.
    inner: usize,
}

/// The order of a convolution as a dot `[positions, products] x [products, features]`; `None` where it is one chain, or not known.
pub fn of_convolution(sizes: [usize; 3], convolution: &Convolution) -> Option<BlockOrder> {
    let [positions, k, features] = sizes;
    if !convolution.canonical || positions < 2 || sizes.contains(&0) {
        return None;
    }
    let columns = if convolution.transposed { features * convolution.taps } else { features };
    let of_part = |pieces: Vec<Range<usize>>| {
        let halves = pieces.into_iter().flat_map(|piece| halves(&piece));
        let form = if columns == 1 { Form::Vector } else { Form::Chain };
        vec![Block::new(0..positions, 0..features, halves, form)]
    };
    let parts = if convolution.transposed {
        // The products of each element under a window with the kernel's features; windows then add up.
        let channels = k / convolution.taps.max(1);
        let cut = parts([convolution.inputs, channels, columns], MEMORY);
        let tap = |tap: usize| {
            let at = |range: &Range<usize>| range.start + tap * channels..range.end + tap * channels;
            cut.iter().flatten().map(at).collect()
        };
        (0..convolution.taps).map(tap).map(of_part).collect()
    } else {
        parts(sizes, PATCH + MEMORY).into_iter().map(of_part).collect()
    };
    BlockOrder::new(sizes, parts)
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
        let fits = 4 * m * n <= L3 / self.inner;
        let pays = n > 1 && self.inner > 1 && self.inner >= self.outer && each >= 2 * NR && fits;
        let narrow = m.min(n) < 2 * NR || self.inner > self.outer;
        pays && (m.max(n) / self.outer < NR || each > 8 * NR && narrow)
    }
}

/// Parts and blocks of the products of a dot `[n,k] x [k,m]`, whose left operand costs `right` cycles an element: Eigen
/// has its matrices transposed.
fn parts([n, k, m]: [usize; 3], right: f64) -> Vec<Vec<Range<usize>>> {
    let threads = Threads::of(m, n, k, right);
    // The products that sgemm sums at a time.
    let part = |products: Range<usize>, several: bool| {
        let cut = depth(products.len(), several).max(1);
        products.clone().step_by(cut).map(|at| at..products.end.min(at + cut)).collect()
    };
    if threads.shares_products(m, n, k) {
        let share = k.div_ceil(threads.inner).next_multiple_of(8).max(12 * PACKET as usize).min(k);
        let several = k.div_ceil(share) > 1;
        return (0..k).step_by(share).map(|at| part(at..k.min(at + share), several)).collect();
    }
    let several = threads.outer > 1 && n > 1;
    vec![part(0..k, several)]
}

/// The most products of one of Eigen's pieces, `several` threads working.
fn deepest(k: usize, several: bool) -> usize {
    match (several, k > DEPTHS[1]) {
        (true, _) => DEPTHS[0],
        (false, false) => DEPTHS[1],
        // With one thread, the last piece is made as long as it can be.
        (false, true) => even(k, DEPTHS[1], 8, DEPTHS[1] - 1),
    }
}

/// Products of one of Eigen's pieces.
fn depth(k: usize, several: bool) -> usize {
    let slices = k.div_ceil(deepest(k, several)).max(1);
    (k / slices).next_multiple_of(8).min(k)
}

/// The size of equal pieces of `whole`: `most`, less multiples of `step` as far as the last piece, which `spare` is the most of, can take
/// over what the others leave.
fn even(whole: usize, most: usize, step: usize, spare: usize) -> usize {
    match whole % most {
        0 => most,
        rest => most - step * ((spare - rest) / (step * (whole / most + 1))),
    }
}

/// The pieces of a range of products that oneDNN's sgemm sums at a time where it copies its operands first: halves of what is more
/// than it takes (v3.7.3, `src/cpu/x64/gemm/f32/gemm_driver.cpp`).
fn halves(range: &Range<usize>) -> Vec<Range<usize>> {
    let (mut cut, mut at) = (Vec::new(), range.start);
    while at < range.end {
        let width = match range.end - at {
            left if left >= 2 * COPIED => COPIED,
            left if left > COPIED => left.div_ceil(2),
            left => left,
        };
        cut.push(at..at + width);
        at += width;
    }
    cut
}

/// Whether positions are shared out rather than features, for two threads.
fn shards_by_column(m: usize, n: usize) -> bool {
    let (rows, columns) = (m / 2, n / 2);
    let uneven = columns < 4 * NR && !n.is_multiple_of(2 * NR) && (m.is_multiple_of(2 * NR) || m / n >= 6);
    !(rows >= NR && (columns < NR || uneven) || columns < 16 * NR && m > 32 * n)
}

#[cfg(test)]
mod tests {
    use super::halves;

    /// Of 387 products the first half has one more [EXP jaxlib 0.10.2: f32[1,9,129] convolved with f32[3,129,8] has 56 of 56 results
    /// bit for bit so, 26 with the longer half behind]. Twice 384 are cut at 384.
    #[test]
    fn the_first_half_is_the_longer_one() {
        assert_eq!(halves(&(0..384)).len(), 1);
        assert_eq!(halves(&(0..387)), [0..194, 194..387]);
        assert_eq!(halves(&(10..397)), [10..204, 204..397]);
        assert_eq!(halves(&(0..768)), [0..384, 384..768]);
        assert_eq!(halves(&(0..1155)), [0..384, 384..768, 768..962, 962..1155]);
    }
}
