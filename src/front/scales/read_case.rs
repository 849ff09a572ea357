//! One reading of a file together with its input.

use crate::scaled::Extreme;

use super::byte_reading::{Elements, Scales};
use super::rounded::{Block, Types};

/// Blocks that classes are judged by, at most.
pub const MOST_BLOCKS: usize = 512;
/// One reading of a file with its input.
pub(super) struct ReadCase<'a> {
    /// Its elements.
    pub elements: &'a Elements,
    /// Its scales.
    pub scales: &'a Scales,
    /// Types of both and of the input.
    pub types: Types,
    /// The input, row-major.
    pub values: &'a [f32],
}

impl ReadCase<'_> {
    /// A block's parts.
    pub fn block(&self, block: usize) -> Block {
        let positions = self.scales.blocks.positions(block);
        Block {
            values: positions.iter().map(|at| self.values[*at]).collect(),
            codes: positions.iter().map(|at| self.elements.codes[*at]).collect(),
            scale: self.scales.codes[block],
            zero: self.scales.zeros.as_ref().map(|zeros| zeros[block]),
        }
    }

    /// Blocks spread evenly over the tensor, at most [`MOST_BLOCKS`].
    pub fn sample(&self) -> Vec<usize> {
        let all = self.scales.blocks.len();
        let few = all.min(MOST_BLOCKS);
        (0..few).map(|at| at * all / few.max(1)).collect()
    }

    /// The extreme of a block's input.
    pub fn extreme(&self, block: &Block) -> Extreme {
        Extreme::of(block.values.iter().copied(), self.types.dtype)
    }
}
