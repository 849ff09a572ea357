//! One row times a matrix: every value of the matrix is read once, as it lies in memory, and nothing is packed. Products join
//! the sums in the same order as in tiles.

use std::marker::PhantomData;

use rayon::prelude::*;

use crate::machine::vector::prefetch;
use crate::num::flush_f32;

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
        let rounds = !matches!(self.pass().products, Products::Exact | Products::FusedFlushed);
        self.m == 1
            && self.n >= VECTOR
            && self.passes.pairs().len() == 1
            && self.unit.accumulation.is_chain()
            && (I::FUSED || rounds)
    }

    /// The product of one row.
    pub fn row<I: Isa>(&self, isa: I, out: &mut [f32]) {
        let form = Form::new(self.passes, self.unit.split, self.unit.flush);
        let mut row = self.lhs.to_vec();
        form.convert(&mut row, &mut [], &mut []);
        let threads = rayon::current_num_threads();
        let shared = self.k * self.n >= WORTH_SHARING;
        let width = if shared { self.n.div_ceil(threads).next_multiple_of(VECTOR).min(STRIPE) } else { STRIPE };
        let stripe = |(at, sums): (usize, &mut [f32])| match self.pass().products {
            Products::Rounded => isa.run(Stripe::<Separate>::new(self, form, &row, at * width, sums)),
            Products::Flushed => isa.run(Stripe::<Flushed>::new(self, form, &row, at * width, sums)),
            Products::FusedFlushed => isa.run(Stripe::<FusedFlushed>::new(self, form, &row, at * width, sums)),
            Products::Exact => isa.run(Stripe::<Fused>::new(self, form, &row, at * width, sums)),
        };
        if shared {
            out.par_chunks_mut(width).enumerate().for_each(stripe);
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
    fn sum(self, form: impl Fn(f32) -> f32) {
        let Stripe { problem: &Problem { rhs, k, n, .. }, row, first, sums, .. } = self;
        let width = sums.len();
        let mut blocks = [0.0f32; STRIPE];
        let part = &mut blocks[..width];
        let matrix = |at: usize| &rhs[at * n + first..][..width];
        let block = self.problem.block();
        sums.fill(0.0);
        for start in (0..k).step_by(block) {
            let end = k.min(start.saturating_add(block));
            part.fill(0.0);
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
