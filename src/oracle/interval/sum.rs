//! Compensated sums of enclosures.

use super::{Interval, directed, two_sum};

/// One end of the sum: the total, its rounding errors, and a bound on the rounding of their sum.
///
/// Each `two_sum` is exact, so the real sum is `total` plus the sum of all errors. Adding n errors in order loses at
/// most gamma_n = n u / (1 - n u) times the sum of their magnitudes, u = 2^-53 (Higham, Accuracy and Stability of
/// Numerical Algorithms, 4.2), and the computed sum of magnitudes is short by at most the same factor. While
/// n < 2^50, 2 n u covers both. Sums of f64 do not underflow.
#[derive(Clone, Copy)]
struct End {
    total: f64,
    errors: f64,
    magnitudes: f64,
}

impl End {
    // Minus zero is what leaves every number, -0 included, unchanged.
    const EMPTY: End = End { total: -0.0, errors: 0.0, magnitudes: 0.0 };

    #[inline(always)]
    fn add(&mut self, term: f64) {
        let (total, error) = two_sum(self.total, term);
        self.total = total;
        self.errors += error;
        self.magnitudes += error.abs();
    }

    /// Neighbours of the sum of `count` terms, infinite where it overflowed on the way or a term was unbounded.
    fn bracket(self, count: usize) -> (f64, f64) {
        if self.magnitudes == 0.0 {
            return (self.total, self.total);
        }
        let lost = ((count + 2) as f64 * f64::EPSILON * self.magnitudes).next_up();
        let down = directed::add(self.total, directed::add(self.errors, -lost).0).0;
        let up = directed::add(self.total, directed::add(self.errors, lost).1).1;
        if down.is_finite() && up.is_finite() { (down, up) } else { (f64::NEG_INFINITY, f64::INFINITY) }
    }
}

/// The sum of all values. It is exact where every value is and no addition in this order rounds; otherwise its width is
/// about an ulp more than the sum of the widths. An exact zero has the sign that IEEE addition in order gives; the empty
/// sum is +0.
pub fn sum(values: impl Iterator<Item = Interval>) -> Interval {
    let (mut lo, mut hi) = (End::EMPTY, End::EMPTY);
    let (mut count, mut all_exact) = (0, true);
    let (mut nan, mut unknown, mut plus, mut minus) = (false, false, false, false);
    for value in values {
        count += 1;
        if value.lo.is_finite() && value.hi.is_finite() {
            lo.add(value.lo);
            hi.add(value.hi);
            all_exact &= value.is_exact();
        } else if value.is_nan() {
            nan = true;
        } else if value.is_exact() {
            plus |= value.lo > 0.0;
            minus |= value.lo < 0.0;
        } else {
            unknown |= value.is_unknown();
            lo.add(value.lo);
            hi.add(value.hi);
            all_exact = false;
        }
    }
    match (nan || (plus && minus), unknown, plus, minus) {
        (true, ..) => return Interval::NAN,
        (_, true, ..) => return Interval::UNKNOWN,
        (.., true, _) => return Interval::exact(f64::INFINITY),
        (.., true) => return Interval::exact(f64::NEG_INFINITY),
        _ if count == 0 => return Interval::exact(0.0),
        _ => {}
    }
    if all_exact {
        let (lo, hi) = lo.bracket(count);
        return Interval { lo, hi };
    }
    Interval { lo: lo.bracket(count).0, hi: hi.bracket(count).1 }
}
