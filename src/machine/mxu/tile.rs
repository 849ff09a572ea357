//! A tile of outputs, and the chain of additions that runs through each of them.

use std::marker::PhantomData;

use super::arithmetic::Arithmetic;
use super::isa::Work;

/// `R` x `C` outputs and a stretch of K that is to be summed into them.
pub(super) struct Tile<'a, const R: usize, const C: usize> {
    /// The left operand, row by row, each as long as the stretch.
    pub rows: &'a [f32],
    /// The right operand.
    pub panel: &'a [[f32; C]],
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
        let depth = tile.panel.len();
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let mut part = [[0.0f32; C]; R];
            if let Some(carry) = tile.carry.as_deref().filter(|_| !tile.opens) {
                part = *carry;
            }
            let panel = &tile.panel[start..end];
            let rows: [&[f32]; R] = std::array::from_fn(|r| &tile.rows[r * depth + start..r * depth + end]);
            for (l, b) in panel.iter().enumerate() {
                for r in 0..R {
                    let a = rows[r][l];
                    for j in 0..C {
                        part[r][j] = A::step(part[r][j], a, b[j]);
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
