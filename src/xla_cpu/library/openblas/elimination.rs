//! `getrf`: LU decompositions with partial pivoting (`lapack/getrf/getrf_single.c`, `lapack/getf2/getf2_k.c`).

use std::ops::Range;

use super::chains::{chain, dot_apart, product, sum};
use super::triangular::System;
use super::vectors::times_row;
use super::{COLUMNS, ROWS};
use crate::num::flush_f32;

/// Columns of a block, at most (`GEMM_Q`).
const BLOCK: usize = 448;
/// Columns of a block that are taken one by one.
const COLUMN_BY_COLUMN: usize = 2 * COLUMNS;

/// A matrix, column by column, and what is known of its decomposition.
struct EliminatedMatrix<'a> {
    elements: &'a mut [f32],
    rows: usize,
    /// For each step the row that changes places with its own.
    pivots: Vec<usize>,
    /// LAPACK's `info`.
    info: usize,
}

/// The decomposition, in the matrix' place; the pivots, from one, and LAPACK's `info`.
pub fn decompose(elements: &mut [f32], [rows, columns]: [usize; 2]) -> (Vec<usize>, usize) {
    let mut matrix = EliminatedMatrix { elements, rows, pivots: vec![0; rows.min(columns)], info: 0 };
    matrix.decompose(0..columns);
    (matrix.pivots.iter().map(|row| row + 1).collect(), matrix.info)
}

impl EliminatedMatrix<'_> {
    fn at(&self, row: usize, column: usize) -> f32 {
        self.elements[column * self.rows + row]
    }

    fn column(&mut self, column: usize) -> &mut [f32] {
        &mut self.elements[column * self.rows..][..self.rows]
    }

    /// The rows of known pivots change places in a column.
    fn exchange(&mut self, column: usize, steps: Range<usize>) {
        for step in steps {
            let pivot = self.pivots[step];
            self.column(column).swap(step, pivot);
        }
    }

    /// Columns, from the row of the first one's number on: in halves, but for few.
    fn decompose(&mut self, columns: Range<usize>) {
        let first = columns.start;
        let steps = first..columns.end.min(self.rows);
        let block = (steps.len() / 2).next_multiple_of(COLUMNS).min(BLOCK);
        if block <= COLUMN_BY_COLUMN {
            return self.by_columns(columns);
        }
        let blocks: Vec<Range<usize>> =
            steps.clone().step_by(block).map(|start| start..steps.end.min(start + block)).collect();
        for own in &blocks {
            self.decompose(own.clone());
            (own.end..columns.end).for_each(|column| self.take_off(column, own.clone()));
        }
        for own in blocks {
            own.clone().for_each(|column| self.exchange(column, own.end..steps.end));
        }
    }

    /// Solves a column's own elements of U, and subtracts a finished block's products from the rest of the column.
    fn take_off(&mut self, column: usize, block: Range<usize>) {
        self.exchange(column, block.clone());
        let mut own = self.column(column).to_vec();
        let factor = |row: usize, column: usize| self.at(block.start + row, block.start + column);
        let inverses = vec![1.0; block.len()];
        let system = System { factor: &factor, inverses, forward: true, block: ROWS, from_last: false };
        system.solve(&mut own[block.clone()]);
        for row in block.end..self.rows {
            own[row] = sum(own[row], -chain(block.clone().map(|at| (self.at(row, at), own[at]))));
        }
        self.column(column).copy_from_slice(&own);
    }

    fn by_columns(&mut self, columns: Range<usize>) {
        let (first, rows) = (columns.start, self.rows);
        for column in columns {
            let known = first..column.min(rows);
            self.exchange(column, known.clone());
            let mut own = self.column(column).to_vec();
            for row in known.clone().skip(1) {
                let products: Vec<(f32, f32)> = (first..row).map(|at| (self.at(row, at), own[at])).collect();
                own[row] = sum(own[row], -dot_apart(&products));
            }
            for row in (column..rows).filter(|_| !known.is_empty()) {
                let products = known.clone().map(|at| (self.at(row, at), own[at])).collect::<Vec<_>>();
                own[row] = sum(own[row], -times_row([rows - column, row - column], &products));
            }
            self.column(column).copy_from_slice(&own);
            if column < rows {
                self.pivot(first, column);
            }
        }
    }

    /// The pivot of a column: the first of the largest magnitudes, by whose inverse the others are multiplied.
    fn pivot(&mut self, first: usize, column: usize) {
        let own = self.column(column);
        let mut pivot = column;
        (column..own.len()).for_each(|row| {
            if own[row].abs() > own[pivot].abs() {
                pivot = row
            }
        });
        let value = own[pivot];
        self.pivots[column] = pivot;
        if value == 0.0 {
            self.info = if self.info == 0 { column + 1 } else { self.info };
            return;
        }
        (first..column + 1).for_each(|other| self.column(other).swap(column, pivot));
        let inverse = flush_f32(1.0 / value);
        // `sscal` by zero gives zeros, without signs.
        let scaled = |x: f32| if inverse == 0.0 { 0.0 } else { product(x, inverse) };
        self.column(column)[column + 1..].iter_mut().for_each(|x| *x = scaled(*x));
    }
}
