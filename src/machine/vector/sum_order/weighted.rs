//! Sums of the products of a matrix's numbers with those of a vector, in the order of [`SumOrder::Lanes`]. A product goes from
//! memory to its sum; it has the bits that it would have as an element of an array of products.

use crate::num::flush_f32;

use super::super::VectorUnit;
use super::super::arrays::over_rows;
use super::super::simd::{self, Work};
use super::columns::Halves;
use super::{InBf16, InF16, InF32, LANES, PhantomData, SUBLANES, Step, StepRounding, UnitAdder};

/// Columns that are summed together: the sums of their lanes stay in the second cache.
const STRIPE: usize = 512;
/// Columns whose sums stay in registers.
const STRIP: usize = 64;
/// Columns of the widest vector.
const VECTOR: usize = 16;
/// Products that a thread makes at once of rows.
const TILE: usize = 1 << 15;

/// A matrix, row-major, and a vector whose numbers multiply its own in f32: one for each number of a sum.
#[derive(Clone, Copy)]
pub struct Weighted<'a> {
    /// The matrix, row-major.
    pub matrix: &'a [f32],
    /// The vector that multiplies it.
    pub factors: &'a [f32],
    /// The type to which each product is rounded.
    pub rounded: StepRounding,
}

/// Runs `$body` with `$products` bound to a source of products that are rounded as `$weighted` has it.
macro_rules! with_products {
    ($weighted:expr, $adder:expr, $products:ident => $body:expr) => {
        match $weighted.rounded {
            StepRounding::F32 => with_products!(@of InF32, $weighted, $adder, $products => $body),
            StepRounding::Bf16 => with_products!(@of InBf16, $weighted, $adder, $products => $body),
            StepRounding::F16 => with_products!(@of InF16, $weighted, $adder, $products => $body),
        }
    };
    (@of $rounds:ty, $weighted:expr, $adder:expr, $products:ident => $body:expr) => {{
        let Weighted { matrix, factors, .. } = $weighted;
        let $products = Products { adder: $adder, matrix, factors, rounds: PhantomData::<$rounds> };
        $body
    }};
}

impl Weighted<'_> {
    /// The sums along the columns of the matrix, a product of which with the vector is taken row by row.
    pub fn column_sums(self, columns: usize, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
        self.unflushed_sums(columns, step, unit).unwrap_or_else(|| self.flushed_column_sums(columns, step, unit))
    }

    /// The sums along the rows of the matrix, each of which is multiplied with the vector.
    pub fn row_sums(self, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
        self.unflushed_sums(1, step, unit).unwrap_or_else(|| self.flushed_row_sums(step, unit))
    }

    fn flushed_column_sums(self, columns: usize, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
        let shared = self.matrix.len() >= TILE;
        let threads = if shared { rayon::current_num_threads() } else { 1 };
        let width = columns.div_ceil(threads).next_multiple_of(STRIP).clamp(STRIP, STRIPE);
        let stripe = |at: usize| -> Vec<f32> {
            let (first, end) = (at * width, columns.min((at + 1) * width));
            with_adder!(step, unit, adder => with_products!(self, adder, products => {
                let mut lanes = vec![0.0; LANES * (end - first)];
                simd::widest(LanesOfColumns { products, columns, first, sums: &mut lanes });
                simd::widest(Halves { adder, lanes: &mut lanes });
                lanes.truncate(end - first);
                lanes
            }))
        };
        let stripes = columns.div_ceil(width);
        over_rows(stripes, self.matrix.len() / stripes.max(1), stripe).concat()
    }

    fn flushed_row_sums(self, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
        let (length, rows) = (self.factors.len(), self.matrix.len() / self.factors.len().max(1));
        let at_once = (TILE / length.max(1)).max(1);
        let of_tile = |tile: usize| -> Vec<f32> {
            let rows = tile * at_once..rows.min((tile + 1) * at_once);
            with_adder!(step, unit, adder => with_products!(self, adder, products => {
                let mut sums = vec![0.0; rows.len()];
                simd::widest(SumsOfRows { products, first: rows.start, sums: &mut sums });
                sums
            }))
        };
        over_rows(rows.div_ceil(at_once), at_once * length, of_tile).concat()
    }
}

/// Products, and how they are added.
#[derive(Clone, Copy)]
struct Products<'a, A, P> {
    adder: A,
    matrix: &'a [f32],
    factors: &'a [f32],
    rounds: PhantomData<P>,
}

impl<const FLUSH: bool, S: Step, P: Step> Products<'_, UnitAdder<FLUSH, S>, P> {
    #[inline(always)]
    fn product(self, value: f32, factor: f32) -> f32 {
        P::round(if FLUSH { flush_f32(flush_f32(value) * flush_f32(factor)) } else { value * factor })
    }

    /// The number of a lane's sublanes that are added. Of the sublanes that no product reaches one is enough, as a
    /// second zero changes nothing.
    #[inline(always)]
    fn sublanes(self) -> usize {
        SUBLANES.min(self.factors.len().div_ceil(LANES) + 1)
    }

    /// The sums of one sublane of a lane, of `W` columns from `first` on of the matrix `[_, columns]`.
    #[inline(always)]
    fn sublane<const W: usize>(self, start: usize, columns: usize, first: usize) -> [f32; W] {
        let mut chain = [0.0; W];
        for row in (start..self.factors.len()).step_by(LANES * SUBLANES) {
            let (factor, values) = (self.factors[row], &self.matrix[row * columns + first..][..W]);
            for j in 0..W {
                chain[j] = self.adder.add(chain[j], self.product(values[j], factor));
            }
        }
        chain
    }

    /// Adds the sums of a sublane of a lane to `totals`, of as many columns from `first` on; the first sublane's are the first.
    #[inline(always)]
    fn join<const W: usize>(self, [sublane, lane]: [usize; 2], columns: usize, first: usize, totals: &mut [f32]) {
        let chain = self.sublane::<W>(sublane * LANES + lane, columns, first);
        if sublane == 0 {
            totals.copy_from_slice(&chain);
        } else {
            for j in 0..W {
                totals[j] = self.adder.add(totals[j], chain[j]);
            }
        }
    }

    /// The sum of a row.
    #[inline(always)]
    fn row(self, row: usize) -> f32 {
        let length = self.factors.len();
        let values = &self.matrix[row * length..(row + 1) * length];
        let mut total = [0.0; LANES];
        for sublane in 0..self.sublanes() {
            let mut chain = [0.0; LANES];
            for at in (sublane * LANES..length).step_by(LANES * SUBLANES) {
                let end = length.min(at + LANES);
                let (values, factors) = (&values[at..end], &self.factors[at..end]);
                // Loops of a known length stay in registers.
                if let (Ok(values), Ok(factors)) =
                    (<&[f32; LANES]>::try_from(values), <&[f32; LANES]>::try_from(factors))
                {
                    for lane in 0..LANES {
                        chain[lane] = self.adder.add(chain[lane], self.product(values[lane], factors[lane]));
                    }
                } else {
                    for (sum, (value, factor)) in chain.iter_mut().zip(values.iter().zip(factors)) {
                        *sum = self.adder.add(*sum, self.product(*value, *factor));
                    }
                }
            }
            if sublane == 0 {
                total = chain;
            } else {
                for (total, sum) in total.iter_mut().zip(chain) {
                    *total = self.adder.add(*total, sum);
                }
            }
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let (low, high) = total.split_at_mut(width);
            for (low, high) in low.iter_mut().zip(high) {
                *low = self.adder.add(*low, *high);
            }
        }
        total[0]
    }
}

/// The sums of each lane, of as many columns from `first` on as there is room for.
struct LanesOfColumns<'a, A, P> {
    products: Products<'a, A, P>,
    columns: usize,
    first: usize,
    /// [`LANES`] of every column.
    sums: &'a mut [f32],
}

impl<const FLUSH: bool, S: Step, P: Step> Work for LanesOfColumns<'_, UnitAdder<FLUSH, S>, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let LanesOfColumns { products, columns, first, sums } = self;
        let width = sums.len() / LANES;
        // Rows are read in the order in which they lie, so that the processor prefetches the next one.
        for sublane in 0..products.sublanes() {
            for (lane, totals) in sums.chunks_mut(width.max(1)).enumerate() {
                let (place, mut at) = ([sublane, lane], 0);
                while at + STRIP <= width {
                    products.join::<STRIP>(place, columns, first + at, &mut totals[at..at + STRIP]);
                    at += STRIP;
                }
                while at + VECTOR <= width {
                    products.join::<VECTOR>(place, columns, first + at, &mut totals[at..at + VECTOR]);
                    at += VECTOR;
                }
                while at < width {
                    products.join::<1>(place, columns, first + at, &mut totals[at..=at]);
                    at += 1;
                }
            }
        }
    }
}

/// The sums of rows from `first` on.
struct SumsOfRows<'a, A, P> {
    products: Products<'a, A, P>,
    first: usize,
    sums: &'a mut [f32],
}

impl<const FLUSH: bool, S: Step, P: Step> Work for SumsOfRows<'_, UnitAdder<FLUSH, S>, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (at, sum) in self.sums.iter_mut().enumerate() {
            *sum = self.products.row(self.first + at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Divide, ErrorModel, Estimate, Eup, Implementation, ZeroTie, binary_scalar};
    use super::super::{SumOrder, sum};
    use super::*;
    use crate::ir::Binary;
    use crate::probe::numbers;

    /// Numbers of which some are subnormal, make subnormal products, are zeros of either sign, or infinite.
    fn uneven(seed: u64, count: usize) -> Vec<f32> {
        let mut numbers = numbers(&mut seed.clone(), count);
        for (at, v) in numbers.iter_mut().enumerate() {
            match (at * 7 + seed as usize) % 41 {
                3 => *v *= 1e-39,
                5 => *v *= 1e-20,
                8 => *v = -0.0,
                13 => *v = 0.0,
                21 if at % 1000 == 1 => *v = f32::INFINITY,
                _ => {}
            }
        }
        numbers
    }

    /// Every sum has the bits of the sum over a row of rounded products, whatever is rounded or flushed on the way. Without numbers
    /// that are flushed it is made in the short way, zeros of either sign among them.
    #[test]
    fn each_is_the_sum_of_a_row_of_products() {
        compare(uneven, false);
        let even = |seed: u64, count: usize| {
            let zero = |at: usize| [0.0, -0.0][(at + seed as usize) % 2];
            let number = |(at, v): (usize, f32)| if at % 5 == seed as usize { zero(at / 5) } else { v };
            numbers(&mut seed.clone(), count).into_iter().enumerate().map(number).collect()
        };
        compare(even, true);
    }

    fn compare(of: fn(u64, usize) -> Vec<f32>, is_even: bool) {
        let plain = VectorUnit {
            flush: false,
            divide: Divide::Exact,
            zero_tie: ZeroTie::Second,
            eup: Eup::V5,
            implementation: Implementation::Default,
            packed: false,
            error: ErrorModel::CorrectlyRounded,
            estimate: Estimate::Zen4,
        };
        // There is one NaN.
        let code = |v: f32| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() };
        let kinds = [StepRounding::F32, StepRounding::Bf16, StepRounding::F16];
        for [count, columns] in [[1, 5], [40, 1], [130, 17], [576, 70], [1100, 70], [1536, 80], [2300, 3]] {
            let (matrix, factors) = (of(1, count * columns), of(2, count));
            for (unit, rounded) in [false, true]
                .into_iter()
                .flat_map(|flush| kinds.map(|rounded| (VectorUnit { flush, ..plain }, rounded)))
            {
                for step in kinds {
                    let expected = |values: &mut dyn Iterator<Item = f32>| {
                        let mut products: Vec<f32> =
                            values.zip(&factors).map(|(v, x)| binary_scalar(Binary::Multiply, v, *x, &unit)).collect();
                        super::super::super::round_to(rounded.dtype(), &mut products);
                        code(sum(&products, SumOrder::Lanes, step, &unit))
                    };
                    let weighted = Weighted { matrix: &matrix, factors: &factors, rounded };
                    let bits = |sums: Vec<f32>| sums.into_iter().map(code).collect::<Vec<_>>();
                    let what = format!("{count} x {columns}, {rounded:?}, {step:?}, flush {}", unit.flush);
                    if is_even {
                        let is_short = unit.flush && step == StepRounding::F32 && rounded != StepRounding::F16;
                        assert_eq!(weighted.unflushed_sums(columns, step, &unit).is_some(), is_short, "{what}");
                    }
                    let of_column = |at: usize| expected(&mut matrix.iter().skip(at).step_by(columns).copied());
                    let wanted: Vec<u32> = (0..columns).map(of_column).collect();
                    assert_eq!(bits(weighted.column_sums(columns, step, &unit)), wanted, "columns of {what}");
                    let wanted: Vec<u32> = matrix.chunks(count).map(|row| expected(&mut row.iter().copied())).collect();
                    assert_eq!(bits(weighted.row_sums(step, &unit)), wanted, "rows of {what}");
                }
            }
        }
    }

    /// A subnormal number is nothing before it is multiplied, on either side, however large the other one is.
    #[test]
    fn subnormal_numbers_are_flushed_before_their_product() {
        for (mode, flushes) in [("v5e/default/off", true), ("cpu/f32/off", false)] {
            let unit = mode.parse::<crate::Arithmetic>().unwrap().vector_unit();
            for [value, factor] in [[1e-40, 1e30], [-1e-40, 1e30], [1e30, 1e-40], [1e30, -1e-40]] {
                let weighted = Weighted { matrix: &[value; 3], factors: &[factor; 3], rounded: StepRounding::F32 };
                let expected = if flushes { 0.0 } else { value * factor + value * factor + value * factor };
                let sums =
                    [weighted.row_sums(StepRounding::F32, &unit), weighted.column_sums(1, StepRounding::F32, &unit)];
                assert_eq!(sums, [[expected]; 2], "{mode}: {value} {factor}");
            }
        }
    }
}
