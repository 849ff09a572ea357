//! The loops around the tiles: which parts of the operands are packed when, and where sums wait.
//!
//! Outputs are taken in bands of rows, which threads share, and each band in groups of columns. For each, K is walked in
//! stretches: the tiles of both operands are packed and converted, and every pass sums them into its own partial sums.
//! When K is at its end the passes are added. So beside the operands and the output there are only tiles and the partial
//! sums of one band and group, however large the operands are.

use std::ops::Range;

use rayon::prelude::*;

use crate::deadline;

use super::instructions::{Instructions, Set};
#[cfg(target_arch = "x86_64")]
use super::isa::{Avx2, Avx512};
use super::isa::{Isa, Portable, Work};
use super::pack::{Form, Packed, PackedWindow, Packing, Panels, Strips};
use super::pass::{Pass, Products};
use super::tile::Tile;
use super::{Accumulation, Passes, Unit};

/// The most products for which writing the outputs takes longer than computing them: tiles are then wide, so that rows of
/// the output are written in long runs, and taken along the rows.
const SHALLOW: usize = 16;
/// Products in a stretch of K, unless a block must be taken whole: a panel of the right operand stays in the first cache.
const STRETCH: usize = 256;
/// Values of the left operand that are packed at a time, for each of its parts, so that one part stays in the second
/// cache; twice as many of the right one, of which a panel is used at a time.
const PACKED: usize = 512 * STRETCH;
/// Partial sums that wait, at most, for all passes together.
const WAITING: usize = 1 << 20;

/// The fewest products that threads share where there is only one band of rows.
pub(super) const WORTH_SHARING: usize = 1 << 18;

/// A matrix product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem<'a> {
    pub lhs: &'a [f32],
    pub rhs: &'a [f32],
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub passes: Passes,
    pub unit: &'a Unit,
    /// Whether its sums join others: each is then its own, also where that is -0.
    pub is_part: bool,
}

impl Problem<'_> {
    /// The product, in tiles that fill the vectors and registers there are.
    pub fn run(&self, instructions: Instructions, out: &mut [f32]) {
        match (instructions.0, self.n) {
            (Set::Portable(isa), _) if self.is_row::<Portable>() => self.row(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx2(isa), _) if self.is_row::<Avx2>() => self.row(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx512(isa), _) if self.is_row::<Avx512>() => self.row(isa, out),
            (Set::Portable(isa), _) if self.is_few_steps::<Portable>() => self.few_steps(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx2(isa), _) if self.is_few_steps::<Avx2>() => self.few_steps(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx512(isa), _) if self.is_few_steps::<Avx512>() => self.few_steps(isa, out),
            (Set::Portable(isa), 1..=4) => self.tiled::<_, 4, 4>(isa, out),
            (Set::Portable(isa), _) => self.tiled::<_, 4, 8>(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx2(isa), n) => self.on_avx2(isa, n, out),
            // Few columns leave wide vectors empty; but only these truncate in one instruction.
            #[cfg(target_arch = "x86_64")]
            (Set::Avx512(isa), n @ 1..=4) => self.on_avx2(isa.avx2(), n, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx512(isa), n @ 5..=16) if self.unit.accumulation != Accumulation::Trunc => {
                self.on_avx2(isa.avx2(), n, out)
            }
            #[cfg(target_arch = "x86_64")]
            // Few rows, or few steps, do not fill a tile of twelve rows.
            (Set::Avx512(isa), _) if self.m <= 4 || self.is_shallow() => self.tiled::<_, 4, 64>(isa, out),
            #[cfg(target_arch = "x86_64")]
            (Set::Avx512(isa), _) => self.tiled::<_, 12, 32>(isa, out),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn on_avx2(&self, isa: Avx2, n: usize, out: &mut [f32]) {
        match n {
            1 if self.m < 8 => self.tiled::<_, 1, 1>(isa, out),
            1 => self.tiled::<_, 16, 1>(isa, out),
            2..=4 => self.tiled::<_, 8, 4>(isa, out),
            _ => self.tiled::<_, 6, 16>(isa, out),
        }
    }

    pub fn pass(&self) -> Pass {
        // A tree and an exact sum have no running sum that a product could join before it is rounded.
        let fused = self.unit.fused && self.unit.accumulation.is_chain();
        let products = match self.passes {
            Passes::F32 if self.unit.flush && fused => Products::FusedFlushed,
            Passes::F32 if self.unit.flush => Products::Flushed,
            Passes::F32 if fused => Products::Exact,
            Passes::F32 => Products::Rounded,
            // A product of two bf16 numbers has 16 bits, all of which f32 holds (FACTS 2.4): fused or not makes no
            // difference.
            Passes::One | Passes::Three | Passes::Six | Passes::Exact => Products::Exact,
        };
        Pass { accumulation: self.unit.accumulation, products }
    }

    /// The accumulator's initial value, to which the sum of the first block is added. It is -0 for a part of a sum, and for a fused
    /// chain that flushes: the result is then that of the chain's last step, also where that is -0.
    pub fn initial_sum(&self) -> f32 {
        let whole = self.k > 0 && self.unit.accumulation == Accumulation::Chain;
        let is_last_step = whole && self.pass().products == Products::FusedFlushed;
        if self.is_part || is_last_step { -0.0 } else { 0.0 }
    }

    pub fn is_shallow(&self) -> bool {
        self.k <= SHALLOW
    }

    /// Products in a block; the last may be shorter.
    pub fn block(&self) -> usize {
        let whole = self.k.max(1);
        if self.unit.accumulation == Accumulation::Chain { whole } else { self.unit.block.get().min(whole) }
    }

    /// Products that a stretch of K aims at: more where the panel is narrow, as memory is read best in long runs.
    fn depth(&self) -> usize {
        if self.n <= 4 { 8 * STRETCH } else { STRETCH }
    }

    /// Whether a block's sum can wait between stretches: that of a chain can, trees and exact sums are taken whole.
    fn blocks_wait(&self) -> bool {
        self.block() > self.depth()
            && (self.unit.accumulation.is_chain() || self.unit.accumulation == Accumulation::Trunc)
    }

    /// The longest stretch of K: whole blocks, or a piece of one.
    fn stretch(&self) -> usize {
        let block = self.block();
        if self.blocks_wait() { self.depth() } else { (self.depth() / block).max(1) * block }
    }

    /// The stretch that begins at `start`.
    fn stretch_at(&self, start: usize) -> Stretch {
        let block = self.block();
        let mut end = start + self.stretch().min(self.k - start);
        if self.blocks_wait() {
            // A stretch that crossed the end of a block would add products of the next block to the sum of this one.
            end = end.min(start - start % block + block);
        }
        Stretch { start, end, opens: start.is_multiple_of(block), closes: end == self.k || end.is_multiple_of(block) }
    }

    fn tiled<I: Isa, const R: usize, const C: usize>(&self, isa: I, out: &mut [f32]) {
        if out.is_empty() {
            return;
        }
        let packed = (PACKED / self.stretch().min(self.k.max(1))).max(1);
        let columns = self.n.min((2 * packed / self.passes.parts() / C).max(1) * C);
        // Passes are added only when K is at its end (FACTS 2.3), so that the sums of all of them wait side by side.
        let waiting = WAITING / (self.passes.pairs().len() * columns.next_multiple_of(C));
        let threads = rayon::current_num_threads();
        let share = self.m.div_ceil(threads);
        let rows = packed.min(waiting).min(share.max(64)).div_ceil(R) * R;
        let deadline = deadline::current();
        let band = |top: usize, span: Range<usize>, out: &mut [f32]| {
            let (first, end) = (span.start, span.end);
            let mut band = Band::<I, R, C>::new(self, isa, top, span, out);
            (first..end).step_by(columns).for_each(|first| band.columns(first, columns.min(end - first)));
        };
        if self.m > rows {
            let bands = out.par_chunks_mut(rows * self.n).enumerate();
            return bands.for_each(|(at, out)| deadline.within(|| band(at * rows, 0..self.n, out)));
        }
        let width = self.n.div_ceil(threads).next_multiple_of(C);
        // A small product is done before other threads have begun.
        if width >= self.n || self.m * self.k * self.n < WORTH_SHARING {
            return band(0, 0..self.n, out);
        }
        // One band of rows: threads share the columns, each with an output of its own.
        let starts: Vec<usize> = (0..self.n).step_by(width).collect();
        let part = |first: usize| {
            let span = first..self.n.min(first + width);
            let mut out = vec![0.0; self.m * span.len()];
            deadline.within(|| band(0, span.clone(), &mut out));
            (span, out)
        };
        let parts: Vec<(Range<usize>, Vec<f32>)> = starts.into_par_iter().map(part).collect();
        for (span, part) in parts {
            for (row, part) in out.chunks_mut(self.n).zip(part.chunks(span.len())) {
                row[span.clone()].copy_from_slice(part);
            }
        }
    }
}

/// A part of K that is packed at a time.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    /// Whether a block begins at its start.
    opens: bool,
    /// Whether a block ends at its end.
    closes: bool,
}

/// Columns of the output that are computed together.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: usize,
    width: usize,
    /// Panels whose sums wait at a time.
    kept: usize,
}

/// Some rows and columns of the output, and all that is needed to compute them.
struct Band<'a, I, const R: usize, const C: usize> {
    problem: &'a Problem<'a>,
    isa: I,
    top: usize,
    rows: usize,
    /// The columns that `out` has.
    span: Range<usize>,
    out: &'a mut [f32],
    left: Packed,
    right: Packed,
    /// Partial sums, tile by tile: those of the first pass, those of the second, and so on.
    sums: Vec<f32>,
    /// Sums of blocks that have begun, in the same order.
    carries: Vec<f32>,
}

impl<'a, I: Isa, const R: usize, const C: usize> Band<'a, I, R, C> {
    fn new(problem: &'a Problem<'a>, isa: I, top: usize, span: Range<usize>, out: &'a mut [f32]) -> Band<'a, I, R, C> {
        let rows = out.len() / span.len();
        let (left, right) = (Packed::default(), Packed::default());
        Band { problem, isa, top, rows, span, out, left, right, sums: Vec::new(), carries: Vec::new() }
    }

    fn columns(&mut self, first: usize, width: usize) {
        let problem = self.problem;
        let panels = width.div_ceil(C);
        // Where K is taken at once, the sums of one panel are stored before those of the next begin.
        let kept = if problem.stretch_at(0).end == problem.k { 1 } else { panels };
        let group = Group { first, width, kept };
        let waiting = problem.passes.pairs().len() * kept * self.strips() * R * C;
        self.sums.resize(waiting, 0.0);
        if problem.blocks_wait() {
            self.carries.resize(waiting, 0.0);
        }
        let mut start = 0;
        loop {
            deadline::check();
            let stretch = problem.stretch_at(start);
            self.pack(stretch, group);
            if problem.is_shallow() {
                for strip in 0..self.strips() {
                    (0..panels).for_each(|panel| self.tiles(stretch, group, panel, strip..strip + 1));
                }
            } else {
                (0..panels).for_each(|panel| self.tiles(stretch, group, panel, 0..self.strips()));
            }
            start = stretch.end;
            if start == problem.k {
                return;
            }
        }
    }

    fn strips(&self) -> usize {
        self.rows.div_ceil(R)
    }

    fn pack(&mut self, Stretch { start, end, .. }: Stretch, Group { first, width, .. }: Group) {
        let Problem { lhs, rhs, k, n, passes, unit, .. } = *self.problem;
        let depth = end - start;
        let form = Form::new(passes, unit.split, unit.flush);
        let measure = self.problem.pass().needs_ranges::<I>();
        let (strips, panels) = (self.strips(), width.div_ceil(C));
        self.left.reset(form, R * depth, strips);
        let window = PackedWindow { first: self.top * k + start, rows: self.rows, width: depth, stride: k };
        self.isa.run(Strips::<R>(Packing { source: lhs, window, form, measure, packed: &mut self.left }));
        self.right.reset(form, C * depth, panels);
        let window = PackedWindow { first: start * n + first, rows: depth, width, stride: n };
        self.isa.run(Panels::<C>(Packing { source: rhs, window, form, measure, packed: &mut self.right }));
    }

    /// Sums a stretch of some strips of a panel, pass by pass, and stores them where K is at its end.
    fn tiles(&mut self, stretch: Stretch, group: Group, panel: usize, strips: Range<usize>) {
        let problem = self.problem;
        let (pass, block) = (problem.pass(), problem.block());
        let first = panel % group.kept * self.strips();
        let of_pass = group.kept * self.strips();
        let sums = self.sums.as_chunks_mut::<C>().0.as_chunks_mut::<R>().0;
        let carries = self.carries.as_chunks_mut::<C>().0.as_chunks_mut::<R>().0;
        for (at, [left, right]) in problem.passes.pairs().iter().enumerate() {
            for strip in strips.clone() {
                let at = at * of_pass + first + strip;
                if stretch.start == 0 {
                    sums[at] = [[problem.initial_sum(); C]; R];
                }
                let tile = Tile {
                    left: self.left.tile(*left, strip).as_chunks::<R>().0,
                    right: self.right.tile(*right, panel).as_chunks::<C>().0,
                    block,
                    opens: stretch.opens,
                    closes: stretch.closes,
                    sums: &mut sums[at],
                    carry: carries.get_mut(at),
                };
                pass.sum(self.isa, tile, [self.left.range(*left, strip), self.right.range(*right, panel)]);
            }
        }
        if stretch.end < problem.k {
            return;
        }
        for strip in strips {
            self.isa.run(Finish::<R, C> {
                sums,
                tile: first + strip,
                tiles: of_pass,
                out: &mut self.out[strip * R * self.span.len() + group.first - self.span.start + panel * C..],
                rows: R.min(self.rows - strip * R),
                width: C.min(group.width - panel * C),
                stride: self.span.len(),
            });
        }
    }
}

/// The passes of one tile, added in order and stored.
struct Finish<'a, const R: usize, const C: usize> {
    sums: &'a [[[f32; C]; R]],
    tile: usize,
    /// Tiles in a pass.
    tiles: usize,
    out: &'a mut [f32],
    rows: usize,
    width: usize,
    stride: usize,
}

impl<const R: usize, const C: usize> Work for Finish<'_, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Finish { sums, tile, tiles, .. } = self;
        let pass = |at: usize| &sums[at * tiles + tile];
        match sums.len() / tiles {
            1 => self.store([pass(0)]),
            3 => self.store([pass(0), pass(1), pass(2)]),
            _ => self.store([pass(0), pass(1), pass(2), pass(3), pass(4), pass(5)]),
        }
    }
}

impl<const R: usize, const C: usize> Finish<'_, R, C> {
    #[inline(always)]
    fn store<const P: usize>(self, passes: [&[[f32; C]; R]; P]) {
        for (r, out) in self.out.chunks_mut(self.stride).take(self.rows).enumerate() {
            let row = passes.map(|pass| &pass[r]);
            match out.first_chunk_mut::<C>() {
                Some(out) if self.width == C => add(row, out),
                _ => {
                    let mut whole = [0.0; C];
                    add(row, &mut whole);
                    out[..self.width].copy_from_slice(&whole[..self.width]);
                }
            }
        }
    }
}

/// Adds the sums of `P` passes, in order.
#[inline(always)]
pub(super) fn add<const P: usize, const C: usize>(passes: [&[f32; C]; P], out: &mut [f32; C]) {
    for (j, out) in out.iter_mut().enumerate() {
        let mut sum = passes[0][j];
        for (at, pass) in passes.iter().enumerate().skip(1) {
            if at + 1 == P {
                // Infinite operands leave NaN in the low parts: the guard lets only numbers and infinities pass.
                sum = if f32::INFINITY >= sum.abs() { sum } else { 0.0 };
            }
            sum += pass[j];
        }
        // Sign and payload of a NaN depend on the instructions that made it: there is only one NaN here.
        *out = if sum.is_nan() { f32::NAN } else { sum };
    }
}
