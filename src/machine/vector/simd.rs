//! The one place that chooses wider instructions at run time, and the one place with `unsafe`.

use super::function::{Function, in_blocks};

/// Applies a function with the widest instructions that the processor has. They change the time, not the results: see
/// [`super::function`].
pub(super) fn apply<F: Function>(values: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: `wide` is an ordinary safe function but for the instructions it is compiled to. Calling it is sound on a
        // processor that has them, and the line above has just asked the processor for both.
        #[allow(unsafe_code)]
        return unsafe { wide::<F>(values) };
    }
    in_blocks::<F, false>(values);
}

/// [`in_blocks`] compiled for AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide<F: Function>(values: &mut [f32]) {
    in_blocks::<F, true>(values);
}
