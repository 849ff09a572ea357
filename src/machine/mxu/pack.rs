//! Tiles of the operands, copied to where kernels read them in order, and converted there to what the passes multiply.

use crate::num::flush_f32;

use super::isa::Work;
use super::range::Range;
use super::split::{Passes, Split, split};

/// Conversion of an operand's values.
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
    pub fn convert(self, values: &mut [f32], middle: &mut [f32], low: &mut [f32]) {
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
            // One pass rounds to nearest whatever the split is, as `split` has it.
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

/// Values that begin where a line of the cache does: a vector that lies across two lines takes two loads.
#[derive(Debug, Default)]
struct CacheLines {
    buffer: Vec<f32>,
    /// The first value that counts.
    first: usize,
}

impl CacheLines {
    /// Bytes in a line, and in the widest vector.
    const BYTES: usize = 64;

    /// Makes room for `count` values; what they are is undefined.
    fn resize(&mut self, count: usize) {
        self.buffer.resize(count + CacheLines::BYTES / size_of::<f32>(), 0.0);
        // The answer may be that there is none; any beginning is right, this one is fast.
        let first = self.buffer.as_ptr().align_offset(CacheLines::BYTES);
        self.first = first.min(self.buffer.len() - count);
    }

    fn values(&self) -> &[f32] {
        &self.buffer[self.first..]
    }

    fn values_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[self.first..]
    }
}

/// Tiles of one operand over a stretch of K, all of one size, one after the other; a buffer for each part.
#[derive(Debug, Default)]
pub(super) struct Packed {
    parts: [CacheLines; 3],
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
            buffer.resize(tile * tiles);
        }
        self.ranges.resize(tiles, [Range::default(); 3]);
        self.tile = tile;
    }

    /// All tiles of one part, one after the other.
    pub fn part(&self, part: usize) -> &[f32] {
        self.parts[part].values()
    }

    /// One tile of one part.
    pub fn tile(&self, part: usize, at: usize) -> &[f32] {
        &self.parts[part].values()[at * self.tile..(at + 1) * self.tile]
    }

    /// The range of the values in one tile of one part.
    pub fn range(&self, part: usize, at: usize) -> Range {
        self.ranges[at][part]
    }
}

/// Position of the values to be packed in a row-major matrix: `rows` rows of `width` values, from `first` on, `stride`
/// apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedWindow {
    pub first: usize,
    pub rows: usize,
    pub width: usize,
    pub stride: usize,
}

/// Packing of a window: its source, form and destination.
pub(super) struct Packing<'a> {
    pub source: &'a [f32],
    pub window: PackedWindow,
    pub form: Form,
    /// Whether ranges are wanted.
    pub measure: bool,
    pub packed: &'a mut Packed,
}

impl Packing<'_> {
    /// Converts and measures a tile that has been copied.
    #[inline(always)]
    fn convert(&mut self, at: usize) {
        let span = at * self.packed.tile..(at + 1) * self.packed.tile;
        let [high, middle, low] = self.packed.parts.each_mut().map(CacheLines::values_mut);
        let high = &mut high[span.clone()];
        let middle = middle.get_mut(span.clone()).unwrap_or_default();
        let low = low.get_mut(span).unwrap_or_default();
        self.form.convert(high, middle, low);
        if self.measure {
            self.packed.ranges[at] = [Range::of(high), Range::of(middle), Range::of(low)];
        }
    }
}

/// Steps of K that are transposed at a time.
const PIECE: usize = 64;

/// Packs rows of the left operand in strips of `R`, all of one step of K side by side; rows beyond the window are zeros.
pub(super) struct Strips<'a, const R: usize>(pub Packing<'a>);

impl<const R: usize> Work for Strips<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let PackedWindow { first, rows, width, stride } = self.0.window;
        for strip in 0..rows.div_ceil(R) {
            let tile = &mut self.0.packed.parts[0].values_mut()[strip * R * width..(strip + 1) * R * width];
            let (steps, _) = tile.as_chunks_mut::<R>();
            // A piece of each row at a time: what is written stays in the first cache until all rows have been there.
            for (piece, steps) in steps.chunks_mut(PIECE).enumerate() {
                for r in 0..R {
                    if strip * R + r < rows {
                        let row = &self.0.source[first + (strip * R + r) * stride + piece * PIECE..][..steps.len()];
                        steps.iter_mut().zip(row).for_each(|(step, value)| step[r] = *value);
                    } else {
                        steps.iter_mut().for_each(|step| step[r] = 0.0);
                    }
                }
            }
            self.0.convert(strip);
        }
    }
}

/// Packs columns of the right operand in panels of `C`, all of one row side by side; columns beyond the window are zeros.
pub(super) struct Panels<'a, const C: usize>(pub Packing<'a>);

impl<const C: usize> Work for Panels<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let PackedWindow { first, rows, width, stride } = self.0.window;
        let tile = self.0.packed.tile / C;
        let (panels, _) = self.0.packed.parts[0].values_mut().as_chunks_mut::<C>();
        // Row by row, as memory is read fastest.
        for row in 0..rows {
            let (chunks, rest) = self.0.source[first + row * stride..][..width].as_chunks::<C>();
            for (panel, chunk) in chunks.iter().enumerate() {
                panels[panel * tile + row] = *chunk;
            }
            // Columns beyond the last are zeros: their results are computed and thrown away.
            if !rest.is_empty() {
                let last = &mut panels[chunks.len() * tile + row];
                for j in 0..C {
                    last[j] = rest.get(j).copied().unwrap_or(0.0);
                }
            }
        }
        for panel in 0..width.div_ceil(C) {
            self.0.convert(panel);
        }
    }
}
