//! A dot of scaled blocks: its numbers, without any arithmetic, for the machine and the oracle alike.

/// A product of two matrices whose elements share scales by blocks of K: `a` [m, k] by rows, `b` [k, n], a scale a row of `a` and one a
/// column of `b` for each block. The last block may be ragged.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockDot {
    a: Vec<f64>,
    b: Vec<f64>,
    scale_a: Vec<f64>,
    scale_b: Vec<f64>,
    dims: [usize; 3],
    block: usize,
}

/// Why numbers make no dot.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BlockDotError {
    /// The counts of numbers do not fit the dims.
    #[error(
        "a dot of m, k, n = {dims:?} in blocks of {block} takes {expected:?} numbers of a, b and their scales, not {found:?}"
    )]
    Counts {
        /// The extents m, k and n.
        dims: [usize; 3],
        /// Elements of a block.
        block: usize,
        /// Numbers that are needed.
        expected: [usize; 4],
        /// Numbers that are given.
        found: [usize; 4],
    },
    /// An element is no number, or not a multiple of 2^-16 below 2^32, as all elements of eight bits are.
    #[error("element {0} is no element of eight bits")]
    Element(f64),
    /// A scale is no finite f32.
    #[error("scale {0} is no finite f32")]
    Scale(f64),
}

impl BlockDot {
    /// A dot of elements and scales as numbers, row-major; `dims` are m, k and n.
    ///
    /// # Errors
    /// If counts do not fit, an element is none of a type of [`super::ELEMENTS`], or a scale is no finite f32.
    pub fn new(dims: [usize; 3], block: usize, numbers: [Vec<f64>; 4]) -> Result<BlockDot, BlockDotError> {
        let [m, k, n] = dims;
        let blocks = k.div_ceil(block.max(1));
        let expected = [m * k, k * n, m * blocks, blocks * n];
        let found = [0, 1, 2, 3].map(|at| numbers[at].len());
        if expected != found || block == 0 {
            return Err(BlockDotError::Counts { dims, block, expected, found });
        }
        let [a, b, scale_a, scale_b] = numbers;
        let is_element = |value: &f64| (value * 65536.0).fract() == 0.0 && value.abs() < 4294967296.0;
        if let Some(wrong) = a.iter().chain(&b).find(|value| !is_element(value)) {
            return Err(BlockDotError::Element(*wrong));
        }
        let is_scale = |value: &f64| value.is_finite() && f64::from(*value as f32) == *value;
        if let Some(wrong) = scale_a.iter().chain(&scale_b).find(|value| !is_scale(value)) {
            return Err(BlockDotError::Scale(*wrong));
        }
        Ok(BlockDot { a, b, scale_a, scale_b, dims, block })
    }

    /// The extents m, k and n.
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Elements of a block along K.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of blocks along K.
    pub fn blocks(&self) -> usize {
        self.dims[1].div_ceil(self.block)
    }

    /// Pairs of elements of one block, of row `i` and column `j`.
    pub fn pairs(&self, i: usize, j: usize, block: usize) -> impl Iterator<Item = (f64, f64)> {
        let [_, k, n] = self.dims;
        let range = block * self.block..((block + 1) * self.block).min(k);
        range.map(move |at| (self.a[i * k + at], self.b[at * n + j]))
    }

    /// Scales of one block of row `i` and of column `j`.
    pub fn scales(&self, i: usize, j: usize, block: usize) -> (f64, f64) {
        (self.scale_a[i * self.blocks() + block], self.scale_b[block * self.dims[2] + j])
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockDot, BlockDotError};

    const DIMS: [usize; 3] = [2, 5, 3];

    /// Numbers that are all different: of 2 rows and 3 columns in 3 blocks of 2, the last of one element.
    fn numbers() -> [Vec<f64>; 4] {
        let from = |first: i32, count: i32| (first..first + count).map(f64::from).collect();
        [from(0, 10), from(100, 15), from(200, 6), from(300, 9)]
    }

    #[test]
    fn blocks_have_their_rows_columns_and_scales() {
        let [a, b, scale_a, scale_b] = numbers();
        let dot = BlockDot::new(DIMS, 2, numbers()).unwrap();
        assert_eq!((dot.dims(), dot.block(), dot.blocks()), (DIMS, 2, 3));
        for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let pairs: Vec<(f64, f64)> = (0..3).flat_map(|block| dot.pairs(i, j, block)).collect();
            assert_eq!(pairs, (0..5).map(|p| (a[5 * i + p], b[3 * p + j])).collect::<Vec<_>>());
            assert_eq!([0, 1, 2].map(|block| dot.pairs(i, j, block).count()), [2, 2, 1]);
            for block in 0..3 {
                assert_eq!(dot.scales(i, j, block), (scale_a[3 * i + block], scale_b[3 * block + j]));
            }
        }
    }

    /// One number too few or too many in any place, and blocks of nothing.
    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let is_refused = |block, numbers| {
            matches!(BlockDot::new(DIMS, block, numbers), Err(BlockDotError::Counts { expected: [10, 15, ..], .. }))
        };
        assert!(is_refused(0, numbers()) && is_refused(3, numbers()));
        for at in 0..4 {
            let (mut fewer, mut more) = (numbers(), numbers());
            fewer[at].pop();
            more[at].push(1.0);
            assert!(is_refused(2, fewer) && is_refused(2, more), "{at}");
        }
    }

    /// Elements of eight bits are multiples of 2^-16 below 2^32, and scales finite numbers of f32.
    #[test]
    fn numbers_of_other_types_are_refused() {
        let with = |list: usize, value: f64| {
            let mut numbers = numbers();
            numbers[list][1] = value;
            BlockDot::new(DIMS, 2, numbers)
        };
        let largest = 4294967296.0 - 1.0 / 65536.0;
        for element in [1.0 / 65536.0, -1.0 / 65536.0, largest, -largest, -0.0] {
            assert!(with(0, element).is_ok() && with(1, element).is_ok(), "{element}");
        }
        for element in [1.0 / 131072.0, 4294967296.0, -4294967296.0, f64::INFINITY, f64::NAN] {
            for list in [0, 1] {
                assert!(matches!(with(list, element), Err(BlockDotError::Element(_))), "{element}");
            }
        }
        for scale in [f64::from(f32::MAX), -1e-45f32 as f64, 0.0] {
            assert!(with(2, scale).is_ok() && with(3, scale).is_ok(), "{scale}");
        }
        for scale in [f64::INFINITY, f64::NAN, 1e39, 1.0 + f64::EPSILON, 1e-46] {
            for list in [2, 3] {
                assert!(matches!(with(list, scale), Err(BlockDotError::Scale(_))), "{scale}");
            }
        }
    }
}
