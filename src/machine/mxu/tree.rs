//! Trees of additions: neighbours first.

use std::marker::PhantomData;

use super::arithmetic::Arithmetic;
use super::isa::Work;
use super::tile::Tile;

/// Leaves that one expression sums.
const LEAVES: usize = 8;
/// Levels above them: more than any length needs.
const LEVELS: usize = usize::BITS as usize;

/// Every block as a tree of additions, joined in order. Stretches hold whole blocks.
///
/// Neighbours are added level by level, an odd one out moves up as it is. That is the same as a counter in binary: each
/// full subtree joins the one before it once both are of one size, and what is left joins at the end, the last first.
pub(super) struct Tree<'a, A, const R: usize, const C: usize>(pub Tile<'a, R, C>, pub PhantomData<A>);

impl<A: Arithmetic, const R: usize, const C: usize> Work for Tree<'_, A, R, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tile = self.0;
        let depth = tile.left.len().min(tile.right.len());
        let mut stack = [[0.0f32; C]; LEVELS];
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            for r in 0..R {
                let sum = tree::<A, R, C>(r, &tile.left[start..end], &tile.right[start..end], &mut stack);
                for j in 0..C {
                    tile.sums[r][j] = A::add(tile.sums[r][j], sum[j]);
                }
            }
        }
    }
}

#[inline(always)]
fn tree<A: Arithmetic, const R: usize, const C: usize>(
    r: usize,
    left: &[[f32; R]],
    right: &[[f32; C]],
    stack: &mut [[f32; C]; LEVELS],
) -> [f32; C] {
    let mut height = 0;
    let (left, left_tail) = left.as_chunks::<LEAVES>();
    let (right, right_tail) = right.as_chunks::<LEAVES>();
    for (count, (a, b)) in left.iter().zip(right).enumerate() {
        let a = a.map(|a| a[r]);
        let top = &mut stack[height];
        for j in 0..C {
            let leaf = |i: usize| A::pair([a[i], b[i][j]], [a[i + 1], b[i + 1][j]]);
            top[j] = A::add(A::add(leaf(0), leaf(2)), A::add(leaf(4), leaf(6)));
        }
        height += 1;
        for _ in 0..(count + 1).trailing_zeros() {
            height -= 1;
            join::<A, C>(stack, height);
        }
    }
    if !left_tail.is_empty() {
        stack[height] = tail::<A, R, C>(r, left_tail, right_tail);
        height += 1;
    }
    while height > 1 {
        height -= 1;
        join::<A, C>(stack, height);
    }
    stack[0]
}

/// Adds the sum on top of the stack to the one below it.
#[inline(always)]
fn join<A: Arithmetic, const C: usize>(stack: &mut [[f32; C]; LEVELS], top: usize) {
    let (under, over) = stack.split_at_mut(top);
    if let (Some(under), Some(over)) = (under.last_mut(), over.first()) {
        for j in 0..C {
            under[j] = A::add(under[j], over[j]);
        }
    }
}

/// The tree of fewer than [`LEAVES`] products.
#[inline(always)]
fn tail<A: Arithmetic, const R: usize, const C: usize>(r: usize, left: &[[f32; R]], right: &[[f32; C]]) -> [f32; C] {
    let mut level = [[0.0f32; C]; LEAVES / 2];
    for ((sums, a), b) in level.iter_mut().zip(left.chunks(2)).zip(right.chunks(2)) {
        for j in 0..C {
            sums[j] = match (a, b) {
                ([a, c], [b, d]) => A::pair([a[r], b[j]], [c[r], d[j]]),
                ([a, ..], [b, ..]) => A::product(a[r], b[j]),
                _ => 0.0,
            };
        }
    }
    let mut count = left.len().div_ceil(2);
    while count > 1 {
        for i in 0..count / 2 {
            for j in 0..C {
                level[i][j] = A::add(level[2 * i][j], level[2 * i + 1][j]);
            }
        }
        if count % 2 == 1 {
            level[count / 2] = level[count - 1];
        }
        count = count.div_ceil(2);
    }
    level[0]
}
