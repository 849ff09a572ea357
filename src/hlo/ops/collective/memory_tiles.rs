//! An array as the tiles that it lies in, in the order of memory.

use crate::ir::{Op, ValueId};

use crate::ast::Layout;
use crate::builder::Emitter;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// Tiles where a file names none: those of arrays of two dims or more, and of rows.
const OF_TWO_DIMS: [usize; 2] = [8, 128];
const OF_ONE_DIM: [usize; 2] = [1, 1024];

/// The longest side of a tile that has a meaning.
const LONGEST: u64 = 1 << 20;

/// The tiles of an array: those of its layout's first tiling, which later tilings cut up further.
pub struct Tiles {
    dims: Vec<usize>,
    /// The dims from major to minor.
    order: Vec<usize>,
    /// The extents of the two minor dims, and of a tile.
    minor: [usize; 2],
    tile: [usize; 2],
}

impl Tiles {
    pub fn of(dims: &[usize], layout: Option<&Layout>) -> Tiles {
        let minor_to_major = layout.map(|layout| &layout.minor_to_major[..]).unwrap_or_default();
        let written: Vec<usize> = minor_to_major.iter().rev().map(|dim| *dim as usize).collect();
        let mut sorted = written.clone();
        sorted.sort_unstable();
        let order = if sorted.into_iter().eq(0..dims.len()) { written } else { (0..dims.len()).collect() };
        let minor = match order[..] {
            [.., rows, columns] => [dims[rows], dims[columns]],
            [columns] => [1, dims[columns]],
            [] => [1, 1],
        };
        let is_extent = |extent: &u64| (1..=LONGEST).contains(extent);
        let written = layout.and_then(|layout| layout.tiles.first()).filter(|tile| tile.iter().all(is_extent));
        let tile = match written.map(Vec::as_slice) {
            Some([columns]) => [1, *columns as usize],
            Some([rows, columns]) => [*rows as usize, *columns as usize],
            _ if dims.len() < 2 => OF_ONE_DIM,
            _ => OF_TWO_DIMS,
        };
        Tiles { dims: dims.to_vec(), order, minor, tile }
    }

    /// The number of tiles.
    pub fn count(&self) -> usize {
        let [rows, columns] = self.in_tiles();
        self.outer() * rows * columns
    }

    fn in_tiles(&self) -> [usize; 2] {
        [0, 1].map(|at| self.minor[at].div_ceil(self.tile[at]))
    }

    /// The product of all dims but the two minor ones.
    fn outer(&self) -> usize {
        self.order[..self.order.len().saturating_sub(2)].iter().map(|dim| self.dims[*dim]).product()
    }

    /// An array of these dims as one of `[tiles, elements of a tile]`, with zeros where a tile reaches beyond the array.
    pub fn cut_up(&self, e: &mut Emitter, id: ValueId) -> Result<ValueId> {
        let dtype = e.shape(id).element_type();
        let ([rows, columns], [tall, wide]) = (self.in_tiles(), self.tile);
        let moved = e.emit(Op::Transpose { permutation: self.order.clone() }, vec![id], None)?;
        let mut own = e.reshape(moved, &[self.outer(), self.minor[0], self.minor[1]])?;
        let beyond = [rows * tall - self.minor[0], columns * wide - self.minor[1]].map(|extent| extent as i64);
        if beyond != [0, 0] {
            let zero = e.zero(dtype)?;
            let pad = Op::Pad { low: vec![0; 3], high: vec![0, beyond[0], beyond[1]], interior: vec![0; 3] };
            own = e.emit(pad, vec![own, zero], None)?;
        }
        let own = e.reshape(own, &[self.outer(), rows, tall, columns, wide])?;
        let own = e.emit(Op::Transpose { permutation: vec![0, 1, 3, 2, 4] }, vec![own], None)?;
        e.reshape(own, &[self.count(), tall * wide])
    }

    /// The array whose tiles are `[tiles, elements of a tile]`.
    pub fn put_together(&self, e: &mut Emitter, id: ValueId) -> Result<ValueId> {
        let ([rows, columns], [tall, wide]) = (self.in_tiles(), self.tile);
        let own = e.reshape(id, &[self.outer(), rows, columns, tall, wide])?;
        let own = e.emit(Op::Transpose { permutation: vec![0, 1, 3, 2, 4] }, vec![own], None)?;
        let own = e.reshape(own, &[self.outer(), rows * tall, columns * wide])?;
        let limit = vec![self.outer(), self.minor[0], self.minor[1]];
        let own = e.emit(Op::Slice { start: vec![0; 3], limit, stride: vec![1; 3] }, vec![own], None)?;
        let major_to_minor: Vec<usize> = self.order.iter().map(|dim| self.dims[*dim]).collect();
        let own = e.reshape(own, &major_to_minor)?;
        let place = |dim: usize| self.order.iter().position(|other| *other == dim).unwrap_or(dim);
        e.emit(Op::Transpose { permutation: (0..self.dims.len()).map(place).collect() }, vec![own], None)
    }
}
