//! `potrf`: the factor of a positive definite matrix, in its lower half.

use crate::num::flush_f32;

use super::super::THREADS;
use super::COLUMNS;
use super::chains::{chain, dot_apart, rows_of_four};
use super::triangular::System;

/// Rows up to which a matrix is factored column by column (half of `DTB_ENTRIES`).
const COLUMN_BY_COLUMN: usize = 32;
/// Rows of a block, at most (`GEMM_Q`).
const BLOCK: usize = 448;
/// Rows for each thread, at least.
const ROWS_OF_THREAD: usize = 128;

/// A square matrix, row by row, of which the lower half is read.
pub struct Matrix<'a> {
    elements: &'a mut [f32],
    rows: usize,
}

/// The factor, in the matrix' lower half, and LAPACK's `info`: the first column, from one, whose pivot is not positive.
pub fn factor(elements: &mut [f32], rows: usize) -> usize {
    let threads = (rows / ROWS_OF_THREAD).clamp(1, THREADS);
    let mut matrix = Matrix { elements, rows };
    for row in 0..rows {
        matrix.elements[row * rows..][..row + 1].iter_mut().for_each(|x| *x = flush_f32(*x));
    }
    // LAPACK's `info`: 0 of a matrix that is positive definite.
    matrix.factor(0, rows, threads > 1).err().unwrap_or(0)
}

impl Matrix<'_> {
    fn at(&mut self, row: usize, column: usize) -> &mut f32 {
        &mut self.elements[row * self.rows + column]
    }

    fn row(&self, row: usize, columns: [usize; 2]) -> &[f32] {
        &self.elements[row * self.rows..][columns[0]..columns[1]]
    }

    /// Products of two rows' elements.
    fn products(&self, [one, other]: [usize; 2], columns: [usize; 2]) -> impl Iterator<Item = (f32, f32)> {
        self.row(one, columns).iter().copied().zip(self.row(other, columns).iter().copied())
    }

    /// A block of the diagonal, or the column where that failed.
    fn factor(&mut self, start: usize, end: usize, parallel: bool) -> Result<(), usize> {
        let rows = end - start;
        let parallel = parallel && rows > 4 * COLUMNS;
        if rows <= COLUMN_BY_COLUMN && !parallel {
            return self.columns(start, end);
        }
        let step = match parallel {
            true => (rows / 2).next_multiple_of(COLUMNS).min(BLOCK),
            false if rows <= 4 * BLOCK => rows / 4,
            false => BLOCK,
        };
        for first in (start..end).step_by(step) {
            let last = end.min(first + step);
            self.factor(first, last, parallel)?;
            self.below(first, last, end);
        }
        Ok(())
    }

    /// Solves the rows below a finished block for its columns, and subtracts their products from the rest.
    fn below(&mut self, first: usize, last: usize, end: usize) {
        let inverses = (first..last).map(|column| flush_f32(1.0 / *self.at(column, column))).collect();
        let square: Vec<f32> = (first..last).flat_map(|row| self.row(row, [first, last]).to_vec()).collect();
        let factor = |row: usize, column: usize| square[row * (last - first) + column];
        let system = System { factor: &factor, inverses, forward: true, block: COLUMNS, from_last: false };
        for row in last..end {
            system.solve(&mut self.elements[row * self.rows..][first..last]);
        }
        for row in last..end {
            for column in last..row + 1 {
                let sum = chain(self.products([row, column], [first, last]));
                let own = self.at(row, column);
                *own = flush_f32(*own - sum);
            }
        }
    }

    /// `potf2`.
    fn columns(&mut self, start: usize, end: usize) -> Result<(), usize> {
        for column in start..end {
            let before = [start, column];
            let products: Vec<(f32, f32)> = self.products([column, column], before).collect();
            let square = flush_f32(*self.at(column, column) - dot_apart(&products));
            if square <= 0.0 {
                *self.at(column, column) = square;
                return Err(column + 1);
            }
            let pivot = square.sqrt();
            *self.at(column, column) = pivot;
            let inverse = flush_f32(1.0 / pivot);
            for row in column + 1..end {
                let products: Vec<(f32, f32)> = self.products([column, row], before).collect();
                let sum = match products[..] {
                    [a, b, c, d] => rows_of_four(end - column - 1, row - column - 1, [a, b, c, d]),
                    _ => chain(products.into_iter()),
                };
                let own = self.at(row, column);
                *own = flush_f32(flush_f32(*own - sum) * inverse);
            }
        }
        Ok(())
    }
}
