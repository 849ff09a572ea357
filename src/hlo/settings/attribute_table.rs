//! Attributes that are known by name: those that reading follows, and those that decide no bit, with the reason.

use crate::opcode::Asynchronous::{
    AsyncDone, AsyncStart, AsyncUpdate, CallStart, CallUpdate, CopyDone, CopyStart, DynamicSliceStart, SliceDone,
    SliceStart,
};
use crate::opcode::BatchNorm::{BatchNormGrad, BatchNormInference, BatchNormTraining};
use crate::opcode::Collective::{
    AllGather, AllGatherStart, AllReduce, AllReduceStart, AllToAll, CollectiveBroadcast, CollectivePermute,
    CollectivePermuteStart, RaggedAllToAll, ReduceScatter,
};
use crate::opcode::Control::{Call, Conditional, Fusion, Map, While};
use crate::opcode::Decomposition::{Cholesky, TriangularSolve};
use crate::opcode::Elementwise::{Compare, ReducePrecision};
use crate::opcode::Indexed::{DynamicSlice, DynamicUpdateSlice, Gather, Scatter};
use crate::opcode::Movement::{
    Broadcast, Concatenate, GetDimensionSize, Iota, Pad, Reshape, Reverse, SetDimensionSize, Slice, Transpose,
};
use crate::opcode::Opcode::{
    self, Asynchronous, BatchNorm, Collective, Control, Decomposition, Elementwise, Identity, Indexed, Movement,
    Outside, Product, Ranking, Reduction, Reinterpretation, Single, Token, Tuples,
};
use crate::opcode::Outside::Rng;
use crate::opcode::Product::{Convolution, Dot, RaggedDot, ScaledDot};
use crate::opcode::Ranking::{Sort, TopK};
use crate::opcode::Reduction::{Reduce, ReduceWindow, SelectAndScatter};
use crate::opcode::Reinterpretation::{Bitcast, BitcastConvert};
use crate::opcode::Single::{Constant, CustomCall, Fft, Parameter, RngBitGenerator, Scan};
use crate::opcode::Tuples::{GetTupleElement, Tuple};
use crate::opcode::{Identity::Copy, Token::AfterAll};

/// An attribute that reading follows, or that two programs are compared by otherwise, and the opcodes that have it.
type FollowedAttribute = (&'static str, &'static [Opcode]);

/// Collectives, with the beginnings of those that run beside other work.
pub const COLLECTIVES: &[Opcode] = &[
    Collective(AllGather),
    Collective(AllGatherStart),
    Collective(AllReduce),
    Collective(AllReduceStart),
    Collective(AllToAll),
    Collective(CollectiveBroadcast),
    Collective(CollectivePermute),
    Collective(CollectivePermuteStart),
    Collective(RaggedAllToAll),
    Collective(ReduceScatter),
];

const NORMALIZED: &[Opcode] = &[BatchNorm(BatchNormGrad), BatchNorm(BatchNormInference), BatchNorm(BatchNormTraining)];
const PRODUCTS: &[Opcode] = &[Product(Convolution), Product(Dot), Product(RaggedDot), Product(ScaledDot)];
const DOTS: &[Opcode] = &[Product(Dot), Product(RaggedDot), Product(ScaledDot)];
const GATHER: &[Opcode] = &[Indexed(Gather)];
const SCATTER: &[Opcode] = &[Indexed(Scatter)];

/// In the order of names.
pub const FOLLOWED: &[FollowedAttribute] = &[
    ("algorithm", &[Product(Convolution), Product(Dot), Product(RaggedDot), Single(RngBitGenerator)]),
    ("batch_group_count", &[Product(Convolution)]),
    ("body", &[Control(While)]),
    ("branch_computations", &[Control(Conditional)]),
    ("called_computations", &[Single(CustomCall)]),
    ("calls", &[Asynchronous(AsyncDone), Asynchronous(AsyncStart), Asynchronous(AsyncUpdate), Control(Fusion)]),
    ("channel_id", COLLECTIVES),
    ("collapsed_slice_dims", GATHER),
    ("condition", &[Control(While)]),
    ("custom_call_target", &[Single(CustomCall)]),
    ("dim_labels", &[Product(Convolution)]),
    (
        "dimensions",
        &[
            Collective(AllGather),
            Collective(AllGatherStart),
            Collective(AllToAll),
            Movement(Broadcast),
            Movement(Concatenate),
            Movement(GetDimensionSize),
            Control(Map),
            Reduction(Reduce),
            Collective(ReduceScatter),
            Movement(Reverse),
            Single(Scan),
            Movement(SetDimensionSize),
            Ranking(Sort),
            Movement(Transpose),
        ],
    ),
    ("direction", &[Elementwise(Compare)]),
    ("distribution", &[Outside(Rng)]),
    ("dynamic_slice_sizes", &[Indexed(DynamicSlice), Asynchronous(DynamicSliceStart)]),
    ("epsilon", NORMALIZED),
    ("exponent_bits", &[Elementwise(ReducePrecision)]),
    ("false_computation", &[Control(Conditional)]),
    ("feature_group_count", &[Product(Convolution)]),
    ("feature_index", NORMALIZED),
    ("fft_length", &[Single(Fft)]),
    ("fft_type", &[Single(Fft)]),
    ("has_dynamic_root", &[Collective(CollectiveBroadcast)]),
    ("index", &[Tuples(GetTupleElement)]),
    ("index_vector_dim", &[Indexed(Gather), Indexed(Scatter)]),
    ("input_batching_dims", SCATTER),
    ("inserted_window_dims", SCATTER),
    ("iota_dimension", &[Movement(Iota)]),
    ("is_associative", &[Single(Scan)]),
    ("is_reverse", &[Single(Scan)]),
    ("is_stable", &[Ranking(Sort)]),
    ("k", &[Ranking(TopK)]),
    ("kind", &[Control(Fusion)]),
    ("largest", &[Ranking(TopK)]),
    ("left_side", &[Decomposition(TriangularSolve)]),
    ("lhs_batch_dims", DOTS),
    ("lhs_contracting_dims", DOTS),
    ("lhs_ragged_dims", &[Product(RaggedDot)]),
    ("lower", &[Decomposition(Cholesky), Decomposition(TriangularSolve)]),
    ("mantissa_bits", &[Elementwise(ReducePrecision)]),
    ("num_carries", &[Single(Scan)]),
    ("offset_dims", GATHER),
    ("operand_batching_dims", GATHER),
    ("operand_precision", PRODUCTS),
    ("order", &[Elementwise(Compare)]),
    ("padding", &[Movement(Pad)]),
    ("replica_groups", COLLECTIVES),
    ("rhs_batch_dims", DOTS),
    ("rhs_contracting_dims", DOTS),
    ("rhs_group_dims", &[Product(RaggedDot)]),
    ("scatter", &[Reduction(SelectAndScatter)]),
    ("scatter_dims_to_operand_dims", SCATTER),
    ("scatter_indices_batching_dims", SCATTER),
    ("select", &[Reduction(SelectAndScatter)]),
    ("sharding", &[Single(Parameter)]),
    ("slice", &[Movement(Slice), Asynchronous(SliceStart)]),
    ("slice_sizes", GATHER),
    ("source_target_pairs", &[Collective(CollectivePermute), Collective(CollectivePermuteStart)]),
    ("sparsity_config", &[Product(Convolution)]),
    ("start_index_map", GATHER),
    ("start_indices_batching_dims", GATHER),
    (
        "to_apply",
        &[
            Collective(AllReduce),
            Collective(AllReduceStart),
            Control(Call),
            Asynchronous(CallStart),
            Control(Map),
            Reduction(Reduce),
            Collective(ReduceScatter),
            Reduction(ReduceWindow),
            Single(Scan),
            Indexed(Scatter),
            Ranking(Sort),
        ],
    ),
    ("transpose_a", &[Decomposition(TriangularSolve)]),
    ("true_computation", &[Control(Conditional)]),
    ("type", &[Elementwise(Compare)]),
    ("unit_diagonal", &[Decomposition(TriangularSolve)]),
    ("update_window_dims", SCATTER),
    ("use_global_device_ids", COLLECTIVES),
    ("window", &[Product(Convolution), Reduction(ReduceWindow), Reduction(SelectAndScatter)]),
];

/// Whether reading follows an attribute of an opcode.
pub fn is_followed(opcode: &Opcode, attribute: &str) -> bool {
    FOLLOWED.iter().any(|(name, opcodes)| *name == attribute && opcodes.contains(opcode))
}

/// Opcodes that move elements or mark values: no plan of a compiler changes a bit of what they give.
pub const MOVES: &[Opcode] = &[
    Token(AfterAll),
    Asynchronous(AsyncDone),
    Asynchronous(AsyncUpdate),
    Asynchronous(CallUpdate),
    Reinterpretation(Bitcast),
    Reinterpretation(BitcastConvert),
    Movement(Broadcast),
    Movement(Concatenate),
    Single(Constant),
    Identity(Copy),
    Asynchronous(CopyDone),
    Asynchronous(CopyStart),
    Indexed(DynamicSlice),
    Indexed(DynamicUpdateSlice),
    Indexed(Gather),
    Tuples(GetTupleElement),
    Movement(Iota),
    Movement(Pad),
    Single(Parameter),
    Movement(Reshape),
    Movement(Reverse),
    Movement(Slice),
    Asynchronous(SliceDone),
    Asynchronous(SliceStart),
    Movement(Transpose),
    Tuples(Tuple),
];

/// A name and the reason why it decides no bit.
pub type Harmless = (&'static str, &'static str);

/// Attributes of instructions, computations and the module that decide no bit.
pub const HARMLESS: &[Harmless] = &[
    ("alias_passthrough_params", "says which buffers are one"),
    ("allow_spmd_sharding_propagation_to_output", "says what the partitioner may choose; the file has the outcome"),
    ("allow_spmd_sharding_propagation_to_parameters", "says what the partitioner may choose; the file has the outcome"),
    ("api_version", "says how a runtime hands over buffers"),
    ("buffer_donor", "says which buffers may be reused"),
    ("constrain_layout", "says where elements lie"),
    ("control-predecessors", "orders operations in time"),
    ("cross_program_prefetch_index", "says when data is moved"),
    ("custom_call_has_side_effect", "keeps a call from being removed"),
    ("custom_call_schedule", "orders operations in time"),
    ("domain", "marks shardings"),
    ("entry_computation_layout", "says where elements lie; shapes of parameters say it as well"),
    ("inferred_dimension", "says how a dynamic extent was found"),
    ("input_output_alias", "says which buffers are one"),
    ("is_scheduled", "says that the order of lines is one in time"),
    ("operand_layout_constraints", "says where elements lie"),
    ("origin", "names a value of the program before it was compiled"),
    ("output_to_operand_aliasing", "says which buffers are one"),
    ("parameter_replication", "says which replicas have the same argument; arguments are given"),
    ("schedule", "orders operations in time"),
    ("sharding", "says which device holds an element; the file has the operations on each"),
    ("statistics", "holds measurements of a run"),
];

/// Attributes of the module that reading follows.
pub const FOLLOWED_OF_MODULES: &[&str] = &["num_partitions", "replica_count"];

/// Keys of `metadata`, which say where an instruction comes from and what it took.
pub const METADATA: &[&str] = &[
    "creation_pass_id",
    "deduplicated_name",
    "logical_creation_pass_id",
    "op_name",
    "op_type",
    "preserve_layout",
    "profile_info",
    "profile_type",
    "scheduling_name",
    "size_of_generated_code_in_bytes",
    "size_of_memory_working_set_in_bytes",
    "source_column",
    "source_end_column",
    "source_end_line",
    "source_file",
    "source_line",
    "stack_frame_id",
];

/// The key by which a compiler marks a call that it compiles as one function.
pub const SMALL_CALL: &str = "xla_cpu_small_call";

/// Keys of `frontend_attributes` that reading follows or that decide no bit.
pub const FRONTEND: &[Harmless] = &[
    ("_xla_send_recv_pipeline", "says which loop of a pipeline an exchange is of"),
    ("_xla_send_recv_source_target_pairs", "is followed"),
    ("arg_layout_modes", "says who chooses layouts"),
    ("arg_memory_spaces", "says where arguments lie"),
    ("inlineable", "says how calls are compiled; a call and its computation are the same operations"),
    ("num_batch_dims", "says which dims a partitioner may cut"),
    ("out_layout_modes", "says who chooses layouts"),
    ("out_memory_spaces", "says where results lie"),
    ("xla.sdy.in_shardings", "is followed where a program is cut by hand; else it says which device holds an element"),
    ("xla.sdy.manual_axes", "is followed where a program is cut by hand"),
    ("xla.sdy.meshes", "is followed where a program is cut by hand"),
    ("xla.sdy.out_shardings", "is followed where a program is cut by hand; else it says which device holds an element"),
    ("xla.sdy.sharding", "says which device holds an element"),
    ("xla.sdy.sharding_rule", "says which dims a partitioner may cut"),
    ("xla.sdy.use_tuple_args", "says how arguments are handed over"),
    (SMALL_CALL, "is followed"),
];

/// The meaning of a key of `backend_config` for bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// None, for this reason.
    Harmless(&'static str),
    /// Reading follows it: windows and emitters are those of a matmul (`window_config`). Of other fusions they say which part of
    /// an array is in fast memory at a time.
    Followed,
    /// Not known: it is a part of the plan of an operation that computes. What moves elements moves all their bits, and a fusion that
    /// computes with integers in each place has one result (`exact_fusion`).
    Plan,
    /// Its own keys are known one by one, in [`NESTED`].
    Nested,
    /// Reading follows it where it is this text.
    FollowedAs(&'static str),
}

/// Keys of the configuration of a TPU's or CPU's compiler.
pub const CONFIG: &[(&str, Meaning)] = &[
    ("aliasing_operands", Meaning::Harmless("says which buffers are one")),
    ("barrier_config", Meaning::Harmless("orders operations in time")),
    ("bf16_mapped_op_count", Meaning::Followed),
    ("compute_type", Meaning::Plan),
    ("convolution_algorithm_config", Meaning::Nested),
    ("dma_priority", Meaning::Harmless("orders copies in time")),
    ("dynamic_variables", Meaning::Harmless("says what of a loop's state changes; the loop says it as well")),
    ("float_type_correction_info", Meaning::Harmless("says which type a value had; the file has the conversions")),
    ("fusion_config", Meaning::Nested),
    ("fusion_formation_source", Meaning::Harmless("names the pass that made a fusion")),
    ("implicit_sharding", Meaning::Harmless("says which device holds an element; the file has the operations on each")),
    ("indices_config", Meaning::Harmless("says which bits of indices are known; the indices are computed as well")),
    ("integer_config", Meaning::Plan),
    ("known_induction_variable", Meaning::Harmless("says what a loop counts; the loop says it as well")),
    ("known_init_step", Meaning::Harmless("says how a loop counts; the loop says it as well")),
    ("known_trip_count", Meaning::Harmless("says how often a loop runs; the loop says it as well")),
    ("loop_config", Meaning::Plan),
    ("megacore_config", Meaning::Plan),
    ("outer_dimension_partitions", Meaning::Harmless("says which thread computes an element; sums are not cut by it")),
    ("output_chunk_bound_config", Meaning::Plan),
    ("retry_config", Meaning::Harmless("counts compilations")),
    ("scoped_memory_configs", Meaning::Harmless("says how much memory a fusion may take")),
    ("sparse_core_config", Meaning::Plan),
    ("used_scoped_memory_configs", Meaning::Harmless("says how much memory a fusion takes")),
    ("window_config", Meaning::Nested),
];

/// Keys inside keys of such a configuration.
pub const NESTED: &[(&str, Meaning)] = &[
    ("convolution_algorithm_config.emitter", Meaning::Followed),
    ("fusion_config.kind", Meaning::FollowedAs("__ynn_fusion")),
    ("window_config.buffering_level", Meaning::Harmless("says how many windows are in fast memory at a time")),
    ("window_config.cost_model_type", Meaning::Harmless("says how the window was chosen")),
    ("window_config.estimated_bundle_count", Meaning::Harmless("estimates time")),
    ("window_config.estimated_cycles", Meaning::Harmless("estimates time")),
    ("window_config.estimated_scoped_vmem_bytes", Meaning::Harmless("estimates memory")),
    ("window_config.estimated_vmem_bytes", Meaning::Harmless("estimates memory")),
    ("window_config.input_window_bounds", Meaning::Followed),
    ("window_config.is_mask", Meaning::Harmless("says how the edge of an array is left out")),
    ("window_config.iteration_bounds", Meaning::Followed),
    ("window_config.kernel_window_bounds", Meaning::Followed),
    ("window_config.ml_estimated_microseconds", Meaning::Harmless("estimates time")),
    ("window_config.output_window_bounds", Meaning::Followed),
    ("window_config.pad_input_on_minor_dim", Meaning::Harmless("says how much memory lies between rows")),
    ("window_config.pad_output_on_minor_dim", Meaning::Harmless("says how much memory lies between rows")),
    ("window_config.scratchpad_allocation_size", Meaning::Harmless("says how much memory a fusion takes")),
];

/// Flags of `flag_configs` that decide no bit.
pub const FLAGS: &[Harmless] =
    &[("XLA_TPU_STORE_TO_LOAD_FORWARDING_WINDOW", "says how far apart a store and a load may lie in the code")];

/// Values of the configurations of custom calls that say what the target does anyway.
pub const OF_CUSTOM_CALLS: &[(&str, &str, &[&str])] = &[
    // The order of `topk`: IEEE totalOrder, ties by the lower index.
    ("TopK", "is_stable", &["true"]),
    ("TopK", "order", &["\"TOTAL\""]),
    ("PartialReduce", "to_apply_type", &["\"comparator\""]),
    ("ApproxTopK", "to_apply_type", &["\"comparator\""]),
];

/// Keys that reading follows, by the target; of a name with `*` between its ends.
pub const FOLLOWED_OF_CUSTOM_CALLS: &[(&str, &[&str])] = &[
    ("ApproxTopK", &["aggregate_to_topk", "recall_target", "reduction_dim", "reduction_input_size_override", "top_k"]),
    ("PartialReduce", &["log2_reduction", "recall_target", "reduction_dim", "top_k"]),
    ("lapack_*ormqr", &["left", "transpose"]),
    ("lapack_*potrf", &["uplo"]),
    ("lapack_*trsm", &["diag", "side", "trans_x", "uplo"]),
    ("blas_*trsm", &["diag", "side", "trans_x", "uplo"]),
];
