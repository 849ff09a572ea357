//! Reach of a pass, and the precision needed that follows from it.

use crate::num::floor_log2;

use super::arithmetic::Arithmetic;
use super::demand::{Truth, TruthTensor};
use super::elements::{FloatArray, Value, World};

/// The part of a program that a pass evaluated before its enclosures became useless. In a deep network each layer costs
/// about as many bits as the one before it: the cost of all layers follows from that of the first ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Dots of the entry that were evaluated.
    dots: usize,
    /// The number of dots before the first one of which fewer than half the sampled signs are known.
    known: usize,
    /// The median of the bits known of the results' elements that stay open, 53 at most.
    bits: u32,
    /// Operations in computations that were called, for each trip of a loop again.
    pub called: usize,
}

/// The number of elements of a dot that are sampled.
const SAMPLE: usize = 64;
/// Bits needed beside those that are lost: those of an f64, and some for results near a tie.
const ASKED: u32 = 53 + 16;

impl Reach {
    /// Takes note of the results of a dot.
    pub fn count<A: Arithmetic>(&mut self, world: &World<A>, dots: &FloatArray<A>) {
        let step = dots.len.div_ceil(SAMPLE).max(1);
        let has_sign = |at: &usize| {
            let (lo, hi) = world.arithmetic.bounds(&world.number(dots, *at));
            lo > 0.0 || hi < 0.0 || lo == hi
        };
        let looked = (0..dots.len).step_by(step);
        let is_known = 2 * looked.clone().filter(has_sign).count() >= looked.count();
        if is_known && self.known == self.dots {
            self.known += 1;
        }
        self.dots += 1;
    }

    /// The same, with the bits known of open results.
    pub fn of_open<A: Arithmetic>(self, world: &World<A>, results: &[Option<&Value<A>>], truth: &Truth) -> Reach {
        let mut all = Vec::new();
        for (result, output) in results.iter().zip(&truth.outputs) {
            if let (Some(Value::Float(array)), TruthTensor::Float(float)) = (result, output) {
                let known = float.open.iter().map(|at| {
                    let (lo, hi) = world.arithmetic.bounds(&world.number(array, *at));
                    let (size, width) = (lo.abs().max(hi.abs()), hi - lo);
                    let is_some = size.is_finite() && width > 0.0;
                    if is_some { (floor_log2(size) - floor_log2(width)).clamp(0, 53) as u32 } else { 0 }
                });
                all.extend(known);
            }
        }
        let middle = all.len() / 2;
        let bits = if all.is_empty() { 0 } else { *all.select_nth_unstable(middle).1 };
        Reach { bits, ..self }
    }

    /// The estimated number of bits that would decide the open results, after a pass with `bits`; 0 if there is no
    /// estimate.
    pub fn next_bits(self, bits: u32) -> u32 {
        let needed = if 0 < self.known && self.known < self.dots {
            (bits as usize * self.dots / self.known) as u32 + ASKED
        } else if self.bits > 0 {
            (bits + ASKED).saturating_sub(self.bits)
        } else {
            0
        };
        // MPFR computes in words of 64 bits.
        needed.div_ceil(64) * 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stats;
    use crate::demand::FloatTruth;
    use crate::fast::Fast;
    use crate::interval::Interval;
    use crate::order::Classes;

    /// Dots of which half the signs are known count as known, up to the first that do not.
    #[test]
    fn the_first_dot_without_signs_ends_the_reach() {
        let mut world = World { arithmetic: Fast::default(), classes: Classes::default() };
        let mut array = |signs: usize| {
            let of = |at| Interval { lo: if at < signs { 1.0 } else { -1.0 }, hi: 2.0 };
            world.fresh_all((0..100).map(of).collect())
        };
        let arrays = [array(100), array(60), array(20), array(100)];
        let mut reach = Reach::default();
        arrays.iter().for_each(|dots| reach.count(&world, dots));
        assert_eq!((reach.dots, reach.known), (4, 2));
        assert_eq!(reach.next_bits(104), 320);
    }

    /// A number that is exactly known has a sign, or is zero for certain.
    #[test]
    fn exact_zeros_are_known() {
        let mut world = World { arithmetic: Fast::default(), classes: Classes::default() };
        let dots = world.fresh_all(vec![Interval::exact(0.0); 10]);
        let mut reach = Reach::default();
        reach.count(&world, &dots);
        assert_eq!((reach.dots, reach.known), (1, 1));
    }

    /// As many bits are known of a result as its width lies below it; of several, the middle one counts.
    #[test]
    fn known_bits_are_those_between_size_and_width() {
        let mut world = World { arithmetic: Fast::default(), classes: Classes::default() };
        let of = |bits: i32| Interval { lo: -4.0 - 2f64.powi(2 - bits), hi: -4.0 };
        let all = [of(10), of(20), of(30), Interval::UNKNOWN, Interval { lo: -1.0, hi: 1.0 }];
        let array = Value::Float(world.fresh_all(all.to_vec()));
        for (open, expected) in [(vec![1], 20), (vec![0, 1, 2], 20), (vec![0, 3, 4], 0), (vec![3], 0), (vec![], 0)] {
            let float = FloatTruth { dims: vec![all.len()], rounded: vec![], open, tops: vec![] };
            let truth = Truth { outputs: vec![TruthTensor::Float(float)], stats: Stats::default() };
            let reach = Reach::default().of_open(&world, &[Some(&array)], &truth);
            assert_eq!(reach.bits, expected, "{truth:?}");
        }
    }

    #[test]
    fn bits_are_asked_for_as_they_are_missing() {
        let reach = |known, bits| Reach { dots: 8, known, bits, called: 0 };
        assert_eq!(reach(8, 53).next_bits(104), 128);
        assert_eq!(reach(8, 10).next_bits(104), 192);
        assert_eq!(reach(8, 44).next_bits(104), 192);
        assert_eq!(reach(8, 0).next_bits(104), 0);
        assert_eq!(reach(1, 0).next_bits(128), 1152);
    }
}
