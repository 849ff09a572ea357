//! Running a piece of work with the widest vectors that the processor has. The only `unsafe` of the matrix unit is here:
//! calls of functions that need target features, and loads and stores of vectors.
//!
//! The work itself is safe Rust. Most is written over fixed-size arrays; inlined into a function with target features,
//! the compiler makes vector instructions of it. Chains are in explicit instructions ([`super::lanes`]). IEEE defines
//! every operation used, fused multiply-add included, so the bits of a result do not depend on which of these runs it.

#![allow(unsafe_code, reason = "functions with target features are called where the processor has them")]

use super::arithmetic::{Arithmetic, Kind};
use super::tile::{Chain, Tile};

/// Something to run, written so that it inlines whole: implementations mark `run` as `#[inline(always)]`.
pub(super) trait Work {
    type Output;
    fn run(self) -> Self::Output;
}

/// A set of vector instructions that this processor is known to have.
pub(super) trait Isa: Copy + Send + Sync {
    /// Whether `mul_add` is one instruction here, not a call of a slow function.
    const FUSED: bool;
    /// Whether an instruction can truncate an exact product's sum by itself, so that any range is as fast.
    const TRUNCATES: bool = false;
    fn run<W: Work>(self, work: W) -> W::Output;

    /// Sums a tile, one addition after the other.
    fn chain<A: Arithmetic, const R: usize, const C: usize>(self, tile: Tile<R, C>) {
        self.run(Chain::<A, R, C>::new(tile));
    }
}

/// Instructions that every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Isa for Portable {
    const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

    #[inline(always)]
    fn run<W: Work>(self, work: W) -> W::Output {
        work.run()
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Arithmetic, Chain, Isa, Kind, Tile, Work};
    use crate::mxu::lanes::{avx2, avx512};

    /// AVX2 and FMA. A value exists only where the processor has both.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx2(());

    impl Avx2 {
        /// `None` where the processor lacks them.
        pub fn detect() -> Option<Avx2> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
        }
    }

    impl Isa for Avx2 {
        const FUSED: bool = true;

        #[inline(always)]
        fn run<W: Work>(self, work: W) -> W::Output {
            #[target_feature(enable = "avx2,fma")]
            fn with_features<W: Work>(work: W) -> W::Output {
                work.run()
            }
            // SAFETY: calling a safe function with target features is sound if and only if the processor has them.
            // `self` is an `Avx2`; its field is private to this module, whose only constructor is `detect`, and that
            // returns a value only after it has found both features, which do not go away while a program runs.
            unsafe { with_features(work) }
        }

        fn chain<A: Arithmetic, const R: usize, const C: usize>(self, tile: Tile<R, C>) {
            // SAFETY: as above, and these functions need the same features.
            match (A::KIND, C) {
                (Kind::Fused, 16) => unsafe { avx2::fused::<R, C, 2>(tile) },
                (Kind::Separate, 16) => unsafe { avx2::separate::<R, C, 2>(tile) },
                _ => self.run(Chain::<A, R, C>::new(tile)),
            }
        }
    }

    /// AVX-512 F, VL, DQ and BW beside AVX2 and FMA. A value exists only where the processor has all of them.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx512(Avx2);

    impl Avx512 {
        /// `None` where the processor lacks one of them.
        pub fn detect() -> Option<Avx512> {
            let avx2 = Avx2::detect()?;
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            wide.then_some(Avx512(avx2))
        }

        /// The narrower vectors that the processor has as well.
        pub fn avx2(self) -> Avx2 {
            self.0
        }
    }

    impl Isa for Avx512 {
        const FUSED: bool = true;
        const TRUNCATES: bool = true;

        #[inline(always)]
        fn run<W: Work>(self, work: W) -> W::Output {
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
            fn with_features<W: Work>(work: W) -> W::Output {
                work.run()
            }
            // SAFETY: as for `Avx2`: an `Avx512` is proof that `detect` has found every feature that is enabled here.
            unsafe { with_features(work) }
        }

        fn chain<A: Arithmetic, const R: usize, const C: usize>(self, tile: Tile<R, C>) {
            // SAFETY: as above, and these functions need one of the same features.
            match (A::KIND, C) {
                (Kind::Fused, 64) => unsafe { avx512::fused::<R, C, 4>(tile) },
                (Kind::Separate, 64) => unsafe { avx512::separate::<R, C, 4>(tile) },
                (Kind::Truncated, 64) => unsafe { avx512::truncated::<R, C, 4>(tile) },
                (Kind::TruncatedFused, 64) => unsafe { avx512::truncated_fused::<R, C, 4>(tile) },
                (Kind::Fused, 32) => unsafe { avx512::fused::<R, C, 2>(tile) },
                (Kind::Separate, 32) => unsafe { avx512::separate::<R, C, 2>(tile) },
                (Kind::Truncated, 32) => unsafe { avx512::truncated::<R, C, 2>(tile) },
                (Kind::TruncatedFused, 32) => unsafe { avx512::truncated_fused::<R, C, 2>(tile) },
                _ => self.run(Chain::<A, R, C>::new(tile)),
            }
        }
    }
}

/// Vectors from and to arrays of as many numbers.
#[cfg(target_arch = "x86_64")]
pub(super) mod memory {
    /// 8 lanes.
    pub mod avx2 {
        use std::arch::x86_64::{__m256, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps};

        pub const LANES: usize = 8;

        #[inline]
        #[target_feature(enable = "avx")]
        pub fn zero() -> __m256 {
            _mm256_setzero_ps()
        }

        #[inline]
        #[target_feature(enable = "avx")]
        pub fn splat(value: f32) -> __m256 {
            _mm256_set1_ps(value)
        }

        #[inline]
        #[target_feature(enable = "avx")]
        pub fn load(values: &[f32; LANES]) -> __m256 {
            // SAFETY: the reference is to 32 bytes that may be read; the load asks for no alignment.
            unsafe { _mm256_loadu_ps(values.as_ptr()) }
        }

        #[inline]
        #[target_feature(enable = "avx")]
        pub fn store(values: &mut [f32; LANES], vector: __m256) {
            // SAFETY: the reference is to 32 bytes that may be written; the store asks for no alignment.
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), vector) }
        }
    }

    /// 16 lanes.
    pub mod avx512 {
        use std::arch::x86_64::{__m512, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps};

        pub const LANES: usize = 16;

        #[inline]
        #[target_feature(enable = "avx512f")]
        pub fn zero() -> __m512 {
            _mm512_setzero_ps()
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        pub fn splat(value: f32) -> __m512 {
            _mm512_set1_ps(value)
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        pub fn load(values: &[f32; LANES]) -> __m512 {
            // SAFETY: the reference is to 64 bytes that may be read; the load asks for no alignment.
            unsafe { _mm512_loadu_ps(values.as_ptr()) }
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        pub fn store(values: &mut [f32; LANES], vector: __m512) {
            // SAFETY: the reference is to 64 bytes that may be written; the store asks for no alignment.
            unsafe { _mm512_storeu_ps(values.as_mut_ptr(), vector) }
        }
    }
}
