//! Parts of a sum's term that has several products.

/// The role of a value in a term whose products join the sum one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The product that joins first. It is not rounded.
    Product,
    /// The sum of an unrounded product and of the operand with this number, which joins before the product.
    Sum(usize),
    /// A negation, copy or reshape of such a sum.
    Moved,
}
