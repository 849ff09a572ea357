//! Which order XLA:CPU sums the products of a dot in: whose code computes it.

use crate::ir::{DotPlan, Fusion, Instruction, LibraryFunction};
use crate::tensor::DType;

use super::block_order::{BlockOrder, Form};
use super::chip::Library;
use super::complex_dot::ComplexDot;
use super::contraction_order;
use super::dot_order::DotOrder;
use super::kernels::Isa;
use super::mode::Mode;
use super::mxu::Unit;

/// How the products of a dot are summed.
pub enum DotSum {
    /// In a library's lanes and cuts, or in those of rows times a vector.
    Lanes(DotOrder),
    /// Block by block.
    Blocks(BlockOrder),
    /// As parts of complex numbers.
    Complex(ComplexDot),
}

impl DotSum {
    /// The order of a dot of operands of these types; `None` where each result is one fused chain, or the mode says otherwise.
    pub fn new(mode: &Mode, instruction: &Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> Option<DotSum> {
        let Library::Ynnpack = mode.chip.library.filter(|_| mode.choices.acc == mode.chip.accumulation)?;
        let in_library =
            instruction.shape.dtype() == Some(DType::F32) && matches!(instruction.fusion, Some(Fusion::Custom { .. }));
        let isa = mode.choices.isa;
        let sizes = [plan.m, plan.k, plan.n];
        if dtypes == [Some(DType::BF16); 2] && in_library {
            return BlockOrder::of_all(sizes, Form::Pairs).map(DotSum::Blocks);
        }
        if dtypes != [Some(DType::F32); 2] {
            return None;
        }
        let last = [plan.lhs_transpose.is_none(), plan.rhs_transpose.is_some()];
        match instruction.library.as_deref() {
            Some(LibraryFunction::Convolution(convolution)) if in_library => {
                Some(DotSum::Lanes(DotOrder::of_convolution(isa, sizes, plan.batch, convolution)))
            }
            Some(LibraryFunction::Convolution(convolution)) => {
                contraction_order::of_convolution(isa, sizes, convolution).map(DotSum::Blocks)
            }
            function @ Some(LibraryFunction::ComplexDot) => {
                let complex = ComplexDot::new(function, sizes).map(DotSum::Complex);
                complex.or_else(|| DotOrder::of_rows(sizes, last).map(DotSum::Lanes))
            }
            _ if in_library => Some(DotSum::Lanes(DotOrder::of_library(isa, sizes, last[1]))),
            _ if isa == Isa::Avx2 => of_no_library(sizes, last, instruction.fusion),
            _ => DotOrder::of_rows(sizes, last).map(DotSum::Lanes),
        }
    }

    /// Numbers that tell how the result at place `at` of `[m,n]` is summed; `None` where it is one fused chain.
    pub fn of_place(&self, at: usize, n: usize) -> Option<Vec<usize>> {
        match self {
            DotSum::Lanes(order) => order.of_place(at).map(|plan| plan.to_vec()),
            DotSum::Blocks(order) => order.of_place(at / n, at % n),
            DotSum::Complex(order) => Some(order.of_place(at / n, at % n).to_vec()),
        }
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        match self {
            DotSum::Lanes(order) => order.matmul(lhs, rhs, unit, out),
            DotSum::Blocks(order) => order.matmul(lhs, rhs, unit, out),
            DotSum::Complex(order) => order.matmul(lhs, rhs, unit, out),
        }
    }
}

/// The order of a dot that XLA's own code or Eigen computes on a processor with AVX2 (`xla/service/cpu/dot_op_emitter.cc`).
fn of_no_library(sizes: [usize; 3], last: [bool; 2], fusion: Option<Fusion>) -> Option<DotSum> {
    /// The largest extent that has XLA write out the loops.
    const SMALL: usize = 3;
    let [m, k, n] = sizes;
    let rows = || DotOrder::of_rows(sizes, last).map(DotSum::Lanes);
    match fusion {
        Some(Fusion::Compiled(_)) => None,
        _ if m == 1 || n == 1 => rows().or_else(|| BlockOrder::of_columns(sizes).map(DotSum::Blocks)),
        Some(Fusion::SmallCall(_)) => None,
        _ if m.min(k) <= SMALL && k.min(n) <= SMALL => None,
        _ => contraction_order::of_dot(sizes).map(DotSum::Blocks),
    }
}
