//! Vectors of one side of a product, as the sliced rung needs them.

use std::ops::Range;

use super::facts::{Facts, HALF_OF_53_BITS, norm_bound, norm_of};
use super::simd::{Kernel, Vectors, dispatch};
use crate::num::{exp2i, floor_log2};

/// Products are summed over this many entries at a time: shorter blocks have finer grids, longer ones fewer passes.
pub const BLOCK: usize = 128;

/// A few rows of the left operand, or columns of the right one: one block of them at a time as f64, and facts of each
/// from the blocks so far.
#[derive(Default)]
pub struct Panel {
    /// Facts of each vector.
    pub facts: Vec<Facts>,
    /// For each vector, the bounds on each of its blocks.
    known: Vec<Block>,
    blocks: usize,
    block: usize,
    /// Entries of a vector in this block.
    pub length: usize,
    /// The block, vector after vector, and facts of each vector in it.
    entries: Vec<f64>,
    found: Vec<Facts>,
    /// `entries = high + low`, exactly, if the block is sliced; else entries are their own first parts.
    high: Vec<f64>,
    low: Vec<f64>,
    is_sliced: bool,
    any_low: bool,
}

/// Bounds on one block of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// At least the norm.
    pub norm: f64,
    /// At least the norm of the remainder after the first part; 0 if there is none.
    pub low: f64,
    /// All entries are multiples of this power of two; infinite for zeros.
    pub unit: f64,
    /// At least its norm in units of the first part's grid. The product of two spans bounds the sum of magnitudes of
    /// products in units of the product grid (Cauchy-Schwarz).
    pub span: f64,
}

impl Panel {
    /// Starts anew with `count` vectors of `k` entries.
    pub fn start(&mut self, count: usize, k: usize) {
        self.blocks = k.div_ceil(BLOCK);
        self.facts.clear();
        self.facts.resize(count, Facts::ZEROS);
        let unknown = Block { norm: f64::INFINITY, low: f64::INFINITY, unit: 0.0, span: f64::INFINITY };
        self.known.clear();
        self.known.resize(count * self.blocks, unknown);
    }

    /// The number of vectors.
    pub fn count(&self) -> usize {
        self.facts.len()
    }

    /// Takes in one block of the rows `rows` of a row-major `[_,k]`.
    pub fn fill_rows<T: Copy + Into<f64>>(&mut self, values: &[T], k: usize, rows: Range<usize>, block: usize) {
        let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(k));
        self.entries.clear();
        for i in rows {
            self.entries.extend(values[i * k + first..i * k + last].iter().map(|v| (*v).into()));
        }
        self.look(block, last - first);
    }

    /// Takes in one block of the columns `columns` of a row-major `[k,n]`.
    pub fn fill_columns<T: Copy + Into<f64>>(
        &mut self,
        values: &[T],
        [k, n]: [usize; 2],
        columns: Range<usize>,
        block: usize,
    ) {
        let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(k));
        self.entries.resize(columns.len() * (last - first), 0.0);
        transpose(values, n, first..last, columns, &mut self.entries);
        self.look(block, last - first);
    }

    fn look(&mut self, block: usize, length: usize) {
        (self.block, self.length, self.is_sliced, self.any_low) = (block, length, false, false);
        self.found.clear();
        for (i, entries) in self.entries.chunks_exact(length).enumerate() {
            let found = Facts::of(entries);
            self.found.push(found);
            self.facts[i] = self.facts[i].join(found);
            self.known[i * self.blocks + block] =
                Block { norm: found.norm, low: 0.0, unit: exp2i(found.grid), span: found.span() };
        }
    }

    /// Makes two slices of each entry of the block.
    pub fn slice(&mut self) {
        self.is_sliced = true;
        self.high.resize(self.entries.len(), 0.0);
        self.low.resize(self.entries.len(), 0.0);
        let parts = self.high.chunks_exact_mut(self.length).zip(self.low.chunks_exact_mut(self.length));
        let vectors = self.entries.chunks_exact(self.length).zip(parts);
        for (i, ((entries, (high, low)), facts)) in vectors.zip(&self.found).enumerate() {
            let (span, norm) = slice(entries, *facts, high, low);
            let known = &mut self.known[i * self.blocks + self.block];
            (known.span, known.low) = (span, norm);
            self.any_low |= norm > 0.0;
        }
    }

    /// Whether most vectors are so narrow in this block that half of 53 bits hold them unsliced.
    pub fn is_narrow(&self) -> bool {
        let narrow = (0..self.count()).filter(|i| self.block_of(*i).span <= HALF_OF_53_BITS).count();
        8 * narrow >= 7 * self.count()
    }

    /// The number of blocks of a vector.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The index of the current block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The bounds on vector `i` in the current block.
    #[inline]
    pub fn block_of(&self, i: usize) -> &Block {
        &self.known[i * self.blocks + self.block]
    }

    /// The bounds on each block of vector `i`.
    #[inline]
    pub fn blocks_of(&self, i: usize) -> &[Block] {
        &self.known[i * self.blocks..][..self.blocks]
    }

    /// At least the norm of the remainder after the first parts of vector `i`.
    pub fn low_norm(&self, i: usize) -> f64 {
        self.blocks_of(i).iter().map(|block| block.low).fold(0.0, norm_of)
    }

    /// The block, whole.
    pub fn whole(&self) -> Vectors<'_> {
        self.vectors(&self.entries)
    }

    /// The block's first parts.
    pub fn high(&self) -> Vectors<'_> {
        self.vectors(if self.is_sliced { &self.high } else { &self.entries })
    }

    /// The remainders after the first parts, if any is not zero.
    pub fn low(&self) -> Option<Vectors<'_>> {
        self.any_low.then(|| self.vectors(&self.low))
    }

    fn vectors<'a>(&self, entries: &'a [f64]) -> Vectors<'a> {
        Vectors { entries, count: self.count(), length: self.length }
    }
}

/// Columns `columns` of rows `rows` of a row-major `[_,n]`, column after column.
pub fn transpose<T: Copy + Into<f64>>(
    values: &[T],
    n: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    out: &mut [f64],
) {
    /// Squares of this side are turned at a time, so that what is read and what is written both stay in cache.
    const SIDE: usize = 16;
    let length = rows.len();
    for top in rows.clone().step_by(SIDE) {
        let bottom = (top + SIDE).min(rows.end);
        for left in columns.clone().step_by(SIDE) {
            for j in left..(left + SIDE).min(columns.end) {
                let column = &mut out[(j - columns.start) * length..][top - rows.start..bottom - rows.start];
                for (entry, p) in column.iter_mut().zip(top..bottom) {
                    *entry = values[p * n + j].into();
                }
            }
        }
    }
}

/// Splits a vector into its first part, on the finest grid on which that spans half of 53 bits, and the rest. Gives the
/// first part's span and at least the norm of the rest.
///
/// Adding and taking away 1.5 * 2^(g + 52) rounds to a multiple of 2^g, for magnitudes below 2^(g + 51); the remainder
/// is an f64 (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59, 2012, section 2).
fn slice(block: &[f64], facts: Facts, high: &mut [f64], low: &mut [f64]) -> (f64, f64) {
    let half_root = (block.len() as f64).sqrt().next_up() / 2.0;
    // Rounding an entry to the grid moves it by half a unit at most, so the first part's norm is at most
    // facts.norm + half_root * 2^grid, which this makes at most HALF_OF_53_BITS * 2^grid. No grid is finer than f64's.
    let least = facts.norm / (HALF_OF_53_BITS - half_root) * (1.0 + 4.0 * f64::EPSILON);
    let grid = if facts.norm == 0.0 { 0 } else { (floor_log2(least) + 1).max(-1074) };
    let shift = 1.5 * exp2i(grid + 52);
    if !facts.finite || !facts.norm.is_finite() || shift.is_infinite() {
        // An infinite span certifies nothing.
        return (f64::INFINITY, f64::INFINITY);
    }
    let (squares, largest) = dispatch(PanelSplit { block, high, low, shift });
    (HALF_OF_53_BITS, if largest == 0.0 { 0.0 } else { norm_bound(squares, block.len(), largest) })
}

struct PanelSplit<'a> {
    block: &'a [f64],
    high: &'a mut [f64],
    low: &'a mut [f64],
    shift: f64,
}

const LANES: usize = 8;

impl Kernel for PanelSplit<'_> {
    /// The sum of squares of the low parts, and their largest magnitude.
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let (mut squares, mut largest) = ([0.0f64; LANES], [0.0f64; LANES]);
        let shift = self.shift;
        let parts = self.high.chunks_mut(LANES).zip(self.low.chunks_mut(LANES));
        for (chunk, (high, low)) in self.block.chunks(LANES).zip(parts) {
            for (lane, value) in chunk.iter().enumerate() {
                high[lane] = (value + shift) - shift;
                low[lane] = value - high[lane];
                squares[lane] += low[lane] * low[lane];
                largest[lane] = if low[lane].abs() > largest[lane] { low[lane].abs() } else { largest[lane] };
            }
        }
        (squares.into_iter().sum(), largest.into_iter().fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_keep_to_their_grid() {
        let values: Vec<f64> = (1..1000).map(|i| f64::from((i * i % 97 - 48) as f32 / (7 * i) as f32)).collect();
        let mut panel = Panel::default();
        panel.start(3, 111);
        panel.fill_rows(&values, 111, 0..3, 0);
        panel.slice();
        assert!(panel.low().is_some());
        for i in 0..3 {
            let (mut norm, mut low_norm) = (0.0, 0.0);
            let finest = (0..111).map(|p| Facts::of(&[panel.high[i * 111 + p]]).grid).min().unwrap();
            for (p, value) in values.iter().enumerate().skip(i * 111).take(111) {
                assert_eq!(panel.high[p] + panel.low[p], *value);
                norm += panel.high[p] * panel.high[p];
                low_norm += panel.low[p] * panel.low[p];
            }
            assert!(norm.sqrt() * exp2i(-finest) <= HALF_OF_53_BITS && panel.block_of(i).span == HALF_OF_53_BITS);
            assert!(low_norm.sqrt() <= panel.low_norm(i) && panel.low_norm(i) < 1.001 * low_norm.sqrt());
        }
    }

    #[test]
    fn columns_are_turned() {
        let values: Vec<f32> = (0..40 * 23).map(|i| i as f32).collect();
        let mut panel = Panel::default();
        panel.start(19, 40);
        panel.fill_columns(&values, [40, 23], 3..22, 0);
        for j in 3..22 {
            let column: Vec<f64> = (0..40).map(|p| f64::from(values[p * 23 + j])).collect();
            assert_eq!(panel.entries[(j - 3) * 40..][..40], column);
        }
    }

    #[test]
    fn what_cannot_be_sliced_certifies_nothing() {
        let mut panel = Panel::default();
        panel.start(3, 2);
        panel.fill_rows(&[1.0, f64::INFINITY, f64::MAX, f64::MAX, 0.0, 0.0], 2, 0..3, 0);
        panel.slice();
        assert_eq!([panel.block_of(0).span, panel.block_of(1).span], [f64::INFINITY; 2]);
        assert_eq!((panel.block_of(2).span, panel.low_norm(2)), (HALF_OF_53_BITS, 0.0));
    }

    fn sliced(entries: &[f64; BLOCK]) -> Panel {
        let mut panel = Panel::default();
        panel.start(1, BLOCK);
        panel.fill_rows(entries, BLOCK, 0..1, 0);
        panel.slice();
        panel
    }

    /// Nearly every entry is rounded up by half a unit, to a norm of more than half of 53 bits on the next finer grid.
    #[test]
    fn first_parts_that_are_rounded_up_keep_to_their_span() {
        let mut entries = [8_388_607.5; BLOCK];
        entries[0] = 8_388_606.75;
        let panel = sliced(&entries);
        let norm = panel.high.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(norm * exp2i(-Facts::of(&panel.high).grid) <= panel.block_of(0).span);
    }

    /// Their norm, and what rounding may add to it, are just below half of 53 bits.
    #[test]
    fn grids_are_as_fine_as_is_proven() {
        let panel = sliced(&[8_388_607.0; BLOCK]);
        assert_eq!((&panel.high, panel.low_norm(0)), (&panel.entries, 0.0));
        assert!(panel.low().is_none());
    }

    /// A norm that comes to the limit itself, or to within a rounding of it, takes the coarser grid.
    #[test]
    fn norms_at_the_limit_take_the_coarser_grid() {
        let (mut high, mut low) = ([0.0; 4], [0.0; 4]);
        let entries = [1.0, 0.0, 0.0, 0.0];
        // Four entries move a norm by one unit at most.
        let facts = Facts { norm: HALF_OF_53_BITS - 1.0, ..Facts::of(&entries) };
        slice(&entries, facts, &mut high, &mut low);
        assert_eq!((high[0], low[0]), (0.0, 1.0));
    }

    #[test]
    fn what_has_no_shift_is_not_sliced() {
        let unsliced = (f64::INFINITY, f64::INFINITY);
        for value in [exp2i(1010), f64::MAX] {
            assert_eq!(slice(&[value], Facts::of(&[value]), &mut [0.0], &mut [0.0]), unsliced, "{value:e}");
        }
        let plain = Facts::of(&[1.0]);
        for facts in [Facts { finite: false, ..plain }, Facts { norm: f64::INFINITY, ..plain }] {
            assert_eq!(slice(&[1.0], facts, &mut [0.0], &mut [0.0]), unsliced, "{facts:?}");
        }
    }

    #[test]
    fn panels_are_narrow_if_seven_of_eight_vectors_are() {
        for (narrow, expected) in [(8, true), (7, true), (6, false), (0, false)] {
            let entries: Vec<f64> = (0..8).flat_map(|i| [if i < narrow { 1.0 } else { exp2i(40) }, 1.0]).collect();
            let mut panel = Panel::default();
            panel.start(8, 2);
            panel.fill_rows(&entries, 2, 0..8, 0);
            assert_eq!(panel.is_narrow(), expected, "{narrow}");
        }
    }

    #[test]
    fn blocks_at_hand_are_those_of_their_vector() {
        let k = BLOCK + 1;
        let mut panel = Panel::default();
        panel.start(3, k);
        for block in 0..2 {
            panel.fill_rows(&vec![1.0; 3 * k], k, 0..3, block);
            for i in 0..3 {
                assert!(std::ptr::eq(panel.block_of(i), &panel.blocks_of(i)[block]), "{i}, {block}");
            }
        }
    }
}
