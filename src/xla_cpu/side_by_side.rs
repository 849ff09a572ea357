//! Sums in loops that LLVM has vectorized, and those that a library takes for dots ([`SumLoop`]): several
//! elements side by side.

use crate::machine::{Addend, NOTHING, row_sums};
use crate::num::flush_f32;

use super::sum_loop_order::{Columns, DotLoop, Rows, SumLoop};

/// Sums of a vectorized loop: their order, and whether subnormals are flushed.
pub struct SideBySide {
    /// The order. Terms of any but one side by side are added one after the other.
    pub sum_loop: SumLoop,
    /// Whether subnormals are flushed.
    pub flush: bool,
}

/// A term that counts additions: a sum of these is the largest number of additions on the way of one of them.
#[derive(Clone, Copy)]
struct AdditionCount;

impl Addend for AdditionCount {
    type Rounded = AdditionCount;

    fn joins_second(self) -> bool {
        true
    }

    fn add_to(self, sum: f32, _: bool) -> f32 {
        sum.max(0.0) + 1.0
    }

    fn alone(self, _: bool) -> AdditionCount {
        AdditionCount
    }

    fn join(left: f32, right: f32, _: bool) -> f32 {
        left.max(right) + 1.0
    }
}

impl SideBySide {
    /// The f32 sums of so many terms each, from `init`; `exact` says that they are products that are not rounded yet.
    pub fn sums<T: Addend>(&self, terms: &[T], width: usize, init: f32, exact: bool) -> Vec<f32> {
        match self.sum_loop {
            SumLoop::Rows(rows) => terms.chunks(width).map(|terms| self.turns(&rows, terms, init, exact)).collect(),
            SumLoop::Columns(columns) => {
                let row = |sum: f32, row: &[T]| self.columns(&columns, row, sum, exact);
                let of_rows = |terms: &[T]| terms.chunks(columns.extent).fold(self.flushed(init), row);
                terms.chunks(width).map(of_rows).collect()
            }
            SumLoop::Dot(DotLoop { lanes_and_depth, .. }) => match lanes_and_depth {
                Some(plan) => terms.chunks(width).map(|terms| self.dot(plan, terms, init)).collect(),
                None => row_sums(terms, width, init, self.flush),
            },
            SumLoop::Chain | SumLoop::ChainOfTwo | SumLoop::ChainOfRounded(_) => {
                row_sums(terms, width, init, self.flush)
            }
        }
    }

    /// The largest number of rounding additions on the way of one of `width` terms, at most that of a single chain. The
    /// addition of a neutral init rounds nothing; a product's own rounding counts as one.
    pub fn longest_chain(&self, width: usize, exact: bool) -> u64 {
        // f32 counts no further; a chain of all terms is as long as any.
        const MOST: usize = 1 << 24;
        if width >= MOST {
            return width as u64;
        }
        let depth = self.sums(&vec![AdditionCount; width], width, 0.0, exact);
        depth.first().map_or(0, |depth| *depth as u64).min(width as u64)
    }

    fn flushed(&self, sum: f32) -> f32 {
        if self.flush { flush_f32(sum) } else { sum }
    }

    fn add(&self, sum: f32, term: impl Addend) -> f32 {
        term.add_to(sum, self.flush)
    }

    fn chain<'t, T: Addend + 't>(&self, sum: f32, terms: impl IntoIterator<Item = &'t T>) -> f32 {
        terms.into_iter().fold(sum, |sum, term| self.add(sum, *term))
    }

    /// A lane's sum. Where nothing is added to the first product, that is one of two.
    fn lane<T: Addend>(&self, sum: f32, mut terms: Vec<T>, starts_with_two: bool) -> f32 {
        if starts_with_two && terms.len() > 1 {
            terms.swap(0, 1);
        }
        self.chain(sum, &terms)
    }

    /// In lanes that join neighbour by neighbour, between two cuts; what the lanes do not take whole follows in lanes of its own.
    fn dot<T: Addend>(&self, [lanes, depth]: [usize; 2], terms: &[T], init: f32) -> f32 {
        let stretch = |terms: &[T]| {
            let lane = |lane: usize| self.chain(0.0, terms.iter().skip(lane).step_by(lanes));
            let mut sums: Vec<f32> = (0..lanes).map(lane).collect();
            while sums.len() > 1 {
                sums = sums.chunks(2).map(|pair| T::join(pair[0], pair[1], self.flush)).collect();
            }
            sums[0]
        };
        let (whole, rest) = terms.split_at(terms.len() - terms.len() % lanes);
        let rest = (!rest.is_empty()).then_some(rest);
        let sums = whole.chunks(depth).chain(rest).map(stretch);
        sums.fold(self.flushed(init), |sum, stretch| T::join(stretch, sum, self.flush))
    }

    fn turns<T: Addend>(&self, rows: &Rows, terms: &[T], init: f32, exact: bool) -> f32 {
        let turn = |sum: f32, terms: &[T]| {
            let step = rows.columns * rows.lanes;
            let (whole, left) = terms.split_at(terms.len().saturating_sub(rows.alone * rows.columns) / step * step);
            let sum = if exact && rows.rounds_products {
                let rounded: Vec<T::Rounded> = whole.iter().map(|term| term.alone(self.flush)).collect();
                self.rows(rows, &rounded, sum)
            } else {
                self.rows(rows, whole, sum)
            };
            self.chain(sum, left)
        };
        terms.chunks(rows.columns * rows.extent).fold(init, turn)
    }

    /// Rows in lanes, none of them left over.
    fn rows<T: Addend>(&self, rows: &Rows, terms: &[T], init: f32) -> f32 {
        let Rows { lanes, columns, .. } = *rows;
        let lane = |lane: usize| {
            let own = terms.chunks(columns).skip(lane).step_by(lanes);
            let sum = if lane == 0 { self.flushed(init) } else { NOTHING };
            self.chain(sum, own.flatten())
        };
        self.halves::<T>((0..lanes).map(lane).collect())
    }

    fn columns<T: Addend>(&self, columns: &Columns, row: &[T], sum: f32, exact: bool) -> f32 {
        let Columns { lanes, registers, alone, .. } = *columns;
        let step = lanes * registers;
        let whole = if columns.masked { row.len() } else { row.len().saturating_sub(alone) / step * step };
        let (row, left) = row.split_at(whole);
        let own = |register: usize, lane: usize| -> Vec<T> {
            row.iter().skip(register * lanes + lane).step_by(step).copied().collect()
        };
        let join = |at: usize| {
            // A zero in the first lane alone is added.
            let first = self.chain(if at == 0 { sum } else { NOTHING }, &own(0, at));
            // Without a loop the terms of the other registers join one by one.
            let joined = |sum: f32, register: usize| match exact && columns.unrolled {
                true => {
                    let own = own(register, at);
                    let swaps = own.first().is_some_and(|term| term.joins_second());
                    self.lane(sum, own, swaps)
                }
                false => T::join(sum, self.chain(NOTHING, &own(register, at)), self.flush),
            };
            (1..registers).fold(first, joined)
        };
        let sum = self.halves::<T>((0..lanes).map(join).collect());
        if columns.lanes_of_rest < 2 || left.is_empty() {
            return self.chain(sum, left);
        }
        let lanes = columns.lanes_of_rest;
        let (left, last) = left.split_at(left.len().saturating_sub(alone) / lanes * lanes);
        let lane =
            |lane: usize| self.chain(if lane == 0 { sum } else { NOTHING }, left.iter().skip(lane).step_by(lanes));
        self.chain(self.halves::<T>((0..lanes).map(lane).collect()), last)
    }

    /// Lanes joined by halving.
    fn halves<T: Addend>(&self, mut lanes: Vec<f32>) -> f32 {
        while lanes.len() > 1 {
            let upper = lanes.split_off(lanes.len() / 2);
            lanes.iter_mut().zip(upper).for_each(|(a, b)| *a = T::join(*a, b, self.flush));
        }
        lanes[0]
    }
}

#[cfg(test)]
mod tests {
    use super::SideBySide;
    use crate::machine::probe::{hash, numbers};
    use crate::sum_loop_order::{Columns, Rows, SumLoop};

    fn rows(lanes: usize, columns: usize, rounds_products: bool) -> SumLoop {
        SumLoop::Rows(Rows { lanes, alone: 0, columns, extent: 1 << 20, rounds_products })
    }

    /// LLVM's loops over so many elements of registers of eight, as the optimised LLVM IR of jaxlib 0.10.2 has them.
    fn columns(extent: usize) -> SumLoop {
        let (lanes, registers, masked, lanes_of_rest, unrolled) = match extent {
            4 => (4, 1, false, 1, true),
            14 => (8, 1, true, 1, true),
            20 => (4, 4, false, 4, true),
            24 => (8, 1, false, 1, true),
            28 => (4, 2, false, 1, true),
            32 => (8, 4, false, 1, true),
            _ => (8, 4, false, 1, false),
        };
        SumLoop::Columns(Columns { extent, lanes, registers, masked, alone: 0, lanes_of_rest, unrolled })
    }

    fn sums(sum_loop: SumLoop, terms: &[f64], width: usize, exact: bool) -> Vec<f32> {
        SideBySide { sum_loop, flush: true }.sums(terms, width, 0.0, exact)
    }

    fn wide(numbers: &[f32]) -> Vec<f64> {
        numbers.iter().copied().map(f64::from).collect()
    }

    /// The bits that jaxlib 0.10.2 computed for sums over both dims, or the last two of three.
    #[test]
    fn short_rows_are_summed_side_by_side() {
        for ([count, extent, columns], lanes, bits) in [
            ([1, 32, 4], 8, 0x3416_64cf_a97d_4b57),
            ([1, 20, 8], 4, 0x06f3_77d1_0fca_f2a0),
            ([1, 2, 5], 2, 0x18b8_34cd_c7fc_3fc7),
            ([3, 24, 6], 8, 0xe4c3_50da_9fde_9d7b),
        ] {
            let terms = wide(&numbers(&mut 1, count * extent * columns));
            let sums = sums(rows(lanes, columns, false), &terms, extent * columns, false);
            assert_eq!(hash(sums), bits, "{extent} x {columns}");
        }
    }

    /// The bits that jaxlib 0.10.2 computed for a sum of products: eight rows of fused multiply-adds side by side.
    #[test]
    fn products_are_added_before_they_are_rounded() {
        let mut state = 1;
        let (a, b) = (numbers(&mut state, 128), numbers(&mut state, 128));
        let products: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).collect();
        assert_eq!(hash(sums(rows(8, 4, false), &products, 128, true)), 0xcbed_e3d0_ab80_7824);
    }

    /// Lanes of a sum in the optimised LLVM IR of jaxlib 0.10.2, by numbers that show which two meet: of the others, a
    /// large number and its negative leave those that are added after the two have met.
    #[test]
    fn elements_of_a_row_meet_as_their_registers_do() {
        let left = |extent: usize, [a, b]: [usize; 2]| {
            let columns = columns(extent);
            let mut terms = vec![1.0; extent];
            (terms[a], terms[b]) = (2f64.powi(40), -(2f64.powi(40)));
            sums(columns, &terms, extent, false)[0]
        };
        // One lane of four registers of eight: with nothing of the other lanes.
        assert_eq!(left(32, [0, 8]), 30.0);
        assert_eq!(left(32, [0, 24]), 28.0);
        // Neighbours of one register meet last: the lanes of four others are joined before.
        assert_eq!(left(32, [0, 1]), 0.0);
        // Three steps of one register.
        assert_eq!(left(24, [1, 9]), 22.0);
        // Four lanes, four registers, and four lanes for the last four elements.
        assert_eq!(left(20, [0, 4]), 18.0);
        assert_eq!(left(20, [0, 16]), 3.0);
        // Two registers of four lanes in three steps, and four elements alone.
        assert_eq!(left(28, [0, 27]), 0.0);
        assert_eq!(left(28, [24, 25]), 2.0);
        // Eight lanes, of which the last step leaves out two.
        assert_eq!(left(14, [0, 8]), 12.0);
        assert_eq!(left(14, [6, 7]), 0.0);
    }

    /// Without a loop the first term of a register joins behind the second, but for terms of two products: 2^-24 before 2^-23 is lost
    /// beside 1, and behind it rounds up.
    #[test]
    fn terms_of_two_products_join_in_order() {
        let unrolled = SumLoop::Columns(Columns {
            extent: 16,
            lanes: 2,
            registers: 2,
            masked: false,
            alone: 0,
            lanes_of_rest: 1,
            unrolled: true,
        });
        let sum = |products: usize| {
            let mut terms = vec![[0.0; 3]; 16];
            (terms[0][0], terms[2][0], terms[6][0]) = (1.0, 2f64.powi(-24), 2f64.powi(-23));
            let terms: Vec<&[f64]> = terms.iter().map(|term| &term[..products]).collect();
            SideBySide { sum_loop: unrolled, flush: true }.sums(&terms, 16, 0.0, true)[0]
        };
        let (in_order, exchanged) = (1.0 + 2f32.powi(-23), 1.0 + 2f32.powi(-22));
        assert_eq!([1, 2, 3].map(sum), [exchanged, in_order, exchanged]);
    }

    /// Counted by hand: the additions that one term meets in its lane, between registers and between lanes.
    #[test]
    fn chains_are_as_long_as_lanes_and_their_joins() {
        let chain = |sum_loop: SumLoop, width: usize, exact: bool| {
            SideBySide { sum_loop, flush: true }.longest_chain(width, exact)
        };
        // Four rows of four elements in each of eight lanes, and halving.
        assert_eq!(chain(rows(8, 4, false), 128, true), 16 + 3);
        // One term a lane, four registers, halving.
        assert_eq!(chain(columns(32), 32, false), 1 + 3 + 3);
        // 8192 terms a lane.
        assert_eq!(chain(columns(262_144), 262_144, false), 8192 + 3 + 3);
        // Two rows, one after the other.
        assert_eq!(chain(columns(32), 64, false), 2 * (1 + 3 + 3));
        // No order of so few terms has more.
        assert_eq!(chain(columns(4), 4, false), 3);
    }
}
