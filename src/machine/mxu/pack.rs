//! Tiles of the operands, copied to where kernels read them in order, and converted there to what the passes multiply.

use crate::num::flush_f32;

use super::isa::Work;
use super::range::Range;
use super::split::{Passes, Split, split};

/// What becomes of an operand's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Taken as they are.
    Kept,
    /// Subnormals become zeros.
    Flushed,
    /// This many bf16 parts.
    Parts(usize, Split),
}

impl Form {
    pub fn new(passes: Passes, split: Split, flush: bool) -> Form {
        match passes {
            Passes::F32 if flush => Form::Flushed,
            Passes::F32 | Passes::Exact => Form::Kept,
            Passes::One | Passes::Three | Passes::Six => Form::Parts(passes.parts(), split),
        }
    }

    /// Converts values in place; the parts behind the first go to `middle` and `low`, which are as long where they are
    /// used.
    #[inline(always)]
    fn convert(self, values: &mut [f32], middle: &mut [f32], low: &mut [f32]) {
        // Counts and splits are constants inside each loop, so that each becomes a few vector instructions.
        match self {
            Form::Kept => {}
            Form::Flushed => values.iter_mut().for_each(|v| *v = flush_f32(*v)),
            Form::Parts(2, Split::Mixed) => two(values, middle, |v| split(v, 2, Split::Mixed)),
            Form::Parts(2, Split::Rne) => two(values, middle, |v| split(v, 2, Split::Rne)),
            Form::Parts(2, Split::Trunc) => two(values, middle, |v| split(v, 2, Split::Trunc)),
            Form::Parts(3, Split::Mixed) => three(values, middle, low, |v| split(v, 3, Split::Mixed)),
            Form::Parts(3, Split::Rne) => three(values, middle, low, |v| split(v, 3, Split::Rne)),
            Form::Parts(3, Split::Trunc) => three(values, middle, low, |v| split(v, 3, Split::Trunc)),
            Form::Parts(..) => values.iter_mut().for_each(|v| *v = split(*v, 1, Split::Mixed)[0]),
        }
    }
}

#[inline(always)]
fn two(values: &mut [f32], low: &mut [f32], parts: impl Fn(f32) -> [f32; 3]) {
    for (value, low) in values.iter_mut().zip(low) {
        [*value, *low, _] = parts(*value);
    }
}

#[inline(always)]
fn three(values: &mut [f32], middle: &mut [f32], low: &mut [f32], parts: impl Fn(f32) -> [f32; 3]) {
    for ((value, middle), low) in values.iter_mut().zip(middle).zip(low) {
        [*value, *middle, *low] = parts(*value);
    }
}

/// Tiles of one operand over a stretch of K, all of one size, one after the other; a buffer for each part.
#[derive(Debug, Default)]
pub(super) struct Packed {
    parts: [Vec<f32>; 3],
    /// One a tile and part, where ranges were asked for.
    ranges: Vec<[Range; 3]>,
    /// Values in a tile.
    tile: usize,
}

impl Packed {
    /// Makes room for tiles of this many values; what they hold is undefined until they are packed.
    pub fn reset(&mut self, form: Form, tile: usize, tiles: usize) {
        let parts = if let Form::Parts(parts, _) = form { parts } else { 1 };
        for buffer in &mut self.parts[..parts] {
            buffer.resize(tile * tiles, 0.0);
        }
        self.ranges.resize(tiles, [Range::default(); 3]);
        self.tile = tile;
    }

    /// One tile of one part.
    pub fn tile(&self, part: usize, at: usize) -> &[f32] {
        &self.parts[part][at * self.tile..(at + 1) * self.tile]
    }

    /// The range of the values in one tile of one part.
    pub fn range(&self, part: usize, at: usize) -> Range {
        self.ranges[at][part]
    }
}

/// Where a tile's values lie in a row-major matrix: `rows` rows of `width` values, from `first` on, `stride` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub first: usize,
    pub rows: usize,
    pub width: usize,
    pub stride: usize,
}

/// Packs one tile whose rows are `padded` values long; values beyond the window are zeros.
pub(super) struct Pack<'a, P: Padded> {
    pub source: &'a [f32],
    pub window: Window,
    pub padded: P,
    pub form: Form,
    /// Whether ranges are wanted.
    pub measure: bool,
    pub at: usize,
    pub packed: &'a mut Packed,
}

/// The length of a packed row, known to the compiler where that makes the copy fast.
pub(super) trait Padded: Copy {
    fn length(self) -> usize;
}

impl Padded for usize {
    #[inline(always)]
    fn length(self) -> usize {
        self
    }
}

/// A constant length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exactly<const N: usize>;

impl<const N: usize> Padded for Exactly<N> {
    #[inline(always)]
    fn length(self) -> usize {
        N
    }
}

impl<P: Padded> Work for Pack<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Window { first, rows, width, stride } = self.window;
        let span = self.at * self.packed.tile..(self.at + 1) * self.packed.tile;
        let [high, middle, low] = &mut self.packed.parts;
        let high = &mut high[span.clone()];
        let length = self.padded.length();
        if width == length {
            for (row, to) in high.chunks_exact_mut(length).take(rows).enumerate() {
                let from = first + row * stride;
                to.copy_from_slice(&self.source[from..from + length]);
            }
        } else {
            for (row, to) in high.chunks_exact_mut(length).take(rows).enumerate() {
                let from = &self.source[first + row * stride..][..width];
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                to[width..].fill(0.0);
            }
        }
        high[rows * length..].fill(0.0);
        let middle = middle.get_mut(span.clone()).unwrap_or_default();
        let low = low.get_mut(span).unwrap_or_default();
        self.form.convert(high, middle, low);
        if self.measure {
            self.packed.ranges[self.at] = [Range::of(high), Range::of(middle), Range::of(low)];
        }
    }
}
