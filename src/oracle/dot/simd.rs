//! The only unsafe code of the oracle: vector code where the processor has it, and matrixmultiply's dgemm.
//!
//! Rust never contracts `a * b + c` to a fused operation, so a [`Kernel`] has the same bits with and without AVX2.

#![allow(
    unsafe_code,
    reason = "functions with target features are called where the processor has them, and dgemm takes pointers"
)]

/// A loop worth compiling for wider vectors than the build's target has. `run` is marked `#[inline(always)]`, and so is
/// what it calls.
pub trait Kernel {
    /// Result of the loop.
    type Output;

    /// Computes the result.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` as AVX2 code where the processor has that, else as code for the build's target.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the one condition of calling `wide` is that the processor has AVX2, which was just asked for.
            return unsafe { wide(kernel) };
        }
    }
    kernel.run()
}

/// Vectors of one length, one after another.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// `count * length` numbers.
    pub entries: &'a [f64],
    /// The number of vectors.
    pub count: usize,
    /// The number of entries of each vector.
    pub length: usize,
}

/// All dot products of `rows` with `columns`, row-major into `out`; added to what stands there if `accumulate`, else in
/// its place.
///
/// The order of additions is matrixmultiply's own, with fused operations where the processor has them: results have
/// fixed bits only where no order rounds.
///
/// # Panics
/// If the vectors differ in length, or a slice has another length than its counts say.
pub fn dgemm(rows: Vectors, columns: Vectors, out: &mut [f64], accumulate: bool) {
    let (m, k, n) = (rows.count, rows.length, columns.count);
    assert_eq!(columns.length, k, "vectors of one length");
    assert_eq!(Some(rows.entries.len()), m.checked_mul(k), "as many rows as counted");
    assert_eq!(Some(columns.entries.len()), n.checked_mul(k), "as many columns as counted");
    assert_eq!(Some(out.len()), m.checked_mul(n), "one output a pair");
    let beta = if accumulate { 1.0 } else { 0.0 };
    let (a, b, c) = (rows.entries.as_ptr(), columns.entries.as_ptr(), out.as_mut_ptr());
    // SAFETY: for all i < m, p < k, j < n, dgemm reads `a + i k + p` and `b + p + j k` and writes `c + i n + j` (row and
    // column strides k and 1, 1 and k, n and 1). By the assertions these lie inside the three slices, whose lengths
    // are m k, n k and m n; slices are at most isize::MAX bytes, so no offset wraps. `out` is borrowed mutably, so it
    // overlaps neither operand, and different (i, j) are different elements of it.
    unsafe {
        matrixmultiply::dgemm(m, k, n, 1.0, a, k as isize, 1, b, 1, k as isize, beta, c, n as isize, 1);
    }
}
