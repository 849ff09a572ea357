//! The one place of the vector unit that chooses wider instructions at run time, and its one place with `unsafe`.

#![allow(unsafe_code, reason = "functions with target features are called where the processor has them")]

/// A loop over values, worth compiling for wider instructions.
pub trait Loop {
    /// Computes in place, with the same results whether `FMA` (fused multiply-adds cost one instruction) or not. To be
    /// marked `inline(always)`, so that it is compiled for its caller's instructions.
    fn run<const FMA: bool>(values: &mut [f32]);
}

/// Runs a loop with the widest instructions that the processor has.
pub fn run<L: Loop>(values: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: `wide` is an ordinary safe function but for the instructions that it is compiled to. Calling it is
        // sound on a processor that has them, and the line above has just asked the processor for both.
        return unsafe { wide::<L>(values) };
    }
    L::run::<false>(values);
}

/// Something to compute, worth compiling for wider instructions. IEEE defines every operation used, so the bits of a result do
/// not depend on them.
pub(super) trait Work {
    /// Result of the work.
    type Output;
    /// Computes. To be marked `inline(always)` as all that it calls, so that it is compiled for its caller's instructions.
    fn run(self) -> Self::Output;
}

/// Does a piece of work with the widest instructions that the processor has, AVX-512 included.
pub(super) fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx2 = is_x86_feature_detected!("avx2");
        if has_avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: as in `run`: safe code, and the processor has just been asked for all three.
            return unsafe { on_avx512(work) };
        }
        if has_avx2 {
            // SAFETY: as above.
            return unsafe { on_avx2(work) };
        }
    }
    work.run()
}

/// Says that the value `ahead` behind the first one will be read soon; it may lie behind the last one.
#[inline(always)]
pub fn prefetch(values: &[f32], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = values.as_ptr().wrapping_add(ahead).cast();
        // SAFETY: the instruction is a hint: it faults on no address, changes neither memory nor registers, and is part of
        // SSE, which every x86-64 has. The pointer is made without arithmetic that needs it to lie inside, and not read.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(place);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, ahead);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn on_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn on_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

/// A loop compiled for AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide<L: Loop>(values: &mut [f32]) {
    L::run::<true>(values);
}
