//! Loops over whole arrays: broadcast operands without copies of them, cache-sized chunks, and threads where there is
//! enough to do. What an element becomes never depends on the chunk or the thread it lies in.

use rayon::prelude::*;

use crate::deadline;

/// Elements that fit the first-level cache beside another operand, so that several steps on a chunk read memory once.
const CHUNK: usize = 4096;

/// From so many elements on, threads are worth their start.
const PARALLEL: usize = 1 << 16;

/// Elements that a thread takes at once: whole chunks.
const SHARE: usize = 8 * CHUNK;

/// An operand of an elementwise operation over row-major elements: element `i` is `values[(i / each) % values.len()]`.
/// With `each = 1` and as many values as elements it is the plain array; a scalar has one value; one value a row has
/// `each` = the row's length; one row for all has `each = 1`.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, T> {
    values: &'a [T],
    each: usize,
}

/// The values of a side over a run of elements.
enum Run<'a, T> {
    One(T),
    Each(&'a [T]),
}

impl<'a, T> Run<'a, T> {
    /// The first `length` elements of the run.
    #[inline(always)]
    fn first(self, length: usize) -> Run<'a, T> {
        match self {
            Run::Each(values) => Run::Each(&values[..length]),
            one => one,
        }
    }
}

impl<'a, T: Copy> Side<'a, T> {
    /// The plain array.
    pub fn whole(values: &'a [T]) -> Side<'a, T> {
        Side { values, each: 1 }
    }

    /// Each value `each` times in turn, then all of it again. There must be a value, and `each` is not 0.
    pub fn broadcast(values: &'a [T], each: usize) -> Side<'a, T> {
        Side { values, each: each.max(1) }
    }

    /// The longest run from element `at` on of `limit` elements at most, and its length.
    #[inline(always)]
    fn run(self, at: usize, limit: usize) -> (Run<'a, T>, usize) {
        let count = self.values.len();
        match self.each {
            _ if count == 1 => (Run::One(self.values[0]), limit),
            1 => {
                let from = at % count;
                let length = limit.min(count - from);
                (Run::Each(&self.values[from..from + length]), length)
            }
            each => (Run::One(self.values[at / each % count]), limit.min(each - at % each)),
        }
    }

    /// The first `count` elements, each written out.
    pub fn write_out(self, count: usize) -> Vec<T> {
        let mut out = Vec::with_capacity(count);
        while out.len() < count {
            match self.run(out.len(), count - out.len()) {
                (Run::One(value), length) => out.resize(out.len() + length, value),
                (Run::Each(values), _) => out.extend_from_slice(values),
            }
        }
        out
    }
}

/// Runs `work(position of the chunk, chunk)` over chunks that fit the cache.
pub(crate) fn in_chunks<T: Send>(values: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    let deadline = deadline::current();
    let all = |start: usize, share: &mut [T]| {
        share.chunks_mut(CHUNK).enumerate().for_each(|(i, chunk)| work(start + i * CHUNK, chunk));
    };
    if values.len() < PARALLEL {
        all(0, values);
    } else {
        values.par_chunks_mut(SHARE).enumerate().for_each(|(i, share)| deadline.within(|| all(i * SHARE, share)));
    }
}

/// `work(0), work(1), ...` of `count` rows with `width` elements each, in their order.
pub fn over_rows<T: Send>(count: usize, width: usize, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    if count.saturating_mul(width) < PARALLEL {
        (0..count).map(work).collect()
    } else {
        let deadline = deadline::current();
        (0..count).into_par_iter().map(|row| deadline.within(|| work(row))).collect()
    }
}

/// Runs `work(number of the first row, rows)` over `out` in blocks of `rows` rows of `width` elements; the last block
/// may have fewer.
pub(crate) fn in_rows<T: Send>(out: &mut [T], width: usize, rows: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
    let block = width.max(1) * rows;
    if out.len() < PARALLEL {
        out.chunks_mut(block).enumerate().for_each(|(i, chunk)| work(i * rows, chunk));
    } else {
        let deadline = deadline::current();
        let within = |(i, chunk): (usize, &mut [T])| deadline.within(|| work(i * rows, chunk));
        out.par_chunks_mut(block).enumerate().for_each(within);
    }
}

/// `own = function(own, other)` for a chunk that starts at element `at`.
#[inline(always)]
pub(super) fn combine<T: Copy, U: Copy>(at: usize, chunk: &mut [T], other: Side<U>, function: impl Fn(T, U) -> T) {
    let mut done = 0;
    while done < chunk.len() {
        let (run, length) = other.run(at + done, chunk.len() - done);
        let own = &mut chunk[done..done + length];
        match run {
            Run::One(value) => own.iter_mut().for_each(|v| *v = function(*v, value)),
            Run::Each(values) => own.iter_mut().zip(values).for_each(|(v, other)| *v = function(*v, *other)),
        }
        done += length;
    }
}

/// `out = function(a, b)` for a chunk of results that starts at element `at`.
#[inline(always)]
pub(super) fn zip<A: Copy, B: Copy, T>(at: usize, out: &mut [T], a: Side<A>, b: Side<B>, function: impl Fn(A, B) -> T) {
    let mut done = 0;
    while done < out.len() {
        let (left, length) = a.run(at + done, out.len() - done);
        let (right, length) = b.run(at + done, length);
        let left = left.first(length);
        let own = &mut out[done..done + length];
        match (left, right) {
            (Run::One(a), Run::One(b)) => own.iter_mut().for_each(|v| *v = function(a, b)),
            (Run::One(a), Run::Each(b)) => own.iter_mut().zip(b).for_each(|(v, b)| *v = function(a, *b)),
            (Run::Each(a), Run::One(b)) => own.iter_mut().zip(a).for_each(|(v, a)| *v = function(*a, b)),
            (Run::Each(a), Run::Each(b)) => {
                own.iter_mut().zip(a.iter().zip(b)).for_each(|(v, (a, b))| *v = function(*a, *b));
            }
        }
        done += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every shape of a side against its definition, over lengths on both sides of a chunk and of the threads' limit.
    #[test]
    fn sides_are_what_their_formula_says() {
        let values: Vec<u32> = (0..7).collect();
        for count in [1, 41, CHUNK + 3, PARALLEL + 5] {
            for (length, each) in [(7, 1), (7, 3), (1, 1), (1, 9), (7, 5000)] {
                let side = Side::broadcast(&values[..length], each);
                let expected: Vec<u32> = (0..count).map(|i| values[..length][i / each % length]).collect();
                assert_eq!(side.write_out(count), expected);
                let mut own: Vec<u32> = (0..count as u32).collect();
                in_chunks(&mut own, |at, chunk| combine(at, chunk, side, |a, b| a.wrapping_mul(10) + b));
                assert!(own.iter().zip(&expected).enumerate().all(|(i, (v, e))| *v == (i as u32).wrapping_mul(10) + e));
                let mut out = vec![0; count];
                let plain: Vec<u32> = (0..count as u32).collect();
                in_chunks(&mut out, |at, chunk| {
                    zip(at, chunk, side, Side::whole(&plain), |a, b| a.wrapping_sub(b));
                });
                assert!((0..count).all(|i| out[i] == expected[i].wrapping_sub(plain[i])));
                // Either operand may be the one that is repeated.
                in_chunks(&mut out, |at, chunk| {
                    zip(at, chunk, Side::whole(&plain), side, |a, b| a.wrapping_sub(b));
                });
                assert!((0..count).all(|i| out[i] == plain[i].wrapping_sub(expected[i])));
            }
        }
    }

    #[test]
    fn rows_come_in_order() {
        assert_eq!(over_rows(300, 1000, |row| row), (0..300).collect::<Vec<_>>());
        let mut out = vec![0; 300 * 300];
        in_rows(&mut out, 300, 8, |first, rows| {
            rows.chunks_mut(300).enumerate().for_each(|(i, row)| row.fill(first + i));
        });
        assert!(out.iter().enumerate().all(|(i, row)| i / 300 == *row));
    }
}
