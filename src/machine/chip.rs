//! Chips as rows.

use std::fmt;

use crate::analysis::Regions;
use crate::ir::{Binary, Computation, Op, Unary};

use super::backend::{Backend, Ties, plan_live};
use super::code_note::CodeNote;
use super::mxu::Accumulation;
use super::vector::{Divide, ErrorModel, Eup, ScanOrder, StepRounding, SumOrder, ZeroTie};

/// The arithmetic of a chip, with its compiler's habits.
pub struct Chip {
    /// The first part of a mode: `NAME/default/off`.
    pub name: &'static str,
    /// A description that names the modelling choices, for listings.
    pub doc: &'static str,
    /// Whether there is a matrix unit that takes bf16 passes; otherwise a dot is f32 whatever its precision.
    pub matrix_unit: bool,
    /// Rows of the systolic array: products that are summed before a block's sum joins the others (FACTS 2.4).
    pub mxu_block: usize,
    /// The order and rounding in which a pass of the matrix unit sums its products.
    pub accumulation: Accumulation,
    /// Whether it computes in f64; the compiler of a chip without it works with pairs of f32 (FACTS 9.3).
    pub has_f64: bool,
    /// Whether arithmetic flushes subnormals, on the way in and out (FACTS 3.4).
    pub flush: bool,
    /// The way f32 quotients are computed.
    pub divide: Divide,
    /// The zero that maximum and minimum return for -0 and +0.
    pub zero_tie: ZeroTie,
    /// The generation of its function unit, by which its error bounds are published (FACTS 3.3).
    pub eup: Eup,
    /// The errors of exp, log, tanh and their like, and of quotients.
    pub functions: ErrorModel,
    /// The order of a sum on the vector unit.
    pub sum: SumOrder,
    /// The order of a running sum.
    pub scan: ScanOrder,
    /// The type to which each addition of a bf16 sum is rounded.
    pub narrow: StepRounding,
    /// The compiler that plans code for it beyond the units' own, and calls libraries; `None` on every TPU.
    pub backend: Option<&'static dyn Backend>,
    /// Operations that the vector unit computes in bf16 (FACTS 9), so that there is no wide value to expose.
    pub native: &'static [Native],
    /// Whether approx_max_k runs as PartialReduce; otherwise it is an exact sort (FACTS 5.1).
    pub partial_reduce: bool,
}

/// An operation that a vector unit has in bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// This function of one operand.
    Unary(Unary),
    /// This function of two operands.
    Binary(Binary),
}

impl fmt::Debug for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chip({})", self.name)
    }
}

impl Chip {
    /// Whether a compiler plans code for it in which products are added before they are rounded (FACTS 3.12), and leaves
    /// fusions to libraries (FACTS 10.3).
    pub fn plans_code(&self) -> bool {
        self.backend.is_some()
    }

    /// A note for each instruction of a computation, where a compiler plans code for this chip.
    pub fn note_code(&self, computation: &Computation, regions: &Regions) -> Vec<CodeNote> {
        match self.backend {
            Some(backend) => {
                plan_live(computation, |alive, uses| backend.notes(alive, uses, regions), CodeNote::default())
            }
            None => vec![CodeNote::default(); computation.instructions.len()],
        }
    }

    /// The order of equal elements after a sort that need not be stable (FACTS 4).
    pub(super) fn ties(&self) -> Ties {
        self.backend.map_or(Ties::InOrder, Backend::ties)
    }

    /// Whether the vector unit computes this operation in bf16.
    pub fn native_bf16(&self, op: &Op) -> bool {
        match op {
            Op::Unary(unary) => self.native.contains(&Native::Unary(*unary)),
            Op::Binary(binary) => self.native.contains(&Native::Binary(*binary)),
            _ => false,
        }
    }
}

/// The chips whose arithmetic is the units' own, oldest first.
pub static CHIPS: &[&Chip] = &[&V2, &V3, &V4, &V5E, &V5P, &V6E, &TPU7X, &CPU];

const TPU: Chip = Chip {
    name: "",
    doc: "",
    matrix_unit: true,
    mxu_block: 128,
    accumulation: Accumulation::Block,
    has_f64: false,
    flush: true,
    // Before v6e a quotient is left times reciprocal, as those that a v2 and a v3 printed show (FACTS 3.3).
    divide: Divide::ByReciprocal,
    // The second operand wins a tie of zeros: XLA's own tests of TPUs expect it (FACTS 3.3).
    zero_tie: ZeroTie::Second,
    eup: Eup::PreV5,
    functions: ErrorModel::CorrectlyRounded,
    sum: SumOrder::Lanes,
    scan: ScanOrder::Sequential,
    narrow: StepRounding::F32,
    backend: None,
    native: &[],
    partial_reduce: true,
};

/// TPU v2.
pub static V2: Chip =
    Chip { name: "v2", doc: "TPU v2: 128 x 128 MXU, f32 vector unit. Orders are modelling choices.", ..TPU };
/// TPU v3.
pub static V3: Chip =
    Chip { name: "v3", doc: "TPU v3: 128 x 128 MXU, f32 vector unit. Orders are modelling choices.", ..TPU };
/// TPU v4.
pub static V4: Chip =
    Chip { name: "v4", doc: "TPU v4: 128 x 128 MXU, f32 vector unit. Orders are modelling choices.", ..TPU };
/// TPU v5e.
pub static V5E: Chip = Chip {
    name: "v5e",
    doc: "TPU v5e: 128 x 128 MXU, f32 vector unit; its functions err as those of v2 to v4 (FACTS 3.3). Orders are modelling choices.",
    eup: Eup::V5e,
    ..TPU
};
/// TPU v5p.
pub static V5P: Chip = Chip {
    name: "v5p",
    doc: "TPU v5p: 128 x 128 MXU, f32 vector unit. Orders are modelling choices.",
    eup: Eup::V5,
    ..TPU
};
/// TPU v6e.
pub static V6E: Chip = Chip {
    name: "v6e",
    doc: "TPU v6e: 256 x 256 MXU; its compiler takes bf16 arithmetic through f32 (FACTS 9). Orders are modelling choices.",
    mxu_block: 256,
    eup: Eup::V6,
    divide: Divide::Exact,
    ..TPU
};
/// TPU 7x.
pub static TPU7X: Chip = Chip {
    name: "tpu7x",
    doc: "TPU 7x: 256 x 256 MXU; subtract, exponential and divide are native in bf16 (FACTS 9). Orders are modelling \
          choices. The error bounds of its functions were measured: the compiler states none (FACTS 3.3).",
    mxu_block: 256,
    eup: Eup::V7,
    divide: Divide::Exact,
    native: &[Native::Binary(Binary::Subtract), Native::Unary(Unary::Exponential), Native::Binary(Binary::Divide)],
    ..TPU
};
/// Plain IEEE arithmetic in order.
pub static CPU: Chip = Chip {
    name: "cpu",
    doc: "Plain IEEE f32, one chain in order, subnormals kept: the stand-in for PyTorch on a CPU.",
    matrix_unit: false,
    // One chain over all of K has no blocks.
    mxu_block: usize::MAX,
    accumulation: Accumulation::Chain,
    has_f64: true,
    flush: false,
    divide: Divide::Exact,
    zero_tie: ZeroTie::Ieee,
    eup: Eup::Exact,
    sum: SumOrder::Chain,
    partial_reduce: false,
    ..TPU
};
