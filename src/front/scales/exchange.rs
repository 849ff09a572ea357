//! Orders that scales and elements lie in instead of the input's.

/// Another order of scales or elements than the input's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// None: dims and order agree.
    None,
    /// The scales' dims are reversed.
    ScaleDims,
    /// The scales lie in column-major order under row-major dims.
    ScaleOrder,
    /// The elements are the transpose of the input's.
    Elements,
    /// Each block has the scale of the block before it, in row-major order.
    FromBefore,
    /// Each block has the scale of the block after it, in row-major order.
    FromAfter,
}

impl Exchange {
    /// The fault in words, `None` where there is none.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            Exchange::None => None,
            Exchange::ScaleDims => Some("rows and columns of the scales are exchanged: they are stored transposed"),
            Exchange::ScaleOrder => {
                Some("rows and columns of the scales are exchanged: they lie in column-major order")
            }
            Exchange::Elements => {
                Some("rows and columns of the elements are exchanged: they are the input's transposed")
            }
            Exchange::FromBefore => {
                Some("each block has the scale of the block before it: the scales lie one too late")
            }
            Exchange::FromAfter => Some("each block has the scale of the block after it: the scales lie one too early"),
        }
    }
}
