//! Orders of a reduction and of a running one by any region, as XLA rewrites them (FACTS 3.11): its rewriters take no account of what
//! the region computes.

use crate::ir::movement;

use super::vector::{ScanOrder, TREE};

/// A reduction in windows of 32, as XLA's TreeReductionRewriter lays them out: per level the elements of each window,
/// as positions among the results of the level before; the last level has one window.
pub(super) struct TreeReduction(Vec<Vec<Vec<usize>>>);

impl TreeReduction {
    /// The windows over a row whose elements lie in these reduced dims, row-major. A dim is cut if it is longer than 32,
    /// and then all are, in windows of one shape; the padding is split between both ends, the odd one last.
    pub fn new(dims: &[usize]) -> TreeReduction {
        let mut dims = dims.to_vec();
        let mut levels = Vec::new();
        while dims.iter().any(|d| *d > TREE) {
            let counts: Vec<usize> = dims.iter().map(|d| d.div_ceil((*d).clamp(1, TREE))).collect();
            let strides = movement::row_major(&dims);
            let mut level = Vec::new();
            movement::for_each_index(&counts, |_, at| {
                let mut window = vec![0];
                for (d, extent) in dims.iter().enumerate() {
                    let size = (*extent).clamp(1, TREE);
                    // XLA pads as `Padding::kSame`: the odd element of the padding goes to the end.
                    let low = (counts[d] * size - extent) / 2;
                    let reach = (at[d] * size).saturating_sub(low)..((at[d] + 1) * size - low).min(*extent);
                    let stride = strides[d] as usize;
                    window = window.iter().flat_map(|w| reach.clone().map(move |i| w + i * stride)).collect();
                }
                level.push(window);
            });
            levels.push(level);
            dims = counts;
        }
        levels.push(vec![(0..dims.iter().product()).collect()]);
        TreeReduction(levels)
    }

    /// All windows, of which each begins with the init.
    pub fn windows(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The most applications that one element is part of, on its way through the levels.
    pub fn longest_chain(&self) -> u64 {
        let longest = |level: &Vec<Vec<usize>>| level.iter().map(Vec::len).max().unwrap_or(0) as u64;
        self.0.iter().map(longest).sum()
    }

    /// The row's reduction; `reduce` is given the init and a window's elements behind it. XLA begins every window with the
    /// init, so one that is not neutral counts as often as there are windows.
    pub fn reduce<T: Copy>(&self, row: &[T], init: T, mut reduce: impl FnMut(&[T]) -> T) -> T {
        let mut values = row.to_vec();
        let mut gathered = Vec::new();
        for level in &self.0 {
            let of_window = |window: &Vec<usize>| {
                gathered.clear();
                // The rewriter gives each window the init of the reduction, so that it counts once a window.
                gathered.push(init);
                gathered.extend(window.iter().map(|at| values[*at]));
                reduce(&gathered)
            };
            values = level.iter().map(of_window).collect();
        }
        values.first().copied().unwrap_or(init)
    }
}

/// Running reductions of rows, from the init over all elements up to the own one, or from it on.
pub(super) struct Scan<T, F> {
    /// The region.
    pub apply: F,
    pub init: T,
    pub reversed: bool,
}

impl<T: Copy, F: FnMut(T, T) -> T> Scan<T, F> {
    pub fn row(&mut self, row: &[T], order: ScanOrder) -> Vec<T> {
        match order {
            ScanOrder::Blocked(block) if row.len() > block => self.in_blocks(row, block),
            ScanOrder::Blocked(_) => self.windows(row),
            _ => self.chain(row),
        }
    }

    /// Each result is the one before it, on the side that the scan comes from, and one element more.
    fn chain(&mut self, row: &[T]) -> Vec<T> {
        let mut results = row.to_vec();
        if let Some(last) = results.last_mut().filter(|_| self.reversed) {
            *last = (self.apply)(self.init, *last);
            for at in (1..row.len()).rev() {
                results[at - 1] = (self.apply)(row[at - 1], results[at]);
            }
        } else {
            let mut state = self.init;
            for value in &mut results {
                state = (self.apply)(state, *value);
                *value = state;
            }
        }
        results
    }

    /// Each result on its own, its elements in the row's order: as a loop over a window computes it. Reversed, no
    /// result is part of another.
    fn windows(&mut self, row: &[T]) -> Vec<T> {
        if !self.reversed {
            return self.chain(row);
        }
        (0..row.len()).map(|from| row[from..].iter().fold(self.init, |state, v| (self.apply)(state, *v))).collect()
    }

    /// As XLA's ReduceWindowRewriter: blocks from the row's beginning, filled up with the init; the results of whole
    /// blocks, scanned the same way; and one application of the region to each result inside a block and the blocks before
    /// it, or the init where there are none.
    fn in_blocks(&mut self, row: &[T], block: usize) -> Vec<T> {
        let mut results = row.to_vec();
        results.resize(row.len().next_multiple_of(block), self.init);
        for values in results.chunks_mut(block) {
            let inside = self.windows(values);
            values.copy_from_slice(&inside);
        }
        let whole = if self.reversed { 0 } else { block - 1 };
        let totals: Vec<T> = results.iter().skip(whole).step_by(block).copied().collect();
        let before = self.row(&totals, ScanOrder::Blocked(block));
        for (at, values) in results.chunks_mut(block).enumerate() {
            let neighbour = if self.reversed { Some(at + 1) } else { at.checked_sub(1) };
            let before = neighbour.and_then(|at| before.get(at)).copied().unwrap_or(self.init);
            values.iter_mut().for_each(|v| *v = (self.apply)(*v, before));
        }
        results.truncate(row.len());
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of a tree, whose padding is split evenly: of an odd one the greater part is at the end (FACTS 3.11).
    #[test]
    fn the_odd_element_of_the_padding_is_at_the_end() {
        let lengths = |extent: usize| TreeReduction::new(&[extent]).0[0].iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(65), [17, 32, 16]);
        assert_eq!(lengths(66), [17, 32, 17]);
        assert_eq!(lengths(33), [17, 16]);
        assert_eq!(lengths(32), [32]);
    }

    /// The longest windows of each level follow each other.
    #[test]
    fn the_longest_chain_goes_through_the_longest_windows() {
        let chain = |dims: &[usize]| TreeReduction::new(dims).longest_chain();
        assert_eq!([chain(&[32]), chain(&[33]), chain(&[65])], [32, 17 + 2, 32 + 3]);
    }

    /// XLA applies the region to the running result inside of a block first, and to that of its neighbours second. Of `10 a + b` the
    /// order shows.
    #[test]
    fn neighbours_of_a_block_are_the_second_operand() {
        let mut scan = Scan { apply: |a: i64, b: i64| 10 * a + b, init: 0, reversed: false };
        assert_eq!(scan.row(&[1, 2, 3, 4], ScanOrder::Blocked(2)), [10, 120, 42, 352]);
    }
}
