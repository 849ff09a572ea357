//! Rows of operations over several elements: reductions, windows, orders and products.

use super::row::{Row, row};

/// One attribute each, on one device.
pub const SUMS: &[Row] = &[
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
        "scaled-dot",
        "lhs_contracting_dims",
        ["{1}", "{0}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n s = f32[3,3] parameter(2)\n t = f32[3,3] parameter(3)\n ROOT r = f32[3,3] scaled-dot(x, y, s, t), lhs_contracting_dims=$, rhs_contracting_dims={0}",
    ),
    row(
        "scaled-dot",
        "rhs_contracting_dims",
        ["{1}", "{0}"],
        "x = f32[3,3] parameter(0)\n y = f32[3,3] parameter(1)\n s = f32[3,3] parameter(2)\n t = f32[3,3] parameter(3)\n ROOT r = f32[3,3] scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims=$",
    ),
    row(
        "scaled-dot",
        "lhs_batch_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n y = f32[3,3,3] parameter(1)\n s = f32[3,3,3] parameter(2)\n t = f32[3,3,3] parameter(3)\n ROOT r = f32[3,3,3] scaled-dot(x, y, s, t), lhs_batch_dims=$, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
    ),
    row(
        "scaled-dot",
        "rhs_batch_dims",
        ["{0}", "{1}"],
        "x = f32[3,3,3] parameter(0)\n y = f32[3,3,3] parameter(1)\n s = f32[3,3,3] parameter(2)\n t = f32[3,3,3] parameter(3)\n ROOT r = f32[3,3,3] scaled-dot(x, y, s, t), lhs_batch_dims={0}, rhs_batch_dims=$, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
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
];
