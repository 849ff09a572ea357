//! Choice of the order in which XLA:CPU sums the products of a dot, by the code that computes it.

use crate::ir::{DotPlan, Fusion, Instruction, LibraryFunction};
use crate::machine::DotKernel;
use crate::machine::mxu::Unit;
use crate::tensor::DType;

use super::block_order::{BlockOrder, Form};
use super::complex_dot::ComplexDot;
use super::contraction_order;
use super::dot_order::DotOrder;

/// Order in which the products of a dot are summed.
pub enum DotSum {
    /// In a library's lanes and cuts, or in those of rows times a vector.
    Lanes(DotOrder),
    /// Block by block.
    Blocks(BlockOrder),
    /// As parts of complex numbers.
    Complex(ComplexDot),
}

impl DotSum {
    /// The order of a dot of operands of these types; `None` where each result is one fused chain.
    pub fn new(instruction: &Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> Option<DotSum> {
        let in_library = instruction.shape.dtype() == Some(DType::F32)
            && matches!(instruction.fusion(), Some(Fusion::Custom { .. }));
        let sizes = [plan.m, plan.k, plan.n];
        if dtypes == [Some(DType::BF16); 2] && in_library {
            return BlockOrder::of_all(sizes, Form::Pairs).map(DotSum::Blocks);
        }
        if dtypes != [Some(DType::F32); 2] {
            return None;
        }
        let last = [plan.lhs_transpose.is_none(), plan.rhs_transpose.is_some()];
        match instruction.library() {
            Some(LibraryFunction::Convolution(convolution)) if in_library => {
                Some(DotSum::Lanes(DotOrder::of_convolution(sizes, plan.batch, convolution)))
            }
            Some(LibraryFunction::Convolution(convolution)) => {
                contraction_order::of_convolution(sizes, convolution).map(DotSum::Blocks)
            }
            function @ Some(LibraryFunction::ComplexDot) => {
                let complex = ComplexDot::new(function, sizes).map(DotSum::Complex);
                complex.or_else(|| DotOrder::of_rows(sizes, last).map(DotSum::Lanes))
            }
            _ if in_library => Some(DotSum::Lanes(DotOrder::of_library(sizes, last[1]))),
            _ => DotOrder::of_rows(sizes, last).map(DotSum::Lanes),
        }
    }
}

impl DotKernel for DotSum {
    fn of_place(&self, at: usize, n: usize) -> Option<Vec<usize>> {
        match self {
            DotSum::Lanes(order) => order.of_place(at).map(|plan| plan.to_vec()),
            DotSum::Blocks(order) => order.of_place(at / n, at % n),
            DotSum::Complex(order) => Some(order.of_place(at / n, at % n).to_vec()),
        }
    }

    fn joins_parts(&self) -> bool {
        matches!(self, DotSum::Complex(_))
    }

    fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        match self {
            DotSum::Lanes(order) => order.matmul(lhs, rhs, unit, out),
            DotSum::Blocks(order) => order.matmul(lhs, rhs, unit, out),
            DotSum::Complex(order) => order.matmul(lhs, rhs, unit, out),
        }
    }
}
