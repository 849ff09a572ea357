//! Rows of operations that make, move, round and compare elements.

use super::row::{Row, row};

/// One attribute each, on one device.
pub const ELEMENTS: &[Row] = &[
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
        "compare",
        "order",
        ["PARTIAL", "TOTAL"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = pred[4] compare(x, y), direction=LT, order=$",
    ),
];
