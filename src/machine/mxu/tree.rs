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
        let depth = tile.panel.len();
        let mut stack = [[0.0f32; C]; LEVELS];
        for start in (0..depth).step_by(tile.block) {
            let end = depth.min(start.saturating_add(tile.block));
            let panel = &tile.panel[start..end];
            for r in 0..R {
                let depth = tile.panel.len();
                let row = &tile.rows[r * depth + start..r * depth + end];
                let sum = tree::<A, C>(row, panel, &mut stack);
                for j in 0..C {
                    tile.sums[r][j] = A::add(tile.sums[r][j], sum[j]);
                }
            }
        }
    }
}

#[inline(always)]
fn tree<A: Arithmetic, const C: usize>(row: &[f32], panel: &[[f32; C]], stack: &mut [[f32; C]; LEVELS]) -> [f32; C] {
    let mut height = 0;
    let (rows, row_tail) = row.as_chunks::<LEAVES>();
    let (panels, panel_tail) = panel.as_chunks::<LEAVES>();
    for (count, (a, b)) in rows.iter().zip(panels).enumerate() {
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
    if !row_tail.is_empty() {
        stack[height] = tail::<A, C>(row_tail, panel_tail);
        height += 1;
    }
    while height > 1 {
        height -= 1;
        join::<A, C>(stack, height);
    }
    stack[0]
}

/// Adds what is on top of the stack to what lies under it.
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
fn tail<A: Arithmetic, const C: usize>(row: &[f32], panel: &[[f32; C]]) -> [f32; C] {
    let mut level = [[0.0f32; C]; LEAVES / 2];
    for ((sums, a), b) in level.iter_mut().zip(row.chunks(2)).zip(panel.chunks(2)) {
        for j in 0..C {
            sums[j] = match (a, b) {
                ([a, c], [b, d]) => A::pair([*a, b[j]], [*c, d[j]]),
                ([a, ..], [b, ..]) => A::product(*a, b[j]),
                _ => 0.0,
            };
        }
    }
    let mut count = row.len().div_ceil(2);
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
