//! All dot products of two panels at once, by matrix multiplications whose rounding errors are zero or bounded.
//!
//! Each operand is `high + low`, and block by block
//!
//! ```text
//! total, rest = two_sum(total, high * high'),   rest += high * low' + low * whole'
//! ```
//!
//! The first product of a block is exact, as all its terms are multiples of one grid and the sum of their magnitudes
//! stays below 2^53 units (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59, 2012). The others are small, and so are
//! their rounding errors. Panels whose entries are narrow enough are not sliced: then `rest` holds only the errors of
//! adding blocks.

use super::certify::Certified;
use super::facts::{ALL_53_BITS, Facts};
use super::panel::{BLOCK, Panel};
use super::simd::{Kernel, dgemm, dispatch};
use super::two_sum;
use crate::num::exp2i;

/// Sums of products beyond this magnitude are left to methods that cannot overflow.
const LARGEST: f64 = f64::from_bits((1023 + 1000) << 52);

/// The unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// Unevaluated sums of all pairs of two panels' vectors, row-major.
#[derive(Default)]
pub struct SlicedSums {
    totals: Vec<f64>,
    rests: Vec<f64>,
    /// The contribution of the latest blocks to `rests`.
    latest: Vec<f64>,
    products: Vec<f64>,
    small: Vec<f64>,
}

/// So many blocks are summed up before `rests` takes them in: two short chains of additions instead of a long one.
const LATEST: usize = 16;

/// Slices this block of the panels where that pays: where most pairs are exact as they are, nothing is sliced.
fn slice_where_needed(rows: &mut Panel, columns: &mut Panel) {
    /// Every so many rows are looked at.
    const STEP: usize = 8;
    let (mut exact, mut seen) = (0, 0);
    for i in (0..rows.count()).step_by(STEP) {
        let span = rows.block_of(i).span;
        exact += (0..columns.count()).filter(|j| span * columns.block_of(*j).span <= ALL_53_BITS).count();
        seen += columns.count();
    }
    // Slicing makes three products of one: it pays if more than an eighth of the pairs needs it.
    if 8 * exact >= 7 * seen {
        return;
    }
    for panel in [rows, columns] {
        if !panel.is_narrow() {
            panel.slice();
        }
    }
}

impl SlicedSums {
    /// Adds the block at hand of all pairs; the first one starts anew. Slices it where needed.
    pub fn add(&mut self, rows: &mut Panel, columns: &mut Panel) {
        slice_where_needed(rows, columns);
        let pairs = rows.count() * columns.count();
        let SlicedSums { totals, rests, latest, products, small } = self;
        for tile in [&mut *totals, rests, latest, products, small] {
            tile.resize(pairs, 0.0);
        }
        let block = rows.block();
        if block == 0 {
            totals.fill(0.0);
            rests.fill(0.0);
        }
        dgemm(rows.high(), columns.high(), products, false);
        let (low, column_low) = (rows.low(), columns.low());
        if let Some(column_low) = column_low {
            dgemm(rows.high(), column_low, small, false);
        }
        if let Some(low) = low {
            dgemm(low, columns.whole(), small, column_low.is_some());
        }
        if low.is_none() && column_low.is_none() {
            small.fill(0.0);
        }
        if block.is_multiple_of(LATEST) {
            latest.fill(0.0);
        }
        dispatch(Add { totals, rests: latest, products, small });
        if block % LATEST == LATEST - 1 || block == rows.blocks() - 1 {
            rests.iter_mut().zip(latest).for_each(|(rest, latest)| *rest += *latest);
        }
    }

    /// Calls `each`, row by row, with the proven facts about each pair and whether no addition rounded at all.
    pub fn certify(
        &self,
        rows: &Panel,
        columns: &Panel,
        mut each: impl FnMut(usize, usize, Option<(Certified, bool)>),
    ) {
        let (sides, column_sides) = (Side::all(rows), Side::all(columns));
        let blocks = rows.blocks();
        let mut bounds = vec![0.0; columns.count()];
        for (i, side) in sides.iter().enumerate() {
            dispatch(Bounds { side: *side, others: &column_sides, blocks: blocks as f64, out: &mut bounds });
            for (j, bound) in bounds.iter().enumerate() {
                let at = i * columns.count() + j;
                let (total, rest) = (self.totals[at], self.rests[at]);
                let answer = |bound: f64| {
                    if bound < 0.0 {
                        return Some((Certified::sum(total, rest), side.never_rounds(&column_sides[j])));
                    }
                    Certified::within(total, rest, bound).map(|certified| (certified, false))
                };
                // The cheap bound is of norms; the closer one looks at each block, and is asked only where that fails.
                each(i, j, answer(*bound).or_else(|| answer(closer_bound(rows, columns, i, j))));
            }
        }
    }
}

/// The properties of a vector that [`Bounds`] needs.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// At least the norm; NaN for a vector that is not finite.
    norm: f64,
    /// At least the norm of the remainder after the first parts.
    low: f64,
    /// All entries are multiples of it; infinite for a vector of zeros.
    unit: f64,
    /// The widest block's span.
    span: f64,
}

impl Side {
    fn all(panel: &Panel) -> Vec<Side> {
        let side = |(i, facts): (usize, &Facts)| Side {
            norm: if facts.finite { facts.norm } else { f64::NAN },
            low: panel.low_norm(i),
            unit: exp2i(facts.grid),
            span: panel.blocks_of(i).iter().map(|block| block.span).fold(0.0, f64::max),
        };
        panel.facts.iter().enumerate().map(side).collect()
    }

    /// At least the sums of magnitudes of the terms of `total` and of `rest`, by Cauchy-Schwarz over the whole vectors.
    /// By the triangle inequality the first parts' norms are at most `norm + low`.
    #[inline(always)]
    fn magnitudes(&self, other: &Side) -> (f64, f64) {
        let (high, other_high) = (self.norm + self.low, other.norm + other.low);
        (high * other_high, high * other.low + self.low * other.norm)
    }

    /// Whether nothing but first parts is summed, and no sum of them rounds.
    fn never_rounds(&self, other: &Side) -> bool {
        self.low == 0.0 && other.low == 0.0 && self.norm * other.norm <= ALL_53_BITS * (self.unit * other.unit)
    }
}

/// At least the errors of adding the blocks' exact products, which go to `rest`. Each addition loses at most u times
/// the new total, itself at most 1.01 `sums`.
#[inline(always)]
fn errors_of_totals(sums: f64, blocks: f64) -> f64 {
    1.01 * U * (blocks - 1.0) * sums
}

/// Stands for a bound where `rest` lost nothing.
const EXACT: f64 = -1.0;

/// Bounds on the loss of `rest`, for one vector with many: [`EXACT`] if it lost nothing, infinite if no bound is
/// proven.
struct Bounds<'a> {
    side: Side,
    others: &'a [Side],
    blocks: f64,
    out: &'a mut [f64],
}

impl Kernel for Bounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let side = self.side;
        for (bound, other) in self.out.iter_mut().zip(self.others) {
            let (sums, smalls) = side.magnitudes(other);
            let errors = errors_of_totals(sums, self.blocks);
            // Zero where the product grid is finer than f64's. Then products may underflow.
            let unit = side.unit * other.unit;
            let usable = (side.span * other.span <= ALL_53_BITS) & (sums < LARGEST) & (unit > 0.0);
            // What `rest` is summed from are multiples of the product grid. While their magnitudes stay below 2^53 units
            // no sum of them rounds.
            let exact = 1.01 * (errors + smalls) <= ALL_53_BITS * unit;
            let lost = U * ((IN_BLOCK + between_blocks(self.blocks)) * smalls + between_blocks(self.blocks) * errors);
            *bound = if !usable {
                f64::INFINITY
            } else if exact {
                EXACT
            } else {
                1.02 * lost + f64::MIN_POSITIVE
            };
        }
    }
}

/// The number of roundings of each term of a block's two small products within the block.
///
/// A term that is rounded n times on its way into a sum contributes at most gamma_n = n u / (1 - n u) of itself to the
/// sum's error, for any order of additions, fused or not (Higham, Accuracy and Stability of Numerical Algorithms, 3.1);
/// here n u < 0.001.
const IN_BLOCK: f64 = (2 * BLOCK + 2) as f64;

/// The number of roundings of these terms, and of the errors of totals, after the block: two for each block summed up
/// in `latest`, and one each time that `latest` is added to `rests`.
#[inline(always)]
fn between_blocks(blocks: f64) -> f64 {
    2.0 * LATEST as f64 + blocks / LATEST as f64 + 2.0
}

/// The same for one pair, block by block: of most blocks the small products are exact as well.
#[cold]
fn closer_bound(rows: &Panel, columns: &Panel, i: usize, j: usize) -> f64 {
    let (a, b) = (&rows.facts[i], &columns.facts[j]);
    let sums = (a.norm + rows.low_norm(i)) * (b.norm + columns.low_norm(j));
    if !a.finite || !b.finite || a.grid + b.grid < -1074 || sums >= LARGEST || sums.is_nan() {
        return f64::INFINITY;
    }
    let (mut smalls, mut rounded) = (0.0, 0.0);
    for (a, b) in rows.blocks_of(i).iter().zip(columns.blocks_of(j)) {
        // The product of no units and any is no number.
        let fits = a.span * b.span <= ALL_53_BITS || a.norm == 0.0 || b.norm == 0.0;
        if !fits {
            return f64::INFINITY;
        }
        let small = (a.norm + a.low) * b.low + a.low * b.norm;
        smalls += small;
        rounded += if 1.01 * small <= ALL_53_BITS * (a.unit * b.unit) { 0.0 } else { small };
    }
    let blocks = rows.blocks() as f64;
    let errors = errors_of_totals(sums, blocks);
    if 1.01 * (errors + smalls) <= ALL_53_BITS * exp2i(a.grid + b.grid) {
        return EXACT;
    }
    // The bound's own sums lose far less than 0.02 of it.
    1.02 * U * (IN_BLOCK * rounded + between_blocks(blocks) * (smalls + errors)) + f64::MIN_POSITIVE
}

/// Adds a block's products.
struct Add<'a> {
    totals: &'a mut [f64],
    rests: &'a mut [f64],
    products: &'a [f64],
    small: &'a [f64],
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let sums = self.totals.iter_mut().zip(self.rests);
        for ((total, rest), (product, small)) in sums.zip(self.products.iter().zip(self.small)) {
            let (sum, error) = two_sum(*total, *product);
            *total = sum;
            *rest += error + small;
        }
    }
}

/// Whether all products of entries are f64, and no sum of them overflows.
#[inline]
pub fn products_fit(row: Facts, column: Facts) -> bool {
    // Products of integers below 2^53, so rounding this does not bring it below that.
    let exact = row.significand * column.significand < exp2i(53);
    exact && row.grid + column.grid >= -1074 && row.norm * column.norm < LARGEST
}

/// Whether no sum of products rounds, in whatever order.
#[inline]
pub fn sums_fit(row: Facts, column: Facts) -> bool {
    row.span() * column.span() <= ALL_53_BITS && row.grid + column.grid >= -1074 && row.norm * column.norm < LARGEST
}

#[cfg(test)]
mod tests;
