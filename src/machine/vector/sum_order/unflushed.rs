//! Sums of products as [`super::weighted`] has them, for numbers of which nothing is flushed, which is seen while the sums are made:
//! each product then takes a third of the instructions, so that a matrix is multiplied as fast as memory is read.
//!
//! Leaving out the flushes changes no bit. Every product that was made is finite, and zero or larger than `least`,
//! which is 2^-126 times the largest factor or 2^7 (2^23 where products are not rounded to bf16), whichever is larger.
//! So:
//!
//! - No number of the matrix was to be flushed: one below 2^-126 makes a product of at most 2^-126 times the largest factor, as
//!   rounding keeps order, or a zero of the sign that its own zero would make. Factors are flushed before.
//! - No product was to be flushed: `least` is 2^-126 or more.
//! - No sum was to be flushed: a product above 2^-119 that is rounded to bf16, with 7 bits behind its first one, is a multiple of
//!   2^-126, and so is any f32 above 2^-103. Sums of multiples of 2^-126, rounded to f32, are multiples of 2^-126 again: none lies
//!   between zero and 2^-126.
//! - No sum is -0 either, as it begins with +0 and none is flushed: a sublane that nothing reaches would add nothing.
//! - No product is NaN, which rounding to bf16 has to ask for elsewhere.

use std::ops::Range;

use crate::num::flush_f32;

use super::super::VectorUnit;
use super::super::arrays::over_rows;
use super::super::simd::{self, Work, prefetch};
use super::columns::Halves;
use super::{InF32, LANES, PhantomData, SUBLANES, StepRounding, UnitAdder, Weighted};

/// Columns whose sums stay in registers, beside what is seen of their products.
const STRIP: usize = 32;
/// Lanes of the widest vector.
const VECTOR: usize = 16;
/// Numbers that are asked for ahead of those that are multiplied: a page of memory, as the processor looks ahead to its end only.
const AHEAD: usize = 1024;
/// Products that a thread makes at once.
const TILE: usize = 1 << 15;

/// Factors that are zero or normal, and what is known of their products with a matrix.
#[derive(Clone, Copy)]
struct Factors<'a> {
    matrix: &'a [f32],
    factors: &'a [f32],
    /// The magnitude that products must exceed, doubled as a code.
    least: u32,
}

impl Weighted<'_> {
    /// The sums along rows where `columns` is 1, else along that many columns, of products that are added in f32. `None` where
    /// something may be flushed or is not finite, or the unit flushes nothing.
    pub fn unflushed_sums(self, columns: usize, step: StepRounding, unit: &VectorUnit) -> Option<Vec<f32>> {
        if !unit.flush || step != StepRounding::F32 {
            return None;
        }
        let factors: Vec<f32> = self.factors.iter().map(|v| flush_f32(*v)).collect();
        let fraction = match self.rounded {
            StepRounding::F32 => 23,
            StepRounding::Bf16 => 7,
            StepRounding::F16 => return None,
        };
        let largest = factors.iter().fold((1u32 << fraction) as f32, |largest, v| largest.max(v.abs()));
        // A NaN among the factors is no maximum; it makes products that are seen.
        if largest.is_infinite() {
            return None;
        }
        let factors =
            Factors { matrix: self.matrix, factors: &factors, least: (f32::MIN_POSITIVE * largest).to_bits() << 1 };
        match (self.rounded, columns) {
            (StepRounding::Bf16, 1) => factors.row_sums::<true>(),
            (StepRounding::Bf16, _) => factors.column_sums::<true>(columns),
            (_, 1) => factors.row_sums::<false>(),
            _ => factors.column_sums::<false>(columns),
        }
    }
}

impl Factors<'_> {
    /// Threads take lanes: rows that lie side by side.
    fn column_sums<const BF16: bool>(self, columns: usize) -> Option<Vec<f32>> {
        let shared = self.matrix.len() >= TILE;
        let parts = if shared { rayon::current_num_threads().next_power_of_two().min(LANES) } else { 1 };
        let of_part = |part: usize| {
            let width = LANES / parts;
            let mut sums = vec![0.0; width * columns];
            let lanes = part * width..(part + 1) * width;
            simd::widest(OfLanes::<BF16> { of: self, columns, lanes, sums: &mut sums }).then_some(sums)
        };
        let sums: Option<Vec<Vec<f32>>> = over_rows(parts, self.matrix.len() / parts, of_part).into_iter().collect();
        let mut lanes = sums?.concat();
        let adder = UnitAdder::<false, InF32>(PhantomData);
        simd::widest(Halves { adder, lanes: &mut lanes });
        lanes.truncate(columns);
        Some(lanes)
    }

    fn row_sums<const BF16: bool>(self) -> Option<Vec<f32>> {
        let length = self.factors.len().max(1);
        let (rows, at_once) = (self.matrix.len() / length, (TILE / length).max(1));
        let of_tile = |tile: usize| {
            let rows = tile * at_once..rows.min((tile + 1) * at_once);
            let mut sums = vec![0.0; rows.len()];
            simd::widest(OfRows::<BF16> { of: self, first: rows.start, sums: &mut sums }).then_some(sums)
        };
        let sums: Option<Vec<Vec<f32>>> =
            over_rows(rows.div_ceil(at_once), at_once * length, of_tile).into_iter().collect();
        Some(sums?.concat())
    }

    /// Whether products of which this was seen are zero or above the least, and finite.
    #[inline(always)]
    fn hold<const W: usize>(self, seen: Seen<W>) -> bool {
        let low = seen.low.into_iter().fold(u32::MAX, u32::min);
        let high = seen.high.into_iter().fold(0, u32::max);
        low >= self.least && high < f32::INFINITY.to_bits() << 1
    }
}

/// The least and the largest of products, of each place of a vector on its own: doubled as codes, so that signs are gone.
struct Seen<const W: usize> {
    /// One less, so that a zero is no minimum.
    low: [u32; W],
    high: [u32; W],
}

impl<const W: usize> Seen<W> {
    const NOTHING: Seen<W> = Seen { low: [u32::MAX; W], high: [0; W] };

    /// The product, rounded to nearest even where `BF16`, which is right for all but NaN.
    #[inline(always)]
    fn product<const BF16: bool>(&mut self, place: usize, value: f32, factor: f32) -> f32 {
        let product = value * factor;
        let bits = product.to_bits();
        self.low[place] = self.low[place].min((bits << 1).wrapping_sub(1));
        self.high[place] = self.high[place].max(bits << 1);
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
        if BF16 { f32::from_bits(rounded) } else { product }
    }
}

/// The sums of some lanes of all columns, one lane after the other; tells whether they hold.
struct OfLanes<'a, const BF16: bool> {
    of: Factors<'a>,
    columns: usize,
    lanes: Range<usize>,
    /// Zeros.
    sums: &'a mut [f32],
}

impl<const BF16: bool> OfLanes<'_, BF16> {
    /// Adds the chain of the rows from `row` on to the sums of `W` columns.
    #[inline(always)]
    fn join<const W: usize>(
        of: Factors,
        columns: usize,
        [row, column]: [usize; 2],
        sums: &mut [f32],
        seen: &mut Seen<W>,
    ) {
        let mut chain = [0.0; W];
        for row in (row..of.factors.len()).step_by(LANES * SUBLANES) {
            let (factor, place) = (of.factors[row], row * columns + column);
            let values = &of.matrix[place..][..W];
            (0..W).step_by(VECTOR).for_each(|line| prefetch(of.matrix, place + line + AHEAD));
            for j in 0..W {
                chain[j] += seen.product::<BF16>(j, values[j], factor);
            }
        }
        let sums = &mut sums[column..][..W];
        for j in 0..W {
            sums[j] += chain[j];
        }
    }
}

impl<const BF16: bool> Work for OfLanes<'_, BF16> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let OfLanes { of, columns, lanes, sums } = self;
        let (mut strips, mut others) = (Seen::<STRIP>::NOTHING, Seen::<1>::NOTHING);
        // Rows are read in the order in which they lie.
        for sublane in 0..SUBLANES {
            let rows = sublane * LANES + lanes.start..of.factors.len();
            for (row, sums) in rows.zip(sums.chunks_mut(columns.max(1))) {
                let whole = columns / STRIP * STRIP;
                for column in (0..whole).step_by(STRIP) {
                    Self::join(of, columns, [row, column], sums, &mut strips);
                }
                for column in whole..columns {
                    Self::join(of, columns, [row, column], sums, &mut others);
                }
            }
        }
        of.hold(strips) && of.hold(others)
    }
}

/// The sums of rows from `first` on; tells whether they hold.
struct OfRows<'a, const BF16: bool> {
    of: Factors<'a>,
    first: usize,
    sums: &'a mut [f32],
}

impl<const BF16: bool> OfRows<'_, BF16> {
    #[inline(always)]
    fn sum(values: &[f32], factors: &[f32], seen: &mut Seen<VECTOR>) -> f32 {
        let length = factors.len();
        let mut total = [0.0; LANES];
        for first in (0..length.min(LANES * SUBLANES)).step_by(LANES) {
            let mut chain = [0.0; LANES];
            for at in (first..length).step_by(LANES * SUBLANES) {
                let end = length.min(at + LANES);
                let (values, others) = values[at..end].as_chunks::<VECTOR>();
                let (factors, last) = factors[at..end].as_chunks::<VECTOR>();
                let (vectors, rest) = chain[..end - at].as_chunks_mut::<VECTOR>();
                for ((chain, values), factors) in vectors.iter_mut().zip(values).zip(factors) {
                    for j in 0..VECTOR {
                        chain[j] += seen.product::<BF16>(j, values[j], factors[j]);
                    }
                }
                for (j, chain) in rest.iter_mut().enumerate() {
                    *chain += seen.product::<BF16>(j, others[j], last[j]);
                }
            }
            for lane in 0..LANES {
                total[lane] += chain[lane];
            }
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let (low, high) = total.split_at_mut(width);
            low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        }
        total[0]
    }
}

impl<const BF16: bool> Work for OfRows<'_, BF16> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let OfRows { of, first, sums } = self;
        let length = of.factors.len();
        let mut seen = Seen::NOTHING;
        for (at, sum) in sums.iter_mut().enumerate() {
            let place = (first + at) * length;
            (0..length).step_by(VECTOR).for_each(|line| prefetch(of.matrix, place + line + AHEAD));
            *sum = Self::sum(&of.matrix[place..][..length], of.factors, &mut seen);
        }
        of.hold(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arithmetic;

    /// One number decides: the smallest product that is taken has a neighbour that is not.
    #[test]
    fn what_would_be_flushed_is_seen() {
        let unit = "v5e/default/off".parse::<Arithmetic>().unwrap().vector_unit();
        let below = |v: f32| f32::from_bits(v.to_bits() - 1);
        let above = |v: f32| f32::from_bits(v.to_bits() + 1);
        let power = |exponent: i32| 2f32.powi(exponent);
        for (rounded, fraction) in [(StepRounding::Bf16, 7), (StepRounding::F32, 23)] {
            for (factor, value, is_taken) in [
                (1.0, above(power(fraction - 126)), true),
                (1.0, power(fraction - 126), false),
                (-1.0, -power(fraction - 126), false),
                // Subnormal numbers, which large factors lift.
                (power(60), below(power(-126)), false),
                (power(60), above(power(-126)), true),
                (power(60), -below(power(-126)), false),
                (power(60), f32::from_bits(1), false),
                // Zeros, also of what is flushed or vanishes.
                (below(power(-126)), 1.0, true),
                (power(-100), power(-100), true),
                (0.0, f32::from_bits(1), true),
                (1.0, f32::INFINITY, false),
                (0.0, f32::NEG_INFINITY, false),
                (0.0, f32::from_bits(u32::MAX), false),
                (f32::NAN, 0.0, false),
                (f32::INFINITY, 1.0, false),
                (f32::MAX, f32::MAX, false),
            ] {
                for (count, columns) in [(3, 5), (1, 40), (1200, 33)] {
                    for at in [0, count * columns - 1] {
                        let mut matrix = vec![1.0; count * columns];
                        matrix[at] = value;
                        for of_rows in [false, true] {
                            let terms = if of_rows { columns } else { count };
                            let mut factors = vec![1.0; terms];
                            factors[if of_rows { at % columns } else { at / columns }] = factor;
                            let weighted = Weighted { matrix: &matrix, factors: &factors, rounded };
                            let columns = if of_rows { 1 } else { columns };
                            let sums = weighted.unflushed_sums(columns, StepRounding::F32, &unit);
                            assert_eq!(sums.is_some(), is_taken, "{factor:e} x {value:e}, {rounded:?}, {count}, {at}");
                        }
                    }
                }
            }
        }
    }
}
