//! Certified dot products of exactly known operands, cheapest way first. Each rung certifies its answer or passes the
//! output on.
//!
//! 1. **grid**: all products of a row and a column are multiples of one power of two, and the sum of their magnitudes
//!    stays below 2^53 of them. Then a plain f64 dot is exact, in any order, fused or not: one dgemm for all outputs.
//! 2. **sliced**: operands split into two parts each, the larger ones on a grid of that kind (Ozaki, Ogita, Oishi and
//!    Rump, Numer. Algorithms 59, 2012): three dgemms, and the sum of their results is exact or has a proven bound.
//! 3. **dot2**: sums made with `two_sum`, their errors added up beside (Ogita, Rump and Oishi, SIAM J. Sci. Comput.
//!    26(6), 2005). The errors lie on the grid as well, and if their sum stays small it is exact; if not, it has a
//!    bound, from the errors' own magnitudes.
//! 4. **superaccumulator**: fixed point, 768 bits (Kulisch).
//! 5. **mpfr**: for sums that span more bits than that, at the precision that they need.
//!
//! If a rung has a bound, both ends of the enclosure must round to one number (Ziv). Infinite and NaN operands branch
//! off first: their result is that of IEEE.

mod certify;
mod enclosed;
mod exact;
mod facts;
mod kernel;
mod panel;
mod simd;
mod sliced;
mod superaccumulator;
#[cfg(test)]
mod tests;
mod twin;

use std::ops::Range;

pub use certify::Certified;
pub(super) use enclosed::{Depth, Entries, enclosed_products};
pub use exact::exact_dot;
use facts::Facts;
pub(super) use panel::transpose;
use panel::{BLOCK, Panel};
pub(super) use simd::{Vectors, dgemm};
use sliced::SlicedSums;
use superaccumulator::Superaccumulator;
pub(super) use twin::{Lie, first_twins};

use super::interval::{Interval, two_sum};
use crate::deadline;

/// The number of outputs that each rung decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By a plain dot whose sums cannot round.
    pub grid: u64,
    /// By products of slices.
    pub sliced: u64,
    /// By a compensated dot with a proven bound.
    pub dot2: u64,
    /// By exact accumulation in fixed point.
    pub superaccumulator: u64,
    /// By MPFR.
    pub mpfr: u64,
    /// Outputs with an infinite or NaN operand.
    pub non_finite: u64,
}

impl Counts {
    /// All outputs.
    pub fn total(&self) -> u64 {
        self.grid + self.sliced + self.dot2 + self.superaccumulator + self.mpfr + self.non_finite
    }
}

/// One product `[m,k] x [k,n]`, row-major.
#[derive(Clone, Debug)]
pub struct CertifiedDots {
    /// The exact sums, rounded to nearest even.
    pub rounded: Vec<f64>,
    /// The exact sums: one number where it is an f64, else the two neighbours around it.
    pub enclosure: Vec<Interval>,
    /// The number of outputs that each rung decided.
    pub counts: Counts,
}

/// Part of a product.
pub struct Tile<'a> {
    /// Rows of the left operand.
    pub rows: Range<usize>,
    /// Columns of the right operand.
    pub columns: Range<usize>,
    /// Their dots: `rows.len() * columns.len()`, row-major.
    pub outputs: &'a [Certified],
}

/// The longest side of a tile: five f64 an output are held beside the answers, which together should stay in cache.
const SIDE: usize = 512;

/// A panel of fewer vectors than this is not worth a matrix multiplication.
const FEWEST: usize = 6;

/// The number of columns, or of bytes, that are converted at a time for the outputs that are left over.
const GROUP: usize = 16;
const GROUP_BYTES: usize = 1 << 17;

/// `lhs` `[m,k]` times `rhs` `[k,n]`, both row-major, finite or not. A zero sum has the sign that IEEE addition in order
/// gives: -0 where all products are -0.
///
/// # Panics
/// If a slice does not have the length its shape says.
pub fn certified_dots<T: Copy + Into<f64>, U: Copy + Into<f64>>(
    lhs: &[T],
    rhs: &[U],
    m: usize,
    k: usize,
    n: usize,
) -> CertifiedDots {
    let (mut rounded, mut enclosure) = (vec![0.0; m * n], vec![Interval::exact(0.0); m * n]);
    let counts = certified_tiles(lhs, rhs, m, k, n, |tile| {
        deadline::check();
        for (i, outputs) in tile.rows.zip(tile.outputs.chunks_exact(tile.columns.len())) {
            let at = i * n + tile.columns.start;
            for (to, output) in rounded[at..].iter_mut().zip(outputs) {
                *to = output.rounded;
            }
            for (to, output) in enclosure[at..].iter_mut().zip(outputs) {
                *to = output.enclosure;
            }
        }
    });
    CertifiedDots { rounded, enclosure, counts }
}

/// [`certified_dots`], tile by tile: `each` sees every output once. Operands are converted to f64 block by block, so that
/// beside them no more than about 32 MiB is held, and 16 columns.
///
/// # Panics
/// If a slice does not have the length its shape says.
pub fn certified_tiles<T: Copy + Into<f64>, U: Copy + Into<f64>>(
    lhs: &[T],
    rhs: &[U],
    m: usize,
    k: usize,
    n: usize,
    mut each: impl FnMut(Tile),
) -> Counts {
    assert_eq!((lhs.len(), rhs.len()), (m * k, k * n), "operands must be [m,k] and [k,n]");
    let mut ladder = Ladder {
        lhs,
        rhs,
        k,
        n,
        row_panel: Panel::default(),
        column_panel: Panel::default(),
        sums: SlicedSums::default(),
        outputs: Vec::new(),
        open: Vec::new(),
        counts: Counts::default(),
    };
    for columns in even_parts(n, SIDE) {
        for rows in even_parts(m, SIDE) {
            ladder.certify(rows.clone(), columns.clone());
            each(Tile { rows, columns: columns.clone(), outputs: &ladder.outputs });
        }
    }
    ladder.counts
}

/// `0..total` in equal parts, but for the last, of at most `longest`.
fn even_parts(total: usize, longest: usize) -> impl Iterator<Item = Range<usize>> {
    let part = total.div_ceil(total.div_ceil(longest).max(1)).max(1);
    (0..total).step_by(part).map(move |first| first..(first + part).min(total))
}

/// A product, and the buffers that a tile of it needs.
struct Ladder<'a, T, U> {
    lhs: &'a [T],
    rhs: &'a [U],
    k: usize,
    n: usize,
    row_panel: Panel,
    column_panel: Panel,
    sums: SlicedSums,
    outputs: Vec<Certified>,
    /// Outputs of the tile that no matrix multiplication decided.
    open: Vec<[usize; 2]>,
    counts: Counts,
}

impl<T: Copy + Into<f64>, U: Copy + Into<f64>> Ladder<'_, T, U> {
    /// Certifies one tile.
    fn certify(&mut self, rows: Range<usize>, columns: Range<usize>) {
        let (m, n) = (rows.len(), columns.len());
        let multiply = m >= FEWEST && n >= FEWEST && self.k > 0;
        self.outputs.resize(m * n, Certified::exactly(0.0));
        self.row_panel.start(m, self.k);
        self.column_panel.start(n, self.k);
        for block in 0..self.k.div_ceil(BLOCK) {
            self.row_panel.fill_rows(self.lhs, self.k, rows.clone(), block);
            self.column_panel.fill_columns(self.rhs, [self.k, self.n], columns.clone(), block);
            if multiply {
                self.sums.add(&mut self.row_panel, &mut self.column_panel);
            }
        }
        self.open.clear();
        let Ladder { lhs, rhs, row_panel, column_panel, outputs, open, counts, .. } = self;
        if multiply {
            let (k, stride) = (self.k, self.n);
            self.sums.certify(row_panel, column_panel, |i, j, answer| {
                let Some((certified, unrounded)) = answer else {
                    open.push([i, j]);
                    return;
                };
                let (row, column) = (&lhs[(rows.start + i) * k..][..k], columns.start + j);
                let products = || (0..k).map(|p| (row[p].into(), rhs[p * stride + column].into()));
                outputs[i * n + j] = certified.with_sign_of_zero(|| kernel::zero_sum(products()));
                counts.grid += u64::from(unrounded);
                counts.sliced += u64::from(!unrounded);
            });
        } else {
            open.extend((0..m).flat_map(|i| (0..n).map(move |j| [i, j])));
        }
        self.certify_open(rows, columns);
    }

    /// Certifies the open outputs of a tile, pair by pair.
    fn certify_open(&mut self, rows: Range<usize>, columns: Range<usize>) {
        let k = self.k;
        let group = (GROUP_BYTES / (8 * k.max(1))).max(GROUP);
        let group_of = |[_, j]: &[usize; 2]| j / group;
        self.open.sort_unstable_by_key(|pair| (group_of(pair), *pair));
        let mut row = Vec::with_capacity(k);
        let mut turned = Vec::new();
        for group_pairs in self.open.chunk_by(|a, b| group_of(a) == group_of(b)) {
            let first = columns.start + group_of(&group_pairs[0]) * group;
            let members = first..(first + group).min(columns.end);
            turned.resize(members.len() * k, 0.0);
            panel::transpose(self.rhs, self.n, 0..k, members, &mut turned);
            for row_pairs in group_pairs.chunk_by(|a, b| a[0] == b[0]) {
                let at = (rows.start + row_pairs[0][0]) * k;
                row.clear();
                row.extend(self.lhs[at..at + k].iter().map(|v| -> f64 { (*v).into() }));
                for [i, j] in row_pairs {
                    let column = &turned[j % group * k..][..k];
                    let facts = (self.row_panel.facts[*i], self.column_panel.facts[*j]);
                    self.outputs[i * columns.len() + j] =
                        certify_pair(&row, column, facts.0, facts.1, &mut self.counts);
                }
            }
        }
    }
}

/// One output, from the first rung that needs no matrix multiplication.
fn certify_pair(row: &[f64], column: &[f64], row_facts: Facts, column_facts: Facts, counts: &mut Counts) -> Certified {
    let products = || row.iter().copied().zip(column.iter().copied());
    let signed = |certified: Certified| certified.with_sign_of_zero(|| kernel::zero_sum(products()));
    if !row_facts.finite || !column_facts.finite {
        counts.non_finite += 1;
        return Certified::exactly(kernel::non_finite_dot(row, column));
    }
    if sliced::sums_fit(row_facts, column_facts) {
        counts.grid += 1;
        return signed(Certified::exactly(kernel::dot(row, column)));
    }
    let products_fit = sliced::products_fit(row_facts, column_facts);
    if products_fit {
        let sum = kernel::dot2(row, column);
        let certified = if sum.errors_are_exact(row_facts.grid + column_facts.grid) {
            Some(Certified::sum(sum.total, sum.errors))
        } else {
            Certified::within(sum.total, sum.errors, sum.error_bound(row.len()))
        };
        if let Some(certified) = certified {
            counts.dot2 += 1;
            return signed(certified);
        }
    }
    if let Some(mut sum) = Superaccumulator::with_room(row_facts, column_facts, row.len()) {
        counts.superaccumulator += 1;
        if products_fit {
            products().for_each(|(a, b)| sum.add_product(a * b));
        } else {
            products().for_each(|(a, b)| sum.add(a, b));
        }
        return sum.certify().unwrap_or_else(|| signed(Certified::exactly(0.0)));
    }
    counts.mpfr += 1;
    let sum = exact_dot(row.iter().copied(), column.iter().copied());
    let rounded = sum.to_f64();
    let side = sum.partial_cmp(&rounded).unwrap_or(std::cmp::Ordering::Equal);
    // A zero of MPFR has its sign already.
    Certified::beside(rounded, side)
}
