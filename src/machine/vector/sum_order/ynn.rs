//! Sums as YNNPACK has them, whatever the width of the processor's vectors: `sum_float_k1` and `sum_float_kn` of
//! google/XNNPACK, `ynnpack/kernels/reduce/sum.h` (August 2026). With them all 32 rows of 512 of a softmax's denominator
//! come out as XLA:CPU (jaxlib 0.10.2) computed them, and 25 or less in every other order that was tried.

use super::{Adder, Step};

/// Elements that one lane adds before they join the other sums.
const UNROLLED: usize = 4;
/// Lanes of 64 bytes of f32: what YNNPACK calls consistent.
const LANES: usize = 16;
/// Sums of one level that join the next.
const DEGREE: usize = 16;

impl<const FLUSH: bool, S: Step> Adder<FLUSH, S> {
    /// The sum of a row in blocks of 4 x `lanes`. Blocks are summed from zero, joined in groups, the groups in larger ones,
    /// and those with Kahan's compensation; at the end the lanes are halved.
    pub(super) fn ynn(self, row: &[f32], lanes: usize) -> f32 {
        let lanes = lanes.min(LANES);
        let block = UNROLLED * lanes;
        // Along rows four blocks join at once as long as there are four; the clock counts vectors of 16, or rows.
        let (grouped, tick) = if lanes == 1 { (1, UNROLLED) } else { (UNROLLED, LANES) };
        let mut sums = Levels { levels: [[0.0; LANES]; 3], errors: [0.0; LANES], adder: self };
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
                last[lane] = self.add(last[lane], last[lane + width]);
            }
        }
        last[0]
    }
}

/// The sums of three levels and what the last one's rounding took.
struct Levels<const FLUSH: bool, S> {
    levels: [[f32; LANES]; 3],
    errors: [f32; LANES],
    adder: Adder<FLUSH, S>,
}

impl<const FLUSH: bool, S: Step> Levels<FLUSH, S> {
    fn add_block(&mut self, block: &[f32], lanes: usize) {
        let mut local = [0.0; LANES];
        for vector in block.chunks(lanes) {
            local.iter_mut().zip(vector).for_each(|(sum, v)| *sum = self.adder.add(*sum, *v));
        }
        self.levels[0].iter_mut().zip(local).for_each(|(sum, v)| *sum = self.adder.add(*sum, v));
    }

    /// Joins levels to the next where the clock has come round.
    fn carry(&mut self, clock: usize) {
        let (adder, [first, second, third]) = (self.adder, &mut self.levels);
        if clock.is_multiple_of(DEGREE) {
            for (a, b) in first.iter_mut().zip(second.iter_mut()) {
                *b = adder.add(*b, std::mem::take(a));
            }
            if clock.is_multiple_of(DEGREE * DEGREE) {
                for ((a, b), error) in second.iter_mut().zip(third).zip(&mut self.errors) {
                    let given = adder.add(std::mem::take(a), -*error);
                    let total = adder.add(*b, given);
                    let lost = adder.add(adder.add(total, -*b), -given);
                    *error = if lost.is_finite() { lost } else { 0.0 };
                    *b = total;
                }
            }
        }
    }
}

/// The most additions that round which one of `count` terms meets; those to an empty sum are exact. Compensation is given
/// no credit: what it adds rounds twice.
pub(super) fn longest_chain(count: usize, lanes: usize) -> u64 {
    let largest = DEGREE * if lanes == 1 { DEGREE } else { UNROLLED * LANES };
    let joined = count / largest;
    let inside = UNROLLED + UNROLLED + DEGREE + LANES.ilog2() as usize;
    (if joined == 0 { inside.min(count.saturating_sub(1)) } else { inside + 2 * joined }) as u64
}

#[cfg(test)]
mod tests {
    use crate::machine::vector::{StepRounding, SumOrder, VectorUnit, sum};

    fn unit() -> VectorUnit {
        let mode: crate::machine::Mode = "xla-cpu/f32/off".parse().unwrap();
        mode.vector_unit()
    }

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
            let order = SumOrder::Ynn { lanes };
            for count in (0..300).chain([1023, 1024, 1025, 1087, 1100, 2047, 4099, 20_000]) {
                let of = |row: &[f32]| sum(row, order, StepRounding::F32, &unit());
                assert_eq!(of(&vec![1.0; count]), count as f32, "{count} ones in {lanes} lanes");
                let row: Vec<f32> = (0..count).map(|_| next()).collect();
                let exact: f64 = row.iter().map(|v| f64::from(*v)).sum();
                let promised = order.longest_chain(count) as f64 * 2f64.powi(-24) * exact * 1.001;
                assert!((f64::from(of(&row)) - exact).abs() <= promised, "{count} in {lanes} lanes");
            }
        }
    }

    /// The rounding errors of the last level are compensated: 2^24 and then ones, which plain f32 sums lose.
    #[test]
    fn the_last_level_is_compensated() {
        let count = 1 << 14;
        let mut row = vec![1.0; count];
        row[0] = 2f32.powi(24);
        let got = sum(&row, SumOrder::Ynn { lanes: 1 }, StepRounding::F32, &unit());
        let plain = sum(&row, SumOrder::Chain, StepRounding::F32, &unit());
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
            assert_eq!(sum(&row, SumOrder::Ynn { lanes }, StepRounding::F32, &unit()), f32::INFINITY);
        }
    }
}
