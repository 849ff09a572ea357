//! Sums as YNNPACK has them, whatever the width of the processor's vectors: `sum_float_k1` and `sum_float_kn` of
//! google/XNNPACK, `ynnpack/kernels/reduce/sum.h` (August 2026). With them all 32 rows of 512 of a softmax's denominator
//! come out as XLA:CPU (jaxlib 0.10.2) computed them, and 25 or less in every other order that was tried.

use crate::machine::SummedRows;
use crate::machine::vector::over_rows;
use crate::num::flush_f32;

/// Elements that one lane adds before they join the other sums.
const UNROLLED: usize = 4;
/// Lanes of 64 bytes of f32: in YNNPACK's words "consistent".
const LANES: usize = 16;
/// Sums of one level that join the next.
const DEGREE: usize = 16;

/// The order in which YNNPACK adds up f32 numbers. XLA:CPU leaves sums in fusions of a kind of their own to it (FACTS 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LibrarySum {
    /// Partial sums side by side: 16 along rows, 1 where whole rows are added.
    lanes: usize,
    /// Elements of a row that are added up at a time, where they are not all; the sums are added one after the other.
    run: Option<usize>,
}

impl LibrarySum {
    /// The sum over the dims `reduced` of an array of these dims.
    pub fn over(dims: &[usize], reduced: &[usize]) -> LibrarySum {
        let last = (0..dims.len()).rfind(|d| dims[*d] > 1).is_some_and(|d| reduced.contains(&d));
        let (width, run) = (reduced.iter().map(|d| dims[*d]).product(), innermost_run(dims, reduced));
        LibrarySum { lanes: if last { LANES } else { 1 }, run: (1..width).contains(&run).then_some(run) }
    }

    /// The sums of `count` rows of `width` numbers.
    pub fn sums(self, values: &[f32], [width, count]: [usize; 2], init: f32, rows: &SummedRows) -> Vec<f32> {
        if rows.flushes() {
            self.flushed_sums::<true>(values, [width, count], init, rows.begins_at_zero())
        } else {
            self.flushed_sums::<false>(values, [width, count], init, rows.begins_at_zero())
        }
    }

    fn flushed_sums<const FLUSH: bool>(
        self,
        values: &[f32],
        [width, count]: [usize; 2],
        init: f32,
        from_zero: bool,
    ) -> Vec<f32> {
        let run = self.run.unwrap_or(width);
        let row = |row: usize| {
            let runs = values[row * width..(row + 1) * width].chunks(run);
            let mut sums = runs.map(|run| sum::<FLUSH>(run, self.lanes));
            let sum = match self.run {
                Some(_) => sums.fold(0.0, add::<FLUSH>),
                None => sums.next().unwrap_or_default(),
            };
            if from_zero { sum } else { add::<FLUSH>(init, sum) }
        };
        over_rows(count, width, row)
    }

    /// The most additions that round which one of `width` terms meets, an init that is no zero among them. Those to an empty sum
    /// are exact.
    pub fn longest_chain(self, width: usize, from_zero: bool) -> u64 {
        match self.run {
            Some(run) => longest_chain(run, self.lanes) + (width / run) as u64,
            None => longest_chain(width, self.lanes) + u64::from(!from_zero),
        }
    }
}

/// Elements of the innermost reduced dims that lie side by side; dims of one element part none.
fn innermost_run(dims: &[usize], reduced: &[usize]) -> usize {
    let long = (0..dims.len()).rev().filter(|d| dims[*d] != 1);
    let inside = long.skip_while(|d| !reduced.contains(d)).take_while(|d| reduced.contains(d));
    inside.map(|d| dims[d]).product()
}

#[inline(always)]
fn add<const FLUSH: bool>(a: f32, b: f32) -> f32 {
    if FLUSH { flush_f32(flush_f32(a) + flush_f32(b)) } else { a + b }
}

/// The sum of a row in blocks of 4 x `lanes`. Blocks are summed from zero, joined in groups, the groups in larger ones,
/// and those with Kahan's compensation; at the end the lanes are halved.
fn sum<const FLUSH: bool>(row: &[f32], lanes: usize) -> f32 {
    let lanes = lanes.min(LANES);
    let block = UNROLLED * lanes;
    // Along rows four blocks join at once as long as there are four; the clock counts vectors of 16, or rows.
    let (grouped, tick) = if lanes == 1 { (1, UNROLLED) } else { (UNROLLED, LANES) };
    let mut sums = Levels::<FLUSH> { levels: [[0.0; LANES]; 3], errors: [0.0; LANES] };
    let (mut rest, mut clock) = (row, 0);
    for blocks in [grouped, 1] {
        while rest.len() >= blocks * block {
            let (now, later) = rest.split_at(blocks * block);
            now.chunks(block).for_each(|block| sums.add_block(block, lanes));
            (rest, clock) = (later, clock + blocks * tick);
            sums.carry(clock);
        }
    }
    sums.add_block(rest, lanes);
    sums.carry(0);
    let [.., mut last] = sums.levels;
    let mut width = lanes;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            last[lane] = add::<FLUSH>(last[lane], last[lane + width]);
        }
    }
    last[0]
}

/// The sums of three levels and the rounding errors of the last one.
struct Levels<const FLUSH: bool> {
    levels: [[f32; LANES]; 3],
    errors: [f32; LANES],
}

impl<const FLUSH: bool> Levels<FLUSH> {
    fn add_block(&mut self, block: &[f32], lanes: usize) {
        let mut local = [0.0; LANES];
        for vector in block.chunks(lanes) {
            local.iter_mut().zip(vector).for_each(|(sum, v)| *sum = add::<FLUSH>(*sum, *v));
        }
        self.levels[0].iter_mut().zip(local).for_each(|(sum, v)| *sum = add::<FLUSH>(*sum, v));
    }

    /// Joins levels to the next where the clock has come round.
    fn carry(&mut self, clock: usize) {
        let [first, second, third] = &mut self.levels;
        if clock.is_multiple_of(DEGREE) {
            for (a, b) in first.iter_mut().zip(second.iter_mut()) {
                *b = add::<FLUSH>(*b, std::mem::take(a));
            }
            if clock.is_multiple_of(DEGREE * DEGREE) {
                for ((a, b), error) in second.iter_mut().zip(third).zip(&mut self.errors) {
                    let given = add::<FLUSH>(std::mem::take(a), -*error);
                    let total = add::<FLUSH>(*b, given);
                    let lost = add::<FLUSH>(add::<FLUSH>(total, -*b), -given);
                    *error = if lost.is_finite() { lost } else { 0.0 };
                    *b = total;
                }
            }
        }
    }
}

/// The most additions that round which one of `count` terms meets; those to an empty sum are exact. Compensation is given
/// no credit: its additions round twice.
fn longest_chain(count: usize, lanes: usize) -> u64 {
    let largest = DEGREE * if lanes == 1 { DEGREE } else { UNROLLED * LANES };
    let joined = count / largest;
    let inside = UNROLLED + UNROLLED + DEGREE + LANES.ilog2() as usize;
    (if joined == 0 { inside.min(count.saturating_sub(1)) } else { inside + 2 * joined }) as u64
}

#[cfg(test)]
mod tests {
    use super::{LibrarySum, longest_chain, sum};

    /// Every element counts once, whatever is left over at the end; and no sum is further off than its chain of additions
    /// allows.
    #[test]
    fn all_lengths_are_summed_within_their_promise() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 * 2f32.powi(-24)
        };
        for lanes in [1, 16] {
            for count in (0..300).chain([1023, 1024, 1025, 1087, 1100, 2047, 4099, 20_000]) {
                let of = |row: &[f32]| sum::<true>(row, lanes);
                assert_eq!(of(&vec![1.0; count]), count as f32, "{count} ones in {lanes} lanes");
                let row: Vec<f32> = (0..count).map(|_| next()).collect();
                let exact: f64 = row.iter().map(|v| f64::from(*v)).sum();
                let promised = longest_chain(count, lanes) as f64 * 2f64.powi(-24) * exact * 1.001;
                assert!((f64::from(of(&row)) - exact).abs() <= promised, "{count} in {lanes} lanes");
            }
        }
    }

    /// Each run's sum is added to those before it: small ones that a large one absorbs are lost, as many as there are runs.
    #[test]
    fn sums_of_runs_stay_within_their_promise() {
        let order = LibrarySum::over(&[1000, 3, 2], &[0, 2]);
        let mut row = vec![0.75 * 2f32.powi(-26); 2000];
        (row[0], row[1]) = (1.0, 0.0);
        let exact: f64 = row.iter().map(|v| f64::from(*v)).sum();
        let error = (f64::from(order.flushed_sums::<false>(&row, [2000, 1], 0.0, true)[0]) - exact).abs();
        let promised = |chain: u64| chain as f64 * 2f64.powi(-24) * exact;
        assert!(error <= promised(order.longest_chain(2000, true)), "{error:e}");
        // Within one run there is one addition.
        assert!(error > promised(longest_chain(2, 16)), "{error:e}");
    }

    /// The rounding errors of the last level are compensated: 2^24 and then ones, which plain f32 sums lose.
    #[test]
    fn the_last_level_is_compensated() {
        let count = 1 << 14;
        let mut row = vec![1.0; count];
        row[0] = 2f32.powi(24);
        let got = sum::<true>(&row, 1);
        let plain = row.iter().fold(0.0, |sum: f32, v| sum + v);
        assert_eq!(plain, 2f32.powi(24));
        // The first block, which is one lane's four elements, loses its three ones.
        assert_eq!(got, 2f32.powi(24) + (count - 4) as f32);
    }

    /// An overflow stays an infinity: what its rounding lost is no number.
    #[test]
    fn infinities_are_no_numbers_lost() {
        let mut row = vec![1.0; 4096];
        row[5] = f32::INFINITY;
        for lanes in [1, 16] {
            assert_eq!(sum::<true>(&row, lanes), f32::INFINITY);
        }
    }
}
