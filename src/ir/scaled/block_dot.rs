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
