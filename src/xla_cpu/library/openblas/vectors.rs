//! Matrices times vectors, and norms: `sgemv_n`, `sgemv_t` and `snrm2`, subnormals flushed.

use super::chains::{chain, fma, product, rows_of_four, sum};
use crate::num::flush_f32;

/// Rows that one pass takes (`NBMAX`).
const PASS: usize = 4096;
/// Columns up to which rows are one chain each, but for four.
const ONE_CHAIN: usize = 48;
/// Rows up to which a matrix whose columns lie one behind the other has kernels of its own.
const FEW_ROWS: usize = 8;

/// Columns of a matrix, `stride` elements apart.
#[derive(Clone, Copy)]
pub struct StridedColumns<'a> {
    pub elements: &'a [f32],
    pub stride: usize,
    pub rows: usize,
    pub columns: usize,
}

/// The products of a row with a vector, of so many rows; at most 48 columns, and not all rows of fewer than four.
pub fn times_row([rows, row]: [usize; 2], products: &[(f32, f32)]) -> f32 {
    match (products, row.checked_sub(rows / PASS * PASS)) {
        (&[a, b, c, d], Some(row)) => rows_of_four(rows % PASS, row, [a, b, c, d]),
        _ => chain(products.iter().copied()),
    }
}

impl StridedColumns<'_> {
    fn column(&self, column: usize) -> &[f32] {
        &self.elements[column * self.stride..][..self.rows]
    }

    /// `sgemv_n`.
    pub fn times(&self, vector: &[f32]) -> Vec<f32> {
        let row = |row: usize| {
            let products = (0..self.columns).map(|column| (self.elements[column * self.stride + row], vector[column]));
            self.row_times(row, &products.collect::<Vec<_>>())
        };
        (0..self.rows).map(row).collect()
    }

    fn row_times(&self, row: usize, products: &[(f32, f32)]) -> f32 {
        let count = products.len();
        if count <= ONE_CHAIN && count != 4 {
            return chain(products.iter().copied());
        }
        let (fours, others) = products.split_at(count / 4 * 4);
        if self.rows < 4 && self.stride == self.rows {
            // One row in fours, two and three in pairs.
            let size = if self.rows == 1 { 4 } else { 2 };
            let sums = fours.chunks(size).fold(0.0, |before, products| sum(before, last_first(products)));
            return others.iter().fold(sums, |before, (a, b)| fma(*a, *b, before));
        }
        if row >= self.rows / 4 * 4 {
            return chain(products.iter().copied());
        }
        // Eight columns at once, then four, two and one.
        let mut whole = 0.0;
        let mut left = products;
        for size in [8, 4, 2, 1] {
            while left.len() >= size {
                let (own, behind) = left.split_at(size);
                let halves = size >= 4
                    && row.checked_sub(self.rows / PASS * PASS).is_some_and(|row| row < self.rows % 16 / 4 * 4);
                let part = match halves {
                    true => {
                        let half = |from: usize| chain(own.iter().copied().skip(from).step_by(2));
                        sum(half(0), half(1))
                    }
                    false => chain(own.iter().copied()),
                };
                whole = sum(whole, part);
                left = behind;
            }
        }
        whole
    }

    /// `sgemv_t`: what each column makes with a vector.
    pub fn each_times(&self, vector: &[f32]) -> Vec<f32> {
        let whole = self.rows / 4 * 4;
        let of_column = |number: usize| {
            let column = self.column(number);
            if self.rows <= FEW_ROWS && self.stride == self.rows {
                let products: Vec<(f32, f32)> = column.iter().copied().zip(vector.iter().copied()).collect();
                return few_rows(self.columns, number, &products);
            }
            let fours = self.columns / 4 * 4;
            let (lanes, fuse) = match number {
                _ if number < fours => (8, true),
                _ if number < fours + self.columns % 4 / 2 * 2 => (4, false),
                _ => (8, false),
            };
            let passes = column[..whole].chunks(PASS).zip(vector.chunks(PASS));
            let known = passes.fold(0.0, |before, (a, x)| sum(before, in_lanes(a, x, lanes, fuse)));
            let rest: Vec<(f32, f32)> = (whole..self.rows).map(|row| (column[row], vector[row])).collect();
            match rest[..] {
                [] => known,
                [(a, x)] => fma(a, x, known),
                _ => sum(known, last_first(&rest)),
            }
        };
        (0..self.columns).map(of_column).collect()
    }
}

/// Products that C adds up from left to right, contracted: the second one is rounded, the first one added to it, then the others.
fn last_first(products: &[(f32, f32)]) -> f32 {
    let (first, others) = match products {
        [one, (a, b), others @ ..] => (fma(one.0, one.1, product(*a, *b)), others),
        others => (0.0, others),
    };
    others.iter().fold(first, |before, (a, b)| fma(*a, *b, before))
}

/// Lanes that are joined by halves and then in pairs. An odd number of fours begins with one of them.
fn in_lanes(a: &[f32], x: &[f32], lanes: usize, fuse: bool) -> f32 {
    let mut sums = [0.0; 8];
    let first = a.len() % lanes;
    let steps = std::iter::once(0..first).chain((first..a.len()).step_by(lanes).map(|start| start..start + lanes));
    for step in steps {
        for (lane, at) in sums.iter_mut().zip(step) {
            *lane = if fuse { fma(a[at], x[at], *lane) } else { sum(*lane, product(a[at], x[at])) };
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    let [a, b, c, d] = [(a, e), (b, f), (c, g), (d, h)].map(|(low, high)| sum(low, high));
    sum(sum(a, b), sum(c, d))
}

/// A column of up to eight rows that fill the columns, by its number among so many (`sgemv_t_microk_skylakex_template.c`).
fn few_rows(columns: usize, column: usize, products: &[(f32, f32)]) -> f32 {
    let rounded: Vec<f32> = products.iter().map(|(a, b)| product(*a, *b)).collect();
    let in_blocks_of = |size: usize| column < columns / size * size;
    let pair = |at: usize| fma(products[at].0, products[at].1, rounded[at + 1]);
    let wide = match products.len() {
        2 => in_blocks_of(16),
        3 | 6 | 7 => in_blocks_of(8),
        5 => in_blocks_of(4),
        _ => false,
    };
    if wide {
        return chain(products.iter().copied());
    }
    match rounded[..] {
        [_, _, _] if in_blocks_of(4) || !in_blocks_of(2) => last_first(products),
        [a, b, c, d] if in_blocks_of(2) => sum(sum(a, b), sum(c, d)),
        [a, _, _, d, _, _] if in_blocks_of(4) => sum(sum(a, pair(1)), sum(d, pair(4))),
        [_, _, _, _, _, _, g] if in_blocks_of(4) => sum(sum(pair(0), pair(4)), sum(pair(2), g)),
        [a, b, c, d, e, f, g, h] if in_blocks_of(4) => sum(sum(sum(a, b), sum(c, d)), sum(sum(e, f), sum(g, h))),
        [a, b, c, d, e, f, g, h] if in_blocks_of(2) => sum(sum(sum(a, b), sum(e, f)), sum(sum(c, d), sum(g, h))),
        [a, b, c, d, e, f, g, h] => sum(sum(sum(sum(a, e), sum(b, f)), sum(c, g)), sum(d, h)),
        _ => rounded.into_iter().reduce(sum).unwrap_or(0.0),
    }
}

/// `snrm2`, whose squares are added up in f64. In which order, one norm in about 2^29 would show.
pub fn norm(vector: &[f32]) -> f32 {
    let sum = vector.iter().fold(0.0, |sum, x| sum + f64::from(flush_f32(*x)).powi(2));
    flush_f32(sum.sqrt() as f32)
}
