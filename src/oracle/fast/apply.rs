//! Long loops over intervals: regular ones without branches, the rest one by one.

use super::super::column::Column;
use super::super::interval::Interval;
use super::super::isa::{CHUNK, Loop, widest};
use super::super::store;
use super::Intervals;
use crate::deadline::Pace;

/// An operation on one or two regular intervals for a loop to apply; the ends of its result are the wrong way round where an
/// interval is none.
pub(in super::super) trait Kernel {
    fn apply(&self, x: Interval, y: Interval) -> Interval;
}

/// A kernel for all elements of two arrays of one length, and the whole operation for those that it leaves out; one result a run
/// where both have the same runs.
pub(in super::super) fn apply<K: Kernel>(
    kernel: K,
    whole: impl Fn(Interval, Interval) -> Interval,
    [x, y]: [&Intervals; 2],
) -> Intervals {
    let run = x.lo.run();
    // Elements of a run are equal: where all ends have the same runs, one element of each is enough.
    if run == 1 || [&x.hi, &y.lo, &y.hi].iter().any(|column| column.run() != run) {
        return widest(Apply { operands: [x, y], kernel, whole });
    }
    let [x, y] = [x, y].map(|array| Intervals { lo: array.lo.in_runs(1), hi: array.hi.in_runs(1) });
    let Intervals { lo, hi } = widest(Apply { operands: [&x, &y], kernel, whole });
    Intervals { lo: lo.in_runs(run), hi: hi.in_runs(run) }
}

/// An operation on the same element of several arrays with several results; the ends of the first result are the wrong way round
/// where the kernel leaves an element out.
pub(in super::super) trait ManyKernel<const IN: usize, const OUT: usize> {
    fn apply(&self, operands: [Interval; IN]) -> [Interval; OUT];
}

/// [`apply`] of a kernel with several operands and results.
pub(in super::super) fn apply_many<const IN: usize, const OUT: usize, K: ManyKernel<IN, OUT>>(
    kernel: K,
    whole: impl Fn([Interval; IN]) -> [Interval; OUT],
    operands: [&Intervals; IN],
) -> [Intervals; OUT] {
    widest(ApplyMany { operands, kernel, whole })
}

struct ApplyMany<'a, K, W, const IN: usize, const OUT: usize> {
    operands: [&'a Intervals; IN],
    kernel: K,
    whole: W,
}

impl<const IN: usize, const OUT: usize, K, W> Loop for ApplyMany<'_, K, W, IN, OUT>
where
    K: ManyKernel<IN, OUT>,
    W: Fn([Interval; IN]) -> [Interval; OUT],
{
    type Output = [Intervals; OUT];

    #[inline(always)]
    fn run(self) -> [Intervals; OUT] {
        let len = self.operands.first().map_or(0, |first| first.lo.len());
        let mut found = [(); OUT].map(|()| [store::vector(len), store::vector(len)]);
        let mut given = [[[1.0; CHUNK]; 2]; IN];
        let mut out = [[[1.0; CHUNK]; 2]; OUT];
        let mut pace = Pace::default();
        for start in (0..len).step_by(CHUNK) {
            pace.spend(CHUNK);
            for (operand, [lo, hi]) in self.operands.iter().zip(&mut given) {
                operand.lo.load(start, lo);
                operand.hi.load(start, hi);
            }
            // Whole chunks, also the last one: a loop of a constant length becomes vectors. Results behind the end are not taken.
            for i in 0..CHUNK {
                let operand = |at: usize| Interval { lo: given[at][0][i], hi: given[at][1][i] };
                let results = self.kernel.apply(std::array::from_fn(operand));
                for (out, result) in out.iter_mut().zip(results) {
                    (out[0][i], out[1][i]) = (result.lo, result.hi);
                }
            }
            let count = CHUNK.min(len - start);
            let is_left_out = |out: &[[f64; CHUNK]; 2], i: usize| out[0][i] > out[1][i];
            // A fold looks at all places: `any` would end at the first, and a loop with such an end is not made of vectors.
            if out.first().is_some_and(|first| (0..CHUNK).fold(false, |any, i| any | is_left_out(first, i))) {
                for i in 0..count {
                    if out.first().is_some_and(|first| is_left_out(first, i)) {
                        let results = (self.whole)(self.operands.map(|operand| operand.at(start + i)));
                        for (out, result) in out.iter_mut().zip(results) {
                            (out[0][i], out[1][i]) = (result.lo, result.hi);
                        }
                    }
                }
            }
            for (found, out) in found.iter_mut().zip(&out) {
                found.iter_mut().zip(out).for_each(|(found, out)| found.extend_from_slice(&out[..count]));
            }
        }
        found.map(|[lo, hi]| Intervals { lo: Column::new(lo), hi: Column::new(hi) })
    }
}

/// Applies a kernel to all elements, and the whole operation to those that the kernel leaves out.
struct Apply<'a, K, W> {
    operands: [&'a Intervals; 2],
    kernel: K,
    whole: W,
}

impl<K: Kernel, W: Fn(Interval, Interval) -> Interval> Apply<'_, K, W> {
    /// One chunk of the result, from those of the operands' ends; `count` elements of it are asked for.
    #[inline(always)]
    fn chunk(
        &self,
        [x_lo, x_hi, y_lo, y_hi]: [&[f64; CHUNK]; 4],
        [out_lo, out_hi]: [&mut [f64; CHUNK]; 2],
        (start, count): (usize, usize),
    ) {
        for i in 0..CHUNK {
            let (a, b) = (Interval { lo: x_lo[i], hi: x_hi[i] }, Interval { lo: y_lo[i], hi: y_hi[i] });
            let out = self.kernel.apply(a, b);
            (out_lo[i], out_hi[i]) = (out.lo, out.hi);
        }
        // Without a branch inside: nearly always there is none.
        if (0..CHUNK).fold(false, |any, i| any | (out_lo[i] > out_hi[i])) {
            let [x, y] = self.operands;
            for i in 0..count {
                if out_lo[i] > out_hi[i] {
                    let out = (self.whole)(x.at(start + i), y.at(start + i));
                    (out_lo[i], out_hi[i]) = (out.lo, out.hi);
                }
            }
        }
    }
}

impl<K: Kernel, W: Fn(Interval, Interval) -> Interval> Loop for Apply<'_, K, W> {
    type Output = Intervals;

    #[inline(always)]
    fn run(self) -> Intervals {
        let [x, y] = self.operands;
        let len = x.lo.len();
        let (mut lo, mut hi) = (store::numbers(len), store::numbers(len));
        let mut room = [[1.0; CHUNK]; 4];
        let mut pace = Pace::default();
        for start in (0..len).step_by(CHUNK) {
            pace.spend(CHUNK);
            let [x_lo, x_hi, y_lo, y_hi] = &mut room;
            let given =
                [x.lo.chunk(start, x_lo), x.hi.chunk(start, x_hi), y.lo.chunk(start, y_lo), y.hi.chunk(start, y_hi)];
            match (lo[start..].first_chunk_mut(), hi[start..].first_chunk_mut()) {
                (Some(lo), Some(hi)) => self.chunk(given, [lo, hi], (start, CHUNK)),
                _ => {
                    let [mut out_lo, mut out_hi] = [[1.0; CHUNK]; 2];
                    self.chunk(given, [&mut out_lo, &mut out_hi], (start, len - start));
                    lo[start..].copy_from_slice(&out_lo[..len - start]);
                    hi[start..].copy_from_slice(&out_hi[..len - start]);
                }
            }
        }
        Intervals { lo: Column::new(lo), hi: Column::new(hi) }
    }
}
