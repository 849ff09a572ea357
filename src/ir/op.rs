//! Opcodes with their attributes, named as HLO names them.

use crate::tensor::{DType, Tensor};

use super::dot::DotDims;
use super::program::ComputationId;

/// One HLO operation. Shapes and meaning follow openxla `docs/operation_semantics.md`.
///
/// Opcodes that only move or mark data in compiled programs (`copy-start`, `copy-done`, `bitcast` with an unchanged
/// type, `GatherScatterIndicesBitpacked`) are [`Op::Copy`]; `fusion` is [`Op::Call`]; a convolution that stands for a
/// dot is [`Op::Dot`].
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Parameter(usize),
    Constant(Tensor),
    Iota {
        dim: usize,
    },
    Convert,
    BitcastConvert,
    ReducePrecision {
        exponent_bits: u32,
        mantissa_bits: u32,
    },
    /// `opt-barrier`: the identity, which no rewrite crosses.
    OptimizationBarrier,
    Copy,
    Broadcast {
        dims: Vec<usize>,
    },
    Reshape,
    Transpose {
        permutation: Vec<usize>,
    },
    Slice {
        start: Vec<usize>,
        limit: Vec<usize>,
        stride: Vec<usize>,
    },
    Concatenate {
        dim: usize,
    },
    /// Operands: array, scalar fill. Negative edges remove elements.
    Pad {
        low: Vec<i64>,
        high: Vec<i64>,
        interior: Vec<usize>,
    },
    Reverse {
        dims: Vec<usize>,
    },
    /// Operands: array, then one integer scalar a dim, clamped so that the slice stays inside.
    DynamicSlice {
        sizes: Vec<usize>,
    },
    /// Operands: array, the update, then one integer scalar a dim, clamped so that the update stays inside.
    DynamicUpdateSlice,
    Gather(GatherDims),
    Unary(Unary),
    Binary(Binary),
    Compare {
        direction: Compare,
        order: CompareOrder,
    },
    /// Operands: predicate, on true, on false.
    Select,
    /// Operands: low, value, high.
    Clamp,
    /// Operands: N arrays, then N scalar inits. A tuple results if N > 1.
    Reduce {
        dims: Vec<usize>,
        to_apply: ComputationId,
    },
    /// Operands: array, scalar init.
    ReduceWindow {
        window: Window,
        to_apply: ComputationId,
    },
    /// Operands: N arrays of one shape, ordered together. A tuple results if N > 1.
    Sort {
        dim: usize,
        stable: bool,
        to_apply: ComputationId,
    },
    /// Along the last dim; gives (values, s32 indices).
    TopK {
        k: usize,
        largest: bool,
    },
    /// As JAX emits it: operand, s32 indices, value init, index init; gives (values, indices).
    ApproxTopK(ApproxTopK),
    /// As the TPU compiler lowers it: same operands; one (value, index) a bin.
    PartialReduce(PartialReduce),
    Dot {
        dims: DotDims,
        precision: [Precision; 2],
    },
    Tuple,
    GetTupleElement(usize),
    Call {
        to_apply: ComputationId,
    },
    /// Operands: the state, N values. `condition` takes the state and gives a predicate; `body` takes the state and gives
    /// a tuple of the next; the loop gives the last. It has an end: [`TRIP_BOUND`].
    While {
        condition: ComputationId,
        body: ComputationId,
    },
}

/// Trips after which a `while` is refused instead of awaited.
pub const TRIP_BOUND: usize = 1 << 20;

/// An enum whose variants have names in HLO text, and a list of them all.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($variant,)*
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// As HLO text has it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// A function of one operand.
    pub enum Unary {
        Abs = "abs",
        Ceil = "ceil",
        Exponential = "exponential",
        ExponentialMinusOne = "exponential-minus-one",
        Floor = "floor",
        IsFinite = "is-finite",
        Log = "log",
        LogPlusOne = "log-plus-one",
        Logistic = "logistic",
        Negate = "negate",
        Not = "not",
        RoundNearestAfz = "round-nearest-afz",
        RoundNearestEven = "round-nearest-even",
        Rsqrt = "rsqrt",
        Sign = "sign",
        Sqrt = "sqrt",
        Tanh = "tanh",
    }
}

impl Unary {
    /// Whether it has a meaning for elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Unary::Abs | Unary::Negate | Unary::Sign => dtype.is_float() || dtype.is_integer(),
            Unary::Not => !dtype.is_float(),
            Unary::Ceil
            | Unary::Exponential
            | Unary::ExponentialMinusOne
            | Unary::Floor
            | Unary::IsFinite
            | Unary::Log
            | Unary::LogPlusOne
            | Unary::Logistic
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::Rsqrt
            | Unary::Sqrt
            | Unary::Tanh => dtype.is_float(),
        }
    }
}

named! {
    /// A function of two operands.
    pub enum Binary {
        Add = "add",
        And = "and",
        Divide = "divide",
        Maximum = "maximum",
        Minimum = "minimum",
        Multiply = "multiply",
        Or = "or",
        Remainder = "remainder",
        ShiftLeft = "shift-left",
        ShiftRightArithmetic = "shift-right-arithmetic",
        ShiftRightLogical = "shift-right-logical",
        Subtract = "subtract",
        Xor = "xor",
    }
}

impl Binary {
    /// Whether it has a meaning for elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Binary::And | Binary::Or | Binary::Xor => !dtype.is_float(),
            Binary::ShiftLeft | Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => dtype.is_integer(),
            Binary::Maximum | Binary::Minimum => true,
            Binary::Add | Binary::Divide | Binary::Multiply | Binary::Remainder | Binary::Subtract => {
                dtype.is_float() || dtype.is_integer()
            }
        }
    }

    /// Whether the order of the operands is no matter.
    pub const fn commutes(self) -> bool {
        match self {
            Binary::Add
            | Binary::And
            | Binary::Maximum
            | Binary::Minimum
            | Binary::Multiply
            | Binary::Or
            | Binary::Xor => true,
            Binary::Divide
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Subtract => false,
        }
    }
}

named! {
    /// What a comparison asks.
    pub enum Compare {
        Eq = "EQ",
        Ne = "NE",
        Ge = "GE",
        Gt = "GT",
        Le = "LE",
        Lt = "LT",
    }
}

impl Compare {
    /// The answer for operands in this order; `None` means unordered (a NaN), where only NE holds.
    pub fn of(self, ordering: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (self, ordering) {
            (Compare::Eq, o) => o == Some(Equal),
            (Compare::Ne, o) => o != Some(Equal),
            (_, None) => false,
            (Compare::Ge, Some(o)) => o != Less,
            (Compare::Gt, Some(o)) => o == Greater,
            (Compare::Le, Some(o)) => o != Greater,
            (Compare::Lt, Some(o)) => o == Less,
        }
    }
}

/// How `compare` orders floats. Integers and predicates have one order only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOrder {
    /// IEEE comparison: NaN is unordered, -0 equals +0.
    Partial,
    /// IEEE totalOrder on the bits: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
    Total,
}

/// The matrix-unit precision asked for one operand of a dot (`operand_precision`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    Default,
    High,
    Highest,
}

impl Precision {
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Default => "default",
            Precision::High => "high",
            Precision::Highest => "highest",
        }
    }
}

/// Dimension numbers of `gather`, as HLO names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatherDims {
    pub offset_dims: Vec<usize>,
    pub collapsed_slice_dims: Vec<usize>,
    pub start_index_map: Vec<usize>,
    pub operand_batching_dims: Vec<usize>,
    pub start_indices_batching_dims: Vec<usize>,
    pub index_vector_dim: usize,
    pub slice_sizes: Vec<usize>,
}

/// One entry a dim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window(pub Vec<WindowDim>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDim {
    pub size: usize,
    pub stride: usize,
    pub pad_low: i64,
    pub pad_high: i64,
    pub base_dilation: usize,
    pub window_dilation: usize,
}

impl WindowDim {
    /// A window of `size` that moves by one and sees no padding.
    pub const fn of_size(size: usize) -> WindowDim {
        WindowDim { size, stride: 1, pad_low: 0, pad_high: 0, base_dilation: 1, window_dilation: 1 }
    }
}

/// Attributes of the custom call `ApproxTopK` (FACTS 5.1), which takes the largest values.
#[derive(Clone, Debug, PartialEq)]
pub struct ApproxTopK {
    pub k: usize,
    pub reduction_dim: usize,
    pub recall_target: f32,
    pub aggregate_to_topk: bool,
    /// Size of the whole vocabulary where the operand is one shard of it.
    pub reduction_input_size_override: Option<usize>,
}

/// Attributes of the custom call `PartialReduce` (FACTS 9). The number of bins is the result's dim.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialReduce {
    pub log2_reduction: u32,
    pub reduction_dim: usize,
    pub top_k: usize,
    pub recall_target: f32,
}

/// What an operation does with elements: most rooms ask no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Has no operands.
    Source,
    /// Puts elements elsewhere and changes none: [`super::movement`].
    Moves,
    /// Gives each element in another format.
    Converts,
    /// Makes each element from those in the same place.
    Elementwise,
    /// Makes each element from many: reductions, windows, dots.
    Combines,
    /// Puts elements in order, or takes the best.
    Ranks,
    /// Joins values to a tuple, or takes one out of it.
    Lists,
    /// Runs other computations.
    Calls,
}

impl Op {
    /// The computations that the operation calls.
    pub fn callees(&self) -> impl Iterator<Item = ComputationId> {
        let (first, second) = match self {
            Op::Reduce { to_apply, .. }
            | Op::ReduceWindow { to_apply, .. }
            | Op::Sort { to_apply, .. }
            | Op::Call { to_apply } => (Some(*to_apply), None),
            Op::While { condition, body } => (Some(*condition), Some(*body)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// [`Op::callees`], to be changed.
    pub fn callees_mut(&mut self) -> impl Iterator<Item = &mut ComputationId> {
        let (first, second) = match self {
            Op::Reduce { to_apply, .. }
            | Op::ReduceWindow { to_apply, .. }
            | Op::Sort { to_apply, .. }
            | Op::Call { to_apply } => (Some(to_apply), None),
            Op::While { condition, body } => (Some(condition), Some(body)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// What it does with elements.
    pub const fn class(&self) -> Class {
        match self {
            Op::Parameter(_) | Op::Constant(_) | Op::Iota { .. } => Class::Source,
            Op::Reshape
            | Op::Copy
            | Op::OptimizationBarrier
            | Op::Broadcast { .. }
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Reverse { .. }
            | Op::DynamicSlice { .. }
            | Op::DynamicUpdateSlice
            | Op::Concatenate { .. }
            | Op::Pad { .. }
            | Op::Gather(_) => Class::Moves,
            Op::Convert | Op::BitcastConvert | Op::ReducePrecision { .. } => Class::Converts,
            Op::Unary(_) | Op::Binary(_) | Op::Compare { .. } | Op::Select | Op::Clamp => Class::Elementwise,
            Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot { .. } => Class::Combines,
            Op::Sort { .. } | Op::TopK { .. } | Op::ApproxTopK(_) | Op::PartialReduce(_) => Class::Ranks,
            Op::Tuple | Op::GetTupleElement(_) => Class::Lists,
            Op::Call { .. } | Op::While { .. } => Class::Calls,
        }
    }

    /// The position of the first operand that is a start index, for operations that take them.
    pub fn first_start(&self) -> Option<usize> {
        match self {
            Op::DynamicSlice { .. } | Op::Gather(_) => Some(1),
            Op::DynamicUpdateSlice => Some(2),
            _ => None,
        }
    }

    /// The HLO opcode; a custom call is named by its target.
    pub const fn opcode(&self) -> &'static str {
        match self {
            Op::Parameter(_) => "parameter",
            Op::Constant(_) => "constant",
            Op::Iota { .. } => "iota",
            Op::Convert => "convert",
            Op::BitcastConvert => "bitcast-convert",
            Op::ReducePrecision { .. } => "reduce-precision",
            Op::OptimizationBarrier => "opt-barrier",
            Op::Copy => "copy",
            Op::Broadcast { .. } => "broadcast",
            Op::Reshape => "reshape",
            Op::Transpose { .. } => "transpose",
            Op::Slice { .. } => "slice",
            Op::Concatenate { .. } => "concatenate",
            Op::Pad { .. } => "pad",
            Op::Reverse { .. } => "reverse",
            Op::DynamicSlice { .. } => "dynamic-slice",
            Op::DynamicUpdateSlice => "dynamic-update-slice",
            Op::Gather(_) => "gather",
            Op::Unary(unary) => unary.name(),
            Op::Binary(binary) => binary.name(),
            Op::Compare { .. } => "compare",
            Op::Select => "select",
            Op::Clamp => "clamp",
            Op::Reduce { .. } => "reduce",
            Op::ReduceWindow { .. } => "reduce-window",
            Op::Sort { .. } => "sort",
            Op::TopK { .. } => "topk",
            Op::ApproxTopK(_) => "ApproxTopK",
            Op::PartialReduce(_) => "PartialReduce",
            Op::Dot { .. } => "dot",
            Op::Tuple => "tuple",
            Op::GetTupleElement(_) => "get-tuple-element",
            Op::Call { .. } => "call",
            Op::While { .. } => "while",
        }
    }
}
