//! Sums of columns: each as [`super::sum`] adds up a row, of rows that are given some at a time, as they lie in memory.

use std::convert::Infallible;
use std::iter;
use std::ops::{Deref, Range};

use super::super::VectorUnit;
use super::super::arrays::over_rows;
use super::super::simd::{self, Work};
use super::{InBf16, InF16, InF32, LANES, PhantomData, SUBLANES, Step, StepRounding, SumOrder, TREE, UnitAdder};

/// Sums of some rows each, of every column: those of [`SumOrder::Lanes`] in the same lane, or in a window.
struct Part {
    /// Sums of each column, side by side: row `i` of a range joins sum `i % width`.
    width: usize,
    /// Each a sum of its own, from zero; they are added in order.
    chains: Vec<Vec<Range<usize>>>,
}

impl Part {
    /// The parts of a sum over `count` rows, of which `at_once` are given at a time.
    fn of(order: SumOrder, count: usize, at_once: usize) -> Vec<Part> {
        let at_once = at_once.max(1);
        let cut = |rows: Range<usize>| rows.clone().step_by(at_once).map(move |at| at..rows.end.min(at + at_once));
        let one_chain = |rows: Range<usize>| Part { width: 1, chains: vec![cut(rows).collect()] };
        match order {
            SumOrder::Tree32 if count > TREE => windows(count).into_iter().map(one_chain).collect(),
            SumOrder::Chain | SumOrder::Tree32 => vec![one_chain(0..count)],
            SumOrder::Lanes => {
                let lanes = at_once.min(LANES);
                // Of the sublanes that no row reaches one is enough: a second zero changes nothing.
                let sublanes = SUBLANES.min(count.div_ceil(LANES) + 1);
                let part = |first: usize| {
                    let width = lanes.min(LANES - first);
                    let registers = |sublane: usize| (sublane * LANES + first..count).step_by(LANES * SUBLANES);
                    let rows = |sublane: usize| registers(sublane).map(|at| at..count.min(at + width)).collect();
                    Part { width, chains: (0..sublanes).map(rows).collect() }
                };
                (0..LANES).step_by(lanes).map(part).collect()
            }
        }
    }
}

/// The windows of [`SumOrder::Tree32`], the padding split between both ends.
fn windows(count: usize) -> Vec<Range<usize>> {
    let padding = count.next_multiple_of(TREE) - count;
    let first = TREE - padding / 2;
    let others = (first..count).step_by(TREE).map(|at| at..count.min(at + TREE));
    iter::once(0..first).chain(others).collect()
}

/// The sums of the columns of a matrix `[count, columns]`: of each what [`super::sum`] gives of a row of its elements. `rows`
/// gives rows, row-major and `at_once` at most, in any order and on any thread.
///
/// # Errors
/// Those of `rows`.
pub fn column_sums<V: Deref<Target = [f32]>, E: Send>(
    [count, columns]: [usize; 2],
    at_once: usize,
    (order, step): (SumOrder, StepRounding),
    unit: &VectorUnit,
    rows: impl Fn(Range<usize>) -> Result<V, E> + Sync,
) -> Result<Vec<f32>, E> {
    let parts = Part::of(order, count, at_once);
    let size = count * columns / parts.len().max(1);
    let sums = with_adder!(step, unit, adder => {
        over_rows(parts.len(), size, |at| adder.part_sums(&parts[at], columns, &rows))
    });
    let mut sums = sums.into_iter().collect::<Result<Vec<Vec<f32>>, E>>()?.concat();
    match order {
        SumOrder::Lanes => {
            with_adder!(step, unit, adder => simd::widest(Halves { adder, lanes: &mut sums }));
            sums.truncate(columns);
            Ok(sums)
        }
        _ if parts.len() > 1 => Ok(next_level(&sums, columns, (order, step), unit)),
        _ => Ok(sums),
    }
}

/// The sums of the sums of windows.
fn next_level(sums: &[f32], columns: usize, how: (SumOrder, StepRounding), unit: &VectorUnit) -> Vec<f32> {
    let rows = |rows: Range<usize>| Ok::<_, Infallible>(&sums[rows.start * columns..rows.end * columns]);
    let Ok(sums) = column_sums([sums.len() / columns.max(1), columns], TREE, how, unit, rows);
    sums
}

impl<const FLUSH: bool, S: Step> UnitAdder<FLUSH, S> {
    fn part_sums<V: Deref<Target = [f32]>, E>(
        self,
        part: &Part,
        columns: usize,
        rows: impl Fn(Range<usize>) -> Result<V, E>,
    ) -> Result<Vec<f32>, E> {
        let mut total = vec![0.0; part.width * columns];
        let mut chain = total.clone();
        for (at, ranges) in part.chains.iter().enumerate() {
            let sums = if at == 0 { &mut total } else { &mut chain };
            sums.fill(0.0);
            for range in ranges {
                simd::widest(ColumnRows { adder: self, sums, rows: &rows(range.clone())? });
            }
            if at > 0 {
                simd::widest(ColumnRows { adder: self, sums: &mut total, rows: &chain });
            }
        }
        Ok(total)
    }
}

/// Adds rows to sums that lie side by side as they do.
struct ColumnRows<'a, A> {
    adder: A,
    sums: &'a mut [f32],
    rows: &'a [f32],
}

impl<const FLUSH: bool, S: Step> Work for ColumnRows<'_, UnitAdder<FLUSH, S>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for rows in self.rows.chunks(self.sums.len().max(1)) {
            self.sums.iter_mut().zip(rows).for_each(|(sum, v)| *sum = self.adder.add(*sum, *v));
        }
    }
}

/// Adds the upper half of the lanes to the lower one until one is left.
pub(super) struct Halves<'a, A> {
    pub adder: A,
    /// [`LANES`] of every column.
    pub lanes: &'a mut [f32],
}

impl<const FLUSH: bool, S: Step> Work for Halves<'_, UnitAdder<FLUSH, S>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut width = self.lanes.len();
        for _ in 0..LANES.ilog2() {
            let (low, high) = self.lanes[..width].split_at_mut(width / 2);
            low.iter_mut().zip(high).for_each(|(low, high)| *low = self.adder.add(*low, *high));
            width /= 2;
        }
    }
}
