//! Blocks of a tensor that share a scale: so many elements along each axis, the last block of an axis ragged.

use crate::ir::movement::index_of;

/// A tensor cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    dims: Vec<usize>,
    sides: Vec<usize>,
}

impl Blocks {
    /// The cut of a tensor of `dims` into blocks of `sides` elements, one number an axis; `None` where the numbers differ in count, or a
    /// side is zero.
    pub fn new(dims: &[usize], sides: &[usize]) -> Option<Blocks> {
        let fits = dims.len() == sides.len() && sides.iter().all(|side| *side > 0);
        fits.then(|| Blocks { dims: dims.to_vec(), sides: sides.to_vec() })
    }

    /// Elements of a whole block along each axis.
    pub fn sides(&self) -> &[usize] {
        &self.sides
    }

    /// Number of blocks along each axis, the ragged one included: the dims of the scales.
    pub fn counts(&self) -> Vec<usize> {
        self.dims.iter().zip(&self.sides).map(|(dim, side)| dim.div_ceil(*side)).collect()
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.counts().iter().product()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Place of a block along each axis, from its number in row-major order.
    pub fn place(&self, block: usize) -> Vec<usize> {
        index_of(&self.counts(), block)
    }

    /// Row-major positions of a block's elements, in order.
    pub fn positions(&self, block: usize) -> Vec<usize> {
        let mut positions = vec![0usize];
        for ((place, side), dim) in self.place(block).into_iter().zip(&self.sides).zip(&self.dims) {
            let (first, end) = (place * side, ((place + 1) * side).min(*dim));
            positions = positions.iter().flat_map(|start| (first..end).map(move |at| start * dim + at)).collect();
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_along_any_axis_and_the_last_is_ragged() {
        let rows = Blocks::new(&[2, 5], &[1, 2]).unwrap();
        assert_eq!((rows.counts(), rows.len()), (vec![2, 3], 6));
        assert_eq!([rows.positions(0), rows.positions(2), rows.positions(5)], [vec![0, 1], vec![4], vec![9]]);
        let columns = Blocks::new(&[3, 2], &[2, 1]).unwrap();
        assert_eq!([columns.positions(1), columns.positions(2)], [vec![1, 3], vec![4]]);
        let squares = Blocks::new(&[3, 3], &[2, 2]).unwrap();
        assert_eq!([squares.positions(0), squares.positions(3)], [vec![0, 1, 3, 4], vec![8]]);
        assert_eq!(squares.place(2), [1, 0]);
        assert_eq!(Blocks::new(&[2], &[0]), None);
    }
}
