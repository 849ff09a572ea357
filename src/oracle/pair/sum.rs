//! Sums of many pairs.

use super::super::interval::two_sum;
use super::super::isa::{CHUNK, Loop};
use super::{GROWN, IRREGULAR, Pair};

/// Sums that run side by side.
const LANES: usize = 16;

/// The sum of each lane in three parts of falling weight, and the terms of a bound on the rounding of the third.
#[derive(Clone, Copy)]
struct LaneSums {
    high: [f64; LANES],
    middle: [f64; LANES],
    low: [f64; LANES],
    /// The sum of magnitudes of all numbers added to `low`.
    magnitudes: [f64; LANES],
    errors: [f64; LANES],
}

/// The sum of all chunks that `load` gives: (hi, lo, error), padded with zeros.
pub struct Sum<F> {
    /// The number of pairs.
    pub count: usize,
    /// Writes the chunk that begins with the pair of this index: highs, lows and errors.
    pub load: F,
}

impl<F: FnMut(usize, &mut [[f64; CHUNK]; 3])> Loop for Sum<F> {
    type Output = Pair;

    /// Proof. Every `two_sum` is exact, so the real sum of the centres is that of all `high` and `middle` and of
    /// everything that went into `low` (cascaded summation; Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26(6), 2005,
    /// Sum3). At most N = 2 n + 64 numbers went into `low`, in any order: adding them up loses at most gamma_N = N u /
    /// (1 - N u) times the sum of their magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), and
    /// the computed sum of magnitudes is short by at most the same factor, as that of the errors. With n < 2^40, 2 N u
    /// covers both. Putting the three together rounds once, u of the low part.
    #[inline(always)]
    fn run(mut self) -> Pair {
        let mut lanes = LaneSums {
            high: [0.0; LANES],
            middle: [0.0; LANES],
            low: [0.0; LANES],
            magnitudes: [0.0; LANES],
            errors: [0.0; LANES],
        };
        let mut chunk = [[0.0; CHUNK]; 3];
        for start in (0..self.count).step_by(CHUNK) {
            (self.load)(start, &mut chunk);
            let [his, los, errors] = &chunk;
            for group in 0..CHUNK / LANES {
                for lane in 0..LANES {
                    let at = group * LANES + lane;
                    lanes.add(lane, his[at], los[at]);
                    lanes.errors[lane] += errors[at];
                }
            }
        }
        lanes.total(self.count)
    }
}

impl LaneSums {
    #[inline(always)]
    fn add(&mut self, lane: usize, hi: f64, lo: f64) {
        let (high, first) = two_sum(self.high[lane], hi);
        let (middle, second) = two_sum(self.middle[lane], first);
        let (middle, third) = two_sum(middle, lo);
        self.high[lane] = high;
        self.middle[lane] = middle;
        self.low[lane] += second + third;
        self.magnitudes[lane] += second.abs() + third.abs();
    }

    fn total(mut self, count: usize) -> Pair {
        for lane in 1..LANES {
            let (high, middle, low) = (self.high[lane], self.middle[lane], self.low[lane]);
            self.add(0, high, middle);
            self.low[0] += low;
            self.magnitudes[0] += self.magnitudes[lane];
            self.errors[0] += self.errors[lane];
        }
        let (hi, middle) = two_sum(self.high[0], self.middle[0]);
        let (lo, lost) = two_sum(middle, self.low[0]);
        let (hi, lo) = two_sum(hi, lo);
        let rounding = (4 * count + 256) as f64 * (f64::EPSILON / 2.0) * self.magnitudes[0];
        let error = (self.errors[0] * (1.0 + (count + 64) as f64 * f64::EPSILON) + rounding + lost.abs()) * GROWN;
        // What overflowed is NaN. A zero of exact terms has a sign, which this does not know.
        if hi.is_finite() && error.is_finite() && (hi != 0.0 || self.errors[0] > 0.0) {
            Pair { hi, lo, error }
        } else {
            IRREGULAR
        }
    }
}

/// The sum of `count` pairs.
#[inline(always)]
pub fn sum(count: usize, load: impl FnMut(usize, &mut [[f64; CHUNK]; 3])) -> Pair {
    super::super::isa::widest(Sum { count, load })
}
