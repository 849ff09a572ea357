//! Rows of operations that call: computations, loops, functions of libraries and of a compiler.

use super::row::{Row, row};

/// One attribute each, on one device.
pub const CALLS: &[Row] = &[
    row(
        "get-tuple-element",
        "index",
        ["0", "1"],
        "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n t = (f32[4], f32[4]) tuple(x, y)\n ROOT r = f32[4] get-tuple-element(t), index=$",
    ),
    row(
        "scan",
        "to_apply",
        ["running", "falling"],
        "x = f32[4] parameter(0)\n y = f32[] parameter(1)\n s = (f32[4], f32[]) scan(x, y), dimensions={0}, num_carries=1, to_apply=$\n ROOT r = f32[4] get-tuple-element(s), index=0",
    ),
    row(
        "scan",
        "is_reverse",
        ["true", "false"],
        "x = f32[4] parameter(0)\n y = f32[] parameter(1)\n s = (f32[4], f32[]) scan(x, y), dimensions={0}, num_carries=1, is_reverse=$, to_apply=falling\n ROOT r = f32[4] get-tuple-element(s), index=0",
    ),
    row(
        "scan",
        "is_associative",
        ["true", "false"],
        "x = f32[4] parameter(0)\n y = f32[] parameter(1)\n s = (f32[4], f32[]) scan(x, y), dimensions={0}, num_carries=1, is_associative=$, to_apply=running\n ROOT r = f32[4] get-tuple-element(s), index=0",
    ),
    row(
        "scan",
        "dimensions",
        ["{0}", "{1}"],
        "x = f32[3,3] parameter(0)\n y = f32[3] parameter(1)\n s = (f32[3,3], f32[3]) scan(x, y), dimensions=$, num_carries=1, to_apply=running_rows\n ROOT r = f32[3,3] get-tuple-element(s), index=0",
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
