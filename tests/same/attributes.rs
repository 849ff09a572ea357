//! Pairs that differ in one attribute: none is proven the same, for every operation and every attribute that reading follows.
//!
//! The list is complete by construction. [`OPERATIONS`] names every variant of [`Op`] with all of its fields, so that a new one
//! does not compile, and [`ulpgate::hlo::settings::opcodes_by_attribute`] every attribute of a file: each needs a row, or a reason.

use std::collections::BTreeSet;

use ulpgate::hlo::{Import, Opcode, lower, parse, settings};
use ulpgate::ir::{ApproxTopK, Binary, Compare, DotDims, GatherDims, Op, PartialReduce, ScatterDims, Unary};
use ulpgate::machine::evaluate;
use ulpgate::same::{SameError, Settings, Verdict, compare};
use ulpgate::tensor::{Data, Tensor};

use crate::settings as of_mode;

const MODE: &str = "v5e/default/as-compiled+acc=tiled";

/// Regions and computations that rows name.
const COMPUTATIONS: &str = "\
    add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
    maximum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n\
    less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n\
    greater { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }\n\
    at_least { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n\
    greater_of_two { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n \
      ROOT r = pred[] compare(a, b), direction=GT }\n\
    double { a = f32[4] parameter(0)\n ROOT r = f32[4] add(a, a) }\n\
    square { a = f32[4] parameter(0)\n ROOT r = f32[4] multiply(a, a) }\n\
    doubled { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n \
      j = s32[] add(i, one)\n v = f32[4] get-tuple-element(s), index=1\n w = f32[4] add(v, v)\n \
      ROOT t = (s32[], f32[4]) tuple(j, w) }\n\
    squared { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n \
      j = s32[] add(i, one)\n v = f32[4] get-tuple-element(s), index=1\n w = f32[4] multiply(v, v)\n \
      ROOT t = (s32[], f32[4]) tuple(j, w) }\n\
    twice { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(2)\n \
      ROOT r = pred[] compare(i, n), direction=LT }\n\
    thrice { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n \
      ROOT r = pred[] compare(i, n), direction=LT }\n";

/// An attribute of an instruction, two values of it, and a program with `$` in their place.
struct Row {
    opcode: &'static str,
    attribute: &'static str,
    values: [&'static str; 2],
    body: &'static str,
}

const fn row(opcode: &'static str, attribute: &'static str, values: [&'static str; 2], body: &'static str) -> Row {
    Row { opcode, attribute, values, body }
}

/// Rows of operations whose programs run on one device.
const ROWS: &[Row] = &[
    row(
        "iota",
        "iota_dimension",
        ["0", "1"],
        "x = s32[2,2] parameter(0)\n i = s32[2,2] iota(), iota_dimension=$\n ROOT r = s32[2,2] add(x, i)",
    ),
    row(
        "reduce-precision",
        "exponent_bits",
        ["5", "6"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] reduce-precision(x), exponent_bits=$, mantissa_bits=10",
    ),
    row(
        "reduce-precision",
        "mantissa_bits",
        ["10", "9"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=$",
    ),
    row(
        "broadcast",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[3] parameter(0)\n ROOT r = f32[3,3] broadcast(x), dimensions=$",
    ),
    row(
        "transpose",
        "dimensions",
        ["{0,1}", "{1,0}"],
        "x = f32[3,3] parameter(0)\n ROOT r = f32[3,3] transpose(x), dimensions=$",
    ),
    row("slice", "slice", ["{[0:2]}", "{[1:3]}"], "x = f32[4] parameter(0)\n ROOT r = f32[2] slice(x), slice=$"),
    row(
        "slice",
        "slice",
        ["{[0:3:1]}|3", "{[0:3:2]}|2"],
        "x = f32[4] parameter(0)\n s = f32[@] slice(x), slice=$\n ROOT r = f32[2] slice(s), slice={[0:2]}",
    ),
    row(
        "concatenate",
        "dimensions",
        ["{0}|4,2", "{1}|2,4"],
        "x = f32[2,2] parameter(0)\n y = f32[2,2] parameter(1)\n c = f32[@] concatenate(x, y), dimensions=$\n ROOT r = f32[8] reshape(c)",
    ),
    row(
        "pad",
        "padding",
        ["1_0", "0_1"],
        "x = f32[2] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] pad(x, z), padding=$",
    ),
    row(
        "pad",
        "padding",
        ["0_1_0", "0_0_1"],
        "x = f32[2] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] pad(x, z), padding=$",
    ),
    row(
        "reverse",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n ROOT r = f32[3,3] reverse(x), dimensions=$",
    ),
    row(
        "dynamic-slice",
        "dynamic_slice_sizes",
        ["{1,2}|1,2", "{2,1}|2,1"],
        "x = f32[3,3] parameter(0)\n i = s32[] parameter(1)\n s = f32[@] dynamic-slice(x, i, i), dynamic_slice_sizes=$\n ROOT r = f32[2] reshape(s)",
    ),
    row(
        "gather",
        "offset_dims",
        ["{1}", "{0}"],
        "x = f32[4,2] parameter(0)\n i = s32[2] parameter(1)\n ROOT r = f32[2,2] gather(x, i), offset_dims=$, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
    ),
    row(
        "gather",
        "start_index_map",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n i = s32[2] parameter(1)\n ROOT r = f32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map=$, index_vector_dim=1, slice_sizes={1,1}",
    ),
    row(
        "gather",
        "index_vector_dim",
        ["0", "1"],
        "x = f32[3,3] parameter(0)\n i = s32[2,2] parameter(1)\n ROOT r = f32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=$, slice_sizes={1,1}",
    ),
    row(
        "gather",
        "slice_sizes",
        ["{1,2}|1,2", "{2,1}|2,1"],
        "x = f32[3,3] parameter(0)\n i = s32[2] parameter(1)\n g = f32[2,@] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes=$\n ROOT r = f32[4] reshape(g)",
    ),
    row(
        "gather",
        "operand_batching_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n i = s32[3] parameter(1)\n ROOT r = f32[3,1] gather(x, i), offset_dims={1}, collapsed_slice_dims={2}, start_index_map={2}, operand_batching_dims=$, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1,1}",
    ),
    row(
        "gather",
        "start_indices_batching_dims",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n i = s32[3,3] parameter(1)\n ROOT r = f32[3,3] gather(x, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims=$, index_vector_dim=2, slice_sizes={1,1}",
    ),
    row(
        "scatter",
        "update_window_dims",
        ["{1}", "{0}"],
        "x = f32[2,2] parameter(0)\n i = s32[2] parameter(1)\n u = f32[2,2] parameter(2)\n ROOT r = f32[2,2] scatter(x, i, u), update_window_dims=$, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    ),
    row(
        "scatter",
        "inserted_window_dims",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n i = s32[2] parameter(1)\n u = f32[2,3] parameter(2)\n ROOT r = f32[3,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims=$, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    ),
    row(
        "scatter",
        "scatter_dims_to_operand_dims",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n i = s32[2] parameter(1)\n u = f32[2] parameter(2)\n ROOT r = f32[3,3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims=$, index_vector_dim=1, to_apply=add",
    ),
    row(
        "scatter",
        "index_vector_dim",
        ["0", "1"],
        "x = f32[3,3] parameter(0)\n i = s32[2,2] parameter(1)\n u = f32[2] parameter(2)\n ROOT r = f32[3,3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=$, to_apply=add",
    ),
    row(
        "scatter",
        "input_batching_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n i = s32[3] parameter(1)\n u = f32[3,1] parameter(2)\n ROOT r = f32[3,3,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={2}, scatter_dims_to_operand_dims={2}, input_batching_dims=$, scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=add",
    ),
    row(
        "scatter",
        "scatter_indices_batching_dims",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n i = s32[3,3] parameter(1)\n u = f32[3,3] parameter(2)\n ROOT r = f32[3,3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims=$, index_vector_dim=2, to_apply=add",
    ),
    row(
        "scatter",
        "to_apply",
        ["add", "maximum"],
        "x = f32[3] parameter(0)\n i = s32[2] parameter(1)\n u = f32[2] parameter(2)\n ROOT r = f32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=$",
    ),
    row(
        "compare",
        "direction",
        ["LT", "LE"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = pred[4] compare(x, y), direction=$",
    ),
    row(
        "compare",
        "type",
        ["FLOAT", "TOTALORDER"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = pred[4] compare(x, y), direction=LT, type=$",
    ),
    row(
        "reduce",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce(x, z), dimensions=$, to_apply=add",
    ),
    row(
        "reduce",
        "to_apply",
        ["add", "maximum"],
        "x = f32[3,3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce(x, z), dimensions={1}, to_apply=$",
    ),
    row(
        "reduce-window",
        "window",
        ["{size=2 pad=1_0}", "{size=2 pad=0_1}"],
        "x = f32[4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[4] reduce-window(x, z), window=$, to_apply=add",
    ),
    row(
        "reduce-window",
        "window",
        ["{size=2 stride=2}", "{size=3 stride=1}"],
        "x = f32[4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[2] reduce-window(x, z), window=$, to_apply=add",
    ),
    row(
        "reduce-window",
        "to_apply",
        ["add", "maximum"],
        "x = f32[4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] reduce-window(x, z), window={size=2}, to_apply=$",
    ),
    row(
        "select-and-scatter",
        "window",
        ["{size=2 stride=2}", "{size=1 stride=2}"],
        "x = f32[4] parameter(0)\n s = f32[2] parameter(1)\n z = f32[] constant(0)\n ROOT r = f32[4] select-and-scatter(x, s, z), window=$, select=at_least, scatter=add",
    ),
    row(
        "select-and-scatter",
        "select",
        ["at_least", "less"],
        "x = f32[4] parameter(0)\n s = f32[2] parameter(1)\n z = f32[] constant(0)\n ROOT r = f32[4] select-and-scatter(x, s, z), window={size=2 stride=2}, select=$, scatter=add",
    ),
    row(
        "select-and-scatter",
        "scatter",
        ["add", "maximum"],
        "x = f32[4] parameter(0)\n s = f32[2] parameter(1)\n z = f32[] constant(0)\n ROOT r = f32[4] select-and-scatter(x, s, z), window={size=2 stride=2}, select=at_least, scatter=$",
    ),
    row(
        "sort",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n ROOT r = f32[3,3] sort(x), dimensions=$, to_apply=less",
    ),
    row(
        "sort",
        "to_apply",
        ["less", "greater"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] sort(x), dimensions={0}, to_apply=$",
    ),
    row(
        "sort",
        "is_stable",
        ["true", "false"],
        "x = f32[4] parameter(0)\n y = s32[4] parameter(1)\n s = (f32[4], s32[4]) sort(x, y), dimensions={0}, is_stable=$, to_apply=greater_of_two\n ROOT r = s32[4] get-tuple-element(s), index=1",
    ),
    row(
        "topk",
        "largest",
        ["true", "false"],
        "x = f32[4] parameter(0)\n t = (f32[2], s32[2]) topk(x), k=2, largest=$\n ROOT r = f32[2] get-tuple-element(t), index=0",
    ),
    row(
        "topk",
        "k",
        ["2", "3"],
        "x = f32[4] parameter(0)\n t = (f32[$], s32[$]) topk(x), k=$, largest=true\n ROOT r = f32[$] get-tuple-element(t), index=0",
    ),
    row(
        "dot",
        "lhs_contracting_dims",
        ["{1}", "{0}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] dot(x, y), lhs_contracting_dims=$, rhs_contracting_dims={0}",
    ),
    row(
        "dot",
        "rhs_contracting_dims",
        ["{1}", "{0}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims=$",
    ),
    row(
        "dot",
        "lhs_batch_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n y = f32[3,3,3] parameter(1)\n ROOT r = f32[3,3,3] dot(x, y), lhs_batch_dims=$, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
    ),
    row(
        "dot",
        "rhs_batch_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n y = f32[3,3,3] parameter(1)\n ROOT r = f32[3,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims=$, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
    ),
    row(
        "dot",
        "operand_precision",
        ["{default,default}", "{highest,highest}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision=$",
    ),
    row(
        "dot",
        "algorithm",
        ["dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=$",
    ),
    row(
        "ragged-dot",
        "operand_precision",
        ["{default,default}", "{highest,highest}"],
        "x = f32[3,3] parameter(0)\n y = f32[2,3,3] parameter(1)\n g = s32[2] parameter(2)\n ROOT r = f32[3,3] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}, operand_precision=$",
    ),
    row(
        "convolution",
        "dim_labels",
        ["bf_io->bf", "bf_oi->bf"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] convolution(x, y), dim_labels=$",
    ),
    row(
        "convolution",
        "window",
        ["{size=2 pad=1_0}", "{size=2 pad=0_1}"],
        "x = f32[1,4,2] parameter(0)\n y = f32[2,2,2] parameter(1)\n ROOT r = f32[1,4,2] convolution(x, y), window=$, dim_labels=b0f_0io->b0f",
    ),
    row(
        "convolution",
        "operand_precision",
        ["{default,default}", "{highest,highest}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] convolution(x, y), dim_labels=bf_io->bf, operand_precision=$",
    ),
    row(
        "convolution",
        "algorithm",
        ["dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n ROOT r = f32[3,3] convolution(x, y), dim_labels=bf_io->bf, algorithm=$",
    ),
    row(
        "get-tuple-element",
        "index",
        ["0", "1"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n t = (f32[4], f32[4]) tuple(x, y)\n ROOT r = f32[4] get-tuple-element(t), index=$",
    ),
    row("call", "to_apply", ["double", "square"], "x = f32[4] parameter(0)\n ROOT r = f32[4] call(x), to_apply=$"),
    row(
        "map",
        "to_apply",
        ["add", "maximum"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[4] map(x, y), dimensions={0}, to_apply=$",
    ),
    row(
        "fusion",
        "calls",
        ["double", "square"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] fusion(x), kind=kLoop, calls=$",
    ),
    row(
        "async-start",
        "calls",
        ["double", "square"],
        "x = f32[4] parameter(0)\n s = ((f32[4]), f32[4], u32[]) async-start(x), calls=$\n ROOT r = f32[4] async-done(s)",
    ),
    row(
        "call-start",
        "to_apply",
        ["double", "square"],
        "x = f32[4] parameter(0)\n s = ((f32[4]), f32[4], u32[]) call-start(x), to_apply=$\n ROOT r = f32[4] call-done(s)",
    ),
    row(
        "while",
        "body",
        ["doubled", "squared"],
        "x = f32[4] parameter(0)\n n = s32[] constant(0)\n t = (s32[], f32[4]) tuple(n, x)\n w = (s32[], f32[4]) while(t), condition=twice, body=$\n ROOT r = f32[4] get-tuple-element(w), index=1",
    ),
    row(
        "while",
        "condition",
        ["twice", "thrice"],
        "x = f32[4] parameter(0)\n n = s32[] constant(0)\n t = (s32[], f32[4]) tuple(n, x)\n w = (s32[], f32[4]) while(t), condition=$, body=doubled\n ROOT r = f32[4] get-tuple-element(w), index=1",
    ),
    row(
        "conditional",
        "branch_computations",
        ["{double, square}", "{square, double}"],
        "i = s32[] parameter(0)\n x = f32[4] parameter(1)\n ROOT r = f32[4] conditional(i, x, x), branch_computations=$",
    ),
    row(
        "conditional",
        "true_computation",
        ["double", "square"],
        "p = pred[] parameter(0)\n x = f32[4] parameter(1)\n ROOT r = f32[4] conditional(p, x, x), true_computation=$, false_computation=double",
    ),
    row(
        "conditional",
        "false_computation",
        ["double", "square"],
        "p = pred[] parameter(0)\n x = f32[4] parameter(1)\n ROOT r = f32[4] conditional(p, x, x), true_computation=double, false_computation=$",
    ),
    row(
        "fft",
        "fft_type",
        ["FFT", "IFFT"],
        "x = c64[4] parameter(0)\n ROOT r = c64[4] fft(x), fft_type=$, fft_length={4}",
    ),
    row(
        "fft",
        "fft_length",
        ["{4}", "{2,4}"],
        "x = c64[2,4] parameter(0)\n ROOT r = c64[2,4] fft(x), fft_type=FFT, fft_length=$",
    ),
    row("cholesky", "lower", ["true", "false"], "x = f32[3,3] parameter(0)\n ROOT r = f32[3,3] cholesky(x), lower=$"),
    row(
        "triangular-solve",
        "left_side",
        ["true", "false"],
        "a = f32[3,3] parameter(0)\n b = f32[3,3] parameter(1)\n ROOT r = f32[3,3] triangular-solve(a, b), left_side=$, lower=true, transpose_a=NO_TRANSPOSE",
    ),
    row(
        "triangular-solve",
        "lower",
        ["true", "false"],
        "a = f32[3,3] parameter(0)\n b = f32[3,3] parameter(1)\n ROOT r = f32[3,3] triangular-solve(a, b), left_side=true, lower=$, transpose_a=NO_TRANSPOSE",
    ),
    row(
        "triangular-solve",
        "transpose_a",
        ["NO_TRANSPOSE", "TRANSPOSE"],
        "a = f32[3,3] parameter(0)\n b = f32[3,3] parameter(1)\n ROOT r = f32[3,3] triangular-solve(a, b), left_side=true, lower=true, transpose_a=$",
    ),
    row(
        "triangular-solve",
        "unit_diagonal",
        ["true", "false"],
        "a = f32[3,3] parameter(0)\n b = f32[3,3] parameter(1)\n ROOT r = f32[3,3] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=$, transpose_a=NO_TRANSPOSE",
    ),
    row(
        "rng-bit-generator",
        "algorithm",
        ["rng_three_fry", "rng_philox"],
        "x = u64[2] parameter(0)\n t = (u64[2], u32[4]) rng-bit-generator(x), algorithm=$\n ROOT r = u32[4] get-tuple-element(t), index=1",
    ),
    row(
        "custom-call",
        "custom_call_target",
        ["\"X64SplitLow\"", "\"X64SplitHigh\""],
        "x = u64[4] parameter(0)\n ROOT r = u32[4] custom-call(x), custom_call_target=$",
    ),
    row(
        "ApproxTopK",
        "top_k",
        ["10", "11"],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,$], s32[1,$]) custom-call(x, i, z, j), custom_call_target=\"ApproxTopK\", called_computations={greater_of_two}, backend_config={\"top_k\": $, \"reduction_dim\": 1, \"recall_target\": 0.95, \"aggregate_to_topk\": true, \"reduction_input_size_override\": -1}\n ROOT r = f32[1,$] get-tuple-element(t), index=0",
    ),
    row(
        "ApproxTopK",
        "recall_target",
        ["0.95", "0.5"],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,10], s32[1,10]) custom-call(x, i, z, j), custom_call_target=\"ApproxTopK\", called_computations={greater_of_two}, backend_config={\"top_k\": 10, \"reduction_dim\": 1, \"recall_target\": $, \"aggregate_to_topk\": true, \"reduction_input_size_override\": -1}\n ROOT r = f32[1,10] get-tuple-element(t), index=0",
    ),
    row(
        "ApproxTopK",
        "aggregate_to_topk",
        ["true|10", "false|256"],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,@], s32[1,@]) custom-call(x, i, z, j), custom_call_target=\"ApproxTopK\", called_computations={greater_of_two}, backend_config={\"top_k\": 10, \"reduction_dim\": 1, \"recall_target\": 0.95, \"aggregate_to_topk\": $, \"reduction_input_size_override\": -1}\n ROOT r = f32[1,@] get-tuple-element(t), index=0",
    ),
    row(
        "ApproxTopK",
        "reduction_input_size_override",
        ["-1", "8192"],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,10], s32[1,10]) custom-call(x, i, z, j), custom_call_target=\"ApproxTopK\", called_computations={greater_of_two}, backend_config={\"top_k\": 10, \"reduction_dim\": 1, \"recall_target\": 0.95, \"aggregate_to_topk\": true, \"reduction_input_size_override\": $}\n ROOT r = f32[1,10] get-tuple-element(t), index=0",
    ),
    row(
        "ApproxTopK",
        "to_apply_type",
        ["\"comparator\"", "\"other\""],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,10], s32[1,10]) custom-call(x, i, z, j), custom_call_target=\"ApproxTopK\", called_computations={greater_of_two}, backend_config={\"top_k\": 10, \"reduction_dim\": 1, \"recall_target\": 0.95, \"aggregate_to_topk\": true, \"reduction_input_size_override\": -1, \"to_apply_type\": $}\n ROOT r = f32[1,10] get-tuple-element(t), index=0",
    ),
    row(
        "PartialReduce",
        "log2_reduction",
        ["4|256", "5|128"],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,@], s32[1,@]) custom-call(x, i, z, j), custom_call_target=\"PartialReduce\", called_computations={greater_of_two}, backend_config={\"log2_reduction\": $, \"reduction_dim\": 1, \"to_apply_type\": \"comparator\", \"top_k\": 10, \"recall_target\": 0.95}\n ROOT r = f32[1,@] get-tuple-element(t), index=0",
    ),
    row(
        "PartialReduce",
        "to_apply_type",
        ["\"comparator\"", "\"other\""],
        "x = f32[1,4096] parameter(0)\n i = s32[1,4096] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n j = s32[] constant(-1)\n t = (f32[1,256], s32[1,256]) custom-call(x, i, z, j), custom_call_target=\"PartialReduce\", called_computations={greater_of_two}, backend_config={\"log2_reduction\": 4, \"reduction_dim\": 1, \"to_apply_type\": $, \"top_k\": 10, \"recall_target\": 0.95}\n ROOT r = f32[1,256] get-tuple-element(t), index=0",
    ),
];

/// Rows of programs for four devices.
const ON_DEVICES: &[Row] = &[
    row(
        "all-reduce",
        "replica_groups",
        ["{{0,1},{2,3}}", "{{0,2},{1,3}}"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] all-reduce(x), channel_id=1, replica_groups=$, use_global_device_ids=true, to_apply=add",
    ),
    row(
        "all-reduce",
        "to_apply",
        ["add", "maximum"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=$",
    ),
    row(
        "reduce-scatter",
        "dimensions",
        ["{0}|1,4", "{1}|4,1"],
        "x = f32[4,4] parameter(0)\n s = f32[@] reduce-scatter(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions=$, to_apply=add\n ROOT r = f32[4] reshape(s)",
    ),
    row(
        "reduce-scatter",
        "to_apply",
        ["add", "maximum"],
        "x = f32[4] parameter(0)\n ROOT r = f32[1] reduce-scatter(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}, to_apply=$",
    ),
    row(
        "all-gather",
        "dimensions",
        ["{0}|8,2", "{1}|2,8"],
        "x = f32[2,2] parameter(0)\n g = f32[@] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions=$\n ROOT r = f32[16] reshape(g)",
    ),
    row(
        "all-to-all",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[4,4] parameter(0)\n ROOT r = f32[4,4] all-to-all(x), channel_id=1, replica_groups={{0,1,2,3}}, dimensions=$",
    ),
    row(
        "collective-permute",
        "source_target_pairs",
        ["{{0,1},{1,0}}", "{{0,1},{1,2}}"],
        "x = f32[4] parameter(0)\n ROOT r = f32[4] collective-permute(x), channel_id=1, source_target_pairs=$",
    ),
];

/// Attributes without a row: where two values of one can give no two programs, or a machine makes the same of both.
const WITHOUT_A_ROW: &[(&str, &str, &str)] = &[
    ("gather", "collapsed_slice_dims", "names dims of one element: another list of one length has the same elements"),
    ("fusion", "kind", "says who computes it: on a TPU the machine makes the same of all (FACTS 9)"),
    ("parameter", "sharding", "says whether devices share an argument: then programs have other parameters"),
    ("custom-call", "called_computations", "is refused unless it takes the largest value first"),
    ("async-update", "calls", "stands at the start as well"),
    ("async-done", "calls", "stands at the start as well"),
    ("get-dimension-size", "dimensions", "gives a number of the shape"),
    ("set-dimension-size", "dimensions", "is refused unless the size is the shape's"),
    ("map", "dimensions", "names all dims"),
    ("slice-start", "slice", "is read as that of a slice"),
    ("dynamic-slice-start", "dynamic_slice_sizes", "is read as that of a dynamic-slice"),
    ("ragged-dot", "algorithm", "is read as that of a dot"),
    ("ragged-dot", "lhs_contracting_dims", "is refused if it is another dim"),
    ("ragged-dot", "rhs_contracting_dims", "is refused if it is another dim"),
    ("ragged-dot", "lhs_batch_dims", "is refused unless there is none"),
    ("ragged-dot", "rhs_batch_dims", "is refused unless there is none"),
    ("ragged-dot", "lhs_ragged_dims", "another dim gives a result of other dims"),
    ("ragged-dot", "rhs_group_dims", "another dim is one that is contracted or given"),
    ("convolution", "feature_group_count", "another count takes a kernel of other dims"),
    ("convolution", "batch_group_count", "another count takes a kernel of other dims"),
    ("*", "channel_id", "says, by being there, of what replica_groups are; numbers name rendezvous"),
    ("*", "use_global_device_ids", "says of what replica_groups are: another list goes with it"),
];

/// Every variant of [`Op`] with all of its fields, each with the row that changes it (opcode and attribute) or the reason why
/// none does.
macro_rules! operations {
    ($($pattern:pat => $name:literal [$($field:literal: $opcode:literal $attribute:literal,)*],)*) => {
        /// The name of a variant.
        fn variant(op: &Op) -> &'static str {
            match op {
                $($pattern => $name,)*
            }
        }

        const OPERATIONS: &[(&str, &[(&str, &str, &str)])] = &[$(($name, &[$(($field, $opcode, $attribute),)*]),)*];
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

/// The program of a row with one of its values; `more` stands behind the instruction that has the attribute.
fn text(row: &Row, value: &str, on_devices: bool, more: &str) -> String {
    let (value, shape) = value.split_once('|').unwrap_or((value, ""));
    let body: Vec<String> = row
        .body
        .split('\n')
        .map(|line| {
            let own = line.contains("=$") || line.contains(": $");
            let line = line.replace('$', value).replace('@', shape);
            if own { format!("{line}{more}") } else { line }
        })
        .collect();
    let header = if on_devices { ", is_scheduled=true, num_partitions=4" } else { "" };
    format!("HloModule m{header}\n{COMPUTATIONS}ENTRY main {{\n{}\n}}\n", body.join("\n"))
}

fn import(text: &str) -> Import {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    lower(&module).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A sort that need not be stable is one on the TPUs' machines, which a proof says that it rests on; XLA:CPU's is none.
const CPU: &str = "xla-cpu/default/as-compiled";

/// Whether two programs are proven the same; the proof alone is asked for.
#[track_caller]
fn proven(one: &str, other: &str) -> bool {
    proven_in(MODE, one, other)
}

#[track_caller]
fn proven_in(mode: &str, one: &str, other: &str) -> bool {
    let settings = Settings { trials: 0, elements: 0, ..of_mode(mode) };
    match compare(&import(one), &import(other), &settings) {
        Ok(answer) => matches!(answer.verdict, Verdict::Same),
        Err(SameError::Alignment(_)) => false,
        Err(error) => panic!("{error}\n{one}\n{other}"),
    }
}

fn rows() -> impl Iterator<Item = (&'static Row, bool)> {
    ROWS.iter().map(|row| (row, false)).chain(ON_DEVICES.iter().map(|row| (row, true)))
}

#[test]
fn every_attribute_that_reading_follows_has_a_row_or_a_reason() {
    let has_row =
        |opcode: &str, attribute: &str| rows().any(|(row, _)| (row.opcode, row.attribute) == (opcode, attribute));
    let has_reason = |opcode: &str, attribute: &str| {
        WITHOUT_A_ROW.iter().any(|(of, name, _)| *name == attribute && (*of == opcode || *of == "*"))
    };
    for (attribute, opcodes) in settings::opcodes_by_attribute() {
        for opcode in opcodes.iter().map(Opcode::name) {
            // Collectives read their attributes alike: one row stands for all of them.
            let of_collectives = || {
                ON_DEVICES.iter().any(|row| row.attribute == attribute && opcodes.contains(&Opcode::from(row.opcode)))
            };
            let known = has_row(opcode, attribute) || has_reason(opcode, attribute) || of_collectives();
            assert!(known, "{opcode} has no row for {attribute}");
        }
    }
    for (name, fields) in OPERATIONS {
        for (field, opcode, attribute) in *fields {
            let known = has_row(opcode, attribute) || opcode.is_empty() && !attribute.is_empty();
            assert!(known, "{name} has no row for {field}");
        }
    }
}

#[test]
fn a_pair_that_differs_in_one_attribute_is_not_proven() {
    let mut seen = BTreeSet::new();
    for (row, on_devices) in rows() {
        let [one, other] = row.values.map(|value| text(row, value, on_devices, ""));
        let name = format!("{} {}", row.opcode, row.attribute);
        assert_ne!(one, other, "{name}");
        let mode = if name == "sort is_stable" { CPU } else { MODE };
        assert!(proven_in(mode, &one, &one) && proven_in(mode, &other, &other), "{name}");
        assert!(!proven_in(mode, &one, &other), "{name}: {} and {}", row.values[0], row.values[1]);
        for text in [one, other] {
            let program = import(&text).program;
            seen.extend(program.computations.iter().flat_map(|c| &c.instructions).map(|i| variant(&i.op)));
        }
    }
    // What a row is said to change is in its program.
    for (name, fields) in OPERATIONS.iter().filter(|(_, fields)| fields.iter().any(|(_, opcode, _)| !opcode.is_empty()))
    {
        assert!(seen.contains(name), "{name}: {fields:?}");
    }
}

/// The machine's bits depend on an attribute if values do: transforms, systems and products of rows in groups.
#[test]
fn other_values_of_an_attribute_are_other_bits() {
    let mut seen = BTreeSet::new();
    for row in ROWS.iter().filter(|row| ["fft", "triangular-solve", "ragged-dot"].contains(&row.opcode)) {
        let bits = |value: &str| {
            let import = import(&text(row, value, false, ""));
            let shapes = import.program.entry().parameter_shapes();
            let argument = |(at, shape): (usize, &&ulpgate::ir::Shape)| {
                let numbers = (0..shape.elements()).map(|i| 0.3 + ((7 * at + i) as f64 * 0.737).sin());
                let data = match shape.element_type() {
                    // Rows of two groups.
                    dtype if !dtype.is_float() => Data::from_i64s(dtype, &[1, 2]),
                    dtype => Data::from_f64s(dtype, &numbers.collect::<Vec<f64>>()),
                };
                Tensor::new(shape.dims(), data.unwrap())
            };
            let arguments: Vec<Tensor> = shapes.iter().enumerate().map(argument).collect();
            evaluate(&import.program, &MODE.parse().unwrap(), &arguments).unwrap()
        };
        let [one, other] = row.values.map(bits);
        assert_ne!(one, other, "{} {}", row.opcode, row.attribute);
        seen.insert(row.opcode);
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn an_attribute_that_nothing_follows_is_compared_wherever_it_stands() {
    for (row, on_devices) in rows() {
        let of = |more: &str| text(row, row.values[0], on_devices, more);
        for (one, other) in [
            (", colour=red", ", colour=blue"),
            (", colour=red", ""),
            (", frontend_attributes={colour=\"red\"}", ", frontend_attributes={colour=\"blue\"}"),
            (", metadata={op_name=\"a\" colour=1}", ", metadata={op_name=\"a\" colour=2}"),
        ] {
            assert!(proven(&of(one), &of(one)), "{} {one}", row.opcode);
            assert!(!proven(&of(one), &of(other)), "{} {one} {other}", row.opcode);
        }
        let (one, other) =
            (", metadata={op_name=\"a\" source_line=1}, control-predecessors={x}", ", metadata={op_name=\"b\"}");
        assert!(proven(&of(one), &of(other)), "{} {one} {other}", row.opcode);
    }
    let exponential = |header: &str, computation: &str, more: &str| {
        format!(
            "HloModule m{header}\nf {{ a = f32[4] parameter(0)\n ROOT r = f32[4] exponential(a) }}{computation}\n\
             ENTRY main {{\n x = f32[4] parameter(0)\n ROOT r = f32[4] call(x), to_apply=f{more}\n}}\n"
        )
    };
    let plain = exponential("", "", "");
    for other in [
        exponential(", speed=1", "", ""),
        exponential(", frontend_attributes={speed=\"1\"}", "", ""),
        exponential("", ", speed=1", ""),
        exponential("", ", execution_thread=\"sparsecore\"", ""),
        exponential("", "", ", speed=1"),
        exponential("", "", ", backend_config={\"speed\":1}"),
        exponential("", "", ", backend_config={\"flag_configs\":[{\"flag_type\":\"FAST\",\"value\":1}]}"),
        exponential("", "", ", backend_config={\"window_config\":{\"speed\":1}}"),
    ] {
        assert!(!proven(&plain, &other) && !proven(&other, &plain) && proven(&other, &other), "{other}");
    }
    for other in [
        exponential(", is_scheduled=true", "", ""),
        exponential("", ", execution_thread=\"main\"", ""),
        exponential("", "", ", backend_config={\"retry_config\":{\"retry_count\":\"1\"},\"flag_configs\":[]}"),
    ] {
        assert!(proven(&plain, &other), "{other}");
    }
}

/// A setting of a value that another one is computed from is no setting of the other, and one of a reducer is one of the
/// reduction.
#[test]
fn a_setting_is_one_of_its_own_value() {
    let pair = |a: &str, b: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n a = f32[4] exponential(x){a}\n \
             b = f32[4] exponential(y){b}\n ROOT r = f32[4] subtract(a, b)\n}}\n"
        )
    };
    let highest = ", result_accuracy={mode=highest}";
    assert!(!proven(&pair(highest, ""), &pair("", highest)));
    let elements = |a: &str, b: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n t = (f32[4], f32[4]) tuple(x, x)\n \
             a = f32[4] get-tuple-element(t), index=0{a}\n b = f32[4] get-tuple-element(t), index=1{b}\n \
             ROOT r = f32[4] subtract(a, b)\n}}\n"
        )
    };
    assert!(!proven(&elements(", colour=red", ""), &elements("", ", colour=red")));
    let reduced = |more: &str, reduce: &str| {
        format!(
            "HloModule m\nadd {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b){more} }}\n\
             ENTRY main {{\n x = f32[3,4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[3] {reduce}\n}}\n"
        )
    };
    let reduce = "reduce(x, z), dimensions={1}, to_apply=add";
    assert!(!proven(&reduced("", reduce), &reduced(", colour=red", reduce)));
}

#[test]
fn a_proof_over_a_sort_that_need_not_be_stable_says_so() {
    let row = ROWS.iter().find(|row| row.attribute == "is_stable").unwrap();
    let [one, other] = row.values.map(|value| import(&text(row, value, false, "")));
    let answer = compare(&one, &other, &of_mode(MODE)).unwrap();
    assert!(answer.rests_on.iter().any(|line| line.contains("keeps equal elements in order")), "{answer:?}");
}

#[test]
fn every_function_is_compared_by_the_accuracy_that_is_asked() {
    let ways = [
        "",
        ", result_accuracy={mode=highest}",
        ", result_accuracy={tolerance={atol=0,rtol=0,ulps=1}}",
        ", result_accuracy={tolerance={atol=0,rtol=0,ulps=2}}",
        ", result_accuracy={tolerance={atol=0,rtol=0.5,ulps=1}}",
        ", result_accuracy={tolerance={atol=0.5,rtol=0,ulps=1}}",
    ];
    let of = |unary: &Unary, way: &str| {
        format!("HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n ROOT r = f32[4] {}(x){way}\n}}\n", unary.name())
    };
    let is_of_floats = |unary: &&Unary| {
        parse(&of(unary, "")).is_ok_and(|module| lower(&module).is_ok_and(|import| import.program.outputs().len() == 1))
    };
    for unary in Unary::ALL.iter().filter(is_of_floats) {
        for (at, one) in ways.iter().enumerate() {
            for (other, way) in ways.iter().enumerate() {
                assert_eq!(proven(&of(unary, one), &of(unary, way)), at == other, "{} {one} {way}", unary.name());
            }
        }
        let default = of(unary, ", result_accuracy={mode=default}");
        assert!(proven(&of(unary, ""), &default), "{}", unary.name());
    }
}

#[test]
fn two_algorithms_of_a_collective_are_not_proven() {
    let of = |config: &str| {
        let more = if config.is_empty() { String::new() } else { format!(", backend_config={config}") };
        text(&ON_DEVICES[0], ON_DEVICES[0].values[0], true, &more)
    };
    let algorithm = |emitter: &str, strategy: &str, debug: &str| {
        of(&format!(
            "{{\"collective_algorithm_config\":{{\"emitter\":\"{emitter}\",\"strategy\":\"{strategy}\",\"debug\":\"{debug}\"}}}}"
        ))
    };
    let plain = algorithm("RotatedPincerEmitter", "UniDirectionNDRingStrategy", "colors:4");
    assert!(proven(&plain, &plain));
    for other in [
        algorithm("SinglePhaseRingSumEmitter", "UniDirectionNDRingStrategy", "colors:4"),
        algorithm("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:4"),
        algorithm("RotatedPincerEmitter", "UniDirectionNDRingStrategy", "colors:2"),
        of(""),
    ] {
        assert!(!proven(&plain, &other), "{other}");
    }
}

#[test]
fn two_values_of_a_constant_are_two_programs() {
    let of = |value: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[] parameter(0)\n c = f32[] constant({value})\n ROOT r = f32[] add(x, c)\n}}\n"
        )
    };
    assert!(!proven(&of("1"), &of("1.0000001")) && !proven(&of("0"), &of("-0")) && proven(&of("1"), &of("1.0")));
}

#[test]
fn two_functions_are_two_programs() {
    let program = |dtype: &str, to: &str, operation: &str| {
        let text = format!(
            "HloModule m\nENTRY main {{\n x = {dtype}[4] parameter(0)\n y = {dtype}[4] parameter(1)\n ROOT r = {to}[4] {operation}\n}}\n"
        );
        parse(&text).ok().filter(|module| lower(module).is_ok()).map(|_| text)
    };
    for dtype in ["f32", "bf16", "f64", "s32", "u8"] {
        let unary = Unary::ALL.iter().filter_map(|one| program(dtype, dtype, &format!("{}(x)", one.name())));
        let binary = Binary::ALL.iter().filter_map(|one| program(dtype, dtype, &format!("{}(x, y)", one.name())));
        let compare = Compare::ALL
            .iter()
            .filter_map(|one| program(dtype, "pred", &format!("compare(x, y), direction={}", one.name())));
        for list in [unary.collect::<Vec<_>>(), binary.collect(), compare.collect()] {
            assert!(list.len() > 3, "{dtype}");
            for (at, one) in list.iter().enumerate() {
                // A TPU has no f64.
                let mode = if dtype == "f64" { "cpu/f32/off" } else { MODE };
                list[at + 1..].iter().for_each(|other| assert!(!proven_in(mode, one, other), "{one}{other}"));
            }
        }
    }
}

/// Of every two formats one is wider or their numbers differ.
#[test]
fn two_formats_of_a_rounding_are_two_programs() {
    let of = |exponent: usize, mantissa: usize| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n \
             ROOT r = f32[4] reduce-precision(x), exponent_bits={exponent}, mantissa_bits={mantissa}\n}}\n"
        )
    };
    let formats: Vec<(usize, usize)> =
        [2, 4, 5, 6, 8].iter().flat_map(|e| [1, 3, 7, 9, 10, 23].map(|m| (*e, m))).collect();
    for (at, one) in formats.iter().enumerate() {
        for other in &formats[at + 1..] {
            assert!(!proven(&of(one.0, one.1), &of(other.0, other.1)), "{one:?} {other:?}");
        }
    }
    let rounded = |dtype: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n c = {dtype}[4] convert(x)\n ROOT r = f32[4] convert(c)\n}}\n"
        )
    };
    let narrow =
        ["bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz", "f32"];
    for (at, one) in narrow.iter().enumerate() {
        narrow[at + 1..].iter().for_each(|other| assert!(!proven(&rounded(one), &rounded(other)), "{one} {other}"));
    }
}

/// Of arrays of 4 and 6 rows all rows are compared: those that are left over beside whole blocks as well.
#[test]
fn rows_left_over_are_compared() {
    let scaled = |rows: usize, factor: &str| {
        format!(
            "HloModule m\nENTRY main {{\n x = f32[{rows},8] parameter(0)\n a = f32[4,8] slice(x), slice={{[0:4],[0:8]}}\n{}}}\n",
            match rows {
                4 => " ROOT r = f32[4,8] exponential(a)\n".to_string(),
                _ => format!(
                    " b = f32[2,8] slice(x), slice={{[4:6],[0:8]}}\n e = f32[4,8] exponential(a)\n f = f32[2,8] {factor}(b)\n \
                     ROOT r = f32[6,8] concatenate(e, f), dimensions={{0}}\n"
                ),
            }
        )
    };
    for (one, other) in [(4, 6), (6, 4)] {
        assert!(proven(&scaled(one, "exponential"), &scaled(other, "exponential")));
        assert!(!proven(&scaled(one, "tanh"), &scaled(other, "tanh")));
    }
}
