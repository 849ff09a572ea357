//! All dot products of two panels at once, by matrix multiplications whose rounding errors are none or bounded.
//!
//! Each operand is `high + low`, and block by block
//!
//!     total, rest = two_sum(total, high * high'),   rest += high * low' + low * whole'
//!
//! The first product of a block is exact, as all its terms are multiples of one grid and the sum of their magnitudes
//! stays below 2^53 units (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59, 2012). The others are small, and so is
//! what rounding takes from them. Panels whose entries are narrow enough are not sliced: then `rest` holds nothing but
//! the errors of adding blocks.

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
    products: Vec<f64>,
    small: Vec<f64>,
}

/// Slices this block of the panels where that pays: where most pairs are exact as they are, nothing is sliced.
fn slice_where_needed(rows: &mut Panel, columns: &mut Panel) {
    /// Every so many rows are looked at.
    const STEP: usize = 8;
    let (mut exact, mut seen) = (0, 0);
    for i in (0..rows.count()).step_by(STEP) {
        let span = rows.span(i);
        exact += (0..columns.count()).filter(|j| span * columns.span(*j) <= ALL_53_BITS).count();
        seen += columns.count();
    }
    if 8 * exact >= 7 * seen {
        return;
    }
    for panel in [rows, columns] {
        if !panel.is_narrow() {
            panel.slice();
        }
    }
}

/// Whether no sum of products of first parts rounds, in any block.
#[inline]
fn spans_fit(row: &[f64], column: &[f64]) -> bool {
    row.iter().zip(column).all(|(a, b)| a * b <= ALL_53_BITS)
}

impl SlicedSums {
    /// Adds one block of all pairs; the first one starts anew.
    pub fn add(&mut self, rows: &mut Panel, columns: &mut Panel, first: bool) {
        slice_where_needed(rows, columns);
        let pairs = rows.count() * columns.count();
        let tiles = [&mut self.totals, &mut self.rests, &mut self.products, &mut self.small];
        tiles.into_iter().for_each(|tile| tile.resize(pairs, 0.0));
        let (products, small) = match first {
            true => (&mut self.totals, &mut self.rests),
            false => (&mut self.products, &mut self.small),
        };
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
        if !first {
            let (totals, rests) = (&mut self.totals, &mut self.rests);
            dispatch(Add { totals, rests, products: &self.products, small: &self.small });
        }
    }

    /// What is proven of pair `(i, j)`, and whether no addition rounded at all.
    #[inline]
    pub fn certified(&self, rows: &Panel, columns: &Panel, i: usize, j: usize) -> Option<(Certified, bool)> {
        let (a, b) = (rows.facts[i], columns.facts[j]);
        let grid = a.grid + b.grid;
        let size = a.norm * b.norm;
        if grid < -1074 || size >= LARGEST || size.is_nan() || !spans_fit(rows.spans(i), columns.spans(j)) {
            return None;
        }
        let at = i * columns.count() + j;
        let (total, rest) = (self.totals[at], self.rests[at]);
        let (low, column_low) = (rows.low_norms[i], columns.low_norms[j]);
        // Cauchy-Schwarz over the whole vectors; by the triangle inequality the first parts' norms are at most these.
        let (high, column_high) = (a.norm + low, b.norm + column_low);
        let smalls = high * column_low + low * b.norm;
        let sums = high * column_high;
        let blocks = rows.spans(i).len() as f64;
        // Adding a block's exact product rounds by at most u times the new total, itself at most 1.01 `sums`.
        let errors = 1.01 * U * (blocks - 1.0) * sums;
        // What `rest` is summed from are multiples of the product grid. While their magnitudes stay below 2^53 units no
        // sum of them rounds. The unit is infinite where a vector is zero, and then so are all sums.
        let unit = exp2i(grid);
        let units = 1.01 * (errors + smalls);
        if units <= ALL_53_BITS * unit {
            let unrounded = low == 0.0 && column_low == 0.0 && sums <= ALL_53_BITS * unit;
            return Some((Certified::sum(total, rest), unrounded));
        }
        // A term meets at most 2 * BLOCK + 2 roundings in its block's two products, and 2 in each block when `rest`
        // takes it in; an error of a total only the latter: gamma_n = n u / (1 - n u), with n u < 0.001 (Higham,
        // Accuracy and Stability of Numerical Algorithms, 3.1, for any order of additions, fused or not).
        let in_blocks = (2 * BLOCK + 2) as f64;
        let bound = (1.02 * U * ((in_blocks + 2.0 * blocks) * smalls + 2.0 * blocks * errors)).next_up();
        Certified::within(total, rest, bound).map(|certified| (certified, false))
    }
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
