//! A tile of outputs, and the chain of additions that runs through each of them.

use std::marker::PhantomData;

use super::arithmetic::Arithmetic;
use super::isa::Work;

/// `R` x `C` outputs and a stretch of K that is to be summed into them.
pub(super) struct Tile<'a, const R: usize, const C: usize> {
    /// The left operand: all rows side by side, one step of K after the other.
    pub left: &'a [[f32; R]],
    /// The right operand: all columns side by side.
    pub right: &'a [[f32; C]],
    /// Products in a block. The stretch begins where a block does, or lies inside one block.
    pub block: usize,
    /// Whether the stretch begins a block, and whether it ends one.
    pub opens: bool,
    pub closes: bool,
    /// Sums of the blocks that have ended.
    pub sums: &'a mut [[f32; C]; R],
    /// The sums of a block that has begun and not ended, where blocks are longer than a stretch.
    pub carry: Option<&'a mut [[f32; C]; R]>,
}

/// One addition after the other, each output in its own lane and in the order of K.
pub(super) struct Chain<'a, A, const R: usize, const C: usize>(Tile<'a, R, C>, PhantomData<A>);

impl<'a, A, const R: usize, const C: usize> Chain<'a, A, R, C> {
    pub fn new(tile: Tile<'a, R, C>) -> Self {
        Chain(tile, PhantomData)
    }
}

impl<A: Arithmetic, const R: usize, const C: usize> Work for Chain<'_, A, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut tile = self.0;
        let depth = tile.left.len().min(tile.right.len());
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let mut part = [[0.0f32; C]; R];
            if let Some(carry) = tile.carry.as_deref().filter(|_| !tile.opens) {
                part = *carry;
            }
            for (a, b) in tile.left[start..end].iter().zip(&tile.right[start..end]) {
                for r in 0..R {
                    for j in 0..C {
                        part[r][j] = A::step(part[r][j], a[r], b[j]);
                    }
                }
            }
            match tile.carry.as_deref_mut().filter(|_| !tile.closes) {
                Some(carry) => *carry = part,
                None => {
                    for r in 0..R {
                        for j in 0..C {
                            tile.sums[r][j] = A::add(tile.sums[r][j], part[r][j]);
                        }
                    }
                }
            }
        }
    }
}
