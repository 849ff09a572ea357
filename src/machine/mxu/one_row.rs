//! One row times a matrix: every value of the matrix is read once, as it lies in memory, and nothing is packed. Products join
//! the sums in the same order as in tiles.

use std::marker::PhantomData;

use rayon::prelude::*;

use crate::deadline;

use crate::num::flush_f32;
use crate::vector::prefetch;

use super::arithmetic::{Arithmetic, Flushed, Fused, FusedFlushed, Separate};
use super::blocks::{Problem, WORTH_SHARING};
use super::isa::{Isa, Work};
use super::pack::Form;
use super::pass::Products;
use super::split::{Split, split};

/// Columns that are summed together: their sums stay in the first cache beside some rows of the matrix.
const STRIPE: usize = 1024;
/// Products that join a sum before it is stored.
const STEPS: usize = 4;
/// Columns of a vector of the widest kind, of which threads take whole ones.
const VECTOR: usize = 16;
/// Rows between those that are multiplied and those that memory is asked for: the processor does not see by itself that the next
/// row is read behind columns of others.
const AHEAD: usize = 2 * STEPS;

impl Problem<'_> {
    /// Whether [`Problem::row`] computes this: one row, one pass, and additions one after the other.
    pub fn is_row<I: Isa>(&self) -> bool {
        self.m == 1 && self.n >= VECTOR && self.passes.pairs().len() == 1 && self.pass().is_chain_on::<I>()
    }

    /// The product of one row.
    pub fn row<I: Isa>(&self, isa: I, out: &mut [f32]) {
        let form = Form::new(self.passes, self.unit.split, self.unit.flush);
        let mut row = self.lhs.to_vec();
        form.convert(&mut row, &mut [], &mut []);
        let threads = rayon::current_num_threads();
        let shared = self.k * self.n >= WORTH_SHARING;
        // Threads take whole vectors, so that only the last one has columns left over.
        let width = if shared { self.n.div_ceil(threads).next_multiple_of(VECTOR).min(STRIPE) } else { STRIPE };
        let stripe = |(at, sums): (usize, &mut [f32])| match self.pass().products {
            Products::Rounded => isa.run(Stripe::<Separate>::new(self, form, &row, at * width, sums)),
            Products::Flushed => isa.run(Stripe::<Flushed>::new(self, form, &row, at * width, sums)),
            Products::FusedFlushed => {
                // Flushing costs more than the products, and hardly any row needs it: it is computed without, and again where one does.
                let columns = isa.run(Unflushed(Stripe::new(self, form, &row, at * width, sums)));
                if !nothing_is_flushed(row.iter().fold(NOTHING, |low, v| least(low, *v)), columns) {
                    isa.run(Stripe::<FusedFlushed>::new(self, form, &row, at * width, sums));
                }
            }
            Products::Exact => isa.run(Stripe::<Fused>::new(self, form, &row, at * width, sums)),
        };
        if shared {
            let deadline = deadline::current();
            out.par_chunks_mut(width).enumerate().for_each(|part| deadline.within(|| stripe(part)));
        } else {
            out.chunks_mut(width).enumerate().for_each(stripe);
        }
    }
}

/// Some columns of the product.
struct Stripe<'a, A> {
    problem: &'a Problem<'a>,
    form: Form,
    /// The left operand, converted.
    row: &'a [f32],
    /// The first column.
    first: usize,
    sums: &'a mut [f32],
    arithmetic: PhantomData<A>,
}

impl<'a, A: Arithmetic> Stripe<'a, A> {
    fn new(problem: &'a Problem<'a>, form: Form, row: &'a [f32], first: usize, sums: &'a mut [f32]) -> Self {
        Stripe { problem, form, row, first, sums, arithmetic: PhantomData }
    }

    /// Sums the products with what `form` makes of the matrix.
    #[inline(always)]
    fn sum(self, mut form: impl FnMut(f32) -> f32) {
        let Stripe { problem: &Problem { rhs, k, n, .. }, row, first, sums, .. } = self;
        let width = sums.len();
        let mut blocks = [0.0f32; STRIPE];
        let part = &mut blocks[..width];
        let matrix = |at: usize| &rhs[at * n + first..][..width];
        let block = self.problem.block();
        sums.fill(self.problem.initial_sum());
        for start in (0..k).step_by(block) {
            let end = k.min(start.saturating_add(block));
            part.fill(0.0);
            // Several steps a load of the sums: memory is the limit here, and the order stays that of K.
            let whole = start + (end - start) / STEPS * STEPS;
            for at in (start..whole).step_by(STEPS) {
                for ahead in at + AHEAD..at + AHEAD + STEPS {
                    (0..width).step_by(VECTOR).for_each(|line| prefetch(rhs, ahead * n + first + line));
                }
                let a: [f32; STEPS] = std::array::from_fn(|step| row[at + step]);
                let b: [&[f32]; STEPS] = std::array::from_fn(|step| matrix(at + step));
                for j in 0..width {
                    let mut sum = part[j];
                    for step in 0..STEPS {
                        sum = A::step(sum, a[step], form(b[step][j]));
                    }
                    part[j] = sum;
                }
            }
            for at in whole..end {
                let (a, b) = (row[at], matrix(at));
                for j in 0..width {
                    part[j] = A::step(part[j], a, form(b[j]));
                }
            }
            for j in 0..width {
                sums[j] = A::add(sums[j], part[j]);
            }
        }
        // As for tiles: there is only one NaN here.
        sums.iter_mut().for_each(|sum| *sum = if sum.is_nan() { f32::NAN } else { *sum });
    }
}

/// The least magnitude of none.
const NOTHING: u32 = u32::MAX;

/// The lesser of `low` and a number's magnitude as a code: doubled, so that the sign is gone, and one less, so that a zero is none.
#[inline(always)]
fn least(low: u32, v: f32) -> u32 {
    low.min((v.to_bits() << 1).wrapping_sub(1))
}

/// Whether [`FusedFlushed`] flushes nothing of a row and columns with these least magnitudes, so that [`Fused`] gives the same bits.
///
/// The codes give exponents, biased by 127, that are at most those of the numbers. So with 1 or more no column has a subnormal;
/// the row is flushed before. Numbers with the exponents `a` and `b` are multiples of 2^(a - 127 - 23) and 2^(b - 127 - 23): where
/// a + b is 174 or more, their products and all sums of these are multiples of 2^-126, rounded to f32 or not, and none lies between
/// that and zero. Infinities and NaN are no minimum, and are not flushed.
fn nothing_is_flushed(row: u32, columns: u32) -> bool {
    let [row, columns] = [row, columns].map(|code| code >> 24);
    columns >= 1 && row + columns >= 174
}

/// A stripe in the arithmetic of [`FusedFlushed`] but for flushing; gives the least magnitude of its part of the matrix.
struct Unflushed<'a>(Stripe<'a, Fused>);

impl Work for Unflushed<'_> {
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        let mut low = NOTHING;
        self.0.sum(|v| {
            low = least(low, v);
            v
        });
        low
    }
}

impl<A: Arithmetic> Work for Stripe<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.form {
            Form::Kept => self.sum(|v| v),
            Form::Flushed => self.sum(flush_f32),
            Form::Parts(..) => self.sum(|v| split(v, 1, Split::Mixed)[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NOTHING, VECTOR, least, nothing_is_flushed};
    use crate::Arithmetic;
    use crate::mxu::{Instructions, Passes, Unit, matmul_on};
    use crate::num::flush_f32;
    use crate::probe::numbers;

    /// One number decides on the way, and no bit depends on it: of subnormals, of products that cancel to one, of zeros alone, and
    /// of what is not finite.
    #[test]
    fn what_would_be_flushed_is_seen() {
        let unit = Unit { flush: true, fused: true, .."cpu/f32/off".parse::<Arithmetic>().unwrap().matrix_unit() };
        let power = |exponent: i32| 2f32.powi(exponent);
        let (k, n) = (9, VECTOR + 3);
        for (a, b, is_unflushed) in [
            (1.0, 1.5, true),
            (0.0, -0.0, true),
            (1.5 * power(-40), 1.5 * power(-40), true),
            (1.5 * power(-40), 1.5 * power(-41), false),
            (power(-63) * (1.0 + f32::EPSILON), power(-63), false),
            (power(100), power(-127), false),
            (power(100), 1.5 * power(-126), false),
            (f32::INFINITY, power(-127), false),
            (f32::INFINITY, 0.0, true),
            (1.0, f32::NAN, true),
        ] {
            for at in [0, 5, k * n - 1] {
                let (mut lhs, mut rhs) = (numbers(&mut 1, k), numbers(&mut 2, k * n));
                [lhs[at / n], rhs[at]] = [a, b];
                // Another row takes most of the product away, and the others add nothing.
                let other = (at / n + 1) % k;
                for row in (0..k).filter(|row| *row != at / n) {
                    let less = if row == other { -b.abs() * (1.0 - f32::EPSILON) } else { 0.0 };
                    rhs[row * n + at % n] = less;
                }
                lhs[other] = a.abs();
                let low = |list: &[f32]| list.iter().fold(NOTHING, |low, v| least(low, flush_f32(*v)));
                let columns = rhs.iter().fold(NOTHING, |low, v| least(low, *v));
                assert_eq!(nothing_is_flushed(low(&lhs), columns), is_unflushed, "{a:e} x {b:e} at {at}");
                let expected: Vec<u32> = (0..n)
                    .map(|column| {
                        let step = |sum: f32, row: usize| {
                            flush_f32(flush_f32(lhs[row]).mul_add(flush_f32(rhs[row * n + column]), sum))
                        };
                        let sum = (0..k).fold(0.0, step);
                        if sum.is_nan() { f32::NAN.to_bits() } else { sum.to_bits() }
                    })
                    .collect();
                for instructions in Instructions::available() {
                    let mut out = vec![0.0; n];
                    matmul_on(instructions, &lhs, &rhs, [1, k, n], Passes::F32, &unit, &mut out);
                    let bits: Vec<u32> = out.iter().map(|v| v.to_bits()).collect();
                    assert_eq!(bits, expected, "{a:e} x {b:e} at {at}, {}", instructions.name());
                }
            }
        }
    }
}
