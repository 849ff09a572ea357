//! Properties of compiled code in words, for comparisons of programs.

/// Properties of an instruction's code that its text does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeNote {
    /// Whether it adds a product before that is rounded.
    pub adds_products: bool,
    /// The order in which a sum adds its terms; `None` where the code is not known.
    pub order: Option<CodedOrder>,
    /// Whether it is a library's exponential of f32.
    pub is_library_exponential: bool,
}

/// The order in which the code of a sum adds its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodedOrder {
    /// The order of a library.
    Library,
    /// One after the other.
    Chain,
    /// So many rows at a time, each of them in order.
    RowsSideBySide(usize),
    /// So many elements of a row at a time, in one accumulator each.
    ElementsSideBySide(usize),
    /// As the products of a dot of these sizes: rows, products, columns.
    Dot([usize; 3]),
}
