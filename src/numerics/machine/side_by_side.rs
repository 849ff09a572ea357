//! Sums in loops that LLVM has vectorized ([`crate::analysis::SumLoop`]): several elements side by side.

use crate::analysis::{Columns, Rows, SumLoop};
use crate::num::flush_f32;

use super::contract;
use super::mxu::sum_to_f32;

/// How sums are taken.
pub struct SideBySide {
    sum_loop: SumLoop,
    flush: bool,
}

impl SideBySide {
    /// `None` for sums whose terms are added one after the other.
    pub fn new(sum_loop: SumLoop, flush: bool) -> Option<SideBySide> {
        matches!(sum_loop, SumLoop::Rows(_) | SumLoop::Columns(_)).then_some(SideBySide { sum_loop, flush })
    }

    /// The f32 sums of so many terms each, from `init`; `exact` says that they are products that are not rounded yet.
    pub fn sums(&self, terms: &[f64], width: usize, init: f32, exact: bool) -> Vec<f32> {
        match self.sum_loop {
            SumLoop::Rows(rows) if exact && rows.rounds_products => {
                let rounded: Vec<f64> = contract::round(terms, self.flush).into_iter().map(f64::from).collect();
                rounded.chunks(width).map(|terms| self.rows(&rows, terms, init)).collect()
            }
            SumLoop::Rows(rows) => terms.chunks(width).map(|terms| self.rows(&rows, terms, init)).collect(),
            SumLoop::Columns(columns) => {
                let row = |sum: f32, row: &[f64]| self.columns(&columns, row, sum, exact);
                let of_rows = |terms: &[f64]| terms.chunks(columns.extent).fold(self.flushed(init), row);
                terms.chunks(width).map(of_rows).collect()
            }
            SumLoop::Chain | SumLoop::ChainOfTwo => contract::row_sums(terms, width, init, self.flush),
        }
    }

    fn flushed(&self, sum: f32) -> f32 {
        if self.flush { flush_f32(sum) } else { sum }
    }

    fn add(&self, sum: f32, term: f64) -> f32 {
        self.flushed(sum_to_f32(f64::from(sum), term))
    }

    fn chain<'t>(&self, sum: f32, terms: impl IntoIterator<Item = &'t f64>) -> f32 {
        terms.into_iter().fold(sum, |sum, term| self.add(sum, *term))
    }

    fn rows(&self, rows: &Rows, terms: &[f64], init: f32) -> f32 {
        let Rows { lanes, columns, .. } = *rows;
        let (whole, left) = terms.split_at(terms.len() / (columns * lanes) * columns * lanes);
        let lane = |lane: usize| {
            let own = whole.chunks(columns).skip(lane).step_by(lanes).flatten();
            self.chain(if lane == 0 { self.flushed(init) } else { NOTHING }, own)
        };
        self.chain(self.halves((0..lanes).map(lane).collect()), left)
    }

    fn columns(&self, columns: &Columns, row: &[f64], sum: f32, exact: bool) -> f32 {
        let Columns { lanes, registers, .. } = *columns;
        let whole = if columns.masked { row.len() } else { row.len() / (lanes * registers) * lanes * registers };
        let (row, left) = row.split_at(whole);
        let once = whole <= lanes * registers;
        let lane = |register: usize, lane: usize| {
            let own = row.iter().skip(register * lanes + lane).step_by(lanes * registers);
            let sum = if (register, lane) == (0, 0) { sum } else { NOTHING };
            let own: Vec<f64> = own.copied().collect();
            match own[..] {
                // Nothing is added to the first product, which is then one of two.
                [first, second, ..] if exact && (register > 0 || columns.starts_with_two) => {
                    self.chain(self.chain(sum, [&second, &first]), &own[2..])
                }
                _ => self.chain(sum, &own),
            }
        };
        let join = |at: usize| {
            let first = lane(0, at);
            // A register that took one turn holds a product, which joins before it is rounded.
            let joined = |sum: f32, register: usize| match row.get(register * lanes + at) {
                Some(product) if once => self.add(sum, *product),
                _ => self.add(sum, lane(register, at).into()),
            };
            (1..registers).fold(first, joined)
        };
        let sum = self.halves((0..lanes).map(join).collect());
        if columns.lanes_of_rest < 2 || left.is_empty() {
            return self.chain(sum, left);
        }
        let lanes = columns.lanes_of_rest;
        let (left, last) = left.split_at(left.len() / lanes * lanes);
        let lane =
            |lane: usize| self.chain(if lane == 0 { sum } else { NOTHING }, left.iter().skip(lane).step_by(lanes));
        self.chain(self.halves((0..lanes).map(lane).collect()), last)
    }

    /// Lanes joined by halving.
    fn halves(&self, mut lanes: Vec<f32>) -> f32 {
        while lanes.len() > 1 {
            let upper = lanes.split_off(lanes.len() / 2);
            lanes.iter_mut().zip(upper).for_each(|(a, b)| *a = self.add(*a, b.into()));
        }
        lanes[0]
    }
}

/// What lanes begin with: adding it changes nothing.
const NOTHING: f32 = -0.0;
