//! Neighbours that may be the largest or the smallest.

use std::ops::Range;

use super::super::column::Column;
use super::super::isa::{CHUNK, Loop, widest};

/// The places within `range` of intervals that no other one there lies beyond for certain, from their lower and upper ends. NaN and
/// what is unknown are among them. `None` where some neighbours share a number, or are too few to look at twice.
pub(super) fn contenders(ends: [&Column<f64>; 2], range: Range<usize>, largest: bool) -> Option<Vec<usize>> {
    if ends.iter().any(|column| column.run() != 1) || range.len() < CHUNK {
        return None;
    }
    let [lo, hi] = ends.map(|column| &column.values()[range.clone()]);
    let first = range.start;
    // The smallest of numbers is the largest of their opposites.
    Some(match largest {
        true => widest(Contenders { near: lo, far: hi, sign: 1.0, first }),
        false => widest(Contenders { near: hi, far: lo, sign: -1.0, first }),
    })
}

/// A search for numbers that reach as far as every number reaches at least.
struct Contenders<'a> {
    /// The ends that a number reaches at least, and those that it reaches at most, each times `sign`.
    near: &'a [f64],
    far: &'a [f64],
    sign: f64,
    first: usize,
}

impl Loop for Contenders<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run(self) -> Vec<usize> {
        let mut best = [f64::NEG_INFINITY; 8];
        for chunk in self.near.chunks(best.len()) {
            for (best, end) in best.iter_mut().zip(chunk) {
                let end = self.sign * end;
                *best = if end > *best { end } else { *best };
            }
        }
        let bar = best.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let is_behind = |end: &f64| self.sign * end < bar;
        let mut found = Vec::new();
        for (at, chunk) in self.far.chunks(CHUNK).enumerate() {
            if !chunk.iter().fold(true, |all, end| all & is_behind(end)) {
                let start = self.first + at * CHUNK;
                found.extend((0..chunk.len()).filter(|i| !is_behind(&chunk[*i])).map(|i| start + i));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One by one: a number stays unless some other one lies beyond it for certain.
    #[test]
    fn those_stay_that_no_other_lies_beyond() {
        let ends: Vec<(f64, f64)> = (0..1000u64)
            .map(|at| {
                let middle = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as f64 - 2000.0;
                match at % 250 {
                    7 => (f64::NAN, f64::NAN),
                    9 => (f64::NEG_INFINITY, f64::INFINITY),
                    _ => (middle - 150.0, middle + 150.0),
                }
            })
            .collect();
        let [lo, hi] = [ends.iter().map(|x| x.0).collect(), ends.iter().map(|x| x.1).collect()].map(Column::new);
        for range in [0..1000, 100..613, 3..67] {
            for largest in [true, false] {
                let is_beyond = |x: &(f64, f64), y: &(f64, f64)| if largest { y.0 > x.1 } else { y.1 < x.0 };
                let stays = |at: &usize| !ends[range.clone()].iter().any(|y| is_beyond(&ends[*at], y));
                let expected: Vec<usize> = range.clone().filter(stays).collect();
                assert_eq!(contenders([&lo, &hi], range.clone(), largest), Some(expected.clone()), "{range:?}");
                assert!(expected.len() < range.len() / 2, "{}", expected.len());
            }
        }
        // What touches the best one may tie with it.
        let ties = [1.0, 2.0].map(|end| Column::new((0..64).map(|at| if at == 5 { end } else { 1.0 }).collect()));
        assert_eq!(contenders([&ties[0], &ties[1]], 0..64, true).map(|found| found.len()), Some(64));
        assert_eq!(contenders([&lo, &hi], 0..63, true), None);
        assert_eq!(contenders([&lo.in_runs(2), &hi.in_runs(2)], 0..100, true), None);
    }
}
