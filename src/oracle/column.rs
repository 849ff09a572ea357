//! One part of all elements of an array, contiguous, shared where nothing changes it.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::rc::Rc;

use crate::ir::{Op, movement};

use super::isa::{CHUNK, Loop, widest};
use super::store::Store;

/// The values of `len` elements in row-major order. Each value stands for `run` neighbours: a broadcast costs nothing.
#[derive(Debug)]
pub(super) struct Column<T: 'static> {
    values: Rc<Store<T>>,
    run: usize,
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Column<T> {
        Column { values: Rc::clone(&self.values), run: self.run }
    }
}

impl<T: Clone> Column<T> {
    /// One value an element.
    pub fn new(values: Vec<T>) -> Column<T> {
        Column { values: Rc::new(Store::new(values)), run: 1 }
    }

    /// One value for all of `len` elements.
    pub fn same(value: T, len: usize) -> Column<T> {
        if len == 0 { Column::new(Vec::new()) } else { Column { values: Rc::new(Store::new(vec![value])), run: len } }
    }

    /// One value for each run.
    pub fn runs(values: Vec<T>, run: usize) -> Column<T> {
        Column { values: Rc::new(Store::new(values)), run }
    }

    /// The same values, each for so many neighbours.
    pub fn in_runs(&self, run: usize) -> Column<T> {
        Column { values: Rc::clone(&self.values), run }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.values.len() * self.run
    }

    /// Neighbours that share a value.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Whether elements of one run are all that a range has.
    pub fn is_one_run(&self, range: &Range<usize>) -> bool {
        !range.is_empty() && range.start / self.run == (range.end - 1) / self.run
    }

    /// The values, one for each run.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Whether both are one column in memory.
    pub fn is_shared_with(&self, other: &Column<T>) -> bool {
        Rc::ptr_eq(&self.values, &other.values) && self.run == other.run
    }

    /// The value of one element.
    #[inline(always)]
    pub fn at(&self, element: usize) -> &T {
        // A division costs more than the two tests that mostly save it.
        let at = match (self.run, self.values.len()) {
            (1, _) => element,
            (_, 1) => 0,
            (run, _) => element / run,
        };
        &self.values[at]
    }

    /// Other values for the same runs.
    pub fn map<U: Clone>(&self, function: impl FnMut(&T) -> U) -> Column<U> {
        Column::runs(self.values.iter().map(function).collect(), self.run)
    }

    /// One value an element, in a vector of its own.
    pub fn to_vec(&self) -> Vec<T> {
        if self.run == 1 {
            return self.values.to_vec();
        }
        self.values.iter().flat_map(|v| std::iter::repeat_n(v, self.run)).cloned().collect()
    }
}

impl<T: Clone> Column<T> {
    /// The values of the elements at these positions, in this order.
    pub fn pick(&self, positions: &[usize]) -> Column<T> {
        match self.values.as_slice() {
            [value] => Column::same(value.clone(), positions.len()),
            _ => Column::new(positions.iter().map(|at| self.at(*at).clone()).collect()),
        }
    }
}

impl Column<f64> {
    /// Whether `test` holds for the values of all elements, taken together with those of another column.
    #[inline(always)]
    pub fn all_with(&self, other: &Column<f64>, test: impl Fn(f64, f64) -> bool) -> bool {
        if self.run != other.run {
            return (0..self.len()).all(|at| test(*self.at(at), *other.at(at)));
        }
        widest(AllWith { columns: [&self.values, &other.values], test })
    }

    /// The elements for whose values, taken together with those of another column, `test` holds.
    pub fn positions_with(&self, other: &Column<f64>, test: impl Fn(f64, f64) -> bool) -> Vec<usize> {
        if self.all_with(other, |a, b| !test(a, b)) {
            return Vec::new();
        }
        (0..self.len()).filter(|at| test(*self.at(*at), *other.at(*at))).collect()
    }

    /// Of `init` followed by the elements of a range, those from `start` on, zeros behind the last.
    #[inline(always)]
    pub fn load_range(&self, range: &Range<usize>, start: usize, init: f64, out: &mut [f64; CHUNK]) {
        let first = range.start + start;
        let past = range.end.min(first + CHUNK - 1);
        if start > 0 && past - (first - 1) == CHUNK && self.run == 1 {
            out.copy_from_slice(&self.values[first - 1..past]);
            return;
        }
        *out = [0.0; CHUNK];
        for (out, at) in out.iter_mut().zip(start..range.len() + 1) {
            *out = if at == 0 { init } else { *self.at(range.start + at - 1) };
        }
    }

    /// The elements from `start` on, as many as there are up to a chunk: those in memory, or a copy of them in `room`.
    #[inline(always)]
    pub fn chunk<'a>(&'a self, start: usize, room: &'a mut [f64; CHUNK]) -> &'a [f64; CHUNK] {
        if self.run == 1
            && let Some(whole) = self.values[start..].first_chunk::<CHUNK>()
        {
            return whole;
        }
        self.load(start, room);
        room
    }

    /// Copies the elements from `start` on, as many as there are.
    #[inline(always)]
    pub fn load(&self, start: usize, out: &mut [f64; CHUNK]) {
        if self.run == 1 {
            let rest = &self.values[start..];
            match rest.first_chunk::<CHUNK>() {
                Some(whole) => *out = *whole,
                None => out[..rest.len()].copy_from_slice(rest),
            }
        } else if start / self.run == (start + CHUNK - 1) / self.run {
            *out = [self.values[start / self.run]; CHUNK];
        } else {
            for (i, out) in out.iter_mut().enumerate().take(self.len() - start) {
                *out = self.values[(start + i) / self.run];
            }
        }
    }
}

/// Whether a test holds for the values of two columns, place by place.
struct AllWith<'a, T> {
    columns: [&'a [f64]; 2],
    test: T,
}

impl<T: Fn(f64, f64) -> bool> Loop for AllWith<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let [a, b] = self.columns;
        // Chunk by chunk without a branch inside, so that it takes a few instructions for each.
        let mut chunks = a.chunks(CHUNK).zip(b.chunks(CHUNK));
        chunks.all(|(a, b)| a.iter().zip(b).fold(true, |all, (a, b)| all & (self.test)(*a, *b)))
    }
}

/// A data movement, to be done to every column of its operands.
pub(super) struct Mover<'a> {
    /// The operation, of the class that only moves elements.
    pub op: &'a Op,
    /// The dims of each operand whose elements move.
    pub dims: Vec<&'a [usize]>,
    /// The start indices of `dynamic-slice`, `dynamic-update-slice` and `gather`; empty for other operations.
    pub starts: &'a [i64],
    /// The dims of the start indices of `gather`; empty for other operations.
    pub starts_dims: &'a [usize],
    /// The dims of the result.
    pub out_dims: &'a [usize],
}

impl Mover<'_> {
    /// One column of the result, from the operands' columns of its kind.
    pub fn apply<T: Clone>(&self, operands: &[&Column<T>]) -> Column<T> {
        let source = operands[0];
        let len = self.out_dims.iter().product();
        match self.op {
            Op::Reshape | Op::Copy | Op::OptimizationBarrier => return source.clone(),
            // An operand of a result with elements has some itself.
            Op::Broadcast { dims: along } if len > 0 => {
                let leads = along.iter().enumerate().all(|(i, d)| i == *d && self.dims[0][i] == self.out_dims[i]);
                if leads {
                    return Column { values: Rc::clone(&source.values), run: source.run * (len / source.len()) };
                }
                if source.values.len() == 1 {
                    return Column { values: Rc::clone(&source.values), run: len };
                }
            }
            // One value stays so wherever its elements go.
            Op::Transpose { .. } | Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Reverse { .. }
                if len > 0 && source.values.len() == 1 =>
            {
                return Column { values: Rc::clone(&source.values), run: len };
            }
            _ => {}
        }
        let dense: Vec<Vec<T>> = operands.iter().map(|o| if o.run == 1 { Vec::new() } else { o.to_vec() }).collect();
        let slices =
            operands.iter().zip(&dense).map(|(o, d)| if o.run == 1 { o.values.as_slice() } else { d.as_slice() });
        let parts: Vec<(&[T], &[usize])> = slices.zip(self.dims.iter().copied()).collect();
        Column::new(movement::apply(self.op, &parts, self.starts, self.starts_dims, self.out_dims))
    }
}
