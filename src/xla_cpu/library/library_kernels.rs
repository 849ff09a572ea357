//! The kernels for f32 dots that YNNPACK has for a processor with AVX-512: the lists of google/XNNPACK,
//! `ynnpack/kernels/dot/generator/` `x86_fp32.py`, `x86_fp32_k2.py` and `x86_fp32_k4.py`, as jaxlib 0.10.2 carries them
//! (FACTS 3.11). Kernels without fused multiply-add are left out: none is ever the cheapest.

/// Elements of f32 in a vector: products of a kernel's tile times its columns.
pub const VECTOR: usize = 16;

/// Rows, columns and products of the blocks that the kernels take, in the library's order.
#[rustfmt::skip]
pub const KERNELS: &[[usize; 3]] = &[
    [1, 64, 1], [2, 64, 1], [3, 64, 1], [4, 64, 1], [5, 64, 1], [1, 32, 1], [2, 32, 1], [3, 32, 1],
    [4, 32, 1], [5, 32, 1], [5, 16, 1], [1, 32, 2], [2, 32, 2], [3, 32, 2], [4, 32, 2], [5, 32, 2],
    [1, 16, 2], [4, 16, 2], [4, 8, 2], [8, 8, 2], [1, 32, 4], [2, 32, 4], [1, 16, 4], [3, 16, 4],
    [4, 16, 4], [5, 16, 4], [2, 8, 4], [4, 8, 4], [6, 8, 4], [4, 4, 4], [8, 4, 4],
];
