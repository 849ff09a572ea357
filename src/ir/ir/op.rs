//! Opcodes with their attributes, named as HLO names them.

use std::hash::{Hash, Hasher};

use crate::tensor::Tensor;

use super::dot_dims::DotDims;
use super::index_dims::{GatherDims, ScatterDims};
use super::opaque::Opaque;
use super::scalar_op::{Binary, Compare, CompareOrder, Precision, Unary};
use super::window::Window;

/// Position of a computation in its program; a computation is only called by later ones.
pub type ComputationId = usize;

/// One HLO operation. Shapes and meaning follow openxla `docs/operation_semantics.md`.
///
/// Opcodes that only move or mark data in compiled programs (`copy-start`, `copy-done`, `bitcast` with an unchanged
/// type, `GatherScatterIndicesBitpacked`) are [`Op::Copy`]; `fusion` is [`Op::Call`]; a convolution that stands for a
/// dot is [`Op::Dot`].
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Op {
    /// The program's (or computation's) argument of this number, from 0. The shape is given.
    Parameter(usize),
    /// An array that the program holds.
    Constant(Tensor),
    /// Counts 0, 1, 2, ... along one dim, alike at every place of the others. The shape is given.
    Iota {
        /// The dim that it counts along.
        dim: usize,
    },
    /// Each element converted to the type of the given shape. To a float it is rounded to nearest even; a float to an
    /// integer is truncated and saturated (FACTS 11.1, 4.1); to a predicate it becomes whether it is other than zero.
    Convert,
    /// The bits of each element read as another type of the same width, that of the given shape.
    BitcastConvert,
    /// Each float rounded to nearest even to a format of so many bits, in the type that it has. If the exponent field
    /// shrinks, numbers beyond the format become infinities, and numbers below its normal ones zeros (FACTS 1.4).
    ReducePrecision {
        /// Bits of the format's exponent field.
        exponent_bits: u32,
        /// Bits of its fraction field.
        mantissa_bits: u32,
    },
    /// `opt-barrier`: the identity, which no rewrite crosses.
    OptimizationBarrier,
    /// The identity.
    Copy,
    /// The operand repeated: its dim `i` becomes dim `dims[i]` of the result. The shape is given.
    Broadcast {
        /// A dim of the result for each of the operand's, ascending.
        dims: Vec<usize>,
    },
    /// The same elements in row-major order under other dims. The shape is given.
    Reshape,
    /// The dims in another order: dim `i` of the result is dim `permutation[i]` of the operand.
    Transpose {
        /// A dim of the operand for each of the result's.
        permutation: Vec<usize>,
    },
    /// The elements `start`, `start + stride`, ... below `limit` along each dim. One entry a dim.
    Slice {
        /// The first index.
        start: Vec<usize>,
        /// The end, which is left out.
        limit: Vec<usize>,
        /// From one index to the next; at least 1.
        stride: Vec<usize>,
    },
    /// Operands: arrays that differ at most in one extent, put one after the other along it.
    Concatenate {
        /// The dim along which.
        dim: usize,
    },
    /// Operands: array, scalar fill. One entry a dim, in elements; negative edges remove elements.
    Pad {
        /// Fill before the first element.
        low: Vec<i64>,
        /// Fill behind the last element.
        high: Vec<i64>,
        /// Fill between neighbouring elements.
        interior: Vec<usize>,
    },
    /// The elements in opposite order along some dims.
    Reverse {
        /// The dims along which.
        dims: Vec<usize>,
    },
    /// Operands: array, then one integer scalar a dim, clamped so that the slice stays inside.
    DynamicSlice {
        /// Extents of the slice, which are the result's.
        sizes: Vec<usize>,
    },
    /// Operands: array, the update, then one integer scalar a dim, clamped so that the update stays inside.
    DynamicUpdateSlice,
    /// Operands: array, integer start indices. A slice of the array for each index vector, clamped to stay inside.
    Gather(GatherDims),
    /// Operands: N arrays of one shape, integer start indices, N updates of one shape. A tuple results if N > 1. A window
    /// of the updates for each index vector is combined with the arrays; one that does not lie inside them is left out.
    /// The order in which updates of one element are combined is open.
    Scatter {
        /// Positions of the windows.
        dims: ScatterDims,
        /// Takes N scalars of the arrays and N of the updates, gives N.
        to_apply: ComputationId,
    },
    /// A function of each element.
    Unary(Unary),
    /// A function of each pair of elements of two arrays of one shape.
    Binary(Binary),
    /// A predicate for each pair of elements of two arrays of one shape.
    Compare {
        /// The relation that is tested.
        direction: Compare,
        /// The order of floats.
        order: CompareOrder,
    },
    /// Operands: predicate (of the arrays' dims, or a scalar), array on true, array on false.
    Select,
    /// Operands: low, value, high; the edges may be scalars. `min(max(low, value), high)`.
    Clamp,
    /// Operands: N arrays of one shape, then N scalar inits. A tuple results if N > 1. The order in which elements are
    /// combined is open, and so is the number of times that the init is among them (FACTS 3.2).
    Reduce {
        /// The dims that are reduced, and that the result does not have.
        dims: Vec<usize>,
        /// Takes N accumulated scalars and N more, gives N.
        to_apply: ComputationId,
    },
    /// Operands: array, scalar init, which the padding holds as well. The reduction of the elements in a window at each
    /// of its places.
    ReduceWindow {
        /// The window, which moves over all dims.
        window: Window,
        /// Takes the accumulated scalar and one more, gives one.
        to_apply: ComputationId,
    },
    /// Operands: N arrays of one shape, ordered together. A tuple results if N > 1.
    Sort {
        /// The dim along which; places of the others are sorted on their own.
        dim: usize,
        /// Whether elements of which neither goes first keep their order.
        stable: bool,
        /// Takes two elements of the first array, two of the second, and so on; gives whether the first go first.
        to_apply: ComputationId,
    },
    /// The first elements in IEEE totalOrder along the last dim, best first, ties by the lower index (FACTS 4); gives
    /// (values, s32 indices).
    TopK {
        /// The number of elements that are taken; at most the last dim's extent.
        k: usize,
        /// Whether the largest are the best; otherwise the smallest.
        largest: bool,
    },
    /// As JAX emits it: operand, s32 indices, value init, index init; gives (values, indices).
    ApproxTopK(ApproxTopK),
    /// As the TPU compiler lowers it: same operands; one (value, index) a bin. The shape is given.
    PartialReduce(PartialReduce),
    /// Operands: two arrays of one float type. Sums of products over the contracting dims, for each place of the batch
    /// dims; the result's float type may be given.
    Dot {
        /// The contracting dims and the batch dims.
        dims: DotDims,
        /// The precision asked for the left and for the right operand.
        precision: [Precision; 2],
    },
    /// All operands as one value.
    Tuple,
    /// Operand: a tuple, of which this is one element, counted from 0.
    GetTupleElement(usize),
    /// The result of a computation; the operands are its arguments.
    Call {
        /// The computation.
        to_apply: ComputationId,
    },
    /// Operands: the state, N values. The loop gives the last state, as a tuple. It has an end: [`TRIP_BOUND`].
    While {
        /// Takes the state and gives a scalar predicate: whether the body runs once more.
        condition: ComputationId,
        /// Takes the state and gives a tuple of the next one.
        body: ComputationId,
    },
    /// An operation without a meaning here. The shape is given.
    Opaque(Opaque),
}

/// Trips after which a `while` is refused instead of awaited.
pub const TRIP_BOUND: usize = 1 << 20;

/// Attributes of the custom call `ApproxTopK` (FACTS 5.1), which takes the largest values.
#[derive(Clone, Debug, PartialEq)]
pub struct ApproxTopK {
    /// The number of values that are wanted.
    pub k: usize,
    /// The dim along which they are taken: the last one.
    pub reduction_dim: usize,
    /// The share of the `k` largest that is to be found on average, in (0, 1]: it sets the number of bins (FACTS 5.2).
    pub recall_target: f32,
    /// Whether the bins' winners are reduced to the best `k`; otherwise all of them are given.
    pub aggregate_to_topk: bool,
    /// Size of the whole vocabulary where the operand is one shard of it.
    pub reduction_input_size_override: Option<usize>,
}

// Recall targets are no NaN and no -0: equal ones have equal bits.
impl Hash for ApproxTopK {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let ApproxTopK { k, reduction_dim, recall_target, aggregate_to_topk, reduction_input_size_override } = self;
        (k, reduction_dim, recall_target.to_bits(), aggregate_to_topk, reduction_input_size_override).hash(state);
    }
}

/// Attributes of the custom call `PartialReduce` (FACTS 9). The number of bins is the result's dim.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialReduce {
    /// `2^log2_reduction` elements fall into a bin, at most; 0 where nothing is reduced.
    pub log2_reduction: u32,
    /// The dim along which: the last one.
    pub reduction_dim: usize,
    /// The `k` of the [`ApproxTopK`] that it was lowered from; 0 where a file does not say. Nothing depends on it: it is
    /// kept to be printed.
    pub top_k: usize,
    /// That one's `recall_target`, kept as `top_k` is.
    pub recall_target: f32,
}

// By the bits of the recall target, as of `ApproxTopK`.
impl Hash for PartialReduce {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let PartialReduce { log2_reduction, reduction_dim, top_k, recall_target } = self;
        (log2_reduction, reduction_dim, top_k, recall_target.to_bits()).hash(state);
    }
}

/// Effect of an operation on elements; most rooms need to know no more.
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

/// An operation of [`Class::Moves`] with its attributes, which are those of its [`Op`]. Matches over it name every
/// operation that moves elements and no other.
#[derive(Clone, Copy, Debug)]
pub enum ElementMove<'a> {
    /// `copy` and `opt-barrier`, of tuples as well.
    Identity,
    /// [`Op::Reshape`].
    Reshape,
    /// [`Op::Broadcast`].
    Broadcast {
        /// A dim of the result for each of the operand's, ascending.
        dims: &'a [usize],
    },
    /// [`Op::Transpose`].
    Transpose {
        /// A dim of the operand for each of the result's.
        permutation: &'a [usize],
    },
    /// [`Op::Slice`].
    Slice {
        /// The first index along each dim.
        start: &'a [usize],
        /// The end, which is left out.
        limit: &'a [usize],
        /// From one index to the next; at least 1.
        stride: &'a [usize],
    },
    /// [`Op::Concatenate`].
    Concatenate {
        /// The dim along which.
        dim: usize,
    },
    /// [`Op::Pad`].
    Pad {
        /// Fill before the first element of each dim.
        low: &'a [i64],
        /// Fill behind the last element.
        high: &'a [i64],
        /// Fill between neighbouring elements.
        interior: &'a [usize],
    },
    /// [`Op::Reverse`].
    Reverse {
        /// The dims along which.
        dims: &'a [usize],
    },
    /// [`Op::DynamicSlice`].
    DynamicSlice {
        /// Extents of the slice.
        sizes: &'a [usize],
    },
    /// [`Op::DynamicUpdateSlice`].
    DynamicUpdateSlice,
    /// [`Op::Gather`].
    Gather(&'a GatherDims),
}

/// A class, and the attributes of an operation that moves elements.
#[derive(Clone, Copy)]
enum ClassedMove<'a> {
    Moves(ElementMove<'a>),
    /// Any other class.
    Of(Class),
}

impl Op {
    /// The computations that the operation calls.
    pub fn callees(&self) -> impl Iterator<Item = ComputationId> {
        let (first, second) = match self {
            Op::Reduce { to_apply, .. }
            | Op::ReduceWindow { to_apply, .. }
            | Op::Scatter { to_apply, .. }
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
            | Op::Scatter { to_apply, .. }
            | Op::Sort { to_apply, .. }
            | Op::Call { to_apply } => (Some(to_apply), None),
            Op::While { condition, body } => (Some(condition), Some(body)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Its effect on elements.
    pub const fn class(&self) -> Class {
        match self.row().1 {
            ClassedMove::Moves(_) => Class::Moves,
            ClassedMove::Of(class) => class,
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
        self.row().0
    }

    /// The movement of elements that it is; `None` for operations of other classes than [`Class::Moves`].
    pub const fn movement(&self) -> Option<ElementMove<'_>> {
        match self.row().1 {
            ClassedMove::Moves(movement) => Some(movement),
            _ => None,
        }
    }

    /// Its opcode and its effect on elements.
    const fn row(&self) -> (&'static str, ClassedMove<'_>) {
        use ClassedMove::{Moves, Of};
        match self {
            Op::Parameter(_) => ("parameter", Of(Class::Source)),
            Op::Constant(_) => ("constant", Of(Class::Source)),
            Op::Iota { .. } => ("iota", Of(Class::Source)),
            Op::Convert => ("convert", Of(Class::Converts)),
            Op::BitcastConvert => ("bitcast-convert", Of(Class::Converts)),
            Op::ReducePrecision { .. } => ("reduce-precision", Of(Class::Converts)),
            Op::OptimizationBarrier => ("opt-barrier", Moves(ElementMove::Identity)),
            Op::Copy => ("copy", Moves(ElementMove::Identity)),
            Op::Broadcast { dims } => ("broadcast", Moves(ElementMove::Broadcast { dims: dims.as_slice() })),
            Op::Reshape => ("reshape", Moves(ElementMove::Reshape)),
            Op::Transpose { permutation } => {
                ("transpose", Moves(ElementMove::Transpose { permutation: permutation.as_slice() }))
            }
            Op::Slice { start, limit, stride } => (
                "slice",
                Moves(ElementMove::Slice {
                    start: start.as_slice(),
                    limit: limit.as_slice(),
                    stride: stride.as_slice(),
                }),
            ),
            Op::Concatenate { dim } => ("concatenate", Moves(ElementMove::Concatenate { dim: *dim })),
            Op::Pad { low, high, interior } => (
                "pad",
                Moves(ElementMove::Pad { low: low.as_slice(), high: high.as_slice(), interior: interior.as_slice() }),
            ),
            Op::Reverse { dims } => ("reverse", Moves(ElementMove::Reverse { dims: dims.as_slice() })),
            Op::DynamicSlice { sizes } => {
                ("dynamic-slice", Moves(ElementMove::DynamicSlice { sizes: sizes.as_slice() }))
            }
            Op::DynamicUpdateSlice => ("dynamic-update-slice", Moves(ElementMove::DynamicUpdateSlice)),
            Op::Gather(dims) => ("gather", Moves(ElementMove::Gather(dims))),
            Op::Scatter { .. } => ("scatter", Of(Class::Combines)),
            Op::Unary(unary) => (unary.name(), Of(Class::Elementwise)),
            Op::Binary(binary) => (binary.name(), Of(Class::Elementwise)),
            Op::Compare { .. } => ("compare", Of(Class::Elementwise)),
            Op::Select => ("select", Of(Class::Elementwise)),
            Op::Clamp => ("clamp", Of(Class::Elementwise)),
            Op::Reduce { .. } => ("reduce", Of(Class::Combines)),
            Op::ReduceWindow { .. } => ("reduce-window", Of(Class::Combines)),
            Op::Sort { .. } => ("sort", Of(Class::Ranks)),
            Op::TopK { .. } => ("topk", Of(Class::Ranks)),
            Op::ApproxTopK(_) => ("ApproxTopK", Of(Class::Ranks)),
            Op::PartialReduce(_) => ("PartialReduce", Of(Class::Ranks)),
            Op::Dot { .. } => ("dot", Of(Class::Combines)),
            Op::Tuple => ("tuple", Of(Class::Lists)),
            Op::GetTupleElement(_) => ("get-tuple-element", Of(Class::Lists)),
            Op::Call { .. } => ("call", Of(Class::Calls)),
            Op::While { .. } => ("while", Of(Class::Calls)),
            Op::Opaque(_) => ("opaque", Of(Class::Combines)),
        }
    }
}
