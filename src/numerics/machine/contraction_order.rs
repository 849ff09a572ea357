//! How Eigen cuts the f32 dots and convolutions that XLA:CPU leaves to it: a contraction (for a convolution, of the elements under
//! each window with the kernel: `xla/backends/cpu/runtime/convolution_thunk_internal.h`), cut among threads and for the cache
//! (`TensorContractionThreadPool.h`, `TensorContractionBlocking.h`, `GeneralBlockPanelKernel.h`), each block summed by oneDNN's sgemm
//! (`xla/tsl/framework/contraction/eigen_contraction_kernel.h`, `sgemm.rs`). FACTS 3.11 and 3.8 have what was measured.

use std::ops::Range;

use crate::ir::Convolution;

use super::block_order::{Block, BlockOrder, Form};
use super::chip::THREADS;
use super::kernels::Isa;
use super::sgemm;

/// Columns and rows of Eigen's kernel for AVX, which its estimates go by.
const NR: usize = 4;
const MR: usize = 16;
/// f32 of a vector.
const PACKET: f64 = 8.0;
/// Products that Eigen sums at a time: with several threads, and with one (a first level cache of 32 KiB).
const DEPTHS: [usize; 2] = [320, 400];
/// Bytes of the caches: of the first, second and third level, and of the second as the estimates for one thread have it.
const L1: usize = 32 << 10;
const L2: usize = 512 << 10;
const L3: usize = 32 << 20;
const L2_OF_ONE_THREAD: usize = 3 << 19;
/// Cycles to load or to store four bytes.
const MEMORY: f64 = 4.0 * 11.0 / 64.0;
/// Cycles of the index arithmetic for one element under a window: three divisions of 24 and fourteen products.
const PATCH: f64 = (3.0 * 24.0 + 14.0) / PACKET;
/// Cycles that starting to work in parallel costs, and each thread.
const STARTUP: f64 = 100_000.0;
const THREAD: f64 = 100_000.0;
const SHARD: f64 = 3_000.0;

/// The number of threads that Eigen estimates to pay.
struct Threads {
    /// Where positions or features are shared out.
    outer: usize,
    /// Where products are.
    inner: usize,
}

/// The order of a dot of these sizes on a processor with AVX2; `None` where each result is one fused chain.
pub fn of_dot(sizes: [usize; 3]) -> Option<BlockOrder> {
    if sizes.contains(&0) {
        return None;
    }
    BlockOrder::new(sizes, parts_of_blocks(sizes, MEMORY))
}

/// The order of a convolution as a dot `[positions, products] x [products, features]`; `None` where it is one chain, or not known.
pub fn of_convolution(isa: Isa, sizes: [usize; 3], convolution: &Convolution) -> Option<BlockOrder> {
    let [positions, k, features] = sizes;
    if !convolution.canonical || positions < 2 || sizes.contains(&0) {
        return None;
    }
    if !convolution.transposed && isa == Isa::Avx2 {
        return BlockOrder::new(sizes, parts_of_blocks(sizes, PATCH + MEMORY));
    }
    let columns = if convolution.transposed { features * convolution.taps } else { features };
    let of_part = |pieces: Vec<Range<usize>>| {
        let halves = pieces.into_iter().flat_map(|piece| sgemm::halves(&piece));
        let form = if columns == 1 { Form::Vector { onto: false } } else { Form::FUSED };
        vec![Block::new(0..positions, 0..features, halves, form)]
    };
    let parts = if convolution.transposed {
        // The products of each element under a window with the kernel's features; windows then add up.
        let channels = k / convolution.taps.max(1);
        let cut = parts([convolution.inputs, channels, columns], MEMORY);
        let tap = |tap: usize| {
            let at = |range: &Range<usize>| range.start + tap * channels..range.end + tap * channels;
            cut.iter().flat_map(|part| &part.pieces).map(at).collect()
        };
        (0..convolution.taps).map(tap).map(of_part).collect()
    } else {
        parts(sizes, PATCH + MEMORY).into_iter().map(|part| of_part(part.pieces)).collect()
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

/// Products that are summed on their own.
struct Part {
    /// Those that sgemm sums at a time.
    pieces: Vec<Range<usize>>,
    /// Rows and columns of the result that it takes at a time.
    block: [usize; 2],
}

/// How a dot `[n,k] x [k,m]` is cut, the elements of whose left operand cost `right` cycles each: Eigen has its matrices transposed.
fn parts([n, k, m]: [usize; 3], right: f64) -> Vec<Part> {
    let threads = Threads::of(m, n, k, right);
    let part = |products: Range<usize>, by_column: bool, several: bool| {
        let cut = depth(products.len(), several).max(1);
        let pieces = products.clone().step_by(cut).map(|at| at..products.end.min(at + cut)).collect();
        Part { pieces, block: block([n, products.len(), m], by_column, several) }
    };
    if threads.shares_products(m, n, k) {
        let share = k.div_ceil(threads.inner).next_multiple_of(8).max(12 * PACKET as usize).min(k);
        let several = k.div_ceil(share) > 1;
        return (0..k).step_by(share).map(|at| part(at..k.min(at + share), true, several)).collect();
    }
    let several = threads.outer > 1 && n > 1;
    vec![part(0..k, !several || shards_by_column(m, n), several)]
}

/// The parts of a dot, block by block.
fn parts_of_blocks(sizes: [usize; 3], right: f64) -> Vec<Vec<Block>> {
    let of_part = |Part { pieces, block }: Part| {
        let cut = |size: usize, width: usize| (0..size).step_by(width.max(1)).map(move |at| at..size.min(at + width));
        let places = cut(sizes[0], block[0]).flat_map(|rows| cut(sizes[2], block[1]).map(move |at| (rows.clone(), at)));
        places.flat_map(|(rows, columns)| sgemm::blocks(rows, columns, &pieces)).collect()
    };
    parts(sizes, right).into_iter().map(of_part).collect()
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

/// Rows and columns of a block of the dot `[n,k] x [k,m]`.
fn block([n, k, m]: [usize; 3], by_column: bool, several: bool) -> [usize; 2] {
    let depth = deepest(k, several).min(k);
    let sides = if by_column { [m, n] } else { [n, m] };
    let [first, second] = if several { block_of_several(depth, sides) } else { block_of_one(k, depth, sides) };
    let [columns, rows] = if by_column { [first, second] } else { [second, first] };
    let widened = (columns as f32 * 1.5) as usize;
    [rows.next_multiple_of(24).min(n), widened.next_multiple_of(48).min(m)]
}

/// Both sides of a block, where several threads work.
fn block_of_several(depth: usize, [m, n]: [usize; 2]) -> [usize; 2] {
    let side = |size: usize, step: usize, cached: usize, fits: bool| {
        let each = size.div_ceil(THREADS);
        if fits { cached - cached % step } else { each.next_multiple_of(step).min(size) }
    };
    let rows = (L3 - L2) / (4 * depth * THREADS);
    let columns = (L2 - L1) / (4 * NR * depth);
    [side(m, MR, rows, rows < m.div_ceil(THREADS) && rows >= MR), side(n, NR, columns, columns <= n.div_ceil(THREADS))]
}

/// Both sides of a block of one thread.
fn block_of_one(k: usize, depth: usize, [m, n]: [usize; 2]) -> [usize; 2] {
    if k.max(m).max(n) < 48 {
        return [m, n];
    }
    let free = (L1 - 4 * MR * NR).saturating_sub(4 * m * depth);
    let fitting = if free >= 4 * NR * depth { free / (4 * depth) } else { 3 * L2_OF_ONE_THREAD / (4 * 4 * DEPTHS[1]) };
    let most = (L2_OF_ONE_THREAD / (2 * 4 * depth)).min(fitting) / NR * NR;
    if n > most {
        return [m, even(n, most, NR, most)];
    }
    if depth < k {
        return [m, n];
    }
    let (cache, most) = match 4 * k * n {
        0..=1024 => (L1, m),
        1025..=32768 => (L2, m.min(576)),
        _ => (L2_OF_ONE_THREAD, m),
    };
    match (cache / (3 * 4 * k)).min(most) {
        0 => [m, n],
        most if most > MR => [even(m, most - most % MR, MR, most - most % MR), n],
        most => [even(m, most, MR, most), n],
    }
}

/// The size of equal pieces of `whole`: `most`, less multiples of `step` as far as the last piece, which `spare` is the most of, can take
/// over what the others leave.
fn even(whole: usize, most: usize, step: usize, spare: usize) -> usize {
    match whole % most {
        0 => most,
        rest => most - step * ((spare - rest) / (step * (whole / most + 1))),
    }
}

/// Whether positions are shared out rather than features, for two threads.
fn shards_by_column(m: usize, n: usize) -> bool {
    let (rows, columns) = (m / 2, n / 2);
    let uneven = columns < 4 * NR && !n.is_multiple_of(2 * NR) && (m.is_multiple_of(2 * NR) || m / n >= 6);
    !(rows >= NR && (columns < NR || uneven) || columns < 16 * NR && m > 32 * n)
}

#[cfg(test)]
mod tests {
    use super::of_dot;
    use crate::machine::Mode;
    use crate::machine::probe::{hash, numbers};

    /// The bits that jaxlib 0.10.2 computed on a processor with AVX2: products in five pieces, results in blocks of both sides,
    /// products shared among threads and cut, a row behind a block that a chain sums, and rows and columns left over.
    #[test]
    fn dots_outside_of_fusions_are_those_of_xla() {
        let expected = [
            ([5, 2000, 5], 0x32d3_1ea5_a9d9_619a),
            ([200, 64, 200], 0x2fcf_6099_288c_e765),
            ([100, 1000, 30], 0xa110_c82e_088e_1bc2),
            ([49, 410, 4], 0xa56b_e005_8ba2_46ed),
            ([97, 20, 130], 0x4e79_4fd9_340e_3a43),
            ([4, 700, 50], 0xbdda_07fa_fff0_2592),
        ];
        let unit = "xla-cpu/default/off".parse::<Mode>().unwrap().matrix_unit();
        for (sizes, bits) in expected {
            let [m, k, n] = sizes;
            let mut state = 1;
            let (lhs, rhs) = (numbers(&mut state, m * k), numbers(&mut state, k * n));
            let mut out = vec![0.0; m * n];
            of_dot(sizes).unwrap().matmul(&lhs, &rhs, &unit, &mut out);
            assert_eq!(hash(out), bits, "{sizes:?}");
        }
    }
}
