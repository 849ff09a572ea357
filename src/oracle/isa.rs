//! Loops over slices, compiled three times: for any processor, for AVX2 with FMA, and for AVX-512, where the running one has them.
//!
//! All do the same IEEE operations in the same order, so they give the same bits; `mul_add` rounds once either way,
//! in one instruction or, slowly, in software.

#![allow(unsafe_code, reason = "functions with target features are called where the processor has them")]

/// Elements that a loop handles at a time: a few kilobytes, so that intermediate arrays stay in the first cache.
pub(super) const CHUNK: usize = 64;

/// A loop over slices. Implementations mark `run` `#[inline(always)]`, so that it is compiled for its caller's features.
pub(super) trait Loop {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a loop with the widest instructions of this processor.
#[inline]
pub(super) fn widest<L: Loop>(task: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: as below.
            return unsafe { with_avx512(task) };
        }
        // SAFETY: the only condition of a `target_feature` function is that the processor has the features, and the
        // line above has just found both.
        return unsafe { with_avx2_and_fma(task) };
    }
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
fn with_avx512<L: Loop>(task: L) -> L::Output {
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2_and_fma<L: Loop>(task: L) -> L::Output {
    task.run()
}
