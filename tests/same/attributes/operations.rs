//! The completeness of the rows: every operation with all of its fields, and the attributes that have none.

use ulpgate::ir::{ApproxTopK, DotDims, GatherDims, Op, PartialReduce, ScatterDims};

/// Attributes without a row: where two values of one can give no two programs, or a machine makes the same of both.
pub const WITHOUT_A_ROW: &[(&str, &str, &str)] = &[
    ("gather", "collapsed_slice_dims", "names dims of one element: another list of one length has the same elements"),
    ("fusion", "kind", "says who computes it: on a TPU the machine makes the same of all (FACTS 9)"),
    ("parameter", "sharding", "says whether devices share an argument: then programs have other parameters"),
    ("custom-call", "called_computations", "is refused unless it takes the largest value first"),
    ("async-update", "calls", "stands at the start as well"),
    ("async-done", "calls", "stands at the start as well"),
    ("rng", "distribution", "is refused but for a uniform one between equal bounds"),
    ("scan", "num_carries", "another number takes operands of other dims"),
    ("get-dimension-size", "dimensions", "gives a number of the shape"),
    ("set-dimension-size", "dimensions", "is refused unless the size is the shape's"),
    ("map", "dimensions", "names all dims"),
    ("slice-start", "slice", "is read as that of a slice"),
    ("dynamic-slice-start", "dynamic_slice_sizes", "is read as that of a dynamic-slice"),
    ("scaled-dot", "operand_precision", "changes nothing: its operands are products in bf16 (FACTS 11.5)"),
    ("ragged-dot", "algorithm", "is read as that of a dot"),
    ("ragged-dot", "lhs_contracting_dims", "is refused if it is another dim"),
    ("ragged-dot", "rhs_contracting_dims", "is refused if it is another dim"),
    ("ragged-dot", "lhs_batch_dims", "is refused unless there is none"),
    ("ragged-dot", "rhs_batch_dims", "is refused unless there is none"),
    ("ragged-dot", "lhs_ragged_dims", "another dim gives a result of other dims"),
    ("ragged-dot", "rhs_group_dims", "another dim is one that is contracted or given"),
    ("convolution", "feature_group_count", "another count takes a kernel of other dims"),
    ("convolution", "sparsity_config", "another block or dim takes an operand of other dims"),
    ("convolution", "batch_group_count", "another count takes a kernel of other dims"),
    ("collective-broadcast", "has_dynamic_root", "takes an operand more"),
    ("*", "channel_id", "says, by being there, of what replica_groups are; numbers name rendezvous"),
    ("*", "use_global_device_ids", "says of what replica_groups are: another list goes with it"),
];

/// Every variant of [`Op`] with all of its fields, each with the row that changes it (opcode and attribute) or the reason why
/// none does.
macro_rules! operations {
    ($($pattern:pat => $name:literal [$($field:literal: $opcode:literal $attribute:literal,)*],)*) => {
        /// The name of a variant.
        pub fn variant(op: &Op) -> &'static str {
            match op {
                $($pattern => $name,)*
            }
        }

        /// Every variant with its fields.
        pub const OPERATIONS: &[(&str, &[(&str, &str, &str)])] = &[$(($name, &[$(($field, $opcode, $attribute),)*]),)*];
    };
}

operations! {
    Op::Parameter(_) => "Parameter" ["number": "" "programs differ in their arguments",],
    Op::Constant(_) => "Constant" ["value": "" "two_values_of_a_constant_are_two_programs",],
    Op::Iota { dim: _ } => "Iota" ["dim": "iota" "iota_dimension",],
    Op::Convert => "Convert" [],
    Op::BitcastConvert => "BitcastConvert" [],
    Op::ReducePrecision { exponent_bits: _, mantissa_bits: _ } => "ReducePrecision" [
        "exponent_bits": "reduce-precision" "exponent_bits",
        "mantissa_bits": "reduce-precision" "mantissa_bits",
    ],
    Op::OptimizationBarrier => "OptimizationBarrier" [],
    Op::Copy => "Copy" [],
    Op::Broadcast { dims: _ } => "Broadcast" ["dims": "broadcast" "dimensions",],
    Op::Reshape => "Reshape" [],
    Op::Transpose { permutation: _ } => "Transpose" ["permutation": "transpose" "dimensions",],
    Op::Slice { start: _, limit: _, stride: _ } => "Slice" [
        "start": "slice" "slice",
        "limit": "slice" "slice",
        "stride": "slice" "slice",
    ],
    Op::Concatenate { dim: _ } => "Concatenate" ["dim": "concatenate" "dimensions",],
    Op::Pad { low: _, high: _, interior: _ } => "Pad" [
        "low": "pad" "padding",
        "high": "pad" "padding",
        "interior": "pad" "padding",
    ],
    Op::Reverse { dims: _ } => "Reverse" ["dims": "reverse" "dimensions",],
    Op::DynamicSlice { sizes: _ } => "DynamicSlice" ["sizes": "dynamic-slice" "dynamic_slice_sizes",],
    Op::DynamicUpdateSlice => "DynamicUpdateSlice" [],
    Op::Gather(GatherDims {
        offset_dims: _,
        collapsed_slice_dims: _,
        start_index_map: _,
        operand_batching_dims: _,
        start_indices_batching_dims: _,
        index_vector_dim: _,
        slice_sizes: _,
    }) => "Gather" [
        "offset_dims": "gather" "offset_dims",
        "collapsed_slice_dims": "" "names dims of one element",
        "start_index_map": "gather" "start_index_map",
        "operand_batching_dims": "gather" "operand_batching_dims",
        "start_indices_batching_dims": "gather" "start_indices_batching_dims",
        "index_vector_dim": "gather" "index_vector_dim",
        "slice_sizes": "gather" "slice_sizes",
    ],
    Op::Scatter {
        dims: ScatterDims {
            update_window_dims: _,
            inserted_window_dims: _,
            scatter_dims_to_operand_dims: _,
            input_batching_dims: _,
            scatter_indices_batching_dims: _,
            index_vector_dim: _,
        },
        to_apply: _,
    } => "Scatter" [
        "update_window_dims": "scatter" "update_window_dims",
        "inserted_window_dims": "scatter" "inserted_window_dims",
        "scatter_dims_to_operand_dims": "scatter" "scatter_dims_to_operand_dims",
        "input_batching_dims": "scatter" "input_batching_dims",
        "scatter_indices_batching_dims": "scatter" "scatter_indices_batching_dims",
        "index_vector_dim": "scatter" "index_vector_dim",
        "to_apply": "scatter" "to_apply",
    ],
    Op::Unary(_) => "Unary" ["function": "" "two_functions_are_two_programs",],
    Op::Binary(_) => "Binary" ["function": "" "two_functions_are_two_programs",],
    Op::Compare { direction: _, order: _ } => "Compare" [
        "direction": "compare" "direction",
        "order": "compare" "type",
    ],
    Op::Select => "Select" [],
    Op::Clamp => "Clamp" [],
    Op::Reduce { dims: _, to_apply: _ } => "Reduce" [
        "dims": "reduce" "dimensions",
        "to_apply": "reduce" "to_apply",
    ],
    Op::ReduceWindow { window: _, to_apply: _ } => "ReduceWindow" [
        "window": "reduce-window" "window",
        "to_apply": "reduce-window" "to_apply",
    ],
    Op::Sort { dim: _, stable: _, to_apply: _ } => "Sort" [
        "dim": "sort" "dimensions",
        "stable": "sort" "is_stable",
        "to_apply": "sort" "to_apply",
    ],
    Op::TopK { k: _, largest: _ } => "TopK" ["k": "topk" "k", "largest": "topk" "largest",],
    Op::ApproxTopK(ApproxTopK {
        k: _,
        reduction_dim: _,
        recall_target: _,
        aggregate_to_topk: _,
        reduction_input_size_override: _,
    }) => "ApproxTopK" [
        "k": "ApproxTopK" "top_k",
        "reduction_dim": "" "is the last dim, or the program is refused",
        "recall_target": "ApproxTopK" "recall_target",
        "aggregate_to_topk": "ApproxTopK" "aggregate_to_topk",
        "reduction_input_size_override": "ApproxTopK" "reduction_input_size_override",
    ],
    Op::PartialReduce(PartialReduce { log2_reduction: _, reduction_dim: _, top_k: _, recall_target: _ }) => "PartialReduce" [
        "log2_reduction": "PartialReduce" "log2_reduction",
        "reduction_dim": "" "is the last dim, or the program is refused",
        "top_k": "" "nothing depends on it: it is kept to be printed",
        "recall_target": "" "nothing depends on it: it is kept to be printed",
    ],
    Op::Dot { dims: DotDims { lhs_contracting: _, rhs_contracting: _, lhs_batch: _, rhs_batch: _ }, precision: _ } => "Dot" [
        "lhs_contracting": "dot" "lhs_contracting_dims",
        "rhs_contracting": "dot" "rhs_contracting_dims",
        "lhs_batch": "dot" "lhs_batch_dims",
        "rhs_batch": "dot" "rhs_batch_dims",
        "precision": "dot" "operand_precision",
    ],
    Op::Tuple => "Tuple" [],
    Op::GetTupleElement(_) => "GetTupleElement" ["index": "get-tuple-element" "index",],
    Op::Call { to_apply: _ } => "Call" ["to_apply": "" "files are inlined, but for libraries' functions",],
    Op::While { condition: _, body: _ } => "While" [
        "condition": "while" "condition",
        "body": "while" "body",
    ],
    Op::Opaque(_) => "Opaque" ["terms": "" "unless_known compares what a file says",],
}
