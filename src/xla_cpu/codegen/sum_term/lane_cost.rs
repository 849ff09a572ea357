//! Costs of the steps of a sum's loop, by the number of lanes.

use std::ops::AddAssign;

use super::super::along::{Along, SHARED, SOMEWHERE, lies_beside};
use super::super::sum_weight::{OF_CALL, OF_SCALAR_CALL, cost_apart, is_scalar_call};
use super::{RUN, Term, WIDEST, WITHIN};
use crate::ir::{Binary, Op, Unary};

/// Cost of reading an element of each of eight inner sums, and of inserting it into its lane. Fitted to sums of sums of
/// 9 to 16 elements, not read in LLVM's source.
const OF_SUM_WITHIN: f64 = 23.0;

/// Cost of an iteration, beside its body, of a loop over elements that are not adjacent.
const OF_STRIDED_LOOP: f64 = 3.0;

/// Cost of reading one element for all lanes: the read and its broadcast (`getUniformMemOpCost`).
const OF_SHARED: f64 = 2.0;

/// Cost of an iteration of a loop, beside its body.
const OF_LOOP: f64 = 5.0 / 3.0;

/// The work for one element.
#[derive(Clone, Copy, Default)]
pub struct Work {
    /// Cost of the arithmetic, in multiplications.
    pub arithmetic: usize,
    /// Exponentials and logarithms: calls of functions for up to 16 elements. They gain nothing from registers of two.
    pub calls: usize,
    /// Divisions and square roots: registers of eight elements take them in two halves.
    slow: usize,
    /// Functions that are called for one element at a time.
    pub calls_alone: usize,
}

impl Work {
    /// The work of one operation with this cost of arithmetic.
    pub fn of(op: &Op, arithmetic: usize) -> Work {
        let calls = matches!(op, Op::Unary(Unary::Exponential | Unary::Log | Unary::Logistic));
        let is_slow = matches!(op, Op::Binary(Binary::Divide) | Op::Unary(Unary::Sqrt));
        let [calls, slow, calls_alone] = [calls, is_slow, is_scalar_call(op)].map(usize::from);
        Work { arithmetic, calls, slow, calls_alone }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.arithmetic += other.arithmetic;
        self.calls += other.calls;
        self.slow += other.slow;
        self.calls_alone += other.calls_alone;
    }
}

impl Term<'_> {
    /// Cost of a step over so many elements of the innermost dim.
    pub fn cost_along(&self, lanes: usize) -> f64 {
        let beside = |along: &&Along| lies_beside(along, Some(self.innermost));
        let beside = self.reads.iter().filter(beside).count() + self.converted;
        let apart = self.reads.iter().filter(|along| !lies_beside(along, Some(self.innermost)));
        // The elements of a sum within are one run of memory where they are few.
        let cost_of_read = |along: &Along| match along.iter().flatten().next_back() {
            Some((WITHIN..SOMEWHERE, columns)) if lanes == WIDEST && *columns > RUN => OF_SUM_WITHIN,
            Some((WITHIN..SOMEWHERE, columns)) => cost_apart(lanes, *columns),
            // The same for the whole register.
            Some((SHARED, sharers)) if sharers.is_multiple_of(lanes) => OF_SHARED.min(lanes as f64),
            _ => cost_apart(lanes, usize::MAX),
        };
        let read: f64 = apart.map(cost_of_read).sum();
        in_thirds(self.cost_of_element(self.work, [beside, 0], lanes, usize::MAX) + read)
    }

    /// Cost of a step over `lanes` rows of `columns` columns side by side, one of `turns` steps: x86's
    /// `TargetTransformInfo`, as far as its decisions show it. An element of a row that is not adjacent to the others
    /// is read and inserted into its lane alone, unless rows of up to eight columns are read as one run of memory.
    /// Values that are the same for all rows are computed outside of the loop.
    pub fn cost(&self, lanes: usize, columns: usize, turns: usize) -> f64 {
        let changing = self.reads.iter().filter(|along| self.changes_around(along));
        let [mut beside, mut run, mut apart] = [0; 3];
        for along in changing {
            let kind = match () {
                () if lies_beside(along, self.around) => &mut beside,
                () if self.is_run(along) => &mut run,
                () => &mut apart,
            };
            *kind += 1;
        }
        if apart > 0 && beside + run == 0 {
            return self.cost_strided(apart, (lanes, turns), columns);
        }
        let each = self.cost_of_element(self.work_of_rows, [beside, run], lanes, columns)
            + apart as f64 * self.cost_beside_others(lanes);
        columns as f64 * each + OF_LOOP
    }

    /// Cost of reading an element of each of so many rows that are not contiguous, and of inserting it into its lane,
    /// beside other reads.
    fn cost_beside_others(&self, lanes: usize) -> f64 {
        match lanes {
            8 => 24.5,
            _ => cost_apart(lanes, usize::MAX),
        }
    }

    /// Cost of rows that are not contiguous, if nothing else is read: the addresses of the lanes once, and each element
    /// of each array.
    fn cost_strided(&self, reads: usize, (lanes, turns): (usize, usize), columns: usize) -> f64 {
        let [addresses, read] = match lanes {
            1 => [0.0, 1.0],
            2 => [0.0, 5.3],
            4 => [4.0, 8.6],
            _ => [8.0, 18.6].map(|cost| cost * lanes.div_ceil(WIDEST) as f64),
        };
        // Of one turn no loop is left.
        let of_loop = if turns > 1 { OF_STRIDED_LOOP } else { 0.0 };
        let shared = usize::from(self.shares_index());
        let each = self.cost_of_element(self.work_of_rows, [0, 0], lanes, columns) - shared as f64;
        columns as f64 * (each + addresses + reads as f64 * read) + of_loop
    }

    fn cost_of_element(&self, work: Work, [beside, apart]: [usize; 2], lanes: usize, columns: usize) -> f64 {
        let more = match lanes {
            2 => work.calls as f64 * 6.5,
            8 => work.slow as f64 * 2.0,
            16 => work.slow as f64 * 4.0,
            _ => 0.0,
        };
        // What is called for each lane takes it out of the register and puts it back, but for the first one.
        let of_lanes = 2 * (lanes - 1);
        let alone = work.calls_alone * (OF_SCALAR_CALL * lanes + of_lanes - 1);
        let addition = 1;
        let called = work.calls * OF_CALL;
        let simple = beside + (work.arithmetic - called) + usize::from(self.shares_index()) + addition;
        // Sixteen elements are two registers.
        (simple * lanes.div_ceil(WIDEST) + called + alone) as f64 + apart as f64 * cost_apart(lanes, columns) + more
    }
}

/// Cost of an iteration with this cost of its body, in thirds, so that equal costs compare equal.
fn in_thirds(body: f64) -> f64 {
    3.0 * body + 3.0 * OF_LOOP
}
