//! Orders in which a compiler's loop, or a library in its place, adds the terms of a sum.

use crate::machine::CodedOrder;

/// The order in which a sum adds its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SumLoop {
    /// One after the other.
    #[default]
    Chain,
    /// One after the other without a loop, from a zero that is left out: of the first two products the first joins the
    /// second before it is rounded.
    ChainOfTwo,
    /// One after the other, products rounded before they are added: several sums are taken side by side.
    ChainOfRounded(Beside),
    /// Several rows side by side.
    Rows(Rows),
    /// Several elements of each row side by side.
    Columns(Columns),
    /// As the products of a dot, by a library.
    Dot(DotLoop),
}

impl From<SumLoop> for CodedOrder {
    fn from(sum_loop: SumLoop) -> CodedOrder {
        match sum_loop {
            SumLoop::Chain | SumLoop::ChainOfTwo | SumLoop::ChainOfRounded(_) => CodedOrder::Chain,
            SumLoop::Rows(rows) => CodedOrder::RowsSideBySide(rows.lanes),
            SumLoop::Columns(columns) => CodedOrder::ElementsSideBySide(columns.lanes * columns.registers),
            SumLoop::Dot(DotLoop { sizes, .. }) => CodedOrder::Dot(sizes),
        }
    }
}

impl SumLoop {
    /// Whether several elements are added side by side.
    pub fn is_side_by_side(self) -> bool {
        match self {
            SumLoop::Chain | SumLoop::ChainOfTwo | SumLoop::ChainOfRounded(_) => false,
            SumLoop::Rows(_) | SumLoop::Columns(_) => true,
            SumLoop::Dot(dot) => dot.lanes_and_depth.is_some(),
        }
    }
}

/// Sums that are computed side by side: `count` of each `extent`, the others alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Beside {
    /// Number of sums side by side.
    pub count: usize,
    /// Number of sums in one pass of the loop over them.
    pub extent: usize,
}

impl Beside {
    /// Picks each sum from those computed side by side or those computed alone.
    pub fn choose(self, beside: Vec<f32>, alone: Vec<f32>) -> Vec<f32> {
        let sums = beside.into_iter().zip(alone).enumerate();
        sums.map(|(at, (beside, alone))| if at % self.extent.max(1) < self.count { beside } else { alone }).collect()
    }
}

/// Rows of two reduced dims that are summed side by side, each its columns one after the other; the sums are joined by
/// halving, and rows left over follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Number of rows in a register.
    pub lanes: usize,
    /// The least number of rows that are left over.
    pub alone: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Rows after which the lanes are joined: one turn of the loop over rows. Dims around them are loops of their own.
    pub extent: usize,
    /// Whether products are rounded before they are added: LLVM's `VectorCombine` multiplies elements of up to eight
    /// columns as they lie in memory, all rows at once, before it parts them by columns.
    pub rounds_products: bool,
}

/// Elements of the innermost dim that are summed side by side: registers of `lanes` elements, `registers` of them in
/// turn. The registers are joined in order, their lanes by halving, and the remainder follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Elements of the innermost dim.
    pub extent: usize,
    /// Elements of a register.
    pub lanes: usize,
    /// Number of registers that are interleaved.
    pub registers: usize,
    /// Whether the last step leaves out lanes, so that nothing is left over.
    pub masked: bool,
    /// The least number of elements that are left over.
    pub alone: usize,
    /// Lanes of a register for the remainder; 1 if it follows element by element.
    pub lanes_of_rest: usize,
    /// Whether there is no loop left: then the registers join term by term.
    pub unrolled: bool,
}

/// The dot that a library takes a sum of products for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DotLoop {
    /// Numbers of rows, products and columns.
    pub sizes: [usize; 3],
    /// Lanes side by side, and the number of products between two cuts; `None` where the dot is one chain.
    pub lanes_and_depth: Option<[usize; 2]>,
}
