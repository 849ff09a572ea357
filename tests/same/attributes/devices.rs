//! Rows of operations between devices.

use super::row::{Row, row};

/// One attribute each, on four devices.
pub const ON_DEVICES: &[Row] = &[
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
