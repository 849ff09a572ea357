//! The order in which a program adds, where its text or its compiler says it.

use crate::ir::KCut;
use crate::machine::CodedOrder;
use crate::tensor::DType;

/// The order in which the terms of a sum are added, as far as its steps do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdditionOrder {
    /// The library that computes the fusion decides it.
    Library,
    /// The kernel for operands of this type decides it: a library may cut K into other blocks for bf16 than for f32.
    KernelFor(DType),
    /// The compiler decides it, and the loop is not known.
    Compiler,
    /// One after the other.
    Chain,
    /// So many rows at a time, each of them in order.
    RowsSideBySide(usize),
    /// So many elements of a row at a time, in one accumulator each.
    ElementsSideBySide(usize),
    /// As the products of a dot of these sizes: rows, products, columns.
    Dot([usize; 3]),
    /// Updates are added to zeros, and their sums to the array.
    UpdatesOntoZeros,
    /// Updates are added to the array one by one.
    UpdatesOntoArray,
}

impl From<CodedOrder> for AdditionOrder {
    fn from(order: CodedOrder) -> AdditionOrder {
        match order {
            CodedOrder::Library => AdditionOrder::Library,
            CodedOrder::Chain => AdditionOrder::Chain,
            CodedOrder::RowsSideBySide(rows) => AdditionOrder::RowsSideBySide(rows),
            CodedOrder::ElementsSideBySide(elements) => AdditionOrder::ElementsSideBySide(elements),
            CodedOrder::Dot(sizes) => AdditionOrder::Dot(sizes),
        }
    }
}

/// The plan by which a compiled file cuts up a matmul, as far as it may change bits: windows over the result do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatmulPlan {
    /// The cut of the sum over K.
    pub cut: KCut,
    /// The compiler's name for its method.
    pub emitter: String,
}
