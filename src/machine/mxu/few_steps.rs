//! Products of so few steps of K that storing the outputs takes longer than computing them: each output is summed in a
//! register and stored once. Products join the sums in the same order as in tiles.

use std::marker::PhantomData;

use rayon::prelude::*;

use crate::deadline;

use super::Passes;
use super::arithmetic::{Arithmetic, Flushed, Fused, FusedFlushed, Separate};
use super::blocks::{Problem, add};
use super::isa::{Isa, Work};
use super::pack::{Form, Packed, PackedWindow, Packing, Panels, Strips};
use super::pass::Products;

/// Columns that are summed together, in registers.
const PANEL: usize = 64;
/// Panels that are summed for some rows before the next ones: with few steps they stay in the first cache.
const STRIPE: usize = 16;
/// Those rows.
const ROWS: usize = 64;

impl Problem<'_> {
    /// Whether [`Problem::few_steps`] computes this: few steps in one block, and additions one after the other.
    pub fn is_few_steps<I: Isa>(&self) -> bool {
        self.k > 0
            && self.is_shallow()
            && self.k <= self.block()
            && self.m > 4
            && self.n >= PANEL
            && self.pass().is_chain_on::<I>()
    }

    /// The product, some rows at a time.
    pub fn few_steps<I: Isa>(&self, isa: I, out: &mut [f32]) {
        match self.pass().products {
            Products::Rounded => self.bands::<Separate, I>(isa, out),
            Products::Flushed => self.bands::<Flushed, I>(isa, out),
            Products::FusedFlushed => self.bands::<FusedFlushed, I>(isa, out),
            Products::Exact => self.bands::<Fused, I>(isa, out),
        }
    }

    fn bands<A: Arithmetic, I: Isa>(&self, isa: I, out: &mut [f32]) {
        let Problem { lhs, rhs, k, n, passes, unit, .. } = *self;
        let form = Form::new(passes, unit.split, unit.flush);
        let mut right = Packed::default();
        right.reset(form, PANEL * k, n.div_ceil(PANEL));
        let window = PackedWindow { first: 0, rows: k, width: n, stride: n };
        isa.run(Panels::<PANEL>(Packing { source: rhs, window, form, measure: false, packed: &mut right }));
        let deadline = deadline::current();
        let band = |(out, source): (&mut [f32], &[f32])| {
            let mut left = Packed::default();
            let rows = source.len() / k;
            left.reset(form, k, rows);
            let window = PackedWindow { first: 0, rows, width: k, stride: k };
            isa.run(Strips::<1>(Packing { source, window, form, measure: false, packed: &mut left }));
            let initial = self.initial_sum();
            isa.run(FewStepsBand::<A> {
                passes,
                left: &left,
                right: &right,
                k,
                n,
                initial,
                out,
                arithmetic: PhantomData,
            });
        };
        let parts = out.par_chunks_mut(ROWS * n).zip(lhs.par_chunks(ROWS * k));
        parts.for_each(|part| deadline.within(|| band(part)));
    }
}

/// Some rows of the product.
struct FewStepsBand<'a, A> {
    passes: Passes,
    /// Row by row, and panel by panel.
    left: &'a Packed,
    right: &'a Packed,
    k: usize,
    n: usize,
    /// The initial value, to which sums are added.
    initial: f32,
    out: &'a mut [f32],
    arithmetic: PhantomData<A>,
}

impl<A: Arithmetic> Work for FewStepsBand<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.passes {
            Passes::One | Passes::F32 | Passes::Exact => self.sum(Passes::ONE_PAIR),
            Passes::Three => self.sum(Passes::THREE_PAIRS),
            Passes::Six => self.sum(Passes::SIX_PAIRS),
        }
    }
}

impl<A: Arithmetic> FewStepsBand<'_, A> {
    /// Sums the passes over these parts of the operands.
    #[inline(always)]
    fn sum<const P: usize>(self, pairs: [[usize; 2]; P]) {
        let FewStepsBand { k, n, initial, .. } = self;
        let parts = pairs.map(|[left, right]| (self.left.part(left), self.right.part(right).as_chunks::<PANEL>().0));
        for first in (0..n).step_by(STRIPE * PANEL) {
            for (row, out) in self.out.chunks_exact_mut(n).enumerate() {
                let operands = parts.map(|(left, right)| (&left[row * k..][..k], &right[first / PANEL * k..]));
                let stripe = &mut out[first..n.min(first + STRIPE * PANEL)];
                for (panel, out) in stripe.chunks_mut(PANEL).enumerate() {
                    let mut sums = [[0.0; PANEL]; P];
                    for pass in 0..P {
                        let (left, right) = operands[pass];
                        sums[pass] = chain::<A>(left, &right[panel * k..][..k], initial);
                    }
                    if let Ok(out) = out.try_into() {
                        add(sums.each_ref(), out);
                    } else {
                        let mut whole = [0.0; PANEL];
                        add(sums.each_ref(), &mut whole);
                        out.copy_from_slice(&whole[..out.len()]);
                    }
                }
            }
        }
    }
}

/// One row times one panel.
#[inline(always)]
fn chain<A: Arithmetic>(row: &[f32], panel: &[[f32; PANEL]], initial: f32) -> [f32; PANEL] {
    let mut sum = [0.0f32; PANEL];
    for (a, b) in row.iter().zip(panel) {
        for j in 0..PANEL {
            sum[j] = A::step(sum[j], *a, b[j]);
        }
    }
    // As in tiles, a block's sum joins those before it, of which there are none.
    for j in 0..PANEL {
        sum[j] = A::add(initial, sum[j]);
    }
    sum
}
