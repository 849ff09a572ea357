//! Parts of a sum's term that has several products.

/// What a value is of a term whose products join the sum one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The product that joins first. It is not rounded.
    Product,
    /// The sum of a product that is not rounded and of what joins before it: the operand of this number.
    Sum(usize),
    /// Such a sum negated or in another shape.
    Moved,
}
